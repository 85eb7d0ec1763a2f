"""Names of options in messages: arguments of the library, or options of the command line while the command runs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

#: True while the command runs. It is the process's, since workers and threads of the command raise errors, too.
_is_command = False


@contextmanager
def for_the_command() -> Iterator[None]:
    """Let messages name options of the command line."""
    global _is_command  # noqa: PLW0603 - see above
    before, _is_command = _is_command, True
    try:
        yield
    finally:
        _is_command = before


def advice(library: str, command: str) -> str:
    """Return what a message says to callers of the library, or to users of the command."""
    return command if _is_command else library


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called the library; the command prints messages of its own instead."""
    if _is_command:
        return
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - as `warnings` itself finds the line
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("converter."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
