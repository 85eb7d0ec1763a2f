"""Kernel events: bundles of a window to columns, classes from the package's declarations or the trace's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto import mapping, tracepoints
from converter.formats.perfetto.clocks import ClockKey, Clocks
from converter.formats.perfetto.columns import MessageColumns, string_column
from converter.formats.perfetto.descriptors import (
    ProgramField,
    decode,
    described_event,
    typed_event,
)
from converter.formats.perfetto.layout import BuiltinClock, FtraceClock, FtraceField, PacketField
from converter.formats.perfetto.packets import Damage, Window
from converter.formats.perfetto.parts import Part
from converter.formats.perfetto.tracks import Places
from converter.ir.columns import Column
from converter.ir.events import EventClass
from converter.ir.field_classes import BytesClass, IntegerClass, StringClass
from converter.ir.trace import Trace
from converter.kernels import proto_ftrace as kernel
from converter.kernels.proto_fields import (
    VARINT,
    generic_signatures,
    generic_values,
    repeated_spans,
)
from converter.kernels.proto_scan import DATA, DATA_SIZE, DATA_START
from converter.kernels.strings import StringTable

#: Types of the fields of GenericFtraceEvent, as `proto_fields.generic_signatures` names them.
_GENERIC_TYPES: Final[dict[int, IntegerClass | StringClass]] = {
    ord("s"): StringClass(),
    ord("i"): IntegerClass(64, signed=True),
    ord("u"): IntegerClass(64),
    ord("-"): IntegerClass(64),
}


@dataclass(slots=True)
class _Events:
    """The events of a window's bundles: what `proto_ftrace.fill_bundles` fills in."""

    data: NDArray[np.uint8]
    key: NDArray[np.int32]
    flags: NDArray[np.uint32]
    start: NDArray[np.int64]
    size: NDArray[np.int64]
    switches: NDArray[np.int64]
    wakings: NDArray[np.int64]


#: Makes the columns of a class from the events of a window and the places of the class's among them.
_Columns = Callable[[_Events, NDArray[np.intp]], list[Callable[[], Column]]]


class FtraceBundles:
    """What of a trace is ftrace bundles: its described events and its classes. One for all passes over it."""

    def __init__(self, trace: Trace, places: Places, clocks: Clocks, damage: Damage) -> None:
        self._trace = trace
        self._places = places
        self._clocks = clocks
        self._damage = damage
        self._described: dict[int, tuple[str, str, tuple[ProgramField, ...]]] = {}
        self._class_of_key = np.full(kernel.KEYS, -1, np.int32)
        self._columns: dict[int, _Columns] = {}
        self._shapes = StringTable()
        self._class_of_shape: dict[int, int] = {}

    def note_descriptors(self, window: Window) -> None:
        """Note the generic event descriptors in a window's bundles; the first of a field number counts."""
        chosen = window.rows[window.rows[:, DATA] == PacketField.FTRACE_EVENTS]
        if not len(chosen):
            return
        rows = self._scan(window, chosen)
        starts, sizes = chosen[:, DATA_START].copy(), chosen[:, DATA_SIZE].copy()
        with_descriptors = (rows[:, kernel.DESCRIPTORS] > 0) & (rows[:, kernel.DAMAGE] == 0)
        if not with_descriptors.any():
            return
        starts, sizes = starts[with_descriptors], sizes[with_descriptors]
        offsets = np.zeros(len(starts) + 1, np.int64)
        for start, size in repeated_spans(window.data, starts, sizes, 11, offsets).tolist():
            try:
                item = decode("FtraceEventBundle.GenericEventDescriptor", window.data, start, size)
            except ValueError:
                self._damage.warn("a generic event descriptor is damaged", window.offset)
                continue
            number = item.get("field_id", 0)
            if number in self._described:
                continue
            event = described_event(item.get("event_descriptor", b""))
            if event is None:
                self._damage.warn("a generic event descriptor is damaged", window.offset)
                continue
            group = item.get("group_name", b"").decode("utf-8", "surrogateescape")
            self._described[number] = (group, *event)

    def _scan(self, window: Window, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        rows = np.empty((len(chosen), kernel.BUNDLE_COLUMNS), np.int64)
        kernel.scan_bundles(
            window.data, chosen[:, DATA_START].copy(), chosen[:, DATA_SIZE].copy(), rows
        )
        return rows

    def read(
        self, window: Window, packets: NDArray[np.intp], cpus: kernel.CpuStates
    ) -> Part | None:
        """The events of the bundles at rows `packets` of a window; None when there are none."""
        chosen = window.rows[packets]
        rows = self._scan(window, chosen)
        damaged = np.flatnonzero(rows[:, kernel.DAMAGE])
        for place in damaged[:1]:
            self._damage.warn(
                "ftrace bundles that cannot be read are left out",
                window.offset + int(chosen[place, DATA_START]),
                found=f"{len(damaged)} in this stretch",
            )
        whole = rows[rows[:, kernel.DAMAGE] == 0]
        switches, wakings = (
            int(whole[:, column].sum()) for column in (kernel.SWITCHES, kernel.WAKINGS)
        )
        count = int(whole[:, kernel.EVENTS].sum() + (whole[:, kernel.LOST] != 0).sum())
        count += switches + wakings
        if count == 0:
            return None
        ts = np.empty(count, np.int64)
        tid, key, cpu, bundle = (np.empty(count, np.int32) for _ in range(4))
        events = _Events(
            window.data,
            key,
            np.empty(count, np.uint32),
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.empty((switches, 7), np.int64),
            np.empty((wakings, 4), np.int64),
        )
        filled = kernel.fill_bundles(
            window.data,
            chosen[:, DATA_START].copy(),
            chosen[:, DATA_SIZE].copy(),
            rows,
            cpus,
            self._trace.strings,
            ts,
            tid,
            key,
            cpu,
            bundle,
            events.flags,
            events.start,
            events.size,
            events.switches,
            events.wakings,
        )
        if filled < count:
            # Compact arrays of unequal lengths, damaged inside.
            self._damage.warn("compact_sched of a bundle is damaged", window.offset)
            ts, tid, cpu, bundle = ts[:filled], tid[:filled], cpu[:filled], bundle[:filled]
            events.key = key = key[:filled]
        self._convert_times(rows, bundle, ts)
        class_id = self._classes(events, key)
        return Part(
            packet=packets.astype(np.int32)[bundle],
            ts=ts,
            class_id=class_id,
            thread=self._places.threads(tid),
            cpu=cpu,
            track=None,
            columns=lambda id, places: self._columns[id](events, places),
        )

    def _convert_times(
        self, rows: NDArray[np.int64], bundle: NDArray[np.int32], ts: NDArray[np.int64]
    ) -> None:
        """Bring times to the trace's clock, where a bundle's is another."""
        boottime = (0, int(BuiltinClock.BOOTTIME))
        if self._clocks.trace_clock == BuiltinClock.BOOTTIME and not rows[:, kernel.CLOCK].any():
            return
        starts = np.searchsorted(bundle, np.arange(len(rows) + 1))
        for i, (start, end) in enumerate(pairwise(starts.tolist())):
            clock = int(rows[i, kernel.CLOCK])
            times = ts[start:end]
            key: ClockKey = boottime
            if clock in (FtraceClock.GLOBAL, FtraceClock.LOCAL):
                boot, own = rows[i, kernel.BOOT_TIMESTAMP], rows[i, kernel.FTRACE_TIMESTAMP]
                if not own:
                    self._damage.warn("a bundle on ftrace's own clock does not relate it to any")
                    continue
                times = times + (boot - own)
            elif clock == FtraceClock.MONO_RAW:
                key = (0, int(BuiltinClock.MONOTONIC_RAW))
            elif clock == FtraceClock.UNKNOWN:
                self._damage.warn("a bundle is on a clock that nothing relates to the trace's")
                continue
            converted = self._clocks.convert(key, times)
            if converted is None:
                self._damage.warn(f"no snapshot relates clock {key[1]} to the trace's")
                converted = times
            ts[start:end] = converted

    # Classes

    def _classes(self, events: _Events, key: NDArray[np.int32]) -> NDArray[np.int32]:
        class_id = self._class_of_key[key]
        unknown = class_id < 0
        if unknown.any():
            present = np.flatnonzero(np.bincount(key[unknown])).tolist()
            for item in present:
                if item != FtraceField.GENERIC:
                    self._class_of_key[item] = self._define(item)
            class_id = self._class_of_key[key]
            if FtraceField.GENERIC in present:
                self._assign_generic(events, np.flatnonzero(key == FtraceField.GENERIC), class_id)
        return class_id

    def _define(self, key: int) -> int:
        """The class of a key of `fill_bundles`."""
        if key == kernel.KEY_LOST:
            return self._add(mapping.LOST_EVENTS, lambda _events, _places: [])
        if key == kernel.KEY_COMPACT_SWITCH:
            return self._define_compact("sched_switch", tracepoints.COMPACT_SWITCH)
        if key == kernel.KEY_COMPACT_WAKING:
            return self._define_compact("sched_waking", tracepoints.COMPACT_WAKING)
        declared: tuple[str, str, tuple[ProgramField, ...]] | None = None
        if key >= FtraceField.FIRST_DESCRIBED:
            declared = self._described.get(key)
        else:
            event, tracepoint = typed_event(key), tracepoints.tracepoint_of(key)
            if event is not None and tracepoint is not None:
                declared = (*tracepoint, event.fields)
        if declared is None:
            return self._define_unknown(key)
        system, name, program = declared
        strings = self._trace.strings

        def columns(events: _Events, places: NDArray[np.intp]) -> list[Callable[[], Column]]:
            starts, sizes = events.start[places], events.size[places]
            messages = MessageColumns(events.data, starts, sizes, program, strings)
            return [lambda: events.flags[places], *messages.thunks()]

        return self._add(tracepoints.tracepoint_class(system, name, program), columns)

    def _define_compact(self, name: str, table_columns: dict[str, int]) -> int:
        """The typed event's class; what compact_sched does not say has protobuf's default."""
        number = tracepoints.number_of_tracepoint()["sched", name]
        event = typed_event(number)
        assert event is not None
        fields = event.fields
        event_class = tracepoints.tracepoint_class("sched", name, fields, tracepoints.COMPACT_SCHED)
        switch = name == "sched_switch"

        def columns(events: _Events, places: NDArray[np.intp]) -> list[Callable[[], Column]]:
            table = events.switches if switch else events.wakings
            rows = events.start[places]

            def column(item: ProgramField) -> Callable[[], Column]:
                kind = item.field_class
                dtype = kind.dtype if isinstance(kind, IntegerClass) else np.dtype(np.int32)
                index = table_columns.get(item.name)
                if index is None:
                    return lambda: np.broadcast_to(dtype.type(0), (len(rows),))
                return lambda: table[rows, index].astype(dtype)

            return [lambda: events.flags[places], *map(column, fields)]

        return self._add(event_class, columns)

    def _define_unknown(self, key: int) -> int:
        """An event that nothing declares: its message as bytes (all of the FtraceEvent for KEY_UNKNOWN)."""
        name = "" if key == kernel.KEY_UNKNOWN else str(key)
        program = (ProgramField(0, "message", BytesClass(), 0),)

        def columns(events: _Events, places: NDArray[np.intp]) -> list[Callable[[], Column]]:
            starts, sizes = events.start[places], events.size[places]
            messages = MessageColumns(events.data, starts, sizes, program, self._trace.strings)
            return [lambda: events.flags[places], messages.whole]

        return self._add(
            tracepoints.tracepoint_class(tracepoints.UNKNOWN_SYSTEM, name, program), columns
        )

    def _assign_generic(
        self, events: _Events, places: NDArray[np.intp], class_id: NDArray[np.int32]
    ) -> None:
        """Classes of events in the self-contained encoding, one a shape."""
        shapes = np.zeros(len(places), np.int32)
        generic_signatures(
            events.data, events.start[places], events.size[places], self._shapes, shapes
        )
        ids = np.zeros(len(self._shapes), np.int32)
        for shape in np.unique(shapes).tolist():
            if shape not in self._class_of_shape:
                self._class_of_shape[shape] = self._define_generic(self._shapes[shape])
            ids[shape] = self._class_of_shape[shape]
        class_id[places] = ids[shapes]

    def _define_generic(self, shape: bytes) -> int:
        if not shape:
            return self._define_unknown(FtraceField.GENERIC)
        name, *parts = shape.split(b"\0")[:-1]
        types = [_GENERIC_TYPES[part[0]] for part in parts]
        program = tuple(
            ProgramField(0, part[1:].decode("utf-8", "surrogateescape"), kind, VARINT)
            for part, kind in zip(parts, types, strict=True)
        )
        event_class = tracepoints.tracepoint_class(
            "", name.decode("utf-8", "surrogateescape"), program, tracepoints.GENERIC_EVENT
        )

        def columns(events: _Events, places: NDArray[np.intp]) -> list[Callable[[], Column]]:
            starts, sizes = events.start[places], events.size[places]
            result = [
                _generic_column(events.data, starts, sizes, i, kind, self._trace.strings)
                for i, kind in enumerate(types)
            ]
            return [lambda: events.flags[places], *result]

        return self._add(event_class, columns)

    def _add(self, event_class: EventClass, columns: _Columns) -> int:
        id = self._trace.add_class(event_class)
        self._columns[id] = columns
        return id


def _generic_column(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    index: int,
    kind: IntegerClass | StringClass,
    strings: StringTable,
) -> Callable[[], Column]:
    def column() -> Column:
        values = np.empty((len(starts), 2), np.int64)
        generic_values(data, starts, sizes, index, values)
        if isinstance(kind, StringClass):
            return string_column(data, values, strings)
        return values[:, 0].astype(kind.dtype)

    return column
