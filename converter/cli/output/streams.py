"""The standard streams of the process."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import BinaryIO, NoReturn


class ClosedOutput(io.TextIOBase):
    """In place of a standard output that was closed before the process started: what is printed must not vanish."""

    def write(self, text: str) -> NoReturn:
        """Raise the error that a write has."""
        raise OSError(errno.EBADF, "is closed")

    @property
    def buffer(self) -> BinaryIO:
        """Raise the error that a write has."""
        raise OSError(errno.EBADF, "is closed")


def abandon_standard_output() -> None:
    """Discard what standard output still buffers, so that it is not written at exit either."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
    except OSError:  # too many files are open
        return
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        pass  # standard output is not a file, and nothing will be flushed into it
    finally:
        os.close(nowhere)
