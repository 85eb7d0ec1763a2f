"""Kernel events of other formats in trace.dat: each under its own system and name, with its own fields."""

from pathlib import Path

import numpy as np
import pytest
from support.trace_cmd.writing import CAPABILITIES, read_back, trace_of, written

import converter
from converter.formats.ftrace.kernel_formats import kernel_format
from converter.formats.perfetto import tracepoints
from converter.formats.perfetto.protobuf.descriptors import typed_event
from converter.ir.columns import column_from_values, neutral
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import ArrayClass, IntegerClass, StringClass, Style
from converter.ir.kinds import Kind, Role
from converter.ir.symbols import SymbolTable
from converter.ir.trace import Thread
from converter.kernels.tables.strings import StringTable
from converter.projection.project import project

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures"
U64 = IntegerClass(64)
I64 = IntegerClass(64, signed=True)


def one_of(event_class, values=None):
    """A trace with one event of a class, and what reading it back from trace.dat gives."""
    strings = StringTable()
    values = values or [neutral(field.type) for field in event_class.fields]
    columns = [
        column_from_values(field.type, [value], strings)
        for field, value in zip(event_class.fields, values, strict=True)
    ]
    trace = trace_of(
        event_class,
        columns,
        [5],
        threads=[Thread(1, 0, "main")],
        strings=strings,
        thread=np.zeros(1, np.int32),
    )
    target, report = project(trace, CAPABILITIES, "trace_cmd")
    back = read_back(written(target))
    (declared,) = back.event_classes
    return back, declared, list(report)


@pytest.mark.parametrize("point", sorted(tracepoints.number_of_tracepoint()), ids=":".join)
def test_events_of_perfetto_keep_system_name_and_kind(point):
    message = typed_event(tracepoints.number_of_tracepoint()[point])
    event_class = tracepoints.tracepoint_class(*point, message.fields)
    _, declared, losses = one_of(event_class)
    assert (declared.category, declared.name) == point
    assert declared.kind is event_class.kind
    assert not [loss for loss in losses if loss.code.startswith("event-")]
    names = [field.name for field in declared.fields]
    format = kernel_format(*point)
    if format is not None and {field.name for field in format.fields} <= set(names):
        assert names[: len(format.fields)] == [field.name for field in format.fields]


@pytest.mark.parametrize(
    ("kind", "point", "fields"),
    [
        (
            Kind.TIMER_ENTRY,
            ("timer", "timer_expire_entry"),
            [
                ("timer", Role.TIMER, U64, 7),
                ("now", Role.NONE, U64, 8),
                ("function", Role.FUNCTION, U64, 9),
                ("baseclk", Role.NONE, U64, 10),
            ],
        ),
        (
            Kind.TIMER_ENTRY,
            ("irq_vectors", "local_timer_entry"),
            [("vector", Role.VECTOR, IntegerClass(32, True), 236)],
        ),
        (Kind.IRQ_ENTRY, ("irq_vectors", "hyperv_callback_entry"), [("vector", Role.IRQ, I64, 3)]),
        (
            Kind.SYSCALL_ENTRY,
            ("syscalls", "sys_enter_openat"),
            [("__syscall_nr", Role.SYSCALL_NUMBER, I64, 257), ("dfd", Role.NONE, U64, 3)],
        ),
        (
            Kind.SYSCALL_EXIT,
            ("syscalls", "sys_exit_read"),
            [("__syscall_nr", Role.SYSCALL_NUMBER, I64, 0), ("ret", Role.RETURN, I64, -4)],
        ),
    ],
)
def test_events_are_not_named_as_others_of_their_kind(kind, point, fields):
    declared = tuple(Field(name, of, role) for name, role, of, _ in fields)
    event_class = EventClass(kind, point[1], point[0], declared)
    back, got, losses = one_of(event_class, [value for *_, value in fields])
    assert (got.kind, got.category, got.name) == (kind, *point)
    assert [(f.name, f.role) for f in got.fields[: len(fields)]] == [f[:2] for f in fields]
    (batch,) = back.batches()
    (table,) = batch.tables.values()
    assert [int(table.column(i)[0]) for i in range(len(fields))] == [f[3] for f in fields]
    assert {str(loss.kind) for loss in losses} <= {"retyped"}


def test_what_lacks_fields_of_the_kernels_event_is_not_printed_with_zeros():
    # The kernel's text would say now=0.
    fields = (Field("comm", StringClass()), Field("delay", U64))
    _, declared, _ = one_of(EventClass(Kind.TYPED, "sched_stat_runtime", "sched", fields))
    assert [field.name for field in declared.fields[:2]] == ["comm", "delay"]
    assert b"runtime" not in declared.native.partition(b"ID:")[2]


@pytest.mark.parametrize(
    ("name", "role", "printed"),
    [
        ("func", Role.FUNCTION, b"work struct %p: function %ps"),
        ("function", Role.FUNCTION, b"work struct %p: function %ps"),
        ("other", Role.NONE, b'work struct %p"'),
    ],
)
def test_a_field_that_newer_kernels_have_is_known_by_its_role(name, role, printed):
    pointer = IntegerClass(64, style=Style.POINTER)
    fields = (Field("work", pointer, Role.WORK), Field(name, pointer, role))
    event_class = EventClass(Kind.WORK_END, "workqueue_execute_end", "workqueue", fields)
    back, declared, _ = one_of(event_class, [7, 9])
    shown = "other" if role is Role.NONE else "function"
    assert [(f.name, f.role) for f in declared.fields[:2]] == [("work", Role.WORK), (shown, role)]
    assert printed in declared.native
    (batch,) = back.batches()
    (table,) = batch.tables.values()
    assert [int(table.column(i)[0]) for i in range(2)] == [7, 9]


def test_arrays_of_the_kernels_events_stay_arrays():
    fields = (Field("tgid", IntegerClass(32)), Field("caller", ArrayClass(U64, 8)))
    values = [1, list(range(8))]
    back, declared, _ = one_of(EventClass(Kind.TYPED, "user_stack", "ftrace", fields), values)
    assert declared.fields[1].type == ArrayClass(IntegerClass(64, style=Style.POINTER), 8)
    (batch,) = back.batches()
    (table,) = batch.tables.values()
    assert table.column(1).values.tolist() == values[1]


def test_events_return_from_perfetto_as_they_were(tmp_path):
    source = FIXTURES / "trace_cmd" / "small.dat"
    converter.convert(source, tmp_path / "a.pftrace")
    converter.convert(tmp_path / "a.pftrace", tmp_path / "b.dat")

    def names(path):
        with converter.open_trace(path) as trace:
            count = {}
            for batch in trace.batches():
                for id, table in batch.tables.items():
                    declared = trace.event_classes[id]
                    key = (declared.category, declared.name, declared.kind)
                    count[key] = count.get(key, 0) + len(table)
        return count

    assert names(tmp_path / "b.dat") == names(source)


def test_functions_that_pointers_name_are_in_kallsyms():
    start = 0xFFFFFFFF81000000
    symbols = SymbolTable(
        lambda: (np.array([start, start + 16], np.uint64), [b"process_timeout", b"next_one"])
    )
    assert symbols.starts(np.array([0, start + 1, start + 16, 2**64 - 1], np.uint64)).tolist() == [
        start + 16
    ]
    pointer = IntegerClass(64, style=Style.POINTER)
    fields = [Field("timer", pointer), Field("function", pointer)]
    fields += [Field(name, U64) for name in ("expires", "bucket_expiry", "now")]
    event_class = EventClass(
        Kind.TYPED, "timer_start", "timer", (*fields, Field("flags", IntegerClass(32)))
    )
    columns = [np.array([value], np.uint64) for value in (start + 4, start, 3, 4, 5)]
    trace = trace_of(event_class, [*columns, np.zeros(1, np.uint32)], [5])
    trace.symbols = symbols
    data = written(project(trace, CAPABILITIES, "trace_cmd")[0], "v7_none")
    assert b"%016x T process_timeout\n" % start in data
    assert b"next_one" not in data
