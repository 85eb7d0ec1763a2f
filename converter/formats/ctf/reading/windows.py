"""The events of a window of a data stream, and the class numbers of events without a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.formats.ctf.streams.packet_fields import PacketFields
from converter.formats.ctf.streams.stream_types import RecordType
from converter.kernels.batches.event_arrays import OutputArrays

#: Events of one window.
ROOM: Final = 1 << 16

#: Class numbers of events without a record: lost events and lost packets.
LOST_EVENTS: Final = -2
LOST_PACKETS: Final = -1
FIRST_NUMBER: Final = -2


class PacketHead(NamedTuple):
    """The header and context of a packet, and the bit of a window from which on records are the packet's."""

    start: int
    data: NDArray[np.uint8]


class Records(NamedTuple):
    """The input for decoding a window's events: the bytes, the registers that their packet sets, and the packets' heads
    if events have fields of them.
    """

    window: NDArray[np.uint8]
    packet_registers: Sequence[int]
    packets: Sequence[PacketHead]


class Events:
    """Columns of the events of one window, in the order of their stream; only the first `count` entries are valid.

    They are reused for the events of other windows.

    ts int64; class_id int32, the scanner's number of the class, or negative (`LOST_EVENTS`); place int32, the scanner's
    number of thread and track or -1; start and size uint32, the bits of the record within `window` that are decoded;
    begin uint32, the record's first bit. All are on one `cpu` (-1: unknown).
    For lost events and packets, start and size hold the upper and the lower half of their count.
    """

    __slots__ = (
        "begin",
        "class_id",
        "columns",
        "count",
        "cpu",
        "packet_fields",
        "packet_registers",
        "packets",
        "place",
        "places",
        "size",
        "start",
        "ts",
        "types",
        "window",
    )

    def __init__(self, capacity: int) -> None:
        self.ts = np.empty(capacity, np.int64)
        self.class_id = np.empty(capacity, np.int32)
        self.place = np.empty(capacity, np.int32)
        self.begin = np.empty(capacity, np.uint32)
        self.start = np.empty(capacity, np.uint32)
        self.size = np.empty(capacity, np.uint32)
        own = {"place": self.place, "begin": self.begin, "start": self.start, "size": self.size}
        #: The same columns, for the scanner.
        self.columns = OutputArrays(ts=self.ts, class_id=self.class_id, **own)
        self.begin_window(np.zeros(0, np.uint8))
        #: The classes and placements (process ID, thread ID, track, thread name) that the numbers refer to.
        self.types: list[RecordType] = []
        self.places: list[tuple[int, int, int, bytes]] = []

    def begin_window(self, window: NDArray[np.uint8]) -> None:
        """Start with the events of another window."""
        self.count = 0
        self.cpu = -1
        self.packet_fields: PacketFields | None = None
        self.window = window
        #: The registers that the packet sets for its records.
        self.packet_registers: Sequence[int] = ()
        #: The packets with records in the window, if events have fields of them.
        self.packets: list[PacketHead] = []
