"""Reusable memory for windows: the ranges of a file that a reader looks at in turn."""

from __future__ import annotations

import weakref

import numpy as np
from numpy.typing import NDArray

#: Larger windows are not reused: only huge events and damaged files have them.
_MOST_REUSED = 4 << 20


class WindowMemory:
    """Memory for windows, reused when nothing refers to a window any more.

    Allocating new memory takes the system longer than filling it.
    """

    def __init__(self) -> None:
        self._free: list[memoryview] = []
        self._usual = 0

    def clear(self) -> None:
        """Release memory that nothing refers to: there is nothing more to read for now."""
        self._free.clear()

    def take(self, size: int) -> NDArray[np.uint8]:
        """Return an uninitialized array for a window; callable from any thread."""
        if not size:
            return np.empty(0, np.uint8)
        try:
            memory = self._free.pop()
        except IndexError:
            memory = memoryview(b"")
        reused = size <= _MOST_REUSED
        if reused:
            self._usual = max(self._usual, size)
        if len(memory) < size:
            memory = np.empty(self._usual if reused else size, np.uint8).data
        # Every array derived from this one refers to it, because NumPy only looks through arrays of its own type.
        window = np.frombuffer(memory, np.uint8, size)
        if reused:
            weakref.finalize(window, self._free.append, memory).atexit = False
        return window
