"""Frames and call stacks of profiles that are read: tables of a file as columns of samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import ListColumn, StructColumn, constant_column
from converter.projection.domain.call_stacks import call_stacks


@dataclass(frozen=True, slots=True)
class FrameTable:
    """The frames of a file by their numbers there, as `timeline_fields.FRAME` has them; texts are ids of strings."""

    function: NDArray[np.int32]
    mapping: NDArray[np.int32]
    rel_pc: NDArray[np.uint64]
    source: NDArray[np.int32]
    line: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.function)

    @classmethod
    def of(cls, function: NDArray[np.int32], **others: NDArray[Any]) -> Self:
        """Return a table of functions; the columns that are not among the others are unknown."""
        count = len(function)
        names = constant_column(np.int32(0), count)
        return cls(
            function=function,
            mapping=others.get("mapping", names),
            rel_pc=others.get("rel_pc", constant_column(np.uint64(0), count)),
            source=others.get("source", names),
            line=others.get("line", constant_column(np.uint32(0), count)),
        )

    def column(self, frames: NDArray[np.integer[Any]]) -> StructColumn:
        """Return frames by their numbers."""
        columns = (self.function, self.mapping, self.rel_pc, self.source, self.line)
        return StructColumn(len(frames), tuple(column.take(frames) for column in columns))

    def stacks(self, offsets: NDArray[np.int64], frames: NDArray[np.integer[Any]]) -> ListColumn:
        """Return call stacks from lists of frames, innermost first: n + 1 offsets into the numbers of all frames."""
        return ListColumn(offsets, self.column(frames))

    def stacks_outermost_first(
        self, offsets: NDArray[np.int64], frames: NDArray[np.integer[Any]]
    ) -> ListColumn:
        """Return call stacks from lists of frames, outermost first."""
        sizes = np.diff(offsets)
        # Position k of a stack comes from its end, k steps back.
        steps = np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], sizes)
        return self.stacks(offsets, frames[np.repeat(offsets[1:], sizes) - 1 - steps])

    def stacks_of_tree(
        self,
        stack: NDArray[np.int64],
        outer: NDArray[np.int64],
        frame: NDArray[np.int32],
    ) -> ListColumn:
        """Return call stacks from a tree.

        Args:
            stack: the number of each stack; -1 is the empty one.
            outer: by the number of a stack, the one around it (-1: none).
            frame: by the number of a stack, its innermost frame.

        """
        return self.stacks(*lists_of_tree(stack, outer, frame))


def lists_of_tree(
    stack: NDArray[np.int64], outer: NDArray[np.int64], item: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the items of stacks of a tree, innermost first, as n + 1 offsets and all items.

    Args:
        stack: the number of each stack; -1 is the empty one.
        outer: by the number of a stack, the one around it (-1: none).
        item: by the number of a stack, its innermost item.

    """
    found = call_stacks(stack, outer, item)
    return found.offsets, np.asarray(found.values)
