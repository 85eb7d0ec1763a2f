"""The tables of a batch: each class's records are located and decoded when the first column is requested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from converter.formats.ctf.reading.windows import LOST_PACKETS, Records
from converter.formats.ctf.streams.packet_fields import PacketField
from converter.formats.ctf.streams.program import Decoder
from converter.formats.ctf.streams.scan_columns import decode
from converter.ir.columns import Column, take
from converter.ir.events import Table
from converter.kernels.tables.strings import StringTable
from converter.storage.pool.workers import CancelledError, Future, TaskGroup

#: Returns location (int64) and size (uint32) of each record of a class.
Locate = Callable[[], tuple[NDArray[np.int64], NDArray[np.uint32]]]


class RecordWindows:
    """The windows that contain a batch's records."""

    def __init__(self, windows: Sequence[Records], strings: StringTable) -> None:
        self.windows = [records.window for records in windows]
        self.strings = strings
        self._registers = [records.packet_registers for records in windows]
        self._heads: list[NDArray[np.uint8]] = []
        # Location of the first record of each packet: the number of the window, and the bit.
        starts = []
        for number, records in enumerate(windows):
            for head in records.packets:
                starts.append(number << 32 | head.start)
                self._heads.append(head.data)
        self._starts = np.array(starts, np.int64)

    def packet_registers(self, count: int) -> NDArray[np.uint64]:
        """Return the first `count` registers that the packet of each window sets."""
        packets = np.zeros((len(self.windows), count), np.uint64)
        if count:
            for number, values in enumerate(self._registers):
                if len(values) == count:
                    packets[number] = values
        return packets

    def packets(
        self, location: NDArray[np.int64]
    ) -> tuple[list[NDArray[np.uint8]], NDArray[np.intp]]:
        """Return the heads of the packets that have these records, and the number of each record's packet in them."""
        packet = np.searchsorted(self._starts, location, "right") - 1
        used = np.bincount(packet, minlength=len(self._starts)) > 0
        return list(compress(self._heads, used)), (np.cumsum(used) - 1)[packet]


class RecordColumns:
    """The columns of one class in a batch; the first request decodes all of them."""

    def __init__(
        self, records: RecordWindows, decoder: Decoder, registers: int, rows: int, locate: Locate
    ) -> None:
        self._records = records
        self._decoder = decoder
        self._registers = registers
        self._rows = rows
        self._locate = locate
        self._prefetched: Future[list[NDArray[np.uint8]]] | None = None
        self._slots: list[NDArray[np.uint8]] | None = None

    def table(self, note_use: Callable[[], None]) -> Table:
        """Return the table, which calls `note_use` when a column is requested."""

        def column(index: int) -> Callable[[], Column]:
            def build() -> Column:
                plan = self._decoder.plans[index]
                if isinstance(plan, PacketField):
                    return self._of_packets(plan)
                note_use()
                if self._slots is None:
                    self._slots = self._prefetched_slots() or self._decode()
                return plan.build(self._slots, self._records.strings)

            return build

        return Table(self._rows, [column(index) for index in range(len(self._decoder.plans))])

    def decode_ahead(self, pool: TaskGroup) -> None:
        """Decode the columns on an idle worker."""
        # This thread groups the locations, for all classes at once.
        self._locate()
        self._prefetched = pool.submit(self._decode)

    def _of_packets(self, field: PacketField) -> Column:
        location, _ = self._locate()
        heads, packet = self._records.packets(location)
        return take(field.fields.column(field.number, heads, self._records.strings), packet)

    def _prefetched_slots(self) -> list[NDArray[np.uint8]] | None:
        ahead, self._prefetched = self._prefetched, None
        # A task that is still queued after windows to be scanned is run here instead.
        if ahead is None or ahead.cancel():
            return None
        try:
            return ahead.result()
        except CancelledError:
            # The iteration ended before its last batch was used.
            return None

    def _decode(self) -> list[NDArray[np.uint8]]:
        location, size = self._locate()
        return decode(
            self._decoder.program,
            self._records.windows,
            self._records.packet_registers(self._registers),
            location,
            size,
            self._decoder.item_sizes,
            self._decoder.expected * self._rows,
            self._records.strings,
        )


def lost_table(number: int, rows: int, locate: Locate) -> Table:
    """Return the table of lost events or packets, whose count is stored in place of a record."""

    def count() -> NDArray[np.int64]:
        location, size = locate()
        upper = (location & 0xFFFFFFFF).astype(np.int64)
        return upper << 32 | size.astype(np.int64)

    if number == LOST_PACKETS:
        return Table(
            rows,
            [lambda: np.full(rows, -1, np.int64), lambda: count().view(np.uint64)],
        )
    return Table(rows, [count])
