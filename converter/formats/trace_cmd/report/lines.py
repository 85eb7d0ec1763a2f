"""The report of a trace.dat file, as `trace-cmd report -t` of trace-cmd 3.4 prints it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ftrace.event_format.record_tables import Records, RecordTable
from converter.formats.ftrace.plugins.event_fields import Emit, EventFields, decimal
from converter.formats.ftrace.plugins.plugin_texts import plugin_text
from converter.formats.ftrace.plugins.report_context import ReportContext
from converter.formats.ftrace.print_format.kernel_pointers import ByteOrder
from converter.formats.ftrace.print_format.text_sources import TextSources
from converter.formats.ftrace.recording import Buffer
from converter.formats.ftrace.tasks import command_lines
from converter.formats.trace_cmd.container.options import stated_cpus
from converter.formats.trace_cmd.layout import OptionId
from converter.formats.trace_cmd.report.call_depths import CallDepths
from converter.formats.trace_cmd.report.pending_calls import PendingCalls, Settled
from converter.formats.trace_cmd.side_table import read_side_table
from converter.ir.columns import ListColumn
from converter.ir.display.latency import HARDIRQ, IRQS_OFF, NEED_RESCHED, NEED_RESCHED_LAZY, SOFTIRQ
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.printing import program as op
from converter.printing.code import Code, Printed
from converter.printing.directory import Directory
from converter.printing.lines import Write
from converter.printing.printer import Printer
from converter.printing.program import Program

_LABEL_WIDTH: Final = 21
#: The depth of disabled migration, in real-time kernels before Linux 5.11.
_MIGRATE_DISABLE: Final = "common_migrate_disable"
#: The width of times of counters.
_COUNTER_WIDTH: Final = 11
_FUNCTIONS: Final = frozenset({("ftrace", "function"), ("ftrace", "func_repeats")})
_CALLED: Final = {"ip", "parent_ip"}


def _letters(bits: int) -> bytes:
    """Return the letters of flags, of which trace-cmd has fewer than the kernel (`latency.latency_letters`)."""
    off = "d" if bits & IRQS_OFF else "."
    reschedule = "N" if bits & NEED_RESCHED else "L" if bits & NEED_RESCHED_LAZY else "."
    within = ".hsH"[bool(bits & HARDIRQ) + 2 * bool(bits & SOFTIRQ)]
    return f"{off}{reschedule}{within}".encode()


def _wide_depths(_: bytes, depths: int) -> bytes:
    counts = [f"{depth:x}" if depth else "." for depth in (depths & 15, depths >> 4)]
    return "".join(counts).encode()


#: The letters of flags by their value in a record.
_FLAGS: Final = [_letters(bits) for bits in range(256)]
_DEPTHS: Final = [_wide_depths(b"", depths) for depths in range(256)]


def print_report(trace: Trace, write: Write) -> bool:
    """Write the report in parts; return False for a trace that was not read from such a file."""
    if "trace_cmd" not in trace.sidecar or trace.describe is None:
        return False
    _Report(trace).print(write)
    return True


class _Report:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        kept = trace.sidecar["trace_cmd"]
        names = command_lines(kept["sections"], big_endian=kept["big_endian"])
        self._context = ReportContext(names, trace.symbols, trace.clock)
        #: The numbers of threads in records, where the file has numbers other than tids.
        self._numbers: list[int] = []
        with suppress(TraceError):
            tables = read_side_table(kept["options"])
            self._numbers = [] if tables is None else tables.numbers
        self._instances = Directory(self._instance)
        self._cpus = Directory(_cpu)
        buffers = [buffer.name.decode("utf-8", "surrogateescape") for buffer in self._buffers()]
        #: The width of instance names, which precede lines where there are instances.
        self._width = max(map(len, buffers), default=0)
        self._printer = Printer(trace.strings, escapes=True)
        #: By class, and by whether its events have records.
        self._programs: dict[tuple[int, bool], Printed] = {}
        self._sources: TextSources | None = None
        self._tids = np.zeros(0, np.int64)
        #: Numbers of function names, to determine nesting depths.
        self._names: dict[bytes, int] = {b"": 0}
        self._depths = CallDepths()

    def print(self, write: Write) -> None:
        """Print all lines."""
        write(f"cpus={self._cpu_count()}\n".encode())
        calls = PendingCalls(self._trace.event_classes)
        for batch in self._trace.batches():
            records = {
                number: table.records
                for number, table in batch.tables.items()
                if isinstance(table, RecordTable) and table.records is not None
            }
            for settled in calls.add(batch, records):
                self._events(settled, write)
        for settled in calls.end():
            self._events(settled, write)
        self._printer.flush(write)

    def _buffers(self) -> list[Buffer]:
        buffers: list[Buffer] = self._trace.sidecar["trace_cmd"]["buffers"]
        return buffers

    def _cpu_count(self) -> int:
        cpus = [data.cpu for buffer in self._buffers() for data in buffer.cpus]
        kept = self._trace.sidecar["trace_cmd"]
        stated = [
            stated_cpus(data, big_endian=kept["big_endian"])
            for id, data in kept["options"]
            if id == OptionId.CPUCOUNT and len(data) >= 4
        ]
        # Version 6 has the number in its header.
        return max(max(cpus, default=-1) + 1, *stated, int(kept.get("cpu_count") or 0))

    def _instance(self, track: int) -> tuple[bytes, int]:
        if track >> 63:
            return b" " * (self._width + 2), 0
        name = f"{self._trace.tracks[track].name:>{self._width}}: "
        return name.encode("utf-8", "surrogateescape"), 0

    def _events(self, settled: Settled, write: Write) -> None:
        batch = settled.batch
        columns = _Columns(settled, self._pids(batch), self._call_depths(batch))
        bound: list[Program | None] = [None] * len(self._trace.event_classes)
        for number, table in batch.tables.items():
            records = settled.records.get(number)
            printed = self._program(number, records)
            columns.table = table
            located = None if records is None else (records.segments, *records.located)
            bound[number] = printed.bind(columns.get, located)
        self._printer.print(bound, settled.class_id, batch.row, write)

    def _pids(self, batch: Batch) -> NDArray[np.int64]:
        """Return the number of each event's task as in records, -1 without one."""
        threads = self._trace.threads
        if len(self._tids) != len(threads) + 1:
            others = (thread.tid for thread in threads[len(self._numbers) :])
            # The last entry is for index -1.
            self._tids = np.array([*self._numbers, *others, -1], np.int64)
        return self._tids[batch.thread]

    def _call_depths(self, batch: Batch) -> NDArray[np.int64]:
        """Return the nesting depth of each event's function, as far as names show it; nothing without functions."""
        classes = self._trace.event_classes
        found = []
        for number, table in batch.tables.items():
            event_class = classes[number]
            indexes = {field.name: i for i, field in enumerate(event_class.fields)}
            if (event_class.category, event_class.name) in _FUNCTIONS and indexes.keys() >= _CALLED:
                names = [self._names_of(table, indexes[name]) for name in ("parent_ip", "ip")]
                found.append((batch.positions(number), *names))
        if not found:
            return np.zeros(0, np.int64)
        at, caller, callee = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(at, kind="stable")
        depths = np.zeros(len(batch), np.int64)
        depths[at[order]] = self._depths.follow(batch.cpu[at[order]], caller[order], callee[order])
        return depths

    def _names_of(self, table: Table, index: int) -> NDArray[np.int32]:
        """Return a number for the name of the function that contains each address, -1 without one."""
        column = table.column(index)
        assert isinstance(column, np.ndarray)
        addresses = np.ascontiguousarray(column).view(f"u{column.itemsize}")
        distinct, where = np.unique(addresses, return_inverse=True)
        numbers = np.empty(len(distinct), np.int32)
        for i, address in enumerate(distinct.tolist()):
            found = self._context.function(address)
            numbers[i] = -1 if found is None else self._names.setdefault(found[0], len(self._names))
        return numbers[where]

    # Programs

    def _program(self, number: int, records: Records | None) -> Printed:
        """Return the program that prints the events of a class, compiled when first needed."""
        key = number, records is not None
        if key not in self._programs:
            self._programs[key] = self._compiled(self._trace.event_classes[number], records)
        return self._programs[key]

    def _compiled(self, event_class: EventClass, records: Records | None) -> Printed:
        big_endian: bool = self._trace.sidecar["trace_cmd"]["big_endian"]
        code = Code(big_endian=big_endian)
        fields = EventFields(event_class, code, lambda: self._print_format(code, records))
        if event_class.kind is Kind.DISCARDED:
            self._lost(fields)
        else:
            self._instance_prefix(code)
            self._prefix(fields, event_class)
            self._text(fields, event_class)
            code.literal(b"\n")
        return code.finish()

    def _instance_prefix(self, code: Code) -> None:
        if self._width:
            code.number_of(("batch", "track"), 0, signed=True)
            code.name(self._instances)

    def _lost(self, fields: EventFields) -> None:
        """Print a line for lost events, with their number where it is known; no line if there are none."""
        code = fields.code
        count = fields.number("count")
        assert count is not None

        def number() -> None:
            decimal(code, count, signed=True)
            code.literal(b" ")

        def line() -> None:
            self._instance_prefix(code)
            code.literal(b"CPU:")
            code.number_of(("batch", "cpu"), 0, signed=True)
            code.add(op.DECIMAL, 64, 1)
            code.literal(b" [")
            count()
            code.constant(1 << 63)
            code.add(op.LESS)
            code.unless_zero(number, None)
            code.literal(b"EVENTS DROPPED]\n")

        count()
        code.unless_zero(line, None)

    def _prefix(self, fields: EventFields, event_class: EventClass) -> None:
        """Print task, CPU, flags, time and name."""
        code = fields.code
        code.number_of(("batch", "pid"), 0, signed=True)
        code.name(self._context.tasks)
        code.number_of(("batch", "cpu"), 0, signed=True)
        code.name(self._cpus)
        _flags(fields, event_class)
        code.literal(b" ")
        self._context.time(code, lambda: code.number_of(("batch", "ts"), 0), _COUNTER_WIDTH)
        label = f"{event_class.name}:".ljust(_LABEL_WIDTH) if event_class.name else ""
        if event_class.kind is Kind.NATIVE:
            label = f"[UNKNOWN EVENT] {event_class.name}:"
        code.literal(f": {label} ".encode("utf-8", "surrogateescape"))

    def _text(self, fields: EventFields, event_class: EventClass) -> None:
        code = fields.code
        if event_class.kind is Kind.NATIVE:
            data = fields.elements("payload")
            if data is not None:
                data.for_each(data.two_digits)
        elif not event_class.native:
            # A line of a text buffer.
            message = fields.text("message")
            if message is not None:
                code.text_of(message, 1)
        else:
            (plugin_text(event_class, fields, self._context) or fields.printed)()

    def _print_format(self, code: Code, records: Records | None) -> None:
        """Print the text of the `print fmt`; nothing where there are no records."""
        if records is None or records.format is None or not records.format.print_fmt:
            return
        # Imported only where there is such an event.
        from converter.formats.ftrace.print_format.print_format import add_print_format

        if self._sources is None:
            assert records.texts is not None
            self._sources = TextSources(records.texts)
        order: ByteOrder = "big" if records.big_endian else "little"
        add_print_format(code, records.format, self._sources, order, records.long_size)


class _Columns:
    """The columns of a batch by their keys; those of fields are of the current table."""

    table: Table

    def __init__(
        self, settled: Settled, pids: NDArray[np.int64], call_depths: NDArray[np.int64]
    ) -> None:
        batch = settled.batch
        self._of_batch = {
            "ts": batch.ts,
            "cpu": batch.cpu,
            "track": batch.track,
            "pid": pids,
            "is_leaf": settled.is_leaf,
            "call_time": settled.call_time,
            "returns": settled.returns,
            "value": settled.value,
            "call_depth": call_depths,
        }

    def get(self, key: tuple[str, Any]) -> Any:
        """Return the column of a key as programs expect it."""
        what, which = key
        if what == "batch":
            return self._of_batch[which]
        column = self.table.column(which)
        if not isinstance(column, ListColumn):
            return column
        if what == "list":
            return column.offsets
        return column.values if what == "values" else (column.values, column.offsets)


def _cpu(cpu: int) -> tuple[bytes, int]:
    return f"[{cpu - (1 << 64) if cpu >> 63 else cpu:03}] ".encode(), 0


def _flags(fields: EventFields, event_class: EventClass) -> None:
    """Print interrupts off, reschedule, context, and the depths of disabled preemption and migration, as letters."""
    code = fields.code
    bits, _ = _context(fields, event_class, Role.CONTEXT_FLAGS)
    depths, size = _context(fields, event_class, Role.CONTEXT_PREEMPT_COUNT)
    if bits is None:
        code.literal(b"...")
    else:
        bits()
        code.letters(_FLAGS)
    if depths is None:
        code.literal(b"..")
    else:
        depths()
        if size == 8:
            code.letters(_DEPTHS)
        else:
            code.call(_wide_depths, 1)
    migrations = fields.number(_MIGRATE_DISABLE)
    if migrations is not None and fields.bits(_MIGRATE_DISABLE) == 8:
        decimal(code, migrations)


def _context(fields: EventFields, event_class: EventClass, role: Role) -> tuple[Emit | None, int]:
    """Return the integer field of a role, and its size."""
    index = event_class.index_of(role)
    name = "" if index is None else event_class.fields[index].name
    number = fields.number(name)
    return number, 0 if number is None else fields.bits(name)
