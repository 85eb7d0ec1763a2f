"""A cache of the blocks fetched of an object, in an unnamed temporary file.

No byte is fetched twice while the cache is not full, and memory does not grow with it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Final

from converter.errors import TraceError
from converter.storage.descriptors import with_room
from converter.storage.writing.placing import output_error

#: Fetched ranges begin and end at block boundaries; blocks are larger where there would be more than _MOST_BLOCKS.
_LEAST_BLOCK: Final = 1 << 12
_MOST_BLOCKS: Final = 1 << 24
#: No file is so large that blocks would be larger than this.
_MOST_BLOCK: Final = 1 << 22
#: The most bytes to keep in the temporary file; then it is emptied. It must be several times what is fetched at once,
#: or a read that needs both cached and missing ranges would never have both.
_MOST_KEPT: Final = 4 << 30


class BlockCache:
    """Blocks of an object by their offsets. For one thread at a time."""

    def __init__(self, name: str, size: int, most_kept: int = _MOST_KEPT) -> None:
        self.block = _LEAST_BLOCK
        while -(-size // self.block) > _MOST_BLOCKS:
            self.block *= 2
        if self.block > _MOST_BLOCK:
            raise TraceError(
                path=name, expected=f"at most {_MOST_BLOCKS * _MOST_BLOCK} bytes", found=size
            )
        self._most_kept = most_kept
        self._kept = 0
        #: 1 for each block in the cache.
        self._held = bytearray(-(-size // self.block))
        try:
            with with_room(lambda: tempfile.TemporaryFile(buffering=0)) as file:
                self._descriptor = with_room(lambda: os.dup(file.fileno()))
        except OSError as error:
            raise output_error(error, tempfile.tempdir or "TMPDIR") from error

    def missing(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the missing ranges between `start` and `end`, widened to blocks."""
        at, last = start // self.block, -(-end // self.block)
        while (begin := self._held.find(0, at, last)) >= 0:
            found = self._held.find(1, begin, last)
            at = last if found < 0 else found
            yield begin * self.block, at * self.block

    def put(self, start: int, data: bytes) -> None:
        """Add fetched data: whole blocks, except at the end of the object."""
        first, last = start // self.block, -(-(start + len(data)) // self.block)
        self._kept += len(data)
        try:
            if self._kept > self._most_kept:
                # A caller that reads this much reads in order, and will not soon return to earlier data.
                os.ftruncate(self._descriptor, 0)
                self._held = bytearray(len(self._held))
                self._kept = len(data)
            view = memoryview(data)
            while view:
                written = os.pwrite(self._descriptor, view, start)
                view, start = view[written:], start + written
        except OSError as error:
            raise output_error(error, tempfile.gettempdir()) from error
        self._held[first:last] = b"\1" * (last - first)

    def fill(self, start: int, view: memoryview) -> int:
        """Copy cached data into `view`; all of it is cached."""
        data = os.pread(self._descriptor, len(view), start)
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Release the temporary file."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
