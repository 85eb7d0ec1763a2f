"""What has been fetched of an object, in an unnamed temporary file: no byte of it is fetched twice while that is not
too large, and memory does not grow with it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Final

from converter.errors import TraceError
from converter.storage.descriptors import with_room
from converter.storage.writing.placing import output_error

#: What is fetched begins and ends where blocks do; they are larger where there would be more than so many.
_LEAST_BLOCK: Final = 1 << 12
_MOST_BLOCKS: Final = 1 << 24
#: No file is so large that blocks would be larger than this.
_MOST_BLOCK: Final = 1 << 22
#: So much of the temporary file is in use at most: then it begins anew. It must be several times what is fetched at
#: once, or a read of stretches that are here and others would never have both.
_MOST_KEPT: Final = 4 << 30


class BlockCache:
    """Blocks of an object by their places. For one thread at a time."""

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
        #: 1 for each block that is here.
        self._held = bytearray(-(-size // self.block))
        try:
            with with_room(lambda: tempfile.TemporaryFile(buffering=0)) as file:
                self._descriptor = with_room(lambda: os.dup(file.fileno()))
        except OSError as error:
            raise output_error(error, tempfile.tempdir or "TMPDIR") from error

    def missing(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The stretches from `start` to `end` that are not here, widened to blocks."""
        at, last = start // self.block, -(-end // self.block)
        while (begin := self._held.find(0, at, last)) >= 0:
            found = self._held.find(1, begin, last)
            at = last if found < 0 else found
            yield begin * self.block, at * self.block

    def put(self, start: int, data: bytes) -> None:
        """Keep what was fetched: whole blocks, but at the end of the object."""
        first, last = start // self.block, -(-(start + len(data)) // self.block)
        self._kept += len(data)
        try:
            if self._kept > self._most_kept:
                # Whoever reads so much reads in order, and does not come back soon.
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
        """Copy what is here, all of which there is."""
        data = os.pread(self._descriptor, len(view), start)
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Give the temporary file back."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
