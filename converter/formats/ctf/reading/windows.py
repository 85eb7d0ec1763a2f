"""The events that a window of a data stream holds, and the numbers of those that no record says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.formats.ctf.streams.stream_types import RecordType

#: Events of one window.
ROOM: Final = 1 << 16

#: Class numbers of events that no record says: lost events and lost packets.
LOST_EVENTS: Final = -2
LOST_PACKETS: Final = -1
FIRST_NUMBER: Final = -2


class Records(NamedTuple):
    """What the records of a window's events are decoded from: the bytes, and the registers that their packet sets."""

    window: NDArray[np.uint8]
    packet_registers: Sequence[int]


class Events:
    """Columns of the events of one window, in the order of their stream; the first `count` entries count.

    They are used again for the events of other windows.

    ts int64; class_id int32, the scanner's number of the class, or negative (`LOST_EVENTS`); place int32, the scanner's
    number of thread and track or -1; start and size uint32, the bits of the record within `window` that are decoded;
    begin uint32, its first. All are on one `cpu` (-1: not known).
    The events of lost records have their number in place of a place: start is its upper, size its lower half.
    """

    __slots__ = (
        "begin",
        "class_id",
        "count",
        "cpu",
        "packet_registers",
        "place",
        "places",
        "size",
        "start",
        "ts",
        "types",
        "window",
    )

    def __init__(self, room: int) -> None:
        self.ts = np.empty(room, np.int64)
        self.class_id = np.empty(room, np.int32)
        self.place = np.empty(room, np.int32)
        self.begin = np.empty(room, np.uint32)
        self.start = np.empty(room, np.uint32)
        self.size = np.empty(room, np.uint32)
        self.begin_window(np.zeros(0, np.uint8))
        #: The classes and places (process id, thread id, track, thread name) that the numbers mean.
        self.types: list[RecordType] = []
        self.places: list[tuple[int, int, int, bytes]] = []

    def begin_window(self, window: NDArray[np.uint8]) -> None:
        """Take the events of a window, of which there are none yet."""
        self.count = 0
        self.cpu = -1
        self.window = window
        #: The registers that the packet sets for its records.
        self.packet_registers: Sequence[int] = ()
