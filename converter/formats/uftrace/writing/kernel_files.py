"""The kernel's side of a data directory: events with any typed payload, in the formats and pages of its ring buffer.

`kernel_header`, `kernel-cpuN.dat` and `kallsyms` (uftrace's utils/kernel.c). What they hold is what a trace.dat file
holds of the same events, and is made by the same code.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.event_format.event_classes import DISCARDED as MISSED
from converter.formats.ftrace.event_format.event_classes import unknown_type
from converter.formats.ftrace.event_format.new_formats import COMMON_FIELDS, NewFormat
from converter.formats.ftrace.event_format.syntax import FormatField, Location, parse_event_format
from converter.formats.ftrace.kernel_events import KernelEvents
from converter.formats.ftrace.kernel_formats import header_texts
from converter.formats.ftrace.ring_buffer.page_writer import PageWriter, SpoolMaker
from converter.formats.ftrace.ring_buffer.record_layout import UNKNOWN_PROGRAM, RecordProgram
from converter.formats.ftrace.task_numbers import TaskNumbers
from converter.ir.columns import ListColumn
from converter.ir.events import Batch, EventClass, Table
from converter.ir.trace import Trace
from converter.storage.sink import Sink

#: What 64-bit little-endian kernels have.
_PAGE_SIZE: Final = 4096
_LONG_SIZE: Final = 8
#: Bytes at the beginning of a record that say of what type it is.
_TYPE_SIZE: Final = 2
#: Where in it the number of its task begins and ends.
_PID: Final = 4
_PID_END: Final = 8
#: uftrace reads each format into so many bytes, and its path in tracefs into 128.
_FORMAT_ROOM: Final = 4096
_SYSTEM_ROOM: Final = 56
_EVENT_ROOM: Final = 48
#: What it takes for functions of the kernel is all of the system ftrace: other events of it are shown as of this one.
_FTRACE: Final = "ftrace"
_FUNCTIONS: Final = frozenset({"funcgraph_entry", "funcgraph_exit"})
_OTHER_SYSTEM: Final = "tracing"


def is_kernel_record(event_class: EventClass) -> bool:
    """Whether events of a class are records of the kernel's files: all those that end with a record's context."""
    context = event_class.fields[-len(COMMON_FIELDS) :]
    return (
        event_class == MISSED
        or bool(event_class.native)
        or context == COMMON_FIELDS
        or unknown_type(event_class) is not None
    )


def is_little_endian(event_class: EventClass, table: Table) -> bool:
    """Whether records that no format describes have the byte order of these files, as the type that they say tells."""
    column = table.column(0)
    assert isinstance(column, ListColumn) and isinstance(column.values, np.ndarray)
    start, end = column.offsets[:2].tolist()
    head = column.values[start : min(end, start + _TYPE_SIZE)].tobytes()
    return int.from_bytes(head, "little") == unknown_type(event_class)


def other_tasks(table: Table, rows: NDArray[np.int32], numbers: NDArray[np.int32]) -> int:
    """How many of such records say another task than these numbers."""
    column = table.column(0)
    assert isinstance(column, ListColumn) and isinstance(column.values, np.ndarray)
    starts = column.offsets[rows]
    whole = column.offsets[rows + 1] - starts >= _PID_END
    held = column.values[starts[whole, np.newaxis] + np.arange(_PID, _PID_END)]
    return int(np.count_nonzero(held.view("<i4")[:, 0] != numbers[whole])) + int((~whole).sum())


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
        """System and name of the events, by id, that have another name in the files."""
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
    return system[:_SYSTEM_ROOM]


def _file(name: str, content: bytes) -> bytes:
    """A file of tracefs, as the header holds it."""
    return b"TRACEFS: %b: %d\n%b" % (
        name.encode("utf-8", "surrogateescape"),
        len(content),
        content,
    )


class _Events(KernelEvents):
    """Events in the formats that they had in a directory, or in new ones, each with a name of its own."""

    def __init__(self, trace: Trace, numbers: TaskNumbers) -> None:
        super().__init__(trace, numbers)
        self._is_own = trace.format == "uftrace"
        self._uses: Counter[tuple[str, str]] = Counter()
        self.renamed: dict[int, tuple[str, str]] = {}

    def symbols_and_end(self) -> bytes:
        """The kernel's functions, and what lies behind the last: uftrace does not know where that ends otherwise."""
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
                # It was renamed when the directory was made.
                self.renamed[held.id] = (system, event_class.name)
            return NewFormat(event_class.native, held)
        made = super().format_of(event_class)
        shown = _shown_system(system, made.format.name)
        name = short = made.format.name[:_EVENT_ROOM]
        self._uses[shown, name] += 1
        while (count := self._uses[shown, name]) > 1:
            name = f"{short}__{count}"
            self._uses[shown, name] += 1
        text = made.text
        if (shown, name) != (system, made.format.name):
            self.renamed[made.format.id] = (system, made.format.name)
            text = text.replace(
                b"name: %b\n" % made.format.name.encode(), b"name: %b\n" % name.encode(), 1
            )
        if len(text) > _FORMAT_ROOM:
            text = _with_short_print_fmt(text, made.format.fields)
        return NewFormat(text, parse_event_format(text, system))


def _with_short_print_fmt(text: bytes, fields: tuple[FormatField, ...]) -> bytes:
    """A format whose text shows the numbers and texts among its fields, as many as there is room for."""
    head = text.partition(b"\nprint fmt:")[0]
    room = _FORMAT_ROOM - len(head) - len('\nprint fmt: "",\n')
    directives: list[str] = []
    values: list[str] = []
    for field in fields:
        if field.is_string:
            inline = field.location is Location.INLINE
            directive = "%s"
            value = f"REC->{field.name}" if inline else f"__get_str({field.name})"
        elif field.is_array or field.location is not Location.INLINE:
            continue
        else:
            directive, value = f"%ll{'d' if field.signed else 'u'}", f"REC->{field.name}"
        room -= len(field.name) + len(directive) + len(value) + len("= , ")
        if room < 0:
            break
        directives.append(f"{field.name}={directive}")
        values.append(f", {value}")
    shown = f'\nprint fmt: "{" ".join(directives)}"{"".join(values)}\n'
    return head + shown.encode("utf-8", "surrogateescape")
