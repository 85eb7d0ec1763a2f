"""The lines of events: a program for each class prints them from their columns, as perf script does."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Final

import numpy as np

from converter.formats.ftrace.lines.column_texts import add_text
from converter.formats.ftrace.lines.text_formats import EscapedTexts, TextFormat
from converter.formats.ftrace.lines.text_mapping import own_arguments, text_format
from converter.formats.ftrace.task_numbers import LAST_NUMBER
from converter.formats.perf.script.mapping import OFFSETS
from converter.formats.perf.script.side_table import NO_TASK
from converter.ir.columns import Column, ListColumn, StructColumn, string_ids
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.printing import program as op
from converter.printing.code import Code, Form, Printed
from converter.printing.directory import Directory
from converter.printing.frame_lines import FRAME_LEVEL, UNKNOWN, print_frame, print_weight
from converter.printing.lines import Write
from converter.printing.printer import Printer
from converter.printing.program import Program
from converter.projection.timeline_fields import CALLSTACK, FRAMES

_SECOND: Final = 10**9
_IN_TASKS: Final = re.compile(rb"[\0-\x1f\x7f]")
#: What would be taken for the time in the name of a task.
_TIME_IN_TASKS: Final = re.compile(rb"([0-9]\.[0-9]+):")
_LONGEST_TASK: Final = 64
#: Numbers of threads that are not their tid.
_FIRST_NUMBER: Final = 1 << 30


class EventLines:
    """Prints batches.

    Args:
        trace: the trace.
        exact: times are nanoseconds, not microseconds.

    """

    def __init__(self, trace: Trace, *, exact: bool) -> None:
        self._trace = trace
        self._exact = exact
        #: By thread: the name, process and number by which lines name it.
        self.tasks: list[tuple[bytes, int, int]] = []
        self._taken: set[tuple[bytes, int, int]] = set()
        self._next = 0
        #: By the name that their lines have: the formats of events.
        self.events: dict[str, Any] = {}
        self._tasks = Directory(self._task)
        self._cpus = Directory(_cpu)
        self._printer = Printer(trace.strings)
        self._programs: dict[int, Printed] = {}
        self._formats: dict[int, TextFormat] = {}
        self._escaped = EscapedTexts(trace.strings)

    def print(self, batch: Batch, write: Write) -> None:
        """Print a batch."""
        new = [number for number in batch.tables if number not in self._programs]
        if new:
            self._printer.flush(write)
        for number in new:
            self._programs[number] = self._compiled(number)
        threads = batch.thread.astype(np.int64)
        cpus = batch.cpu.astype(np.int64)
        bound: list[Program | None] = [None] * len(self._trace.event_classes)
        for number, table in batch.tables.items():
            columns = self._columns(number, table)
            columns |= {"ts": batch.ts, "cpu": cpus, "task": threads}
            bound[number] = self._programs[number].bind(partial(_column, columns))
        self._printer.print(bound, batch.class_id, batch.row, write)

    def finish(self, write: Write) -> None:
        """Write what is left."""
        self._printer.flush(write)
        self.tasks += [self._label(i) for i in range(len(self.tasks), len(self._trace.threads))]

    @property
    def task_forms(self) -> list[list[str | int]]:
        """The names of threads in lines, as values of JSON."""
        return [
            [name.decode("utf-8", "surrogateescape"), process, number]
            for name, process, number in self.tasks
        ]

    def _columns(self, number: int, table: Table) -> dict[Any, Column]:
        event_class = self._trace.event_classes[number]
        columns: dict[Any, Column] = {}
        found = self._formats.get(number)
        for index, field in enumerate(event_class.fields):
            column = table.column(index)
            if isinstance(field.type, StringClass):
                more = b"" if found is None else found.escaped.get(field.name, b"")
                column = self._escaped.of(string_ids(column, self._trace.strings), more)
            columns["field", index] = column
            if field.type == FRAMES.type:
                assert isinstance(column, ListColumn)
                assert isinstance(column.values, StructColumn)
                columns["frames"] = column.offsets
                for name, member in zip(_MEMBERS, column.values.members, strict=False):
                    texts = name in _TEXTS
                    columns[name] = string_ids(member, self._trace.strings) if texts else member
            if field == OFFSETS:
                assert isinstance(column, ListColumn)
                columns["distance"] = column.values
        return columns

    def _compiled(self, number: int) -> Printed:
        event_class = self._trace.event_classes[number]
        code = Code()
        code.number_of("task", 0, signed=True)
        code.name(self._tasks)
        code.number_of("cpu", 0, signed=True)
        code.name(self._cpus)
        _time(code, exact=self._exact)
        if event_class.kind is Kind.SAMPLE:
            self._sample(code, event_class)
        elif event_class.kind is Kind.DISCARDED:
            code.literal(b" PERF_RECORD_LOST lost ")
            _field(code, event_class, Role.COUNT)
            code.add(op.DECIMAL, 64, 0)
            code.literal(b"\n")
        else:
            self._tracepoint(code, number, event_class)
        # A call stack ends there; of events without one, viewers would take what follows for it.
        code.literal(b"\n")
        return code.finish()

    def _sample(self, code: Code, event_class: EventClass) -> None:
        if event_class.index_of(Role.COUNT) is not None:
            print_weight(code, lambda: _field(code, event_class, Role.COUNT), signed=False)
        name = event_class.name.encode("utf-8", "surrogateescape")
        code.literal(b" " + name + b": \n")
        _frames(code, event_class)

    def _tracepoint(self, code: Code, number: int, event_class: EventClass) -> None:
        found = self._formats[number] = text_format(_without_stack(event_class))
        point = f"{event_class.category}:{event_class.name}"
        label, count = point, 1
        # A suffix also tells what is one of modifiers from events of the hardware.
        while label in self.events or (count == 1 and _is_like_modifiers(event_class.name)):
            count += 1
            label = f"{point}.{count}"
        self.events[label] = found.form
        code.literal(f" {label}: ".encode("utf-8", "surrogateescape"))
        fields = own_arguments(event_class)
        add_text(code, found.format, {field.name: i for i, field in enumerate(fields)})
        code.literal(b"\n")
        _frames(code, event_class)

    def _task(self, index: int) -> tuple[bytes, int]:
        if index >> 63:
            return b"%s     0/0     " % NO_TASK.encode(), 0
        while len(self.tasks) <= index:
            self.tasks.append(self._label(len(self.tasks)))
        name, process, number = self.tasks[index]
        return b"%s %5d/%-5d " % (name, process, number), 0

    def _label(self, index: int) -> tuple[bytes, int, int]:
        """Return name, process and number by which lines name a thread, which no other thread has."""
        thread = self._trace.threads[index]
        number = thread.tid if 0 <= thread.tid <= LAST_NUMBER else _FIRST_NUMBER
        text = thread.name.encode("utf-8", "surrogateescape")
        name = _TIME_IN_TASKS.sub(rb"\1_", _IN_TASKS.sub(b"_", text)).strip(b" ")[:_LONGEST_TASK]
        if not name or name == NO_TASK.encode():
            name = b":%d" % number
        if name.startswith(b"#"):
            name = b"_" + name[1:]
        process = self._trace.processes[thread.process].pid
        if not 0 <= process <= LAST_NUMBER:
            process = number
        while (label := (name.rstrip(b" "), process, number)) in self._taken:
            number = self._next = max(self._next, _FIRST_NUMBER) + 1
        self._taken.add(label)
        return label


_MEMBERS: Final = ("function", "mapping", "address")
_TEXTS: Final = frozenset({"function", "mapping"})


def _column(columns: dict[Any, Column], key: Any) -> Any:
    return columns[key]


def _without_stack(event_class: EventClass) -> EventClass:
    from dataclasses import replace

    fields = tuple(field for field in event_class.fields if field not in (CALLSTACK, OFFSETS))
    return replace(event_class, fields=fields)


def _is_like_modifiers(name: str) -> bool:
    return all(letter in "ukhGHIpPSDWebR" for letter in name)


def _field(code: Code, event_class: EventClass, role: Role) -> None:
    index = event_class.index_of(role)
    assert index is not None
    code.number_of(("field", index), 1)


def _frames(code: Code, event_class: EventClass) -> None:
    """Print the call stack, a line for each frame."""
    fields = event_class.fields
    index = next((i for i, field in enumerate(fields) if field.type == FRAMES.type), None)
    if index is None:
        return

    def text(name: str) -> None:
        code.number_of(name, FRAME_LEVEL)
        code.unless_zero(lambda: code.text_of(name, FRAME_LEVEL), lambda: code.literal(UNKNOWN))

    def distance() -> None:
        code.literal(b"+0x")
        code.number_of("distance", FRAME_LEVEL)
        code.add(op.NUMBER, code.form(Form("", 0, conversion="x")))

    def function() -> None:
        text("function")
        if OFFSETS in fields:
            code.number_of("distance", FRAME_LEVEL, signed=True)
            code.constant(1 << 63)
            code.add(op.LESS)
            code.unless_zero(distance, None)

    def frame() -> None:
        print_frame(code, "address", function, lambda: text("mapping"))

    code.each("frames", 1, frame)


def _cpu(cpu: int) -> tuple[bytes, int]:
    return (b"" if cpu >> 63 else b"[%03d] " % cpu), 0


def _time(code: Code, *, exact: bool) -> None:
    code.number_of("ts", 0)
    code.constant(_SECOND)
    code.add(op.DIVIDE)
    code.add(op.NUMBER, code.form(Form("", 5, conversion="u")))
    code.literal(b".")
    code.number_of("ts", 0)
    code.constant(_SECOND)
    code.add(op.REMAINDER)
    if not exact:
        code.constant(1000)
        code.add(op.DIVIDE)
    code.add(op.NUMBER, code.form(Form("0", 9 if exact else 6, conversion="u")))
    code.literal(b":")
