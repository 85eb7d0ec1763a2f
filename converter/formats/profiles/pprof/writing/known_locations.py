"""The locations of a profile that was read, for samples of which only the frames are left."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.pprof.layout import FunctionField, MappingField, ProfileField
from converter.formats.profiles.pprof.tables import Tables
from converter.formats.profiles.pprof.writing.locations import Bases
from converter.ir.columns import ListColumn, StructColumn
from converter.kernels.tables.strings import StringTable
from converter.projection.domain.stack_table import StackTable
from converter.projection.timeline_fields import FRAME

#: The most different numbers of frames of a location that are looked for.
_MOST_SIZES: Final = 32


class KnownLocations:
    """Finds the locations whose frames are those of a call stack, the longest first."""

    def __init__(self, tables: Tables, stacks: StackTable) -> None:
        frames = tables.frames
        columns = (frames.function, frames.mapping, frames.rel_pc, frames.source, frames.line)
        count = len(frames.function)
        each = ListColumn(np.arange(count + 1, dtype=np.int64), StructColumn(count, columns))
        numbers = stacks.add(each, FRAME)
        numbers = np.ascontiguousarray(stacks.stacks["frame"][numbers])
        sizes = np.diff(frames.offsets)
        self._ids = tables.ids
        self._sequences = StringTable()
        rows = np.empty(len(sizes), np.int32)
        self._sequences.intern_spans(
            numbers.view(np.uint8), frames.offsets[:-1] * 4, sizes * 4, rows
        )
        # Of locations with the same frames, the first counts.
        _, self._location = np.unique(rows, return_index=True)
        self._known = len(self._sequences)
        self._sizes = np.unique(sizes)[:_MOST_SIZES].tolist()
        self.bases = Bases(
            _highest(self._ids),
            *(
                _highest(tables.messages.columns(tables.messages.spans(field), id)[0])
                for field, id in (
                    (ProfileField.FUNCTION, FunctionField.ID),
                    (ProfileField.MAPPING, MappingField.ID),
                )
            ),
        )

    def find(
        self, offsets: NDArray[np.int64], frames: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int32]]:
        """Return the locations of call stacks, innermost first.

        Args:
            offsets: n + 1 offsets into the frames.
            frames: numbers of frames.

        Returns:
            Offsets into the locations; their ids, 0 where there is none; and the frame for which there is none.

        """
        ends = np.repeat(offsets[1:], np.diff(offsets))
        at = np.arange(len(frames))
        length = np.ones(len(frames), np.int64)
        ids = np.zeros(len(frames), np.uint64)
        for size in self._sizes:
            where = at[at + size <= ends]
            found = np.empty(len(where), np.int32)
            width = np.full(len(where), 4 * size, np.int64)
            self._sequences.intern_spans(frames.view(np.uint8), where * 4, width, found)
            is_known = found < self._known
            where = where[is_known]
            # Number 0 is no sequence.
            ids[where] = self._ids[self._location[found[is_known] - 1]]
            length[where] = size
        begins = np.zeros(len(frames), np.bool_)
        here = offsets[:-1][np.diff(offsets) > 0]
        while len(here):
            begins[here] = True
            after = here + length[here]
            here = after[after < ends[here]]
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(begins)])
        return bounds[offsets], ids[begins], frames[begins]


def _highest(ids: NDArray[np.uint64]) -> int:
    return int(ids.max(initial=0))
