"""The buffers that tracepoints were recorded in: tracks in addition to the threads that they are on.

A format has them as tracks, or as buffers of a recording, or not at all. In the last case they are an argument of the
event, from which they are restored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import string_ids
from converter.ir.distinct_values import map_distinct
from converter.ir.events import Field
from converter.ir.field_classes import StringClass
from converter.ir.kinds import TRACEPOINT_KINDS, Kind
from converter.ir.trace import Track
from converter.kernels.tables.strings import StringTable
from converter.projection.engine.partitions import Partition

#: The argument with the name of an event's buffer: no field of the kernel has a name of this kind.
ARGUMENT: Final = Field("common_buffer", StringClass())
#: How formats of kernel events call it, whose own fields have names of another kind.
_NAMES: Final = frozenset({ARGUMENT.name, f"_{ARGUMENT.name}"})
#: The maximum length of directory names in tracefs.
_LONGEST_NAME: Final = 255


def may_have_buffers(kind: Kind) -> bool:
    """Return True if events of a kind are recorded in buffers, or may have been made from ones that were."""
    return kind in TRACEPOINT_KINDS or kind in (Kind.DISCARDED, Kind.INSTANT)


def place_of_argument(partition: Partition) -> int | None:
    """Return the index of the field with the buffer of the events of a class."""
    for index, field in enumerate(partition.event_class.fields):
        if field.name in _NAMES and isinstance(field.type, StringClass):
            return index
    return None


class Buffers:
    """The buffers of a trace that has no other tracks: those of `tracks`.

    Until a batch is complete, an event in one has a track below -1, so that no rule mistakes it for a track of the
    source.
    """

    def __init__(self, tracks: list[Track], most: int) -> None:
        self._tracks = tracks
        self._most = most
        self._numbers: dict[str, int] = {}

    def code(self, name: str) -> int:
        """Return the code of the buffer with this name, -1 if there can be none."""
        if name not in self._numbers:
            size = len(name.encode("utf-8", "surrogateescape"))
            if not 0 < size <= _LONGEST_NAME or "\0" in name or len(self._tracks) >= self._most:
                return -1
            self._numbers[name] = -2 - len(self._tracks)
            self._tracks.append(Track(name))
        return self._numbers[name]

    def of_tracks(self, tracks: Sequence[Track], column: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the codes of the buffers that tracks are, -1 for other tracks."""

        def code(number: int) -> int:
            track = tracks[number] if number >= 0 else None
            return -1 if track is None or track != Track(track.name) else self.code(track.name)

        return map_distinct(column, code)

    def of_argument(self, partition: Partition, strings: StringTable) -> NDArray[np.int32] | None:
        """Return the codes of the buffers that an argument of the events names; None if they have no such argument."""
        index = place_of_argument(partition)
        if index is None:
            return None

        def code(id: int) -> int:
            return -1 if id < 0 else self.code(strings[id].decode("utf-8", "surrogateescape"))

        return map_distinct(string_ids(partition.table.column(index), strings), code)

    @staticmethod
    def tracks(column: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the tracks of events, given the codes."""
        return np.where(column < -1, -2 - column, -1).astype(np.int32)
