"""The lines of events: a program for each class prints them from their columns."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Final

import numpy as np

from converter.formats.ftrace.lines.column_texts import add_text
from converter.formats.ftrace.lines.text_formats import EscapedTexts, TextFormat
from converter.formats.ftrace.lines.text_mapping import (
    EVENT_REMARK,
    MARK,
    NO_TASK,
    is_mark,
    own_arguments,
    text_format,
)
from converter.formats.ftrace.task_numbers import TaskNumbers
from converter.formats.ftrace.tasks import IDLE_NAME
from converter.ir.columns import Column, string_ids
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.printing import program as op
from converter.printing.code import Code, Form, Printed
from converter.printing.directory import Directory
from converter.printing.lines import Write
from converter.printing.printer import Printer
from converter.printing.program import Program

_SECOND: Final = 10**9
_NAME_WIDTH: Final = 16
#: The width of trace-cmd's event names.
_LABEL_WIDTH: Final = 21
_IN_TASKS: Final = re.compile(rb"[\0-\x1f\x7f]")
#: Letters of hard and soft interrupts (bits 0 and 1) and of those that cannot be masked.
_CONTEXT: Final = ".hsHzZyY"


def _letters(bits: int) -> bytes:
    irqs, bottom = bits & 0x01, bits & 0x80
    off = "D" if irqs and bottom else "d" if irqs else "b" if bottom else "."
    need = {0x00: ".", 0x04: "n", 0x20: "p", 0x02: "l", 0x24: "N", 0x06: "b", 0x22: "L", 0x26: "B"}
    within = (bits >> 3 & 1) | (bits >> 4 & 1) << 1 | (bits >> 6 & 1) << 2
    return f"{off}{need[bits & 0x26]}{_CONTEXT[within]}".encode()


_FLAGS: Final = [_letters(bits) for bits in range(256)]
_DEPTHS: Final = [
    "".join(f"{depth:x}" if depth else "." for depth in (bits & 15, bits >> 4)).encode()
    for bits in range(256)
]


class EventLines:
    """Prints batches; the remarks that declare events precede the first of them."""

    def __init__(self, trace: Trace, *, aligned: bool) -> None:
        self._trace = trace
        self._aligned = aligned
        self.numbers = TaskNumbers(trace)
        self._tasks = Directory(self._task)
        self._cpus = Directory(_cpu)
        self._printer = Printer(trace.strings)
        self._programs: dict[int, Printed] = {}
        self._formats: dict[int, TextFormat] = {}
        self._labels: set[str] = {MARK}
        self._escaped = EscapedTexts(trace.strings)

    def print(self, batch: Batch, write: Write) -> None:
        """Print a batch."""
        new = [number for number in batch.tables if number not in self._programs]
        if new:
            self._printer.flush(write)
        for number in new:
            write(self._declare(number))
        threads = batch.thread.astype(np.int64)
        bound: list[Program | None] = [None] * len(self._trace.event_classes)
        for number, table in batch.tables.items():
            columns = self._columns(number, table)
            of_batch = {"ts": batch.ts, "cpu": batch.cpu, "task": threads}
            bound[number] = self._programs[number].bind(partial(_column, of_batch, columns))
        self._printer.print(bound, batch.class_id, batch.row, write)

    def finish(self, write: Write) -> None:
        """Write what is left."""
        self._printer.flush(write)

    def _columns(self, number: int, table: Table) -> list[Column]:
        event_class = self._trace.event_classes[number]
        columns = list(table.columns())
        found = self._formats.get(number)
        for index, field in enumerate(event_class.fields):
            if isinstance(field.type, StringClass):
                more = b"" if found is None else found.escaped.get(field.name, b"")
                ids = string_ids(columns[index], self._trace.strings)
                columns[index] = self._escaped.of(ids, more)
        return columns

    def _declare(self, number: int) -> bytes:
        """Compile the program of a class; return the remark that declares it, if it needs one."""
        event_class = self._trace.event_classes[number]
        if event_class.kind is Kind.DISCARDED:
            self._programs[number] = self._lost(event_class)
            return b""
        if is_mark(event_class):
            self._programs[number] = self._compiled(event_class, MARK, None)
            return b""
        found = self._formats[number] = text_format(event_class)
        label, count = event_class.name, 1
        while label in self._labels:
            count += 1
            label = f"{event_class.name}.{count}"
        self._labels.add(label)
        self._programs[number] = self._compiled(event_class, label, found)
        return EVENT_REMARK + label.encode("utf-8", "surrogateescape") + b" " + found.remark + b"\n"

    def _compiled(self, event_class: EventClass, label: str, found: TextFormat | None) -> Printed:
        code = Code()
        code.number_of("task", 0, signed=True)
        code.name(self._tasks)
        code.number_of("cpu", 0)
        code.name(self._cpus)
        for role, letters in (
            (Role.CONTEXT_FLAGS, _FLAGS),
            (Role.CONTEXT_PREEMPT_COUNT, _DEPTHS),
        ):
            index = event_class.index_of(role)
            assert index is not None
            code.number_of(("field", index), 1)
            code.letters(letters)
        code.literal(b" ")
        _time(code)
        name = f"{label}:".ljust(_LABEL_WIDTH if self._aligned else 0)
        code.literal(f": {name} ".encode("utf-8", "surrogateescape"))
        if found is None:
            index = event_class.index_of(Role.MESSAGE)
            assert index is not None
            code.text_of(("field", index), 1)
        else:
            fields = own_arguments(event_class)
            add_text(code, found.format, {field.name: i for i, field in enumerate(fields)})
        code.literal(b"\n")
        return code.finish()

    @staticmethod
    def _lost(event_class: EventClass) -> Printed:
        index = event_class.index_of(Role.COUNT)
        assert index is not None
        code = Code()

        def count() -> None:
            code.number_of(("field", index), 1)

        def number() -> None:
            count()
            code.add(op.DECIMAL, 64, 1)
            code.literal(b" ")

        code.literal(b"CPU:")
        code.number_of("cpu", 0)
        code.add(op.DECIMAL, 64, 1)
        code.literal(b" [LOST ")
        count()
        code.constant(1 << 63)
        code.add(op.LESS)
        code.unless_zero(number, None)
        code.literal(b"EVENTS] ")
        _time(code)
        code.literal(b"\n")
        return code.finish()

    def _task(self, index: int) -> tuple[bytes, int]:
        if index >> 63:
            name, number = NO_TASK.encode(), 0
        else:
            thread = self._trace.threads[index]
            number = self.numbers.all()[index]
            text = thread.name.encode("utf-8", "surrogateescape")
            name = _IN_TASKS.sub(b"_", text).strip(b" ") or b"<...>"
            if name == NO_TASK.encode():
                name = b"<...>"
            if not number and thread.name in ("", IDLE_NAME):
                name = b"<idle>"
        width = 5 if self._aligned else 7
        return name.rjust(_NAME_WIDTH) + b"-%-*d " % (width, number), 0


def _column(of_batch: dict[str, Any], columns: list[Column], key: str | tuple[str, int]) -> Any:
    return of_batch[key] if isinstance(key, str) else columns[key[1]]


def _cpu(cpu: int) -> tuple[bytes, int]:
    return b"[%03d] " % cpu, 0


def _time(code: Code) -> None:
    """Print seconds and nanoseconds."""
    code.number_of("ts", 0)
    code.constant(_SECOND)
    code.add(op.DIVIDE)
    code.add(op.NUMBER, code.form(Form("", 5, conversion="u")))
    code.literal(b".")
    code.number_of("ts", 0)
    code.constant(_SECOND)
    code.add(op.REMAINDER)
    code.add(op.NUMBER, code.form(Form("0", 9, conversion="u")))
