"""What was one trace is one again: parts of a trace, merged, are the trace."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.traces.field_strategies import scalar_classes
from support.traces.strategies import traces

from converter.errors import UnsupportedError
from converter.fixtures.synthetic import synthetic_trace
from converter.ir.canonical import difference
from converter.ir.collect import collect, with_batches
from converter.ir.events import Batch
from converter.ir.invariants import check
from converter.ir.trace import Trace
from converter.kernels.batches.union import number_rows
from converter.merging.merge import merge


def part_of(trace, chosen):
    """The events that `chosen` gives of each batch (a mask), with all of the trace's tables."""
    return with_batches(trace, [selected(batch, chosen(trace, batch)) for batch in trace.batches()])


def selected(batch, mask):
    places = np.flatnonzero(mask)
    class_id = batch.class_id[places]
    row = np.zeros(len(places), np.int32)
    number_rows(class_id, row, np.zeros(max(batch.tables, default=-1) + 1, np.int32))
    return Batch(
        ts=batch.ts[places],
        class_id=class_id,
        row=row,
        tables={
            number: table.select(batch.row[places[class_id == number]])
            for number, table in batch.tables.items()
        },
        thread=batch.thread[places],
        cpu=batch.cpu[places],
        track=batch.track[places],
    )


def timed(trace, batch):
    return np.array([one.timed for one in trace.event_classes], np.bool_)[batch.class_id]


def by_time(number, count):
    """Every `count`-th moment, with all of its events; those without a time are in the first part."""

    def chosen(trace, batch):
        return np.where(timed(trace, batch), batch.ts % count == number, number == 0)

    return chosen


def by_cpu(number, count):
    """The CPUs that are `number` modulo `count`, those on none (-1) included."""

    def chosen(trace, batch):
        return np.where(timed(trace, batch), batch.cpu % count == number, number == 0)

    return chosen


SPLITS = [by_time, by_cpu]


@pytest.mark.parametrize("split", SPLITS)
@given(trace=traces(), count=st.integers(1, 4))
def test_parts_of_a_trace_are_the_trace(split, trace, count):
    merged = merge([part_of(trace, split(number, count)) for number in range(count)])
    check(merged)
    assert difference(merged, trace) is None


@pytest.mark.parametrize("split", SPLITS)
def test_parts_of_a_trace_of_all_kinds_are_the_trace(split):
    trace = collect(synthetic_trace("all", 300_000, 1))
    merged = merge([part_of(trace, split(number, 3)) for number in range(3)])
    assert sum(len(batch) for batch in merged.batches()) == 300_000
    for batch, whole in zip(merged.batches(), rebatched(trace, merged), strict=True):
        assert np.array_equal(batch.ts, whole)
    small = collect(synthetic_trace("all", 2000, 1))
    again = merge([part_of(small, split(number, 3)) for number in range(3)])
    assert difference(again, small) is None


def rebatched(trace, like):
    """The times of a trace in pieces of the lengths of another's batches."""
    ts = np.concatenate([batch.ts for batch in trace.batches()])
    ends = np.cumsum([len(batch) for batch in like.batches()])
    return np.split(ts, ends[:-1])


@given(trace=traces(), place=st.sampled_from((0, 1, None)))
def test_with_a_trace_of_nothing_a_trace_is_itself(trace, place):
    assume(any(map(len, trace.batches())))
    inputs = [trace]
    if place is not None:
        inputs.insert(place, Trace(format="none"))
    merged = merge(inputs)
    check(merged)
    assert difference(merged, trace) is None


# Whatever fields have in them comes along as it is.
SIMPLE = traces(field_classes=scalar_classes(), max_events=6)


@given(inputs=st.lists(SIMPLE, min_size=2, max_size=3))
def test_the_order_of_inputs_does_not_matter(inputs):
    # But for events of one moment and stream, and for those without a time: so each is on a CPU of its own.
    apart = {str(cpu): on_cpu(trace, cpu) for cpu, trace in enumerate(inputs)}
    first, *others = (
        merged_or_refused([apart[name] for name in names], names)
        for names in itertools.permutations(apart)
    )
    for other in others:
        if isinstance(first, str) or isinstance(other, str):
            assert other == first
        else:
            assert difference(other, first) is None


def on_cpu(trace, cpu):
    part = part_of(trace, timed)
    for batch in (batches := list(part.batches())):
        batch.cpu = np.full(len(batch), cpu, np.int32)
    return with_batches(part, batches)


def merged_or_refused(inputs, names):
    try:
        return merge(inputs, names=names)
    except UnsupportedError:
        return "refused"


@pytest.mark.parametrize("count", [1, 2, 8])
def test_batches_of_inputs_and_what_is_made_of_them_are_as_large_together_as_those_of_one(count):
    inputs = [synthetic_trace("text", 4, seed=number) for number in range(count)]
    merged = merge(inputs)
    usual = 1 << 18
    held = sum(one.events_of_a_batch(usual) for one in inputs)
    if count > 1:
        held += merged.events_of_a_batch(usual)
    assert held == usual
