"""The contents of a trace.dat file for a trace that came from another format.

Its events become records of the kernel's formats or of formats made for them. Those of tracks, which the projection has
left where they are buffers, are in instances.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from converter.formats.ftrace.event_format.new_formats import FormatMaker, NewFormat
from converter.formats.ftrace.kernel_formats import header_texts
from converter.formats.ftrace.layout import SectionId
from converter.formats.ftrace.mapping import NAMING_ROLES, NANOSECOND_CLOCKS
from converter.formats.ftrace.ring_buffer.compressor import library_version
from converter.formats.ftrace.ring_buffer.page_writer import PageWriter, Records, SpoolMaker
from converter.formats.ftrace.ring_buffer.record_layout import (
    MISSED_PROGRAM,
    RecordProgram,
    record_program,
)
from converter.formats.trace_cmd.layout import OptionId, layouts
from converter.formats.trace_cmd.side_table import TABLES_OPTION, TaskNumbers, build_tables
from converter.formats.trace_cmd.writing.file_contents import (
    BufferContents,
    FileContents,
    OptionContents,
)
from converter.ir.columns import ListColumn
from converter.ir.distinct_values import values_of
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import ArrayClass, FieldClass, IntegerClass, Style
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.symbol_names import SYMBOL_ROLES
from converter.projection.task_names import UNKNOWN_NAME

#: What 64-bit little-endian kernels have.
_PAGE_SIZE = 4096
_LONG_SIZE = 8
_FTRACE = "ftrace"
#: The clocks that the kernel lists (kernel/trace/trace.c, trace_clocks), in its order.
_CLOCKS = ("local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai")
#: trace-cmd prints "boot" as a bare number, and has no list entry for the one that it makes of a TSC.
_UNPRINTED_CLOCKS = frozenset({"boot", "tsc2nsec"})
_LINE_ENDS = re.compile(rb"[\0\r\n]")


def new_contents(trace: Trace, compression: bytes, spools: SpoolMaker) -> FileContents:
    """The contents of a file for a trace that was projected to the format's capabilities.

    Raises:
        UnsupportedError: there are too many event classes.
        TraceError: as `Trace.batches` does.

    """

    def new_writer() -> PageWriter:
        return PageWriter(
            trace.strings,
            page_size=_PAGE_SIZE,
            long_size=_LONG_SIZE,
            big_endian=False,
            compression=compression,
            new_spool=spools,
        )

    records = KernelEvents(trace, TaskNumbers(trace))
    #: By track: that of the top buffer has none.
    writers = {-1: new_writer()}
    cpu_count = 1
    for batch in trace.batches():
        for track in values_of(batch.track).tolist():
            if track not in writers:
                writers[track] = new_writer()
        records.write(batch, writers)
        cpu_count = max(cpu_count, int(batch.cpu.max(initial=0)) + 1)
    page_size = max(writer.page_size for writer in writers.values())
    for writer in writers.values():
        # The header says it for all.
        writer.enlarge(page_size)
    contents = FileContents(
        big_endian=False,
        long_size=_LONG_SIZE,
        page_size=page_size,
        compression=compression,
        compression_version=library_version(compression),
        cpu_count=cpu_count,
    )
    _add_metadata(contents, records)
    clock = trace.clock.name
    if clock not in NANOSECOND_CLOCKS - _UNPRINTED_CLOCKS:
        # Times are nanoseconds whatever the clock is called.
        clock = "local"
    _add_options(contents, trace, clock, cpu_count)
    contents.options.append(OptionContents(TABLES_OPTION, build_tables(trace, records.numbers)))
    for track, writer in sorted(writers.items()):
        name = b"" if track < 0 else trace.tracks[track].name.encode("utf-8", "surrogateescape")
        contents.add_buffer(
            BufferContents(
                name=name,
                clock=clock.encode(),
                page_size=page_size,
                cpus=dict(writer.finish()),
                description=b"buffer flyrecord " + name if name else b"buffer flyrecord",
            )
        )
    return contents


class KernelEvents:
    """The events of batches as records, and what must be said about them: formats, names of tasks, symbols.

    `numbers` are those by which records name the threads.
    """

    def __init__(self, trace: Trace, numbers: TaskNumbers) -> None:
        self._trace = trace
        self._maker = FormatMaker(str(trace.environment.get("kernel_release", "")))
        self._programs: dict[int, RecordProgram] = {}
        self.numbers = numbers
        #: The texts of the formats, by system.
        self.formats: dict[str, list[bytes]] = {}
        #: Addresses of code that events name.
        self.addresses: set[int] = set()
        self._has_marks = False
        #: Names that events give to tasks, by tid: ids of strings.
        self._names: dict[int, int] = {}
        self._no_names = frozenset(
            trace.strings.intern(one) for one in (b"", UNKNOWN_NAME.encode())
        )

    def write(self, batch: Batch, writers: Mapping[int, PageWriter]) -> None:
        """Append a batch's events, each to the writer of its track."""
        tables = {}
        for id, table in batch.tables.items():
            event_class = self._trace.event_classes[id]
            if id not in self._programs:
                self._programs[id] = self._program(event_class)
            tables[id] = self._programs[id].bind(table, self._trace.strings)
            self._note_names(event_class, table)
            self._note_addresses(event_class, table)
        events = Records(
            batch.ts,
            batch.class_id,
            batch.row,
            np.maximum(batch.cpu, 0),
            self.numbers.of(batch.thread),
        )
        track = batch.track
        if (batch.ts[1:] < batch.ts[:-1]).any():
            # Threads that were recorded one by one share a CPU here, whose records tools expect in the order of time.
            order = np.argsort(batch.ts, kind="stable")
            events, track = events.select(order), track[order]
        for number, writer in writers.items():
            here = track == number
            if here.all():
                writer.append(events, tables)
            elif here.any():
                writer.append(events.select(here), tables)

    def _program(self, event_class: EventClass) -> RecordProgram:
        if event_class.kind is Kind.DISCARDED:
            return MISSED_PROGRAM
        made = self.format_of(event_class)
        self.formats.setdefault(event_class.category, []).append(made.text)
        return record_program(made.format, event_class, big_endian=False)

    def format_of(self, event_class: EventClass) -> NewFormat:
        """The format of a class that is new here; UnsupportedError when there can be none."""
        return self._maker.make(event_class)

    def _note_addresses(self, event_class: EventClass, table: Table) -> None:
        symbols = self._trace.symbols
        self._has_marks |= event_class.kind is Kind.MARK
        for index, field in enumerate(event_class.fields):
            if _holds_addresses(field.type):
                column = table.column(index)
                assert isinstance(column, ListColumn) and isinstance(column.values, np.ndarray)
                self.addresses.update(values_of(column.values).tolist())
            if symbols is None or not isinstance(field.type, IntegerClass):
                continue
            column = table.column(index)
            if field.role in SYMBOL_ROLES:
                assert isinstance(column, np.ndarray)
                self.addresses.update(values_of(column).tolist())
            elif field.type.style is Style.POINTER:
                # Of data, or of a function that the event names: that of its start.
                assert isinstance(column, np.ndarray)
                self.addresses.update(symbols.starts(column).tolist())

    def _note_names(self, event_class: EventClass, table: Table) -> None:
        for tid_role, name_role in NAMING_ROLES:
            places = event_class.index_of(tid_role), event_class.index_of(name_role)
            if places[0] is None or places[1] is None:
                continue
            tids, names = table.column(places[0]), table.column(places[1])
            if isinstance(tids, np.ndarray) and isinstance(names, np.ndarray):
                # Of each task the last.
                which, first = np.unique(tids[::-1], return_index=True)
                last = zip(which.tolist(), names[::-1][first].tolist(), strict=True)
                self._names.update((tid, name) for tid, name in last if name not in self._no_names)

    def command_lines(self) -> bytes:
        """The names of tasks by number, as tracefs/saved_cmdlines lists them."""
        lines = []
        for number, thread in zip(self.numbers.all(), self._trace.threads, strict=True):
            name = thread.name.encode("utf-8", "surrogateescape")
            if not name and thread.tid in self._names:
                name = self._trace.strings[self._names[thread.tid]]
            if name:
                lines.append(b"%d %b\n" % (number, _LINE_ENDS.sub(b"_", name)))
        return b"".join(lines)

    def symbols(self) -> bytes:
        """The functions that the addresses lie in, as /proc/kallsyms lists them."""
        symbols = self._trace.symbols
        found: dict[int, bytes] = {}
        all_named = True
        for address in sorted(self.addresses - {0}):
            symbol = None if symbols is None else symbols.lookup(address)
            if symbol is not None:
                found[address - symbol[1]] = symbol[0]
            all_named &= symbol is not None
        # Marks say where the kernel took them; those of other sources say 0, and tools expect this name. They would
        # give it to each address below the first function.
        if self._has_marks and all_named:
            found.setdefault(0, b"tracing_mark_write")
        # A name ends at a blank.
        return b"".join(
            b"%016x T %b\n" % (address, re.sub(rb"\s", b"_", name))
            for address, name in sorted(found.items())
        )


def _holds_addresses(field_class: FieldClass) -> bool:
    """Whether values are call stacks, of the kernel's code or of a program's."""
    match field_class:
        case ArrayClass(IntegerClass(style=Style.SYMBOL | Style.POINTER)):
            return True
    return False


def _add_metadata(contents: FileContents, records: KernelEvents) -> None:
    layout = layouts(contents.big_endian)
    page, event = header_texts(contents.page_size)
    header = layout.header_info.build({"page": page, "event": event})
    contents.add_section(SectionId.HEADER_INFO, header, b"headers")
    own = records.formats.get(_FTRACE, [])
    contents.add_section(
        SectionId.FTRACE_EVENTS, layout.u32.build(len(own)) + _texts(own), b"ftrace events"
    )
    systems = {name: texts for name, texts in records.formats.items() if name != _FTRACE}
    data = layout.u32.build(len(systems)) + b"".join(
        name.encode("utf-8", "surrogateescape")
        + b"\0"
        + layout.u32.build(len(texts))
        + _texts(texts)
        for name, texts in systems.items()
    )
    contents.add_section(SectionId.EVENT_FORMATS, data, b"events format")
    symbols = layout.short_text.build(records.symbols())
    contents.add_section(SectionId.KALLSYMS, symbols, b"kallsyms")
    contents.add_section(SectionId.PRINTK, layout.short_text.build(b""), b"printk")
    names = layout.long_text.build(records.command_lines())
    contents.add_section(SectionId.CMDLINES, names, b"command lines")


def _texts(texts: list[bytes]) -> bytes:
    return b"".join(len(text).to_bytes(8, "little") + text for text in texts)


def _add_options(contents: FileContents, trace: Trace, clock: str, cpu_count: int) -> None:
    clocks = " ".join(f"[{name}]" if name == clock else name for name in _CLOCKS)
    environment = {name: str(value) for name, value in trace.environment.items()}
    _add_text(contents, OptionId.TRACECLOCK, f"{clocks}\n")
    if trace.clock.epoch_ns is not None and trace.clock.epoch_ns >= 0:
        # In microseconds; the tables have all of it.
        _add_text(contents, OptionId.DATE, f"{trace.clock.epoch_ns // 1000:#x}")
    uname = [environment.get(name, "") for name in _UNAME]
    if all(uname):
        _add_text(contents, OptionId.UNAME, " ".join(uname))
    tool = [environment.get("tracer_name", ""), environment.get("tracer_version", "")]
    _add_text(contents, OptionId.VERSION, " ".join(tool).strip() or "traceconv")
    count = layouts(contents.big_endian).u32.build(cpu_count)
    contents.options.append(OptionContents(OptionId.CPUCOUNT, count))


#: The words of option UNAME.
_UNAME = ("sysname", "hostname", "kernel_release", "machine")


def _add_text(contents: FileContents, id: OptionId, text: str) -> None:
    data = _LINE_ENDS.sub(b" ", text.encode("utf-8", "surrogateescape")).rstrip()
    contents.options.append(OptionContents(id, data + b"\0"))
