"""Call stacks as a column: rows of the distinct ones, which are numbers of frames, and what each frame is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.perf.data.reading.address_spaces import AddressSpaces
from converter.ir.columns import ListColumn, StructColumn, TakenColumn, TakenListColumn
from converter.kernels.batches.gather import Segments

#: Returns the members of frames (`timeline_fields.FRAME`), texts as ids: of names of mappings (ids), and offsets.
Describe = Callable[[NDArray[np.int32], NDArray[np.uint64]], tuple[NDArray[Any], ...]]
#: Returns the functions (ids of strings) of frames: names of mappings (ids of strings), and offsets.
Symbolise = Callable[[NDArray[np.int32], NDArray[np.uint64]], NDArray[np.int32]]


def described_by(symbolise: Symbolise | None) -> Describe:
    """Return what describes frames as what `perf script` prints: the mapping, the offset, and the function if known."""

    def describe(
        mapping: NDArray[np.int32], offset: NDArray[np.uint64]
    ) -> tuple[NDArray[Any], ...]:
        none = np.zeros(len(mapping), np.int32)
        function = none if symbolise is None else symbolise(mapping, offset)
        return function, mapping, offset, none, none.astype(np.uint32)

    return describe


class Frames:
    """The frames and call stacks of a pass so far, by the numbers that the address spaces give them."""

    def __init__(self, spaces: AddressSpaces, describe: Describe) -> None:
        self._spaces = spaces
        self._describe = describe
        self._forget()

    def _forget(self) -> None:
        none = np.zeros(0, np.int32)
        self._members = self._describe(none, none.astype(np.uint64))
        # Stacks are added after those that columns have, so columns stay as they are.
        self._ends, self._numbers = np.zeros(2, np.int64), none
        #: Of the numbers since they were forgotten.
        self._origin = object()

    def resolve(
        self,
        code: NDArray[np.int32],
        segments: Segments,
        location: NDArray[np.int64],
        size: NDArray[np.uint32],
    ) -> TakenListColumn:
        """Follow records in the order of time; return the call stack of each, as `timeline_fields.FRAMES` has them."""
        spaces, count = self._spaces, len(code)
        stacks = np.empty(count, np.int32)
        words = int(size.sum(dtype=np.int64)) // 8
        self._ends = _with_room(self._ends, spaces.stack_count + 1, 2 * count)
        self._numbers = _with_room(self._numbers, spaces.filled, words)
        spaces.resolve(code, segments, location, size, stacks, self._ends, self._numbers)
        found = spaces.frames(len(self._members[0]))
        if len(found[0]):
            pairs = zip(self._members, self._describe(*found), strict=True)
            self._members = tuple(np.concatenate(pair) for pair in pairs)
        frames = StructColumn(len(self._members[0]), self._members)
        numbers = self._numbers[: spaces.filled]
        values = TakenColumn(numbers, frames, self._origin)
        table = ListColumn(self._ends[: spaces.stack_count + 1], values)
        column = TakenListColumn(stacks, table, self._origin)
        if spaces.forget():
            self._forget()
        return column


def _with_room(column: NDArray[Any], used: int, more: int) -> NDArray[Any]:
    """Return a column with room for more values after those that are used: itself, or a copy."""
    if used + more <= len(column):
        return column
    wider = np.empty(2 * used + more, column.dtype)
    wider[:used] = column[:used]
    return wider
