"""The lines of a report of any trace: ``task-tid [cpu] flags time: event: text``, as ftrace prints events.

Samples of call stacks have the lines of ``perf script`` (`sample_texts`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors.terminal import printable
from converter.ir.columns import value
from converter.ir.display.latency import latency_letters
from converter.ir.display.text import text_of_fields
from converter.ir.events import Batch, EventClass, Table, class_label
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Role
from converter.ir.symbols import SymbolTable
from converter.ir.trace import Trace
from converter.printing import program as op
from converter.printing.code import Code, Form, Printed
from converter.printing.directory import Directory
from converter.printing.event_texts import IN_FRONT, ColumnKey, FieldTexts, NotExpressedError
from converter.printing.lines import Write
from converter.printing.printer import Printer
from converter.printing.program import Program
from converter.printing.sample_texts import SampleTexts, is_printed_sample

_PLACE_WIDTH: Final = 23
_TIME_WIDTH: Final = 16
_NANOSECONDS: Final = 10**9
_MOST_FACTOR: Final = 1 << 62
_LETTERS: Final = [latency_letters(bits, 0)[:3].encode() for bits in range(256)]
_DEPTHS: Final = [latency_letters(0, depths)[3:].encode() + b" " for depths in range(256)]


def print_lines(trace: Trace, write: Write) -> None:
    """Write a line for each event."""
    _Lines(trace).print(write)


class _Lines:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._places = Directory(self._place)
        self._cpus = Directory(_cpu)
        # perf leaves an unknown CPU out.
        self._sampled_cpus = Directory(lambda cpu: (b"", 0) if cpu >> 63 else _cpu(cpu))
        self._functions = Directory(self._function)
        self._tasks = Directory(self._task)
        self._samples = SampleTexts(trace.strings, self._functions)
        self._symbols: SymbolTable | None = None
        self._programs: dict[int, Printed] = {}
        #: The current batch, for events whose text no program prints.
        self._batch: Batch | None = None
        self._describe: Callable[[int], str | None] | None = None

    def print(self, write: Write) -> None:
        printer = Printer(self._trace.strings)
        for batch in self._trace.batches():
            self._set_batch(batch)
            bound: list[Program | None] = [None] * len(self._trace.event_classes)
            # For events without a thread, that of their track.
            places = np.where(batch.thread >= 0, batch.thread, -2 - batch.track.astype(np.int64))
            of_batch = {
                "ts": batch.ts,
                "cpu": batch.cpu,
                "place": places,
                "position": np.arange(len(batch)),
            }
            for number, table in batch.tables.items():
                bound[number] = self._program(number).bind(partial(_column, of_batch, table))
            printer.print(bound, batch.class_id, batch.row, write)
            # The next one may be of lines that do not exist yet.
            printer.flush(write)

    def _set_batch(self, batch: Batch) -> None:
        trace = self._trace
        self._batch = batch
        self._describe = None if trace.describe is None else trace.describe(batch)
        if trace.symbols is not self._symbols:
            self._symbols = trace.symbols
            self._functions.forget()

    def _place(self, key: int) -> tuple[bytes, int]:
        trace = self._trace
        if not key >> 63:
            thread = trace.threads[key]
            name = thread.name or trace.processes[thread.process].name or "<...>"
            shown = printable(f"{name}-{thread.tid}")
        else:
            track = (1 << 64) - 2 - key
            shown = printable(trace.tracks[track].name) if track >= 0 else "-"
        return f"{shown:>{_PLACE_WIDTH}} ".encode("utf-8", "surrogateescape"), 0

    def _task(self, key: int) -> tuple[bytes, int]:
        """Return the name and the id of a thread as perf prints them."""
        trace = self._trace
        if key >> 63:
            return b":-1     0 ", 0
        thread = trace.threads[key]
        name = printable(thread.name or trace.processes[thread.process].name) or f":{thread.tid}"
        return f"{name} {thread.tid:>5} ".encode("utf-8", "surrogateescape"), 0

    def _function(self, address: int) -> tuple[bytes, int] | None:
        found = None if self._symbols is None else self._symbols.lookup(address)
        if found is None:
            return None
        name = printable(found[0].decode("utf-8", "surrogateescape"))
        return name.encode("utf-8", "surrogateescape"), found[1]

    def _program(self, number: int) -> Printed:
        if number not in self._programs:
            event_class = self._trace.event_classes[number]
            try:
                self._programs[number] = self._compiled(event_class, self._fields)
            except NotExpressedError:
                self._programs[number] = self._compiled(event_class, self._call_description)
        return self._programs[number]

    def _compiled(
        self, event_class: EventClass, text: Callable[[Code, EventClass], None]
    ) -> Printed:
        code = Code()
        is_sample = self._describe is None and is_printed_sample(event_class)
        code.number_of("place", 0, signed=True)
        code.name(self._tasks if is_sample else self._places)
        code.number_of("cpu", 0, signed=True)
        code.name(self._sampled_cpus if is_sample else self._cpus)
        _flags(code, event_class)
        self._time(code, event_class)
        if is_sample:
            code.literal(b":")
            self._samples.print(code, event_class)
            return code.finish()
        label = printable(event_class.name or class_label(event_class))
        code.literal(f": {label}: ".encode("utf-8", "surrogateescape"))
        # The source's own descriptions of events are fetched one by one.
        (text if self._describe is None else self._call_description)(code, event_class)
        code.literal(b"\n")
        return code.finish()

    def _time(self, code: Code, event_class: EventClass) -> None:
        rate = self._trace.clock.ticks_per_second
        if not event_class.timed:
            code.literal(b"-".rjust(_TIME_WIDTH))
            return
        code.number_of("ts", 0)
        if rate is None:
            code.add(op.NUMBER, code.form(Form("", _TIME_WIDTH, conversion="d")))
            return
        tick = _NANOSECONDS / Fraction(rate)
        # The kernel computes seconds in 64 bits.
        if tick > _NANOSECONDS or max(tick.numerator, tick.denominator) > _MOST_FACTOR:

            def seconds(_: bytes, number: int) -> bytes:
                ticks = number - (1 << 64) if number >> 63 else number
                whole, nanos = divmod(int(abs(ticks) * tick), _NANOSECONDS)
                sign = "-" if ticks < 0 else ""
                return f"{sign}{whole}.{nanos:09}".rjust(_TIME_WIDTH).encode()

            code.call(seconds, 1)
            return
        code.add(op.TIME, tick.numerator, tick.denominator, 2 * _TIME_WIDTH)

    def _fields(self, code: Code, event_class: EventClass) -> None:
        FieldTexts(code, self._functions).fields(event_class)

    def _call_description(self, code: Code, event_class: EventClass) -> None:
        """Print the text of an event by a call, as no program prints it."""
        shown = [i for i, field in enumerate(event_class.fields) if field.role not in IN_FRONT]

        def text(_: bytes, position: int) -> bytes:
            batch, trace = self._batch, self._trace
            assert batch is not None
            own = None if self._describe is None else self._describe(position)
            if own is not None:
                return printable(own).encode("utf-8", "surrogateescape")
            table, row = batch.tables[int(batch.class_id[position])], int(batch.row[position])
            fields = [event_class.fields[i] for i in shown]
            values = [
                value(table.column(i), event_class.fields[i].type, row, trace.strings)
                for i in shown
            ]
            fields_text = text_of_fields(fields, values, trace.symbols)
            return fields_text.encode("utf-8", "surrogateescape")

        code.number_of("position", 0)
        code.call(text, 1)


def _column(of_batch: dict[str, NDArray[Any]], table: Table, key: str | ColumnKey) -> Any:
    return of_batch[key] if isinstance(key, str) else key.of(table)


def _cpu(cpu: int) -> tuple[bytes, int]:
    return b"[---] " if cpu >> 63 else f"[{cpu:03}] ".encode(), 0


def _flags(code: Code, event_class: EventClass) -> None:
    """Print the letters of the latency format, and a blank, if events have them."""
    found = [
        event_class.index_of(role) for role in (Role.CONTEXT_FLAGS, Role.CONTEXT_PREEMPT_COUNT)
    ]
    numbers = [
        index
        for index in found
        if index is not None and isinstance(event_class.fields[index].type, IntegerClass)
    ]
    bits, depths = found
    if bits is None or bits not in numbers:
        return
    code.number_of(ColumnKey("unsigned", bits), 1)
    code.letters(_LETTERS)
    if depths is None or depths not in numbers:
        code.literal(_DEPTHS[0])
        return
    code.number_of(ColumnKey("unsigned", depths), 1)
    code.letters(_DEPTHS)
