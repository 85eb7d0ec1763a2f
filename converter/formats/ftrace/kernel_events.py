"""Converts events of any trace to ring-buffer records, with the formats, symbols and names of tasks that they need."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from converter.formats.ftrace.event_format.addresses import function_fields
from converter.formats.ftrace.event_format.new_formats import FormatMaker, NewFormat
from converter.formats.ftrace.mapping import NAMING_ROLES
from converter.formats.ftrace.ring_buffer.emit import RecordColumns
from converter.formats.ftrace.ring_buffer.page_writer import PageWriter, Records
from converter.formats.ftrace.ring_buffer.record_layout import (
    MISSED_PROGRAM,
    RecordProgram,
    record_program,
)
from converter.formats.ftrace.task_numbers import TaskNumbers
from converter.ir.columns import ListColumn
from converter.ir.distinct_values import values_of
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import ArrayClass, FieldClass, IntegerClass, Style
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.domain.scheduling.task_names import UNKNOWN_NAME
from converter.projection.domain.symbol_names import SYMBOL_ROLES

_LAST_ADDRESS = (1 << 64) - 1
_LINE_ENDS = re.compile(rb"[\0\r\n]")


class KernelEvents:
    """Writes the events of batches as records, and collects their formats, names of tasks and symbols.

    `numbers` are the pids by which records name threads.
    """

    def __init__(self, trace: Trace, numbers: TaskNumbers) -> None:
        self._trace = trace
        self._maker = FormatMaker(str(trace.environment.get("kernel_release", "")))
        self._programs: dict[int, RecordProgram] = {}
        #: By the identity of a class: the number of its format.
        self._ids: dict[int, int] = {}
        #: By the identity of a class: the names of its fields whose functions its format prints.
        self._functions: dict[int, frozenset[str]] = {}
        self.numbers = numbers
        #: The texts of the formats, by system.
        self.formats: dict[str, list[bytes]] = {}
        #: Addresses of code in the events.
        self.addresses: set[int] = set()
        self._has_marks = False
        #: True if events other than marks print 0 as a function.
        self._has_null_functions = False
        #: The string ids of names that events give to tasks, by tid.
        self._names: dict[int, int] = {}
        self._no_names = frozenset(
            trace.strings.intern(one) for one in (b"", UNKNOWN_NAME.encode())
        )

    def write(self, batch: Batch, writers: Mapping[int, PageWriter]) -> None:
        """Append a batch's events, each to the writer of its track."""
        tables = self.bind(batch.tables)
        events = Records(
            batch.ts,
            batch.class_id,
            batch.row,
            np.maximum(batch.cpu, 0),
            self.numbers.numbers_of(batch.thread),
        )
        track = batch.track
        if (batch.ts[1:] < batch.ts[:-1]).any():
            # Separately recorded threads share a CPU here, and tools expect the records of a CPU in time order.
            order = np.argsort(batch.ts, kind="stable")
            events, track = events.select(order), track[order]
        for number, writer in writers.items():
            here = track == number
            if here.all():
                writer.append(events, tables)
            elif here.any():
                writer.append(events.select(here), tables)

    def bind(self, tables: Mapping[int, Table]) -> dict[int, RecordColumns]:
        """Return columns as records take them, by the number of their class, whose format is made when it is new."""
        bound = {}
        for id, table in tables.items():
            event_class = self._trace.event_classes[id]
            if id not in self._programs:
                self._programs[id] = self._program(event_class)
            bound[id] = self._programs[id].bind(table, self._trace.strings)
            self._note_names(event_class, table)
            self._note_addresses(event_class, table)
        return bound

    def _program(self, event_class: EventClass) -> RecordProgram:
        if event_class.kind is Kind.DISCARDED:
            return MISSED_PROGRAM
        new_format = self.format_of(event_class)
        self.formats.setdefault(event_class.category, []).append(new_format.text)
        self._ids[id(event_class)] = new_format.format.id
        self._functions[id(event_class)] = function_fields(new_format.format)
        return record_program(new_format.format, event_class, big_endian=False)

    def id_of(self, event_class: EventClass) -> int:
        """Return the number of the format of a class that was bound."""
        return self._ids[id(event_class)]

    def format_of(self, event_class: EventClass) -> NewFormat:
        """Return the format of a new class; UnsupportedError if there can be none."""
        return self._maker.make(event_class)

    def _note_addresses(self, event_class: EventClass, table: Table) -> None:
        functions = self._functions.get(id(event_class), frozenset())
        symbols = self._trace.symbols
        is_mark = event_class.kind is Kind.MARK
        self._has_marks |= is_mark
        for index, field in enumerate(event_class.fields):
            if _holds_addresses(field.type):
                column = table.column(index)
                assert isinstance(column, ListColumn) and isinstance(column.values, np.ndarray)
                self.addresses.update(values_of(column.values).tolist())
            if not isinstance(field.type, IntegerClass):
                continue
            column = table.column(index)
            if field.role in SYMBOL_ROLES or field.name in functions:
                assert isinstance(column, np.ndarray)
                self._has_null_functions |= not is_mark and not column.all()
                if symbols is not None:
                    unsigned = column.view(f"u{column.itemsize}")
                    self.addresses.update(values_of(unsigned).tolist())
            elif symbols is not None and field.type.style is Style.POINTER:
                # An address of data, or the start of a function that the event names.
                assert isinstance(column, np.ndarray)
                self.addresses.update(symbols.starts(column).tolist())

    def _note_names(self, event_class: EventClass, table: Table) -> None:
        for tid_role, name_role in NAMING_ROLES:
            indexes = event_class.index_of(tid_role), event_class.index_of(name_role)
            if indexes[0] is None or indexes[1] is None:
                continue
            tids, names = table.column(indexes[0]), table.column(indexes[1])
            if isinstance(tids, np.ndarray) and isinstance(names, np.ndarray):
                # The last name of each task.
                which, first = np.unique(tids[::-1], return_index=True)
                last = zip(which.tolist(), names[::-1][first].tolist(), strict=True)
                self._names.update((tid, name) for tid, name in last if name not in self._no_names)

    def command_lines(self) -> bytes:
        """Return the names of tasks by number, as tracefs/saved_cmdlines lists them."""
        lines = []
        for number, thread in zip(self.numbers.all(), self._trace.threads, strict=True):
            name = thread.name.encode("utf-8", "surrogateescape")
            if not name and thread.tid in self._names:
                name = self._trace.strings[self._names[thread.tid]]
            if name:
                lines.append(b"%d %b\n" % (number, _LINE_ENDS.sub(b"_", name)))
        return b"".join(lines)

    def symbols(self) -> bytes:
        """Return the functions that the addresses lie in, as /proc/kallsyms lists them.

        Tools take each symbol to go on to the next one. An address between two that has no name has itself as its name.
        """
        symbols = self._trace.symbols
        found: dict[int, bytes] = {}
        unnamed = []
        end = 0
        for address in sorted(self.addresses - {0}):
            symbol = None if symbols is None else symbols.lookup(address)
            if symbol is None:
                unnamed.append(address)
                continue
            name, distance = symbol
            found.setdefault(address - distance, name)
            end = address + 1 if distance else 0
        first, last = min(found, default=1 << 64), max(found, default=0)
        found |= {address: b"%#x" % address for address in unnamed if first < address < last}
        if end and end <= _LAST_ADDRESS:
            # The last symbol has its address alone, unless another one follows.
            found.setdefault(end, b"_end")
        # trace_marker events have the address of the kernel's function. It is 0 for other sources, where tools expect
        # this name. But they use it for each address below the first function, and for null pointers of others, too.
        is_free = not self._has_null_functions and not any(one < first for one in unnamed)
        if self._has_marks and is_free:
            found.setdefault(0, b"tracing_mark_write")
        # A name ends at a space.
        return b"".join(
            b"%016x T %b\n" % (address, re.sub(rb"\s", b"_", name))
            for address, name in sorted(found.items())
        )


def _holds_addresses(field_class: FieldClass) -> bool:
    """Return True if values are call stacks, of the kernel's or of a program's code."""
    match field_class:
        case ArrayClass(IntegerClass(style=Style.SYMBOL | Style.POINTER)):
            return True
    return False
