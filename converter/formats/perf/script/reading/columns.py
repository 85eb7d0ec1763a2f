"""The columns of samples: call stacks, and texts, decoded when they are asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from converter.formats.perf.script.reading.frames import StackTexts
from converter.ir.columns import Column, ListColumn, StructColumn
from converter.ir.tables import Together
from converter.kernels.batches.gather import Segments
from converter.kernels.tables.strings import taken_lists


class Stacks:
    """The frames and stacks that are known by now."""

    def __init__(self, texts: StackTexts) -> None:
        self._first, self._frames = texts.first, texts.frames
        self._members = texts.function, texts.mapping, texts.address, texts.source, texts.line
        self._offset = texts.offset
        self.rest, self.distant = texts.rest, texts.distant

    def columns(
        self, stack: NDArray[np.int32]
    ) -> tuple[Callable[[], Column], Callable[[], Column]]:
        """Return the columns of the frames, and of their distances to functions; -1 is an empty stack."""

        def decoded() -> tuple[Column, Column]:
            # Number 0 is the empty stack.
            rows = np.maximum(stack, 0).astype(np.int64)
            offsets, frames = taken_lists(self._frames, self._first, rows)
            members = tuple(member[frames] for member in self._members)
            distances = ListColumn(offsets, self._offset[frames])
            return ListColumn(offsets, StructColumn(len(frames), members)), distances

        frames, distances = Together(decoded).columns(2)
        return frames, distances


def texts_at(
    block: memoryview, start: NDArray[np.int64], size: NDArray[np.int32]
) -> Callable[[], Column]:
    """Return the column of texts at positions of a block."""

    def decoded() -> Column:
        offsets: NDArray[np.int64] = np.zeros(len(start) + 1, np.int64)
        np.cumsum(size, out=offsets[1:])
        values = np.empty(int(offsets[-1]), np.uint8)
        Segments([block]).copy(start, offsets, values)
        return ListColumn(offsets, values)

    return decoded
