"""The memory of windows: the stretches of a file that a reader looks at one after the other."""

from __future__ import annotations

import mmap
import threading
import weakref
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

#: Memory of larger windows is not used again: only huge events and damaged files have them.
_MOST_REUSED = 4 << 20
#: Memory of windows is had from the system in stretches of so many bytes: a few large pages, of which a processor
#: remembers where they are, while events of all windows are read in the order of time.
_STRETCH = 8 << 20
#: Where windows begin in them: no two are on one page.
_ALIGNED = 1 << 12


class WindowMemory:
    """The memory that windows lie in, used again when nobody refers to them any more.

    New memory takes the system longer to come by than filling it does.
    """

    def __init__(self) -> None:
        self._free: list[memoryview] = []
        self._usual = 0
        self._lock = threading.Lock()
        # What is left of the last stretch.
        self._rest = memoryview(b"")

    def clear(self) -> None:
        """Let go of what nobody refers to: there is nothing more to read for now."""
        self._free.clear()
        self._rest = memoryview(b"")

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
            memory = self._new() if reused else np.empty(size, np.uint8).data
        # All that is derived from this array refers to it: NumPy passes over its likes only.
        window = np.frombuffer(memory, np.uint8, size)
        if reused:
            weakref.finalize(window, self._free.append, memory).atexit = False
        return window

    def _new(self) -> memoryview:
        """Room for a window of the usual size."""
        with self._lock:
            size = -(-self._usual // _ALIGNED) * _ALIGNED
            if len(self._rest) < size:
                self._rest = _stretch()
            memory, self._rest = self._rest[:size], self._rest[size:]
        return memory


def _stretch() -> memoryview:
    """New memory, in large pages where the system has such to give."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(_STRETCH, np.uint8).data
    # Of memory that processes may share there are seldom large ones.
    stretch = mmap.mmap(-1, _STRETCH, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    # A kernel may be built without them.
    with suppress(OSError):
        stretch.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(stretch)
