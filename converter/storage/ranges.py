"""Ranges of an input as an input of their own."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from converter.kernels.tables.kept import gather
from converter.storage.source import Source

#: Ranges that are this close to each other are read at once.
_BLOCK = 1 << 16


class Ranges(Source):
    """Ranges (offset and size) of another source, which it does not own, one after the other."""

    def __init__(self, base: Source, ranges: NDArray[np.int64]) -> None:
        ends = np.cumsum(ranges[:, 1])
        super().__init__(base.name, int(ends[-1]) if len(ends) else 0)
        self.warnings = base.warnings
        self.unpacked = base.unpacked
        self._base = base
        self._ranges = np.ascontiguousarray(ranges)
        self._ends: list[int] = ends.tolist()

    def offset_in_file(self, offset: int) -> int:
        """Return where the byte at an offset is in the source itself."""
        number = min(bisect_right(self._ends, offset), len(self._ends) - 1)
        if number < 0:
            return offset
        return int(self._ranges[number].sum()) - (self._ends[number] - offset)

    def _fill(self, offset: int, view: memoryview) -> int:
        done = 0
        while done < len(view):
            number = bisect_right(self._ends, offset + done)
            begin = self.offset_in_file(offset + done)
            left = int(self._ranges[number].sum()) - begin
            if left >= min(_BLOCK, len(view) - done):
                part = view[done : done + left]
                count = self._base.read_into(begin, part)
            else:
                last = int(np.searchsorted(self._ranges[:, 0], begin + _BLOCK)) - 1
                size = min(int(self._ranges[last].sum()) - begin, _BLOCK)
                block = self._base.read(begin, size)
                rest = np.frombuffer(view[done:], np.uint8)
                count = gather(block, begin, self._ranges, number, rest)
            if not count:
                break
            done += count
        return done
