"""Files read window by window: a window starts where the events of the previous one end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.limits import allowed, limit
from converter.storage.source import Source
from converter.storage.window_memory import WindowMemory

#: The size of the windows of all streams together, and of one.
_WINDOWS_IN_ALL = 24 << 20
_LARGEST = 1 << 20
_SMALLEST = 1 << 16


def window_size(streams: int) -> int:
    """Return the size of a window where `streams` streams are merged."""
    return max(_SMALLEST, min(_LARGEST, _WINDOWS_IN_ALL // max(streams, 1)))


class Windows:
    """The windows of a file. `start` is the file offset of the last window that was read."""

    def __init__(self, source: Source, name: str, size: int) -> None:
        self.source = source
        self.name = name
        self.start = 0
        self.length = 0
        self._size = min(size, limit("uftrace.event"))
        self._memory = WindowMemory()
        self._ahead: NDArray[np.uint8] | None = None

    def begin_at(self, offset: int, ahead: bytes = b"") -> None:
        """Begin at a file offset; the first window is `ahead`, bytes from before it, if there are any."""
        self.start = offset - len(ahead)
        self._ahead = np.frombuffer(ahead, np.uint8) if ahead else None

    def go_to(self, offset: int) -> None:
        """Move the window's start to a later offset in it, or let the next window begin after it."""
        self.length = max(self.start + self.length - offset, 0)
        self.start = offset

    def next(self, consumed: int) -> tuple[NDArray[np.uint8], bool]:
        """Return the window after the first `consumed` bytes of the last one, and True if the file ends with it.

        If nothing was consumed it is twice as large: a single event can be larger than a window.

        Raises:
            TraceError: an event is larger than any valid one.

        """
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            self.length = len(ahead)
            return ahead, self.start + self.length >= self.source.size
        if self.length and not consumed:
            if self._size >= limit("uftrace.event"):
                raise self.error(0, expected=f"an event of {allowed('uftrace.event')}")
            self._size = min(2 * self._size, limit("uftrace.event"))
        self.start += consumed
        left = max(self.source.size - self.start, 0)
        window = self._memory.take(min(self._size, left))
        count = self.source.read_into(self.start, window.data) if len(window) else 0
        self.length = count
        return window[:count], count < len(window) or self.start + count >= self.source.size

    def error(self, offset: int, **parts: str) -> TraceError:
        """Return an error at an offset of the last window."""
        return TraceError(path=self.source.name, offset=self.start + offset, **parts)
