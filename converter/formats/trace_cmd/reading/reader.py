"""Reads trace.dat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from converter.errors import TraceError, note
from converter.formats.ftrace.event_format.event_classes import EventClasses
from converter.formats.ftrace.event_format.formats import EventFormats
from converter.formats.ftrace.event_format.messages import KernelTexts
from converter.formats.ftrace.kernel_formats import own_print_formats
from converter.formats.ftrace.mapping import KINDS
from converter.formats.ftrace.recording import Buffer
from converter.formats.ftrace.ring_buffer.batches import Decoding, Events, batches
from converter.formats.ftrace.ring_buffer.pages import PageStream
from converter.formats.ftrace.ring_buffer.prescan import prescan_pages
from converter.formats.ftrace.symbols import kernel_symbols
from converter.formats.ftrace.tasks import add_tasks, saved_command_lines
from converter.formats.trace_cmd.container.gaps import kernel_long
from converter.formats.trace_cmd.container.opening import open_file
from converter.formats.trace_cmd.container.options import interpret
from converter.formats.trace_cmd.container.trace_file import TraceFile
from converter.formats.trace_cmd.reading.seeking import PageSeeking
from converter.formats.trace_cmd.side_table import read_side_table
from converter.ir.events import Batch, EventClass
from converter.ir.kinds import Role
from converter.ir.semantics import Semantics
from converter.ir.trace import Trace, Track
from converter.kernels.tables.tasks import TaskTable
from converter.storage.source import Source
from converter.storage.window_memory import WindowMemory

if TYPE_CHECKING:
    from converter.formats.ftrace.text_buffers import TextEvents
    from converter.formats.side_table import SideTable
    from converter.formats.trace_cmd.reading.record_text import RecordTexts


def read(source: Source) -> Trace:
    """Open a trace.dat file. Its events are decoded by `Trace.batches`, large parts on demand.

    Raises:
        TraceError: the source is not a trace.dat file, or nothing of it is usable.
        UnsupportedError: it is compressed in an unknown way, or of another version.

    """
    try:
        return _Reader(open_file(source)).trace
    except TraceError as error:
        raise error.within(format="trace_cmd", path=source.name) from error


def _names_functions(event_classes: Sequence[EventClass]) -> bool:
    roles = {field.role for event_class in event_classes for field in event_class.fields}
    return not roles.isdisjoint({Role.FUNCTION, Role.PARENT_FUNCTION})


class _Reader:
    """A file being read. The prescan runs when batches are first requested."""

    def __init__(self, file: TraceFile) -> None:
        self._file = file
        metadata = interpret(file)
        self._metadata = metadata
        self._side_table = self._read_side_table()
        self._kernel_long = kernel_long(file)
        self._decoding: Decoding | None = None
        self._texts: RecordTexts | None = None
        self._ready: list[Events] = []
        # For progress, which counts events here: events found by the prescan, and events returned so far.
        self._prescanned = self._batched = 0
        self.trace = Trace(
            "trace_cmd",
            semantics=Semantics(kinds=KINDS),
            variant=f"v{file.version}",
            clock=metadata.clock,
            clock_domains=[metadata.clock],
            environment=metadata.environment,
            symbols=kernel_symbols(file),
            sidecar={"trace_cmd": self._sidecar()},
            warnings=file.warnings,
            make_batches=self._batches,
            describe=self._describe,
            progress=lambda: (self._batched, self._prescanned),
        )
        self.trace.source_batches = self.trace.make_batches
        self.trace.check = self._check
        self.trace.in_time_order = True
        self.trace.decodes_in_parallel = True
        # The prescan learns names; the side table of another trace may lack some.
        self.trace.names_from_events = self._side_table is None
        if self._side_table is not None:
            self.trace.clock = self._side_table.clock
            self.trace.clock_domains = self._side_table.clock_domains
            self.trace.environment = self._side_table.environment
        # Streams in the order of merging: at equal times trace-cmd prints the earlier buffer, then the lower CPU first.
        pages = [
            (order, data.cpu, buffer, data)
            for order, buffer in enumerate(file.buffers)
            for data in buffer.cpus
        ]
        pages.sort(key=lambda item: item[:2])
        self._memory = memory = WindowMemory()
        self._streams = [
            PageStream(file, buffer, data, len(pages), memory) for _, _, buffer, data in pages
        ]
        track_of = {b"": -1}
        for buffer in file.buffers:
            if buffer.name not in track_of:
                track_of[buffer.name] = len(self.trace.tracks)
                self.trace.tracks.append(Track(buffer.name.decode("utf-8", "surrogateescape")))
        self._cpus = [stream.cpu for stream in self._streams]
        self._tracks = [track_of[stream.buffer.name] for stream in self._streams]
        self._track_of = track_of
        self.trace.seeking = PageSeeking(
            file, self._streams, metadata, self._kernel_long, lambda: self._decoding is None
        )

    def _read_side_table(self) -> SideTable | None:
        """Return the side table of a converted file, which describes what the format has no place for."""
        try:
            return read_side_table(self._file.options)
        except TraceError as error:
            self._file.warn(error)
            return None

    def _sidecar(self) -> dict[str, Any]:
        file = self._file
        return {
            "version": file.version,
            "big_endian": file.big_endian,
            "long_size": file.long_size,
            "page_size": file.page_size,
            "compression": file.compression,
            "compression_version": file.compression_version,
            "options": file.options,
            "sections": file.sections,
            "buffers": file.buffers,
            "cpu_count": file.cpu_count,
        }

    def _prepare(self) -> Decoding:
        """Prescan the pages, read text buffers, and determine classes, threads and processes."""
        file = self._file
        trace = self.trace
        formats = EventFormats(file)
        found = prescan_pages(self._streams, formats, self._kernel_long, big_endian=file.big_endian)
        texts = KernelTexts(file, trace.symbols)
        classes = EventClasses(trace, formats, texts, self._kernel_long)
        types = found.counts.nonzero()[0].tolist()
        classes.add_types(types)
        if found.missed:
            classes.add_missed()
        text_buffers = _read_text_buffers(file)
        names = saved_command_lines(file)
        for _, lines in text_buffers:
            for pid, name in lines.names.items():
                found.tasks.add(pid)
                names.setdefault(pid, name)
        if self._side_table is not None:
            self._side_table.add_tasks(trace, found.tasks)
        else:
            add_tasks(trace, found.tasks, names)
        counts = {int(classes.of_type[type_id]): int(found.counts[type_id]) for type_id in types}
        if found.missed:
            counts[classes.missed] = found.missed
        for buffer, lines in text_buffers:
            self._add_text(buffer, lines, classes, found.tasks, counts)
        formats.keep(types)
        trace.sidecar["trace_cmd"]["counts"] = counts
        own = {} if self._side_table is not None else own_print_formats(formats, types)
        if own:
            trace.sidecar["trace_cmd"]["print_formats"] = own
            printed = Counter(f"print format of {event}" for event in own)
            trace.sidecar_details["trace_cmd"] = printed
        self._prescanned = sum(counts.values())
        self._report(found.errors)
        return Decoding(
            formats,
            classes,
            len(trace.event_classes),
            found.tasks,
            self._metadata,
            self._kernel_long,
            file.big_endian,
        )

    def _add_text(
        self,
        buffer: Buffer,
        text: TextEvents,
        classes: EventClasses,
        tasks: TaskTable,
        counts: dict[int, int],
    ) -> None:
        """Add a stream for each CPU of a text buffer."""
        for cpu, lines in text.lines.items():
            events = Events(len(lines))
            events.count = len(lines)
            events.segment = text.text
            ids = [classes.of_text(line.event) for line in lines]
            for id in ids:
                counts[id] = counts.get(id, 0) + 1
            events.class_id[:] = ids
            events.ts[:] = [line.ts for line in lines]
            events.thread[:] = [tasks.thread_of(line.pid) for line in lines]
            events.start[:] = [line.start for line in lines]
            events.size[:] = [line.size for line in lines]
            self._ready.append(events)
            self._cpus.append(cpu)
            self._tracks.append(self._track_of[buffer.name])

    def _decoded_by(self) -> Decoding:
        """Return the decoding of pages, known from the prescan."""
        for stream in self._streams:
            stream.share(self.trace.readers)
        if self._decoding is None:
            self._decoding = self._prepare()
        return self._decoding

    def _check(self, _events: bool) -> None:
        """Run the prescan, which finds all damage."""
        self._decoded_by()

    def _batches(self) -> Iterator[Batch]:
        decoding = self._decoded_by()
        symbols = self.trace.symbols
        if symbols is not None and _names_functions(self.trace.event_classes):
            symbols.prefetch()
        self._batched = 0
        for batch in batches(
            decoding,
            self._streams,
            self._ready,
            self._cpus,
            self._tracks,
            self._report,
            self.trace,
        ):
            self._batched += len(batch)
            yield batch
        self._memory.clear()

    def _describe(self, batch: Batch) -> Callable[[int], str | None]:
        """Return a function that prints the events of a batch as the kernel does."""
        assert self._decoding is not None, "there is no batch before"
        if self._texts is None:
            # Only this needs the parser of the formats' C.
            from converter.formats.trace_cmd.reading.record_text import RecordTexts

            self._texts = RecordTexts(self._decoding, KernelTexts(self._file, self.trace.symbols))
        return self._texts.texts_of(batch)

    def _report(self, errors: list[TraceError]) -> None:
        """Keep damage as warnings, once: the second pass finds the same as the first."""
        for error in errors:
            warning = error.within(format="trace_cmd", path=self._file.source.name).to_warning()
            note(self._file.warnings, warning)


def _read_text_buffers(file: TraceFile) -> list[tuple[Buffer, TextEvents]]:
    buffers = [buffer for buffer in file.buffers if buffer.text is not None]
    if not buffers:
        return []
    from converter.formats.ftrace.text_buffers import read_text

    return [(buffer, read_text(file, buffer)) for buffer in buffers]
