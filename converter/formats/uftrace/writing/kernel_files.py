"""The kernel's files of a data directory: events with any typed payload, in the formats and pages of its ring buffer.

These are `kernel_header`, `kernel-cpuN.dat` and `kallsyms` (uftrace's utils/kernel.c). They have the same contents as a
trace.dat file with the same events, and are written by the same code.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.event_format.addresses import function_fields
from converter.formats.ftrace.event_format.event_classes import DISCARDED as MISSED
from converter.formats.ftrace.event_format.event_classes import unknown_type
from converter.formats.ftrace.event_format.new_formats import COMMON_FIELDS, NewFormat
from converter.formats.ftrace.event_format.syntax import EventFormat, Location, parse_event_format
from converter.formats.ftrace.kernel_events import KernelEvents
from converter.formats.ftrace.kernel_formats import header_texts
from converter.formats.ftrace.ring_buffer.page_writer import PageWriter, SpoolMaker
from converter.formats.ftrace.ring_buffer.record_layout import UNKNOWN_PROGRAM, RecordProgram
from converter.formats.ftrace.task_numbers import TaskNumbers
from converter.ir.columns import ListColumn
from converter.ir.events import Batch, EventClass, Table
from converter.ir.trace import Trace
from converter.storage.sink import Sink

#: The page size of 64-bit little-endian kernels.
_PAGE_SIZE: Final = 4096
_LONG_SIZE: Final = 8
#: The size of the type at the beginning of a record.
_TYPE_SIZE: Final = 2
#: The start and end of the task's number in a record.
_PID: Final = 4
_PID_END: Final = 8
#: uftrace reads each format into this many bytes, and its path in tracefs into 128.
_FORMAT_SIZE: Final = 4096
_SYSTEM_SIZE: Final = 56
_EVENT_SIZE: Final = 48
#: uftrace treats all events of the system ftrace as functions of the kernel: others are shown with the second system.
_FTRACE: Final = "ftrace"
_FUNCTIONS: Final = frozenset({"funcgraph_entry", "funcgraph_exit"})
_OTHER_SYSTEM: Final = "tracing"


def is_kernel_record(event_class: EventClass) -> bool:
    """Return True if events of a class are records of the kernel's files: those that end with a record's context."""
    context = event_class.fields[-len(COMMON_FIELDS) :]
    return (
        event_class == MISSED
        or bool(event_class.native)
        or context == COMMON_FIELDS
        or unknown_type(event_class) is not None
    )


def is_little_endian(event_class: EventClass, table: Table) -> bool:
    """Return True if records without a format have the byte order of these files, judging by the type in them."""
    column = table.column(0)
    assert isinstance(column, ListColumn) and isinstance(column.values, np.ndarray)
    start, end = column.offsets[:2].tolist()
    head = column.values[start : min(end, start + _TYPE_SIZE)].tobytes()
    return int.from_bytes(head, "little") == unknown_type(event_class)


def other_tasks(table: Table, rows: NDArray[np.int32], numbers: NDArray[np.int32]) -> int:
    """Return the number of such records whose task differs from these numbers."""
    column = table.column(0)
    assert isinstance(column, ListColumn) and isinstance(column.values, np.ndarray)
    starts = column.offsets[rows]
    has_pid = column.offsets[rows + 1] - starts >= _PID_END
    held = column.values[starts[has_pid, np.newaxis] + np.arange(_PID, _PID_END)]
    return int(np.count_nonzero(held.view("<i4")[:, 0] != numbers[has_pid])) + int((~has_pid).sum())


class KernelOutput:
    """The kernel's files under construction; `cpus` are those that have events."""

    def __init__(self, trace: Trace, numbers: TaskNumbers) -> None:
        self._spools = SpoolMaker(b"none", big_endian=False)
        self._events = _Events(trace, numbers)
        self._pages = PageWriter(
            trace.strings,
            page_size=_PAGE_SIZE,
            long_size=_LONG_SIZE,
            big_endian=False,
            compression=b"none",
            new_spool=self._spools,
        )
        self.has_events = False

    @property
    def renamed(self) -> dict[int, tuple[str, str]]:
        """The system and name, by id, of the events that have another name in the files."""
        return self._events.renamed

    def write(self, batch: Batch) -> None:
        """Append the events of a batch, each to the pages of its CPU."""
        self.has_events = True
        self._events.write(batch, {-1: self._pages})

    def finish(self, sink: Sink) -> None:
        """Write the files, if there are events."""
        if not self.has_events:
            return
        for cpu, pages in self._pages.finish().items():
            with sink.create(f"kernel-cpu{cpu}.dat") as output:
                for part in pages.parts():
                    output.write(part)
        page, _ = header_texts(self._pages.page_size)
        parts = [
            b"PAGE_SIZE: %d\nLONG_SIZE: %d\nENDIAN: LE\n" % (self._pages.page_size, _LONG_SIZE),
            _file("events/header_page", page),
        ]
        for system, texts in self._events.formats.items():
            for text in texts:
                name = parse_event_format(text, system).name
                parts.append(_file(f"events/{_shown_system(system, name)}/{name}/format", text))
        with sink.create("kernel_header") as output:
            output.write(b"".join(parts))
        with sink.create("kallsyms") as output:
            output.write(self._events.symbols_and_end())

    def close(self) -> None:
        """Delete temporary files."""
        self._spools.close()


def _shown_system(system: str, name: str) -> str:
    if system == _FTRACE and name not in _FUNCTIONS:
        return _OTHER_SYSTEM
    return system[:_SYSTEM_SIZE]


def _file(name: str, content: bytes) -> bytes:
    """Return a file of tracefs as stored in the header."""
    return b"TRACEFS: %b: %d\n%b" % (
        name.encode("utf-8", "surrogateescape"),
        len(content),
        content,
    )


class _Events(KernelEvents):
    """Events in the formats that they had in a directory, or in new ones, each with a unique name."""

    def __init__(self, trace: Trace, numbers: TaskNumbers) -> None:
        super().__init__(trace, numbers)
        self._is_own = trace.format == "uftrace"
        self._uses: Counter[tuple[str, str]] = Counter()
        self.renamed: dict[int, tuple[str, str]] = {}

    def symbols_and_end(self) -> bytes:
        """Return the kernel's functions and an end symbol: otherwise uftrace would not know where the last one ends."""
        end = max(self.addresses, default=-1) + 1
        return self.symbols() + (b"%016x T _etext\n" % end if 0 < end < 1 << 64 else b"")

    def _program(self, event_class: EventClass) -> RecordProgram:
        if unknown_type(event_class) is not None:
            return UNKNOWN_PROGRAM
        return super()._program(event_class)

    def format_of(self, event_class: EventClass) -> NewFormat:
        system = event_class.category
        if event_class.native and self._is_own:
            held = parse_event_format(event_class.native, system)
            shown = _shown_system(system, held.name)
            self._uses[shown, held.name] += 1
            if (shown, held.name) != (system, event_class.name):
                # It was renamed when the directory was written.
                self.renamed[held.id] = (system, event_class.name)
            return NewFormat(event_class.native, held)
        new_format = super().format_of(event_class)
        shown = _shown_system(system, new_format.format.name)
        name = short = new_format.format.name[:_EVENT_SIZE]
        self._uses[shown, name] += 1
        while (count := self._uses[shown, name]) > 1:
            name = f"{short}__{count}"
            self._uses[shown, name] += 1
        text = new_format.text
        if (shown, name) != (system, new_format.format.name):
            self.renamed[new_format.format.id] = (system, new_format.format.name)
            text = text.replace(
                b"name: %b\n" % new_format.format.name.encode(), b"name: %b\n" % name.encode(), 1
            )
        if len(text) > _FORMAT_SIZE:
            text = _with_short_print_fmt(text, new_format.format)
        return NewFormat(text, parse_event_format(text, system))


def _with_short_print_fmt(text: bytes, format: EventFormat) -> bytes:
    """Return a format whose text shows as many of its numbers, functions and texts as fit."""
    functions = function_fields(format)
    head = text.partition(b"\nprint fmt:")[0]
    limit = _FORMAT_SIZE - len(head) - len('\nprint fmt: "",\n')
    directives: list[str] = []
    values: list[str] = []
    for field in format.fields:
        if field.is_string:
            inline = field.location is Location.INLINE
            directive = "%s"
            value = f"REC->{field.name}" if inline else f"__get_str({field.name})"
        elif field.is_array or field.location is not Location.INLINE:
            continue
        elif field.name in functions:
            directive, value = "%pS", f"(void *)REC->{field.name}"
        else:
            directive, value = f"%ll{'d' if field.signed else 'u'}", f"REC->{field.name}"
        limit -= len(field.name) + len(directive) + len(value) + len("= , ")
        if limit < 0:
            break
        directives.append(f"{field.name}={directive}")
        values.append(f", {value}")
    shown = f'\nprint fmt: "{" ".join(directives)}"{"".join(values)}\n'
    return head + shown.encode("utf-8", "surrogateescape")
