"""The texts of a report's events, as programs: one per class."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.errors.terminal import printable
from converter.formats.ftrace.event_format.record_tables import Records
from converter.formats.ftrace.event_format.syntax import EventFormat
from converter.formats.ftrace.print_format.kernel_pointers import ByteOrder
from converter.formats.uftrace.arguments.shown_values import is_text_of
from converter.formats.uftrace.mapping import (
    CALLSITE,
    CATEGORY,
    EXTERNAL,
    NAME,
    NATIVE,
    READINGS,
    SCHEDULE,
    SOURCE_LINE,
    TASK_EXIT,
    TASK_NAME,
    TASK_NEW,
    USER_EVENT,
    watched_variable,
)
from converter.formats.uftrace.report import call_stacks as stack
from converter.formats.uftrace.report.values import ValueTexts
from converter.formats.uftrace.task_records import CallTable
from converter.ir.display.text import utf8_text
from converter.ir.events import EventClass, Table, class_label
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.printing import program as op
from converter.printing.code import Code, Form, Printed
from converter.printing.directory import Directory
from converter.printing.event_texts import FieldTexts

if TYPE_CHECKING:
    from converter.formats.ftrace.print_format.text_sources import TextSources


_NO_TIME: Final = b" " * 10
_UNITS: Final = (b"   ", b" us", b" ms", b"  s", b"  m", b"  h", b"   ", b"   ")
_MOST_LEVELS: Final = 1 << 16
_SWITCHES: Final = {
    stack.OUT: b"sched-out",
    stack.OUT_PREEMPTED: b"sched-out (pre-empted)",
    stack.IN: b"sched-in",
    stack.BOTH: b"schedule",
    stack.BOTH_PREEMPTED: b"schedule (pre-empted)",
}
_READINGS: Final = {reading.event_class: reading for reading in READINGS.values()}
_WATCHED: Final = tuple(watched_variable(size) for size in (1, 2, 4, 8))


class LineKey(NamedTuple):
    """A column of the lines of records."""

    name: str


def is_kernel_function(event_class: EventClass) -> bool:
    """Return True if events are entries or exits of the kernel's functions, from its function graph tracer."""
    return (
        event_class.kind in (Kind.FUNCTION_ENTRY, Kind.FUNCTION_EXIT)
        and bool(event_class.native)
        and event_class.index_of(Role.FUNCTION) is not None
    )


class EventColumns(NamedTuple):
    """The columns of a batch by their keys; those of fields are of the current table."""

    lines: NDArray[Any]
    thread: NDArray[np.int32]
    table: Table

    def get(self, key: Any) -> Any:
        """Return the column of a key as programs expect it."""
        if isinstance(key, LineKey):
            return self.thread if key.name == "thread" else self.lines[key.name]
        return key.of(self.table)


class EventTexts:
    """Compiles the programs of classes."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._tasks = Directory(self._task)
        self._functions = Directory(self._function)
        self._names = Directory(self._called)
        self._switches = Directory(lambda number: (_SWITCHES[number], 0))
        self._sources: TextSources | None = None

    def _task(self, thread: int) -> tuple[bytes, int]:
        known = thread < len(self._trace.threads)
        tid = self._trace.threads[thread].tid if known else -1
        return b" [%7d] | " % tid, 0

    def _function(self, address: int) -> tuple[bytes, int] | None:
        symbols = self._trace.symbols
        found = None if symbols is None else symbols.lookup(address)
        return None if found is None else (printable(utf8_text(found[0])).encode(), found[1])

    def _called(self, id: int) -> tuple[bytes, int]:
        """Return the text of a call of a function whose arguments are not known."""
        name = self._trace.strings[id]
        if name.endswith(b")") and not (len(name) > 10 and name.endswith(b"operator()")):
            return name, 0
        return name + b"()", 0

    def program(
        self, event_class: EventClass, calls: CallTable | None, records: Records | None
    ) -> Printed:
        """Return the program of a class: fully known calls, or the kernel's events with their records."""
        code = Code(big_endian=records is not None and records.big_endian)
        values = ValueTexts(code, None if calls is None else calls.symbols)
        formats = calls.formats if calls is not None else ("",) * len(event_class.fields)
        texts = _Texts(code, event_class, values, formats, records)
        _line(code, "part")
        match event_class.kind:
            case Kind.FUNCTION_ENTRY if is_kernel_function(event_class):
                code.unless_zero(lambda: self._kernel_begin(code), None)
            case Kind.FUNCTION_EXIT if is_kernel_function(event_class):
                code.unless_zero(lambda: self._end(texts, []), None)
            case Kind.SLICE_BEGIN:
                code.unless_zero(lambda: self._begin(texts), None)
            case Kind.SLICE_END:
                code.unless_zero(lambda: self._end(texts, texts.arguments()[:1]), None)
            case Kind.DISCARDED:
                code.unless_zero(lambda: self._lost(texts), None)
            case _:
                code.unless_zero(lambda: self._comment(texts), None)
        return code.finish()

    def _prefix(self, code: Code) -> None:
        """Print the time, the task, and the indentation."""

        def time() -> None:
            _line(code, "whole")
            code.add(op.NUMBER, code.form(Form("", 3, conversion="u")))
            code.literal(b".")
            _line(code, "thousandths")
            code.add(op.NUMBER, code.form(Form("0", 3, conversion="u")))
            _line(code, "unit")
            code.letters(_UNITS)

        code.literal(b" ")
        _line(code, "unit")
        code.unless_zero(time, lambda: code.literal(_NO_TIME))
        _line(code, "thread")
        code.find(self._tasks)
        code.add(op.DROP)
        code.add(op.FOUND_TEXT)
        _line(code, "indent")
        code.add(op.BLANKS, 2, _MOST_LEVELS)

    def _begin(self, texts: _Texts) -> None:
        code = texts.code
        self._prefix(code)
        arguments = texts.arguments()
        if arguments:
            texts.text(Role.NAME)
            code.literal(b"(")
            for number, index in enumerate(arguments):
                code.literal(b", " if number else b"")
                texts.value(index)
            code.literal(b")")
        else:
            named = texts.event_class.index_of(Role.NAME)
            if named is not None:
                code.number_of(texts.values.key("unsigned", named), 1)
                code.find(self._names)
                code.add(op.DROP)
                code.add(op.FOUND_TEXT)
        _open(code)

    def _kernel_begin(self, code: Code) -> None:
        self._prefix(code)
        code.add(op.TEXT, code.column(LineKey("name"), op.TEXTS), 0)
        code.literal(b"()")
        _open(code)

    def _end(self, texts: _Texts, returned: Sequence[int]) -> None:
        code = texts.code

        def result() -> None:
            for index in returned:
                code.literal(b" = ")
                texts.value(index)

        def own_line() -> None:
            self._prefix(code)
            code.literal(b"}")
            result()
            code.literal(b"; /* " if returned else b" /* ")
            code.add(op.TEXT, code.column(LineKey("name"), op.TEXTS), 0)
            code.literal(b" */\n")

        def same_line() -> None:
            result()
            code.literal(b";\n")

        _line(code, "part")
        code.constant(stack.END)
        code.add(op.EQUAL)
        code.unless_zero(same_line, own_line)

    def _lost(self, texts: _Texts) -> None:
        code = texts.code
        index = texts.event_class.index_of(Role.COUNT)
        self._prefix(code)
        code.literal(b"/* LOST ")
        if index is None:
            code.literal(b"some records!! */\n")
            return

        def counted() -> None:
            code.number_of(texts.values.key("unsigned", index), 1)
            code.add(op.DECIMAL, 32, 1)
            code.literal(b" records!! */\n")

        code.number_of(texts.values.key("unsigned", index), 1)
        code.keep((1 << 32) - 1)
        code.constant(1)
        code.add(op.SUBTRACT)
        code.constant((1 << 31) - 1)
        code.add(op.LESS)
        code.unless_zero(counted, lambda: code.literal(b"some records!! */\n"))

    def _comment(self, texts: _Texts) -> None:
        code, event_class = texts.code, texts.event_class
        self._prefix(code)
        code.literal(b"/* ")
        if event_class in _READINGS:
            self._reading(texts)
        elif event_class in _WATCHED:
            code.literal(b"watch:var (")
            texts.text(Role.NAME)
            code.literal(b"=")
            code.number_of(texts.values.key("unsigned", 2), 1)
            code.add(op.HEXADECIMAL, 64)
            code.literal(b")")
        elif event_class == USER_EVENT:
            texts.text(Role.CATEGORY)
            code.literal(b":")
            texts.text(Role.NAME)
        elif event_class == CALLSITE:
            code.literal(b"from ")
            code.add(op.TEXT, code.column(texts.values.key("text", 3), op.TEXTS), 1)
        elif event_class == SCHEDULE:
            code.literal(b"linux:")
            _line(code, "text")
            code.find(self._switches)
            code.add(op.DROP)
            code.add(op.FOUND_TEXT)
        elif event_class == TASK_NAME:
            code.literal(b'linux:task-name (comm="')
            texts.text(Role.NEW_COMM)
            code.literal(b'")')
        elif event_class in (TASK_NEW, TASK_EXIT):
            code.literal(f"{event_class.category}:{event_class.name}".encode())
        elif event_class == EXTERNAL:
            code.literal(b"external-data: ")
            texts.text(Role.MESSAGE)
        elif event_class == NATIVE:
            code.literal(b"event (")
            FieldTexts(code, self._functions).fields(event_class)
            code.literal(b")")
        else:
            self._other(texts)
        code.literal(b" */\n")

    def _reading(self, texts: _Texts) -> None:
        code, event_class = texts.code, texts.event_class
        reading = _READINGS[event_class]
        code.literal(f"{reading.category}:{reading.name} (".encode())
        sign = "+" if reading.category == "diff" else ""
        for index, field in enumerate(event_class.fields[2:], 2):
            code.literal(f"{' ' if index > 2 else ''}{field.name}={sign}".encode())
            # Differences are shown without their sign, too.
            signed = reading.name == "cpu"
            code.number_of(texts.values.key("unsigned", index), 1, signed=signed)
            code.add(op.DECIMAL, 64, int(signed))
            code.literal(field.unit.encode())
        texts.values.ratio(reading)
        code.literal(b")")

    def _other(self, texts: _Texts) -> None:
        """Print an event that has no layout in uftrace, or that is the kernel's."""
        code, event_class, records = texts.code, texts.event_class, texts.records
        code.literal(printable(class_label(event_class).replace(" ", ":", 1)).encode())
        if records is not None and records.format is not None and records.format.print_fmt:
            code.literal(b" (")
            self._print_format(code, records, records.format)
            code.literal(b")")
        elif event_class.fields:
            code.literal(b" (")
            FieldTexts(code, self._functions).fields(event_class)
            code.literal(b")")

    def _print_format(self, code: Code, records: Records, format: EventFormat) -> None:
        # Imported only where there is such an event.
        from converter.formats.ftrace.print_format.print_format import add_print_format
        from converter.formats.ftrace.print_format.text_sources import TextSources

        if self._sources is None:
            assert records.texts is not None
            self._sources = TextSources(records.texts)
        order: ByteOrder = "big" if records.big_endian else "little"
        add_print_format(code, format, self._sources, order, records.long_size)


class _Texts(NamedTuple):
    """The parts of the program of a class."""

    code: Code
    event_class: EventClass
    values: ValueTexts
    formats: Sequence[str]
    records: Records | None

    def text(self, role: Role) -> None:
        """Print the text of a field, if the class has one of that role."""
        index = self.event_class.index_of(role)
        if index is not None:
            self.code.add(op.TEXT, self.code.column(self.values.key("text", index), op.TEXTS), 1)

    def arguments(self) -> list[int]:
        """Return the indexes of the values of a call or return, without the texts of values."""
        fields = self.event_class.fields
        return [
            index
            for index, field in enumerate(fields)
            if field not in (NAME, CATEGORY, SOURCE_LINE) and not self._is_text(index)
        ]

    def _is_text(self, index: int) -> bool:
        fields = self.event_class.fields
        return index > 0 and is_text_of(fields[index], fields[index - 1])

    def value(self, index: int) -> None:
        """Print a value as uftrace shows it."""
        fields = self.event_class.fields
        text_index = index + 1 if index + 1 < len(fields) and self._is_text(index + 1) else None
        self.values.value(fields[index], index, text_index, self.formats[index])


def _open(code: Code) -> None:
    """Print a call whose end is on a separate line."""
    _line(code, "part")
    code.constant(stack.WITH_END)
    code.add(op.EQUAL)
    code.unless_zero(lambda: None, lambda: code.literal(b" {\n"))


def _line(code: Code, name: str) -> None:
    key: Hashable = LineKey(name)
    code.add(op.COLUMN, code.column(key, op.SCALAR), 0, 0)
