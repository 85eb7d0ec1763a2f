"""Call stacks as columns: numbers of frames, and what each is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perf.data.reading.address_spaces import AddressSpaces
from converter.formats.perf.data.reading.own import OwnFrames
from converter.ir.columns import Column, ListColumn, StructColumn, TakenColumn, constant_column
from converter.kernels.tables.strings import taken_lists

#: Returns the functions (ids of strings) of frames: names of mappings (ids of strings), and offsets.
Symbolise = Callable[[NDArray[np.int32], NDArray[np.uint64]], NDArray[np.int32]]
_EMPTY: Final = np.int32(0)


class Frames:
    """The frames of a pass so far, by the numbers that the address spaces give them."""

    def __init__(
        self, spaces: AddressSpaces, symbolise: Symbolise | None, own: OwnFrames | None = None
    ) -> None:
        self._spaces = spaces
        self._own = own
        self._symbolise = symbolise
        self._mapping = np.zeros(0, np.int32)
        self._function = np.zeros(0, np.int32)
        self._offset = np.zeros(0, np.uint64)
        #: Of the numbers since frames were forgotten.
        self._origin = object()

    def extend(self) -> FrameTable:
        """Return what all frames so far are; later ones do not change it."""
        mapping, offset = self._spaces.frames(len(self._mapping))
        if len(mapping):
            self._mapping = np.concatenate([self._mapping, mapping])
            self._offset = np.concatenate([self._offset, offset])
            if self._symbolise is not None:
                function = self._symbolise(mapping, offset)
                self._function = np.concatenate([self._function, function])
        table = FrameTable(
            self._mapping,
            self._offset,
            None if self._symbolise is None else self._function,
            self._own,
            self._origin,
        )
        if self._spaces.forget():
            self._origin = object()
            self._mapping, self._function = np.zeros(0, np.int32), np.zeros(0, np.int32)
            self._offset = np.zeros(0, np.uint64)
        return table


class FrameTable:
    """Frames by number: the mapping's name, the offset in it, and the function's name, if any is known."""

    def __init__(
        self,
        mapping: NDArray[np.int32],
        offset: NDArray[np.uint64],
        function: NDArray[np.int32] | None,
        own: OwnFrames | None,
        origin: object,
    ) -> None:
        self._own = own
        self._offset = offset
        self._origin = origin
        count = len(mapping)
        members = (
            constant_column(_EMPTY, count) if function is None else function,
            mapping,
            offset,
            constant_column(_EMPTY, count),
            constant_column(np.uint32(0), count),
        )
        self._frames = StructColumn(count, members)

    def column(
        self, frames: NDArray[np.int32], offsets: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> Column:
        """Return the call stacks of some rows, as `timeline_fields.FRAMES` has them."""
        if self._own is not None:
            return self._own.column(self._offset, frames, offsets, rows)
        ends, numbers = taken_lists(frames, offsets, rows)
        return ListColumn(ends, TakenColumn(numbers, self._frames, self._origin))
