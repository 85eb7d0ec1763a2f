"""The reader: a first pass over a trace's packets for the data that events refer to, then batches of events.

Metadata can follow the events that need it (process trees, clock snapshots, descriptors of tracks and of generic
events), so a first pass collects it. That pass walks packets without decoding events.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.clocks import Clocks, clock_key
from converter.formats.perfetto.layout import PacketField
from converter.formats.perfetto.mapping import SEMANTICS
from converter.formats.perfetto.protobuf.scan import (
    DAMAGED,
    DATA,
    FLAGS,
    SEQUENCE,
    TIMED,
)
from converter.formats.perfetto.reading.assembly import Part, assemble
from converter.formats.perfetto.reading.callstacks import CallStacks
from converter.formats.perfetto.reading.ftrace import FtraceBundles
from converter.formats.perfetto.reading.kernel_symbols import KernelSymbols
from converter.formats.perfetto.reading.kernels.scan_ftrace import CpuStates
from converter.formats.perfetto.reading.kernels.scan_timeline import Timeline
from converter.formats.perfetto.reading.metadata import Metadata
from converter.formats.perfetto.reading.packets import WINDOW_BYTES, Damage, Window, windows
from converter.formats.perfetto.reading.records import Records
from converter.formats.perfetto.reading.rules import FieldsWithoutRule
from converter.formats.perfetto.reading.timeline import TrackEventClasses
from converter.formats.perfetto.reading.tracks import TrackTables
from converter.formats.perfetto.typed_arguments import with_typed_arguments
from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.kernels.tables.strings import StringTable
from converter.limits import allowed
from converter.storage.source import Source


def read(source: Source) -> Trace:
    """Open a Perfetto trace: its metadata is read immediately, its events with the batches.

    Raises:
        TraceError: there is not one whole packet.

    """
    return _Reader(source).trace


class _Reader:
    """A trace being read: the state that all passes over it share."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._done = 0
        self.trace = Trace(format="perfetto", semantics=SEMANTICS)
        self._damage = Damage(source.name, self.trace.warnings)
        self._clocks = Clocks()
        self._tables = TrackTables(self.trace)
        self._metadata = Metadata(self.trace, self._clocks, self._tables, self._damage)
        self._symbols = KernelSymbols()
        self._unruled = FieldsWithoutRule(self.trace.records_shown)
        self._ftrace = FtraceBundles(
            self.trace,
            self._tables,
            self._clocks,
            self._symbols,
            self._damage,
            self._unruled.count,
        )
        self._timeline_classes = TrackEventClasses(self.trace, self._tables)
        self._records = Records(self.trace, self._tables, self._clocks)
        for window in windows(source, self._damage):
            self._metadata.note(window)
            self._symbols.note(window)
            self._ftrace.note(window)
        self._metadata.finish()
        self._ftrace.finish()
        self.trace.symbols = self._symbols.finish()
        if self._symbols.left_out:
            expected = allowed("perfetto.symbols")
            found = f"{self._symbols.left_out:,} more"
            self._damage.warn(
                "symbols are left out", is_damage=False, expected=expected, found=found
            )
        self._ftrace.classes.declare(self._metadata.declarations)
        self.trace.names_from_events = True
        self.trace.explain = with_typed_arguments
        self.trace.make_batches = self._batches
        self.trace.progress = lambda: (self._done, source.size)
        # Columns are decoded from windows and from data that no longer changes.
        self.trace.decodes_in_parallel = True

    def _batches(self) -> Iterator[Batch]:
        messages = StringTable()
        timeline = Timeline(self.trace.strings, messages, self._timeline_classes.signatures)
        self._metadata.start(timeline)
        self._symbols.start()
        self._ftrace.start()
        self._unruled.start()
        callstacks = CallStacks(timeline, self.trace.strings, messages, self.trace.warnings)
        cpus = CpuStates()
        last_ts = 0
        usual = self.trace.bytes_of_a_window(WINDOW_BYTES)
        for window in windows(self._source, self._damage, usual):
            parts, stays = self._parts(window, timeline, callstacks, cpus)
            self._done = window.offset + window.end
            timeline.prune()
            note = partial(self._unruled.note, window, stays)
            batch = assemble(parts, self._width, last_ts, window, note)
            if len(batch):
                last_ts = int(batch.ts[-1])
            yield batch

    def _width(self, class_id: int) -> int:
        return len(self.trace.event_classes[class_id].fields)

    def _parts(
        self, window: Window, timeline: Timeline, callstacks: CallStacks, cpus: CpuStates
    ) -> tuple[list[Part], NDArray[np.bool_]]:
        """Return the events of a window, and a mask of its packets that stay unchanged."""
        data = window.rows[:, DATA]
        damaged = int((data == DAMAGED).sum())
        if damaged:
            self._damage.warn(
                "packets that cannot be read are left out", window.offset, found=str(damaged)
            )
        count = len(window.rows)
        ts, clock, scope = (np.empty(count, np.int64) for _ in range(3))
        unread = np.empty(count, np.uint8)
        begin = 0
        damaged = timeline.damaged
        for end in self._metadata.state_changes(window):
            timeline.run(window.data, window.rows, begin, end + 1, ts, clock, scope, unread)
            self._metadata.apply(window, end, timeline)
            begin = end + 1
        timeline.run(window.data, window.rows, begin, count, ts, clock, scope, unread)
        if timeline.damaged > damaged:
            self._damage.warn(
                "interned data or defaults that cannot be read to their ends",
                window.offset,
                found=str(timeline.damaged - damaged),
            )
        self._convert_times(window, ts, clock)
        events = timeline.take()
        found: list[Part | None] = []
        bundles = np.flatnonzero(data == PacketField.FTRACE_EVENTS)
        symbol_scopes = self._symbols.scopes(window)
        if len(bundles):
            found.append(self._ftrace.read(window, bundles, cpus, symbol_scopes))
        found.append(self._timeline_classes.read(window, events, ts, scope, timeline, callstacks))
        native = self._metadata.not_read(window) | (unread != 0)
        logs = np.flatnonzero(data == PacketField.ANDROID_LOG)
        if len(logs):
            part, others = self._records.logs(window, logs)
            found.append(part)
            native[others] = True
        samples = np.flatnonzero(data == PacketField.PERF_SAMPLE)
        if len(samples):
            part, others = self._records.samples(window, samples, ts, scope, callstacks)
            found.append(part)
            native[others] = True
        switches = np.flatnonzero(data == PacketField.GENERIC_KERNEL_TASK_STATE_EVENT)
        if len(switches):
            part, others = self._records.switches(window, switches, ts)
            found.append(part)
            native[others] = True
        lost = int((unread != 0).sum())
        if lost:
            self._damage.warn(
                "track events that are damaged or lack their sequence's state are kept as packets",
                window.offset,
                found=str(lost),
            )
        found.append(self._records.native(window, np.flatnonzero(native), ts))
        return [part for part in found if part is not None and len(part.ts)], native

    def _convert_times(
        self, window: Window, ts: NDArray[np.int64], clock: NDArray[np.int64]
    ) -> None:
        """Convert the times of packets to the trace's clock."""
        timed = (window.rows[:, FLAGS] & TIMED) != 0
        # A track event may have its own time (timestamp_delta_us), in a packet that has none.
        other = (clock >= 0) & (clock != self._clocks.trace_clock)
        timed |= other
        chosen = np.flatnonzero(timed & other)
        if not len(chosen):
            return
        keys = np.stack((window.rows[chosen, SEQUENCE], clock[chosen]), 1)
        unique, index = np.unique(keys, axis=0, return_inverse=True)
        index = index.reshape(-1)
        for number, (sequence, id) in enumerate(unique.tolist()):
            positions = chosen[index == number]
            converted = self._clocks.convert(
                clock_key(sequence, id), ts[positions], positions + window.first
            )
            if converted is None:
                self._damage.warn(f"no snapshot relates clock {id} to the trace's", is_damage=False)
            else:
                ts[positions] = converted
