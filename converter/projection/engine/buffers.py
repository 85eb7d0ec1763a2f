"""The buffers that tracepoints were recorded in: tracks beside the threads that they are on.

A format has them as tracks, or as buffers of a recording, or not at all: then they are an argument of the event, of
which they come back.
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
from converter.projection.engine.pieces import Piece

#: What the buffer of an event is called where it is an argument: the kernel's own fields do not begin so.
ARGUMENT: Final = Field("common_buffer", StringClass())
#: Names of directories in tracefs are no longer.
_LONGEST_NAME: Final = 255


def may_have_buffers(kind: Kind) -> bool:
    """Whether events of a kind are recorded in buffers, or may be ones that were."""
    return kind in TRACEPOINT_KINDS or kind in (Kind.DISCARDED, Kind.INSTANT)


def place_of_argument(piece: Piece) -> int | None:
    """Which field says the buffer of the events of a class."""
    for place, field in enumerate(piece.event_class.fields):
        if field.name == ARGUMENT.name and isinstance(field.type, StringClass):
            return place
    return None


class Buffers:
    """The buffers of a trace that has no other tracks: those of `tracks`.

    Until a batch is complete, an event in one has a track below -1, which no rule takes for one of the source's.
    """

    def __init__(self, tracks: list[Track], most: int) -> None:
        self._tracks = tracks
        self._most = most
        self._numbers: dict[str, int] = {}

    def code(self, name: str) -> int:
        """What stands for the buffer of this name, -1 where there can be none."""
        if name not in self._numbers:
            size = len(name.encode("utf-8", "surrogateescape"))
            if not 0 < size <= _LONGEST_NAME or "\0" in name or len(self._tracks) >= self._most:
                return -1
            self._numbers[name] = -2 - len(self._tracks)
            self._tracks.append(Track(name))
        return self._numbers[name]

    def of_tracks(self, tracks: Sequence[Track], column: NDArray[np.int32]) -> NDArray[np.int32]:
        """What stands for the buffers that tracks are, -1 for tracks that are none."""

        def code(number: int) -> int:
            track = tracks[number] if number >= 0 else None
            return -1 if track is None or track != Track(track.name) else self.code(track.name)

        return map_distinct(column, code)

    def of_argument(self, piece: Piece, strings: StringTable) -> NDArray[np.int32] | None:
        """What stands for the buffers that an argument of the events says; None where they have none."""
        place = place_of_argument(piece)
        if place is None:
            return None

        def code(id: int) -> int:
            return -1 if id < 0 else self.code(strings[id].decode("utf-8", "surrogateescape"))

        return map_distinct(string_ids(piece.table.column(place), strings), code)

    @staticmethod
    def tracks(column: NDArray[np.int32]) -> NDArray[np.int32]:
        """The tracks of events, of what stands for them."""
        return np.where(column < -1, -2 - column, -1).astype(np.int32)
