"""Lines that programs print are what a Python account of the same makes of each event."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.command.reports import reported
from support.traces.small_traces import event_class, trace_of
from support.traces.strategies import traces

from converter.errors.terminal import printable
from converter.ir.collect import with_batches
from converter.ir.columns import column_from_values, value
from converter.ir.display.latency import latency_letters
from converter.ir.display.text import text_of_fields
from converter.ir.events import Batch, EventClass, Field, Table, class_label
from converter.ir.field_classes import (
    ArrayClass,
    FloatClass,
    IntegerClass,
    Label,
    OptionalClass,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Trace
from converter.printing.event_lines import print_lines
from converter.printing.event_texts import IN_FRONT


def lines(trace):
    done = reported(lambda one, write: print_lines(one, write) or True, trace)
    return done.decode("utf-8", "surrogateescape").split("\n")[:-1]


def account(trace):
    """What the lines of a trace are to be."""
    return [
        account_of(trace, batch, position)
        for batch in trace.batches()
        for position in range(len(batch))
    ]


def account_of(trace, batch, position):
    number, row = int(batch.class_id[position]), int(batch.row[position])
    event_class, table = trace.event_classes[number], batch.tables[number]
    values = [
        value(table.column(i), field.type, row, trace.strings)
        for i, field in enumerate(event_class.fields)
    ]
    shown = [i for i, field in enumerate(event_class.fields) if field.role not in IN_FRONT]
    text = text_of_fields(
        [event_class.fields[i] for i in shown], [values[i] for i in shown], trace.symbols
    )
    bits, depths = (
        event_class.index_of(role) for role in (Role.CONTEXT_FLAGS, Role.CONTEXT_PREEMPT_COUNT)
    )
    flags = ""
    if bits is not None and isinstance(event_class.fields[bits].type, IntegerClass):
        depth = 0 if depths is None else values[depths]
        flags = latency_letters(values[bits], depth if isinstance(depth, int) else 0) + " "
    cpu, thread, track = (int(of[position]) for of in (batch.cpu, batch.thread, batch.track))
    place = printable(trace.tracks[track].name) if track >= 0 else "-"
    if thread >= 0:
        task = trace.threads[thread]
        name = task.name or trace.processes[task.process].name or "<...>"
        place = printable(f"{name}-{task.tid}")
    on = f"[{cpu:03}]" if cpu >= 0 else "[---]"
    label = printable(event_class.name or class_label(event_class))
    time = time_of(trace, int(batch.ts[position])) if event_class.timed else "-"
    return f"{place:>23} {on} {flags}{time:>16}: {label}: {text}"


def time_of(trace, ts):
    rate = trace.clock.ticks_per_second
    if rate is None:
        return str(ts)
    nanos = math.floor(abs(ts) * 10**9 / Fraction(rate))
    return f"{'-' * (ts < 0)}{nanos // 10**9}.{nanos % 10**9:09}"


@settings(max_examples=8, deadline=None)
@given(traces())
def test_lines_of_any_trace(trace):
    # Samples are printed as perf script prints them.
    assume(all(one.kind is not Kind.SAMPLE for one in trace.event_classes))
    assert lines(trace) == account(trace)


def of_values(held, values, first=-1, **trace):
    """A trace of one class with one field."""
    result = Trace("test", **trace)
    result.event_classes = [EventClass(Kind.TYPED, "event", fields=(Field("f", held),))]
    column = column_from_values(held, values, result.strings)
    count = len(values)
    batch = Batch(
        ts=np.arange(count, dtype=np.int64) + first,
        class_id=np.zeros(count, np.int32),
        row=np.arange(count, dtype=np.int32),
        tables={0: Table(count, [column])},
    )
    return with_batches(result, [batch])


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([8, 16, 32, 64]),
    st.booleans(),
    st.sampled_from(Style),
    st.booleans(),
    st.lists(st.tuples(st.integers(-5, 70), st.integers(0, 9), st.text(max_size=3)), max_size=5),
    st.data(),
)
def test_integers_with_labels_and_styles(bits, signed, style, flags, labels, data):
    held = IntegerClass(
        bits,
        signed=signed,
        style=style,
        flags=flags,
        labels=tuple(Label(low, low if flags else low + more, text) for low, more, text in labels),
    )
    low = -(1 << bits - 1) if signed else 0
    numbers = st.one_of(st.integers(max(low, -6), 80), st.integers(low, low + (1 << bits) - 1))
    trace = of_values(held, data.draw(st.lists(numbers, min_size=1)))
    assert lines(trace) == account(trace)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text() | st.binary(max_size=9), min_size=1), st.booleans())
def test_texts_in_quotes(texts, nested):
    values = [
        text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in texts
    ]
    held = ArrayClass(StringClass()) if nested else StringClass()
    trace = of_values(held, [values] if nested else values)
    assert lines(trace) == account(trace)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats() | st.decimals(-(10**9), 10**9, places=6).map(float), min_size=1),
    st.booleans(),
)
def test_floating_point_numbers(numbers, nested):
    held = ArrayClass(FloatClass(64)) if nested else FloatClass(64)
    trace = of_values(held, [numbers] if nested else numbers)
    assert lines(trace) == account(trace)


def test_values_that_are_nested_too_deeply_for_a_program():
    held, one = IntegerClass(8, signed=False), 7
    for _ in range(40):
        held, one = ArrayClass(held), [one]
    trace = of_values(OptionalClass(held), [one, None])
    assert lines(trace) == account(trace)


def test_clocks_of_any_rate():
    rates = (10**9, 3, Fraction(10**9, 7), Fraction(2**70, 3), 1, Fraction(1, 9))
    for rate in (None, *map(Fraction, rates)):
        clock = ClockDomain("clock", ticks_per_second=rate)
        for first in (-1, 2**62, -(2**62)):
            trace = of_values(IntegerClass(8, signed=False), [1, 2, 3], first, clock=clock)
            assert lines(trace) == account(trace)


def test_events_of_one_class_may_share_its_number():
    trace = trace_of([event_class(Kind.TYPED, "a", "s")], [(0, ts, 0, 0, []) for ts in range(3)])
    expected = lines(trace)
    batches = list(trace.batches())
    for batch in batches:
        batch.class_id = np.broadcast_to(np.int32(0), len(batch))
    assert lines(with_batches(trace, batches)) == expected
