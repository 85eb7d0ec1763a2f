"""Kernel events: converts the bundles of a window to columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto import tracepoints
from converter.formats.perfetto.clocks import ClockKey, Clocks
from converter.formats.perfetto.layout import (
    CPU_STARTS,
    BuiltinClock,
    FtraceClock,
    PacketField,
)
from converter.formats.perfetto.protobuf.descriptors import decode
from converter.formats.perfetto.protobuf.scan import (
    DATA,
    DATA_SIZE,
    DATA_START,
    FLAGS,
    FURTHER,
    SEQUENCE,
)
from converter.formats.perfetto.reading.assembly import EventsOfClass, Part
from converter.formats.perfetto.reading.ftrace_classes import KernelClasses
from converter.formats.perfetto.reading.kernel_messages import KernelEvents
from converter.formats.perfetto.reading.kernel_symbols import KernelSymbols
from converter.formats.perfetto.reading.kernels import scan_ftrace as kernel
from converter.formats.perfetto.reading.kernels.scan_names import NamingEvents
from converter.formats.perfetto.reading.packets import Damage, Window
from converter.formats.perfetto.reading.tracks import TrackTables
from converter.ir.columns import Column
from converter.ir.field_classes import FieldClass, IntegerClass, Style
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import OutputArrays
from converter.kernels.batches.union import looked_up
from converter.kernels.protobuf.decode import repeated_spans
from converter.projection.metadata import COMPACT_SWITCHES, EARLY_EVENTS


def _is_symbol(field_class: FieldClass) -> bool:
    return isinstance(field_class, IntegerClass) and field_class.style is Style.SYMBOL


class FtraceBundles:
    """The ftrace bundles of a trace. One object for all passes over it."""

    def __init__(
        self,
        trace: Trace,
        tables: TrackTables,
        clocks: Clocks,
        symbols: KernelSymbols,
        damage: Damage,
        count_unruled: Callable[[str, int, int], None],
    ) -> None:
        self._trace = trace
        self._tables = tables
        self._clocks = clocks
        self._symbols = symbols
        self._damage = damage
        self.classes = KernelClasses(trace, damage, count_unruled)
        #: By CPU: the result of `_scan` for its first bundle, and the position of its packet among all.
        self._first: dict[int, tuple[NDArray[np.int64], np.intp]] = {}
        #: The time since which all CPUs were recorded, and the number of earlier events in this pass.
        self._start: int | None = None
        self._hidden = 0
        #: The number of compact switches from unknown tasks in this pass.
        self._partial = 0
        self._has_compact = False

    @cached_property
    def _naming(self) -> NamingEvents:
        """The events that name tasks; a trace without kernel events needs none."""
        naming = NamingEvents(self._trace.strings)
        for event, names in tracepoints.naming_events().items():
            naming.add(event, names)
        return naming

    def note(self, window: Window) -> None:
        """Collect the first bundles of CPUs, the generic event descriptors, and names of tasks.

        The first of several descriptors with one field number counts.
        """
        packets = np.flatnonzero(window.rows[:, DATA] == PacketField.FTRACE_EVENTS)
        if not len(packets):
            return
        chosen = window.rows[packets]
        rows = self._scan(window, chosen, self._naming)
        self._has_compact |= bool(rows[:, kernel.SWITCHES].any())
        cpus, first = np.unique(rows[:, kernel.CPU], return_index=True)
        for cpu, row in zip(cpus.tolist(), first.tolist(), strict=True):
            self._first.setdefault(cpu, (rows[row], packets[row] + window.first))
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
            group = item.get("group_name", b"").decode("utf-8", "surrogateescape")
            descriptor = item.get("event_descriptor", b"")
            if not self.classes.describe(item.get("field_id", 0), group, descriptor):
                self._damage.warn("a generic event descriptor is damaged", window.offset)

    def finish(self) -> None:
        """Keep the names of tasks, and the times since which CPUs were recorded, where bundles have them.

        Importers do not show events from before the last of these times.
        """
        if not self._first:
            return
        strings = self._trace.strings
        self._tables.name_tasks({tid: strings[name] for tid, name in self._naming.names.names()})
        if self._has_compact:
            # The counts of hidden events are reported with it.
            self._trace.sidecar.setdefault("perfetto", {})
        starts = []
        for cpu, (row, position) in sorted(self._first.items()):
            if row[kernel.PREVIOUS_END] > 0 and not row[kernel.DAMAGE]:
                end = row[kernel.PREVIOUS_END : kernel.PREVIOUS_END + 1]
                time = self._converted(row, end, position)
                starts.append([cpu, int(time[0])])
        if starts:
            self._trace.sidecar.setdefault("perfetto", {})[CPU_STARTS] = starts
            self._start = max(start for _, start in starts)

    def start(self) -> None:
        """Begin a pass over the events."""
        self._hidden = self._partial = 0

    def _note_hidden(self, ts: NDArray[np.int64]) -> None:
        """Count the events that importers hide, but viewers of other formats show."""
        before = 0 if self._start is None else int(np.count_nonzero(ts < self._start))
        if before:
            self._hidden += before
            shown = self._trace.sidecar_shown.setdefault("perfetto", Counter())
            shown[EARLY_EVENTS] = self._hidden

    def _note_partial(self, key: NDArray[np.int32], tid: NDArray[np.int32]) -> None:
        """Count the compact switches from unknown tasks, which importers also hide."""
        self._partial += int(np.count_nonzero((key == kernel.KEY_COMPACT_SWITCH) & (tid < 0)))
        if self._partial:
            shown = self._trace.sidecar_shown.setdefault("perfetto", Counter())
            shown[COMPACT_SWITCHES] = self._partial

    def _scan(
        self, window: Window, chosen: NDArray[np.int64], naming: NamingEvents | None = None
    ) -> NDArray[np.int64]:
        rows = np.empty((len(chosen), kernel.BUNDLE_COLUMNS), np.int64)
        starts, sizes = chosen[:, DATA_START].copy(), chosen[:, DATA_SIZE].copy()
        kernel.scan_bundles(window.data, starts, sizes, rows, naming)
        return rows

    def read(
        self,
        window: Window,
        packets: NDArray[np.intp],
        cpus: kernel.CpuStates,
        symbol_scopes: NDArray[np.int64] | None,
    ) -> Part | None:
        """Return the events of the bundles at rows `packets` of a window; None if there are none.

        `symbol_scopes` are the scopes of its packets' symbols, see `KernelSymbols`.
        """
        chosen = window.rows[packets]
        rows = self._scan(window, chosen)
        damaged = np.flatnonzero(rows[:, kernel.DAMAGE])
        for row in damaged[:1]:
            self._damage.warn(
                "ftrace bundles that cannot be read are left out",
                window.offset + int(chosen[row, DATA_START]),
                found=f"{len(damaged)} in this range",
            )
        undamaged = rows[rows[:, kernel.DAMAGE] == 0]
        switches, wakings = (
            int(undamaged[:, column].sum()) for column in (kernel.SWITCHES, kernel.WAKINGS)
        )
        count = int(undamaged[:, kernel.EVENTS].sum() + (undamaged[:, kernel.LOST] != 0).sum())
        count += switches + wakings
        ts = np.empty(count, np.int64)
        tid, key, cpu, bundle = (np.empty(count, np.int32) for _ in range(4))
        events = KernelEvents(
            window.data,
            key,
            np.empty(count, np.int32),
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
            OutputArrays(
                ts=ts,
                tid=tid,
                key=key,
                cpu=cpu,
                bundle=bundle,
                flags=events.flags,
                start=events.start,
                size=events.size,
            ),
            (events.switches, events.wakings),
        )
        damaged = np.flatnonzero(rows[:, kernel.DAMAGE] == kernel.IN_AN_EVENT)
        for row in damaged[:1]:
            self._damage.warn(
                "events that cannot be read to their ends",
                window.offset + int(chosen[row, DATA_START]),
                found=f"in {len(damaged)} ftrace bundles of this range",
            )
        further = (rows[:, kernel.FURTHER] | rows[:, kernel.DAMAGE]) != 0
        window.rows[packets[further], FLAGS] |= FURTHER
        if count == 0:
            return None
        if filled < count:
            # The compact arrays have different lengths, or are damaged inside.
            self._damage.warn("compact_sched of a bundle is damaged", window.offset)
            ts, tid, cpu, bundle = ts[:filled], tid[:filled], cpu[:filled], bundle[:filled]
            events.key, events.flags = key[:filled], events.flags[:filled]
            events.start, events.size = events.start[:filled], events.size[:filled]
        self._convert_times(rows, bundle, ts, packets + window.first)
        self._note_hidden(ts)
        if switches:
            self._note_partial(events.key, tid)
        packet = looked_up(packets.astype(np.int32), bundle)

        def columns(id: int, chosen: EventsOfClass) -> list[Callable[[], Column]]:
            found = self.classes.columns(id, events, chosen)
            if symbol_scopes is None:
                return found
            of_event = chosen.select(packet)
            sequence = window.rows[of_event, SEQUENCE]
            return self._renumbered(id, found, sequence, symbol_scopes[of_event])

        return Part(
            packet=packet,
            ts=ts,
            class_id=self.classes.assign(events),
            thread=self._tables.threads(tid),
            cpu=cpu,
            track=None,
            columns=columns,
        )

    def _renumbered(
        self,
        class_id: int,
        columns: list[Callable[[], Column]],
        sequence: NDArray[np.int64],
        scope: NDArray[np.int64],
    ) -> list[Callable[[], Column]]:
        """Return the columns of a class with iids replaced by the numbers of symbols."""

        def renumbered(column: Callable[[], Column]) -> Column:
            iids = column()
            assert isinstance(iids, np.ndarray)
            return self._symbols.number(iids.astype(np.uint64), sequence, scope).astype(iids.dtype)

        fields = self._trace.event_classes[class_id].fields
        return [
            partial(renumbered, column) if _is_symbol(field.type) else column
            for field, column in zip(fields, columns, strict=True)
        ]

    def _convert_times(
        self,
        rows: NDArray[np.int64],
        bundle: NDArray[np.int32],
        ts: NDArray[np.int64],
        positions: NDArray[np.intp],
    ) -> None:
        """Convert times to the trace's clock, where a bundle, whose packet is at a position, has another one."""
        is_usual = self._clocks.trace_clock == BuiltinClock.BOOTTIME
        if is_usual and not rows[:, kernel.CLOCK].any():
            return
        starts = np.searchsorted(bundle, np.arange(len(rows) + 1))
        for i, (start, end) in enumerate(pairwise(starts.tolist())):
            ts[start:end] = self._converted(rows[i], ts[start:end], positions[i])

    def _converted(
        self, row: NDArray[np.int64], times: NDArray[np.int64], position: np.intp
    ) -> NDArray[np.int64]:
        """Return times of a bundle on the trace's clock."""
        clock = int(row[kernel.CLOCK])
        key: ClockKey = (0, int(BuiltinClock.BOOTTIME))
        if clock in (FtraceClock.GLOBAL, FtraceClock.LOCAL):
            boot, own = row[kernel.BOOT_TIMESTAMP], row[kernel.FTRACE_TIMESTAMP]
            if not own:
                self._damage.warn(
                    "a bundle on ftrace's own clock does not relate it to any", is_damage=False
                )
                return times
            times = times + (boot - own)
        elif clock == FtraceClock.MONO_RAW:
            key = (0, int(BuiltinClock.MONOTONIC_RAW))
        elif clock == FtraceClock.UNKNOWN:
            self._damage.warn(
                "a bundle is on a clock that nothing relates to the trace's", is_damage=False
            )
            return times
        converted = self._clocks.convert(key, times, np.full(len(times), position, np.int64))
        if converted is None:
            self._damage.warn(f"no snapshot relates clock {key[1]} to the trace's", is_damage=False)
            return times
        return converted
