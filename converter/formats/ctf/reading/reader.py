"""Reads CTF: a directory of traces, whose streams are scanned, merged by time and decoded on demand."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from converter.errors import RemarkError, TraceError, note
from converter.formats.ctf.layout import METADATA_NAME
from converter.formats.ctf.mapping import possible_kinds, split_name
from converter.formats.ctf.metadata.trace_class import ClockClass
from converter.formats.ctf.reading.batches import Classes, DataStream, batches
from converter.formats.ctf.reading.clocks import (
    clock_domain,
    conversion,
    ignored_offset,
    origin_of,
    stated_clock,
    trace_clock,
)
from converter.formats.ctf.reading.heads import continued
from converter.formats.ctf.reading.seeking import PacketSeeking
from converter.formats.ctf.streams.addresses import Addresses, are_named
from converter.formats.ctf.streams.files import TraceDirectory, check_index, traces_in
from converter.formats.ctf.streams.stream_files import StreamFile
from converter.formats.ctf.streams.tasks import Tasks, follows_switches
from converter.ir.events import Batch
from converter.ir.semantics import Semantics
from converter.ir.symbols import SymbolTable
from converter.ir.trace import ClockDomain, Trace
from converter.storage.source import Source


def read(source: Source) -> Trace:
    """Open the traces of a directory and its subdirectories as one trace; `Trace.batches` decodes the events.

    Raises:
        TraceError: there is no trace, or none with readable metadata.

    """
    try:
        return _Reader(_directory(source)).trace
    except TraceError as error:
        raise error.within(format="ctf", path=source.name) from error


def _directory(source: Source) -> Source:
    """Return the directory of a trace, given its `metadata` file."""
    if source.is_directory:
        return source
    folder = source.beside()
    if folder is None:
        raise TraceError(expected="a directory", found="a file")
    return folder


class _Reader:
    def __init__(self, source: Source) -> None:
        self.trace = Trace("ctf", make_batches=self._batches)
        self._name = source.name
        directories, files = traces_in(source, self._warn)
        self._directories = directories
        trace = self.trace
        first = directories[0].trace
        #: Only for a single trace does its side table describe the whole.
        self._side_table = directories[0].side_table if len(directories) == 1 else None
        trace.variant = "2" if first.version[0] == 2 else "1.8"
        self._set_clock()
        trace.environment = self._environment()
        if self._side_table is not None:
            trace.clock = self._side_table.clock
            if self._clock is not None:
                trace.clock = stated_clock(self._clock, trace.clock, self._side_table.shift)
            trace.clock_domains = self._side_table.clock_domains
            trace.environment = self._side_table.environment
        self._streams = self._data_streams()
        self._all_files = [file for stream in self._streams for file in stream.files]
        for file in self._all_files:
            try:
                check_index(files, file)
            except TraceError as error:
                self._warn(error)
        self._classes = Classes(trace)
        self._tasks = Tasks(trace)
        if self._side_table is not None:
            self._tasks.load(self._side_table)
        names = {
            record.name
            for directory in directories
            for stream in directory.trace.streams.values()
            for record in stream.events.values()
        }
        if self._side_table is None:
            trace.semantics = Semantics(kinds=possible_kinds(names))
        self._follows = self._side_table is None and follows_switches(names)
        self._addresses = Addresses(trace) if are_named(map(split_name, names)) else None
        if self._addresses is not None:
            trace.symbols = SymbolTable(self._names_of_addresses, exact=True)
        self._prescanned = False
        self._damage: TraceError | None = None
        trace.source_batches = trace.make_batches
        trace.in_time_order = True
        trace.sidecar["ctf"] = {
            "version": list(first.version),
            "traces": [
                {
                    "path": directory.path,
                    "metadata": directory.metadata,
                    "uuid": str(directory.trace.uuid) if directory.trace.uuid else None,
                    "version": list(directory.trace.version),
                    # Unknown attributes are not damage.
                    "remarks": [
                        f"line {line}, column {column}: {text}"
                        for line, column, text in directory.trace.remarks
                    ],
                }
                for directory in directories
            ],
            "files": files,
        }
        trace.check = self._check
        self._checked = False
        trace.progress = self._progress
        if not self._follows:
            # Running threads are tracked from the first event on.
            trace.seeking = PacketSeeking(self._streams)

    def _progress(self) -> tuple[int, int]:
        return (
            sum(file.done for file in self._all_files),
            sum(file.source.size for file in self._all_files),
        )

    def _set_clock(self) -> None:
        """Set the trace's clock: that of the first stream."""
        clocks: list[ClockClass] = []
        origins = set()
        for directory in self._directories:
            used = {file.type.stream.clock for file, _ in directory.files}
            known = directory.trace.clocks
            own = [known[name] for name in sorted(used) if name in known]
            # A side table has the clock as it was.
            stated = own if self._side_table is None else []
            for ignored in filter(None, map(ignored_offset, stated)):
                self._warn(
                    ignored.within(path=os.path.join(self._name, directory.path, METADATA_NAME))
                )
            clocks += own
            origins |= {origin_of(known[name], directory.path) for name in used if name in known}
        if not clocks:
            clocks = [
                clock
                for directory in self._directories
                for clock in directory.trace.clocks.values()
            ][:1]
        self._clock = clocks[0] if clocks else None
        trace = self.trace
        trace.clock = trace_clock(clocks)
        if len({clock.frequency for clock in clocks}) > 1:
            self._warn(
                RemarkError("the streams' clocks have several rates; times are in nanoseconds")
            )
        if len(origins) > 1:
            self._warn(
                RemarkError("nothing relates the streams' clocks; their origins are taken for one")
            )
        domains: list[ClockDomain] = [trace.clock]
        for clock in clocks:
            domain = clock_domain(clock)
            if domain not in domains:
                domains.append(domain)
        trace.clock_domains = domains

    def _environment(self) -> dict[str, str | int]:
        """Return the environment of the first trace, and the differing entries of others under their path."""
        first = self._directories[0].trace.environment
        environment = dict(first)
        for directory in self._directories[1:]:
            for key, value in directory.trace.environment.items():
                if key not in first or first[key] != value:
                    environment[f"{directory.path}.{key}"] = value
        return environment

    def _data_streams(self) -> list[DataStream]:
        """Return the streams, each with its files (rotated trace files, rotated sessions) in time order."""
        groups: dict[tuple[object, ...], list[tuple[int, int, int, TraceDirectory, int]]] = {}
        order = 0
        for directory in self._directories:
            for number, (file, first) in enumerate(directory.files):
                order += 1
                trace = directory.trace
                key: tuple[object, ...] = (order,)
                if first.stream is not None:
                    owner = trace.uuid or (directory.path,)
                    key = (owner, file.type.stream.id, first.stream)
                item = (first.begin, first.sequence, order, directory, number)
                groups.setdefault(key, []).append(item)
        streams = []
        for group in groups.values():
            group.sort(key=lambda item: item[:3])
            named = [directory.files[number][0] for *_, directory, number in group]
            streams += [self._data_stream(files) for files in continued(named)]
        return streams

    def _data_stream(self, files: list[StreamFile]) -> DataStream:
        return DataStream(files, [self._conversion(file) for file in files])

    def _conversion(self, file: StreamFile) -> tuple[int, int, int]:
        """Return the conversion of the clock of a file."""
        if self._side_table is not None:
            return -self._side_table.shift, 1, 1
        try:
            return conversion(file.type.clock, self.trace.clock, self._clock)
        except TraceError as error:
            folder = os.path.dirname(file.source.name)
            raise error.within(path=os.path.join(folder, METADATA_NAME)) from None

    def _batches(self) -> Iterator[Batch]:
        self._prescan()
        self._tasks.begin()
        delivered = False
        for batch in self._pass():
            delivered = True
            yield batch
        self._checked = True
        if not delivered and self._damage is not None:
            raise self._damage

    def _prescan(self) -> None:
        """Go through all events once, for what earlier events need of later ones."""
        if self._prescanned:
            return
        self._prescanned = True
        if not self._follows and self._addresses is None:
            return
        for batch in self._pass():
            if self._follows:
                self._tasks.learn(batch)
            if self._addresses is not None:
                self._addresses.learn(batch)
        self._tasks.follows = self._follows

    def _names_of_addresses(self) -> tuple[NDArray[np.uint64], Sequence[bytes]]:
        assert self._addresses is not None
        self._prescan()
        return self._addresses.entries()

    def _check(self, events: bool) -> None:
        """Look for damage in the packets, or in all events, unless a pass has already done so."""
        if self._checked:
            return
        if events:
            for _ in self._batches():
                pass
            return
        for stream in self._streams:
            stream.check()
            self._report(stream.take_errors())

    def _pass(self) -> Iterator[Batch]:
        self._damage = None
        return batches(self.trace, self._streams, self._classes, self._tasks, self._report)

    def _report(self, errors: list[TraceError]) -> None:
        for error in errors:
            self._damage = self._damage or error
            self._warn(error)

    def _warn(self, error: TraceError) -> None:
        """Keep damage as a warning, once: a second pass finds the same."""
        warning = error.within(format="ctf").to_warning()
        note(self.trace.warnings, warning)
