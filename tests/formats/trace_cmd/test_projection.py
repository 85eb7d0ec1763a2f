"""What events, clocks and tasks of other formats become in trace.dat."""

import dataclasses
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.trace_cmd.writing import (
    CAPABILITIES,
    NUMBER,
    projected,
    read_back,
    slices,
    trace_of,
    written,
)

from converter.errors import TraceError
from converter.formats.trace_cmd.side_table import read_side_table
from converter.ir.canonical import difference
from converter.ir.columns import ListColumn
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import ArrayClass, IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Process, Thread
from converter.kernels.tables.strings import StringTable
from converter.projection.domain.markers import join_texts
from converter.projection.passes.clock_rates import scaled
from converter.projection.project import project


def messages(trace):
    result = []
    for batch in trace.batches():
        for number, table in batch.tables.items():
            index = trace.event_classes[number].index_of(Role.MESSAGE)
            column = table.column(index)
            data = column.values.tobytes()
            bounds = column.offsets.tolist()
            rows = [data[a:b] for a, b in pairwise(bounds)]
            result += zip(batch.positions(number).tolist(), rows, strict=True)
    return [text for _, text in sorted(result)]


def test_slices_become_atrace_text():
    back = read_back(written(projected(slices([b"frame", b"a|b", b"two\nlines", b""]))))
    assert messages(back) == [
        b"B|7|frame", b"E|7", b"B|7|a|b", b"E|7", b"B|7|two_lines", b"E|7", b"B|7|", b"E|7",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fields", "values", "expected"),
    [
        (Kind.INSTANT, [("name", Role.NAME, b"tick")], {}, b"I|1|tick"),
        (
            Kind.COUNTER,
            [("name", Role.NAME, b"mem|ory"), ("value", Role.VALUE, -5)],
            {},
            b"C|1|mem_ory|-5",
        ),
        (
            Kind.ASYNC_BEGIN,
            [("name", Role.NAME, b"load"), ("id", Role.ID, 2**64 - 1)],
            {},
            b"S|1|load|18446744073709551615",
        ),
        (
            Kind.ASYNC_END,
            [("name", Role.NAME, b"load"), ("id", Role.ID, 3)],
            {},
            b"F|1|load|3",
        ),
        (Kind.LOG, [("message", Role.MESSAGE, b"hello")], {}, b"hello"),
    ],
)
def test_timeline_events_become_atrace_text(kind, fields, values, expected):
    strings = StringTable()
    declared, columns = [], []
    for name, role, value in fields:
        if isinstance(value, bytes):
            declared.append(Field(name, StringClass(), role))
            columns.append(np.array([strings.intern(value)], np.int32))
        else:
            number = IntegerClass(64, signed=value < 0)
            declared.append(Field(name, number, role))
            columns.append(np.array([value], number.dtype))
    trace = trace_of(
        EventClass(kind, fields=tuple(declared)),
        columns,
        [5],
        threads=[Thread(1, 0, "main")],
        strings=strings,
        thread=np.zeros(1, np.int32),
    )
    assert messages(read_back(written(projected(trace)))) == [expected]


def test_texts_are_joined_and_cleaned():
    strings = StringTable()
    ids = np.array([strings.intern(b"a|b"), strings.intern(b"")], np.int32)
    numbers = np.array([-(2**63), 7], np.int64)
    offsets, characters, changed = join_texts(2, [b"B|", numbers, (ids, b"|\n")], strings)
    data = characters.tobytes()
    assert [data[a:b] for a, b in pairwise(offsets)] == [
        b"B|-9223372036854775808a_b", b"B|7",
    ]  # fmt: skip
    assert changed == 1
    with pytest.raises(ValueError, match="for each row"):
        join_texts(2, [numbers[:1]], strings)
    with pytest.raises(ValueError, match="for each row"):
        join_texts(2, [(ids + 9, b"")], strings)


@given(
    st.fractions(min_value=Fraction(1, 1 << 40), max_value=1 << 40),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
)
def test_times_are_scaled_exactly(factor, ticks):
    low, high = -(2**63), 2**63 - 1
    expected = [
        min(max(tick * factor.numerator // factor.denominator, low), high) for tick in ticks
    ]
    assert scaled(np.array(ticks, np.int64), factor).tolist() == expected


def test_a_clock_of_another_rate_becomes_nanoseconds():
    trace = trace_of(NUMBER, [np.arange(3, dtype=np.int64)], [1, 2, 30])
    trace.clock = ClockDomain("tsc", Fraction(3_000_000_000))
    fitted, losses = project(trace, CAPABILITIES, "trace_cmd")
    assert fitted.clock.ticks_per_second == 1_000_000_000
    (batch,) = fitted.batches()
    assert batch.ts.tolist() == [0, 0, 10]
    assert any(loss.code == "times-rounded" for loss in losses)


def test_arguments_of_system_calls_are_six():
    fields = (
        Field("id", IntegerClass(64, signed=True), Role.SYSCALL_NUMBER),
        Field("args", ArrayClass(IntegerClass(64)), Role.SYSCALL_ARGUMENTS),
    )
    lists = ListColumn(np.array([0, 2, 2, 9], np.int64), np.arange(9, dtype=np.uint64))
    columns = [np.arange(3, dtype=np.int64), lists]
    trace = trace_of(EventClass(Kind.SYSCALL_ENTRY, fields=fields), columns, [1, 2, 3])
    fitted, losses = project(trace, CAPABILITIES, "trace_cmd")
    (batch,) = read_back(written(fitted)).batches()
    column = batch.tables[0].column(1)
    assert column.values.reshape(3, 6).tolist() == [
        [0, 1, 0, 0, 0, 0], [0] * 6, [2, 3, 4, 5, 6, 7],
    ]  # fmt: skip
    assert [loss.count for loss in losses if loss.kind == "truncated"] == [1]


def test_long_names_of_tasks_are_cut_and_counted():
    strings = StringTable()
    name = np.array([strings.intern(b"a name of more than 15")], np.int32)
    tid = np.array([5], np.int32)
    fields = (
        Field("comm", StringClass(), Role.COMM),
        Field("pid", IntegerClass(32, signed=True), Role.TID),
    )
    trace = trace_of(
        EventClass(Kind.SCHED_WAKING, fields=fields), [name, tid], [1], strings=strings
    )
    fitted, losses = project(trace, CAPABILITIES, "trace_cmd")
    back = read_back(written(fitted))
    (batch,) = back.batches()
    index = back.event_classes[0].index_of(Role.COMM)
    assert back.strings[int(batch.tables[0].column(index)[0])] == b"a name of more "
    assert any(loss.kind == "truncated" for loss in losses)


def test_threads_with_the_same_id_stay_apart():
    trace = trace_of(
        NUMBER,
        [np.arange(3, dtype=np.int64)],
        [1, 2, 3],
        threads=[Thread(1, 0, "a"), Thread(1, 1, "b"), Thread(2**40, 1, "c")],
        thread=np.array([0, 1, 2], np.int32),
    )
    trace.processes.append(Process(2, "other"))
    fitted = projected(trace)
    back = read_back(written(fitted))
    assert difference(fitted, back) is None
    numbers = read_side_table(back.sidecar["trace_cmd"]["options"]).numbers
    assert numbers[0] == 1
    assert len(set(numbers)) == 3


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b"{}", b"\xff", b'{"processes": 1}',
        b'{"processes":[],"threads":[[1,1,0,""]],"clock":["","",null,null],"clock_domains":[],"environment":{}}',
        b'{"processes":[],"threads":[],"clock":["","",null,"1e999999999"],"clock_domains":[],"environment":{}}',
        b'{"processes":[],"threads":[],"clock":["","",null,"0"],"clock_domains":[],"environment":{}}',
        b'{"processes":[],"threads":[],"clock":["","",9223372036854775808,null],"clock_domains":[],"environment":{}}',
        b'{"processes":[[1,"\\ud800",null,[]]],"threads":[],"clock":["","",null,null],"clock_domains":[],"environment":{}}',
        b"[" * 100_000,
    ],
)  # fmt: skip
def test_damaged_tables_are_refused(data):
    with pytest.raises(TraceError):
        # The number that says it alone.
        read_side_table([(0x5443, data)])


@pytest.mark.parametrize("tid", [0x7FFFFFFF, 0x80000000, 1 << 40])
def test_a_thread_whose_number_no_record_holds_is_a_named_loss(tid):
    trace = dataclasses.replace(slices([b"work"]), threads=[Thread(tid, 0, "render")])
    target, losses = project(trace, CAPABILITIES, "trace_cmd")
    named = [loss for loss in losses if loss.code == "id-too-large"]
    assert bool(named) == (tid > 0x7FFFFFFF)
    # What trace-cmd prints is what the projection says.
    back = read_back(written(target))
    assert [thread.tid for thread in back.threads] == [thread.tid for thread in target.threads]
    assert back.threads[0].tid <= 0x7FFFFFFF
