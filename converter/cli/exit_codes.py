"""The exit codes of the command."""

from __future__ import annotations

import signal

# The shell's convention for signals is 128 plus their number.
FAILED = 1
USAGE = 2
LOSS = 3
#: The input is damaged, and nothing can be read of it.
NOTHING = 4
INTERRUPTED = 128 + signal.SIGINT
BROKEN_PIPE = 128 + signal.SIGPIPE
