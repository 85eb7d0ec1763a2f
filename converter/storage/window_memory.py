"""The memory of windows: the stretches of a file that a reader looks at one after the other."""

from __future__ import annotations

import weakref

import numpy as np
from numpy.typing import NDArray

#: Memory of larger windows is not used again: only huge events and damaged files have them.
_MOST_REUSED = 4 << 20


class WindowMemory:
    """The memory that windows lie in, used again when nobody refers to them any more.

    New memory takes the system longer to come by than filling it does.
    """

    def __init__(self) -> None:
        self._free: list[memoryview] = []
        self._usual = 0

    def clear(self) -> None:
        """Let go of what nobody refers to: there is nothing more to read for now."""
        self._free.clear()

    def take(self, size: int) -> NDArray[np.uint8]:
        """Room for a window, with anything in it; for any thread."""
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
        # All that is derived from this array refers to it: NumPy passes over its likes only.
        window = np.frombuffer(memory, np.uint8, size)
        if reused:
            weakref.finalize(window, self._free.append, memory).atexit = False
        return window
