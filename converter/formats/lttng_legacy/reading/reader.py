"""Reads the directory of a legacy LTTng trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import Any

import numpy as np

from converter.errors import TraceError, TraceWarning, note
from converter.formats.lttng_legacy.layout import MACHINES, Version
from converter.formats.lttng_legacy.mapping import NumberNames
from converter.formats.lttng_legacy.marker_declarations import (
    Declaration,
    declaration_of,
    markers,
)
from converter.formats.lttng_legacy.reading.batches import Decoder, damage_of
from converter.formats.lttng_legacy.reading.classes import Classes, ClassSource, rows_of
from converter.formats.lttng_legacy.reading.markers import ThreadIndex
from converter.formats.lttng_legacy.reading.state_dump import first_threads, read_state_dump
from converter.formats.lttng_legacy.reading.tasks import Follower, Tasks
from converter.formats.lttng_legacy.recording import TABLES_NAME, ChannelFile, Recording
from converter.formats.lttng_legacy.sidecar import Held
from converter.formats.side_table import SideTable, parse_side_table
from converter.ir.events import Batch
from converter.ir.trace import MOST_FROM_1970, ClockDomain, Trace, known_epoch
from converter.limits import allowed, limit
from converter.storage.source import Source

_NANOSECONDS = 1_000_000_000


def read(source: Source) -> Trace:
    """Open the directory of a trace: read its declarations and state dump, and everything else when batches are
    requested.

    Raises:
        TraceError: the source is not a directory with a legacy LTTng trace.
        UnsupportedError: its version is before 1.0.

    """
    try:
        return _Reader(Recording(source)).trace
    except TraceError as error:
        raise error.within(format="lttng_legacy", path=source.name) from error


class _Reader:
    """A trace being read."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._declarations = self._find_declarations()
        files = recording.files
        self._first = files[0]
        self._side_table = self._read_side_table()
        self._place = 0
        version = self._first.version
        self.trace = Trace(
            "lttng_legacy",
            variant=version.name,
            clock=_clock(self._first),
            environment=_environment(self._first) if self._side_table is None else {},
            make_batches=self._batches,
            progress=lambda: (self._place, sum(file.size for file in files)),
        )
        self._warn([error.to_warning() for error in recording.errors])
        if self._first.header["start_time_sec"] and self.trace.clock.epoch_ns is None:
            self._warn([_ignored_start(self._first)])
        self.trace.source_batches = self.trace.make_batches
        self.trace.in_time_order = True
        self._markers = list(markers(self._declarations, version))
        self._tasks = Tasks(self.trace)
        self._threads: ThreadIndex | None = None
        names = NumberNames()
        if self._side_table is not None:
            self._side_table.add_tasks(self.trace)
            self._side_table.add_clocks(self.trace)
            self._threads = _thread_index(self._side_table)
        else:
            names = self._read_state()
        self._files = files
        if self._side_table is not None:
            self._files = [file for file in files if not file.is_metadata]
        self._classes = Classes(
            self.trace,
            self._files,
            self._markers,
            own=self._side_table is not None,
            names=names,
        )
        self.trace.sidecar["lttng_legacy"] = {**self._sidecar(), "recording": recording}

    # What precedes the events

    def _find_declarations(self) -> list[Declaration]:
        """Return all declarations of markers, and set the file layout to the most plausible one.

        In the wrong layout, declarations have the wrong IDs, or other bytes are read as headers: there are few formats,
        and invalid records.
        """
        found: list[tuple[int, Version, list[Declaration]]] = []
        for version in self._recording.layouts():
            self._recording.lay_out(version)
            declarations, faults = self._read_declarations()
            formats = sum(one.format is not None for one in declarations)
            found.append((formats - faults, version, declarations))
            if formats and not faults:
                break
        _, version, declarations = max(found, key=itemgetter(0))
        self._recording.lay_out(version)
        return declarations

    def _read_declarations(self) -> tuple[list[Declaration], int]:
        """Return all declarations of markers, in the order of their files, and the number of invalid records."""
        files = [file for file in self._recording.files if file.is_metadata]
        scratch = Trace("lttng_legacy")
        classes = Classes(scratch, files, (), own=False)
        found: list[Declaration] = []
        faults = 0
        for file in files:
            decoder = Decoder(scratch, self._recording, classes, [file], None)
            for batch in decoder.batches():
                found.extend(_declarations(scratch, batch, classes, file.cpu))
                if len(found) > limit("lttng_legacy.declarations"):
                    raise TraceError(
                        field=file.path,
                        expected=f"{allowed('lttng_legacy.declarations')} of markers",
                        found="more",
                    )
            faults += sum(reader.faults for reader in decoder.readers)
        return found, faults

    def _read_side_table(self) -> SideTable | None:
        recording = self._recording
        if TABLES_NAME not in recording.paths:
            return None
        data = bytearray(recording.size(TABLES_NAME))
        recording.read_into(TABLES_NAME, 0, memoryview(data))
        try:
            return parse_side_table(bytes(data), numbered=False, version=1)
        except TraceError as error:
            # Read it as a recording without tables then.
            path = f"{recording.source.name}/{TABLES_NAME}"
            recording.errors.append(error.within(format="lttng_legacy", path=path))
            return None

    def _read_state(self) -> NumberNames:
        """Return names and tasks of the state dump."""
        dump = read_state_dump(self._recording, self._markers)
        for task in dump.tasks:
            self._tasks.dumped(task.tid, task.pid, task.parent, task.name)
        machine = dump.machine()
        if machine:
            self.trace.environment.setdefault("machine", machine)
        return dump.names()

    def _sidecar(self) -> dict[str, Any]:
        """Return everything except the events that the writer needs to write the trace again."""
        first, header = self._first, self._first.header
        if "buf_size" in header:
            # From a damaged header: no file has such a large block.
            largest = max(file.size for file in self._recording.files)
            header = {**header, "buf_size": min(header["buf_size"], largest)}
        return Held(
            first.version,
            first.big_endian,
            header,
            first.header.get("start_tsc", first.header["cycle_count_begin"]),
            self._side_table is not None,
            self._classes.described(),
            tuple((file.channel, file.cpu) for file in self._recording.files),
            tuple(self._declarations),
        ).to_json_like()

    # Events

    def _batches(self) -> Iterator[Batch]:
        trace, recording = self.trace, self._recording
        decoder = Decoder(trace, recording, self._classes, self._files, self._threads)
        follower = None
        if self._side_table is None:
            cpus = 1 + max((file.cpu for file in self._files), default=0)
            first = first_threads(trace, recording, self._classes, self._files)
            follower = Follower(trace, self._classes, self._tasks, cpus, first)
        delivered = 0
        for batch in decoder.batches():
            if follower is not None:
                follower.follow(batch)
            self._place = decoder.bytes_read()
            delivered += len(batch)
            yield batch
        self._place = decoder.bytes_read()
        self._tasks.name_the_rest()
        damage = damage_of(decoder, recording.source.name)
        if damage and not delivered:
            raise damage[0].to_error()
        self._warn(damage)

    def _warn(self, warnings: Sequence[TraceWarning]) -> None:
        """Add warnings, unless an earlier pass has done so."""
        for warning in warnings:
            note(self.trace.warnings, warning)


def _clock(file: ChannelFile) -> ClockDomain:
    """Return the clock: the cycle counter, and the time of cycle 0.

    A trace's ticks have the rate start_freq / freq_scale; start_time is that of the cycle start_tsc, which from version
    2.0 on is the start of the first block of declarations.
    """
    header = file.header
    rate = Fraction(header["start_freq"], max(header["freq_scale"], 1))
    if "start_time_nsec" in header:
        fraction = header["start_time_nsec"]
    else:
        fraction = header["start_time_usec"] * 1000
    start = header.get("start_tsc", header["cycle_count_begin"])
    epoch = header["start_time_sec"] * _NANOSECONDS + fraction - int(start * _NANOSECONDS / rate)
    known = known_epoch(epoch) if header["start_time_sec"] else None
    return ClockDomain("tsc", rate, known, "cycle counter of the traced machine")


def _ignored_start(file: ChannelFile) -> TraceWarning:
    return TraceWarning(
        format="lttng_legacy",
        path=file.path,
        field="start_time_sec",
        message="ignored: times start at the clock's zero",
        expected=MOST_FROM_1970,
        found=f"{file.header['start_time_sec']:,} s",
        is_damage=False,
    )


def _environment(file: ChannelFile) -> dict[str, str | int]:
    environment: dict[str, str | int] = {
        "tracer": f"LTTng, trace format {file.version.name}",
        "bits": 8 * file.header["arch_size"],
    }
    machine = MACHINES.get(file.header.get("arch_type", 0))
    if machine is not None:
        environment["machine"] = machine
    return environment


def _thread_index(tables: SideTable) -> ThreadIndex:
    """Return the threads by the two numbers at the end of each event."""
    pids = [tables.processes[thread.process].pid for thread in tables.threads]
    tids = [thread.tid for thread in tables.threads]
    mask = 0xFFFF_FFFF
    return ThreadIndex(
        np.array([pid & mask for pid in pids], np.uint32).view(np.int32),
        np.array([tid & mask for tid in tids], np.uint32).view(np.int32),
    )


def _declarations(trace: Trace, batch: Batch, classes: Classes, cpu: int) -> Iterator[Declaration]:
    """Yield the declarations of a batch, in order."""
    parts: list[tuple[int, Declaration]] = []
    for id in batch.tables:
        source = classes.sources[id]
        if isinstance(source, ClassSource):
            places = batch.positions(id).tolist()
            for place, row in zip(places, rows_of(trace, batch, id), strict=True):
                one = declaration_of(source.marker.id, row, int(batch.ts[place]), cpu)
                if one is not None:
                    parts.append((place, one))
    return (one for _, one in sorted(parts, key=lambda part: part[0]))
