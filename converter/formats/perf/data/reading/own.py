"""Recordings that this converter wrote: their tables say what their samples mean (see `side_table`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ftrace.event_format.event_classes import DISCARDED
from converter.formats.ftrace.event_format.gathers import Gather, IntegerAt
from converter.formats.perf.data.layout import RECORD_HEADER_SIZE, RecordType
from converter.formats.perf.data.reading.opening import PerfFile, SampledEvent
from converter.formats.perf.data.reading.records import Rows
from converter.formats.perf.data.reading.scan import HAS_NO_TIME, SAMPLE
from converter.formats.perf.data.side_table import OWN_FEATURE, OwnTables, parse_own_feature
from converter.ir.events import EventClass
from converter.ir.kinds import Kind
from converter.kernels.tables.strings import StringTable
from converter.projection.timeline_fields import FRAMES, weight

_LOST: Final = 4 * RecordType.LOST
#: The events of a LOST record follow the id of its event.
_COUNT_AT: Final = RECORD_HEADER_SIZE + 8
#: The size of a LOST record with a CPU, and where that is from its end.
_LOST_WITH_CPU: Final = RECORD_HEADER_SIZE + 16 + 32
_CPU_FROM_END: Final = -16
_LAST_CPU: Final = 0xFFF


def own_tables(file: PerfFile) -> OwnTables | None:
    """Return the tables of a recording of this converter's; None for others, and with a warning for damaged ones."""
    data = file.features.get(OWN_FEATURE)
    if data is None or file.big_endian:
        return None
    try:
        return parse_own_feature(data)
    except TraceError as error:
        file.warn(error.within(field=f"feature {OWN_FEATURE}"))
        return None


def is_event(code: int) -> bool:
    """Return True if records of a code are events: others say for viewers what the tables do."""
    return code >= SAMPLE or code & ~HAS_NO_TIME == _LOST


def events_of(stream: Iterator[Rows]) -> Iterator[Rows]:
    """Yield windows without the records that are no events. Time 0 is one here."""
    for rows in stream:
        kept = (rows.code >= SAMPLE) | (rows.code & ~HAS_NO_TIME == _LOST)
        for row in np.flatnonzero(rows.code == _LOST | HAS_NO_TIME).tolist():
            # The scanner takes no CPU of a record without a time.
            end = int(rows.start[row]) + int(rows.size[row])
            if rows.size[row] == _LOST_WITH_CPU:
                cpu = rows.segment[end + _CPU_FROM_END : end + _CPU_FROM_END + 4]
                rows.cpu[row] = int.from_bytes(cpu.tobytes(), "little") & _LAST_CPU
        yield Rows(
            rows.segment,
            np.maximum(rows.ts[kept], 0),
            rows.code[kept] & ~HAS_NO_TIME,
            rows.thread[kept],
            rows.cpu[kept],
            rows.start[kept],
            rows.size[kept],
            rows.complete,
        )


def lost_class() -> tuple[EventClass, list[Gather]]:
    """Return the class of lost events, and how its column is gathered."""
    return DISCARDED, [IntegerAt(_COUNT_AT, 8, np.dtype(np.int64))]


def sample_class(tables: OwnTables, event: SampledEvent) -> EventClass | None:
    """Return the class of the samples of an event; None if there is none in the tables."""
    found = next((tables.events[id] for id in event.ids if id in tables.events), None)
    if found is None:
        return None
    return EventClass(Kind.SAMPLE, found.name, found.category, (FRAMES, weight(found.unit)))


class OwnFrames:
    """Describes frames by their addresses."""

    def __init__(self, tables: OwnTables, strings: StringTable) -> None:
        ids = [strings.intern(text) for text in tables.texts] or [0]
        texts = np.array(ids, np.int32)
        frames = tables.frames
        self._addresses = np.ascontiguousarray(frames["address"], np.uint64)
        self._members: tuple[NDArray[Any], ...] = (
            texts[frames["function"]],
            texts[frames["mapping"]],
            frames["rel_pc"].astype(np.uint64),
            texts[frames["source"]],
            frames["line"].astype(np.uint32),
        )

    def __call__(
        self, mapping: NDArray[np.int32], address: NDArray[np.uint64]
    ) -> tuple[NDArray[Any], ...]:
        """Return the members of frames (`timeline_fields.FRAME`) at some addresses."""
        none = np.zeros(len(mapping), np.int32)
        others: list[NDArray[Any]] = [none, none, address, none, none.astype(np.uint32)]
        if not len(self._addresses):
            return tuple(others)
        at = np.searchsorted(self._addresses, address)
        at[at == len(self._addresses)] = 0
        named = self._addresses[at] == address
        return tuple(
            np.where(named, values[at], other)
            for values, other in zip(self._members, others, strict=True)
        )
