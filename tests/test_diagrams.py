"""Two ways that must lead to the same trace, whatever is right: these laws need no model.

A change that a projection makes wrongly is wrong on both sides of the other laws, but rarely the same on two ways.
"""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.traces.field_strategies import scalar_classes
from support.traces.renumbering import renumbered
from support.traces.small_traces import events_of
from support.traces.strategies import traces
from support.traces.target_capabilities import EVERYTHING, TARGETS, VIEWER

from converter.ir.canonical import difference
from converter.ir.collect import collect, with_batches
from converter.ir.kinds import Kind
from converter.ir.trace import NANOSECONDS
from converter.merging.merge import merge
from converter.projection.project import project
from converter.selection.select import select
from converter.selection.selection import Selection

TARGET = st.sampled_from(list(TARGETS.values()))
#: Integers of any width as well, since a wider one may be another text: those of 64 bits are no numbers in JSON.
WHOLE = replace(
    EVERYTHING,
    integers=frozenset((bits, signed) for bits in range(1, 65) for signed in (False, True)),
)


def shifted(trace, ticks):
    """The trace with all times later."""
    return with_batches(trace, [batch.at_times(batch.ts + ticks) for batch in trace.batches()])


def from_zero(trace):
    """The trace in nanoseconds from its first event: some targets have no times before zero."""
    times = [int(batch.ts.min()) for batch in trace.batches() if len(batch)]
    return shifted(replace(trace, clock=NANOSECONDS), -min(times, default=0))


def through(trace, *capabilities):
    """The trace as targets hold it, one after the other."""
    for one in capabilities:
        trace = collect(project(trace, one, "target")[0])
    return trace


@given(
    capabilities=st.sampled_from((EVERYTHING, VIEWER)),
    trace=traces(),
    rng=st.randoms(use_true_random=False),
)
def test_positions_in_tables_do_not_matter(capabilities, trace, rng: random.Random):
    assert (
        difference(through(renumbered(trace, rng), capabilities), through(trace, capabilities))
        is None
    )


@given(capabilities=TARGET, trace=traces())
def test_a_detour_over_a_format_that_holds_all_changes_nothing(capabilities, trace):
    assert difference(through(trace, WHOLE, capabilities), through(trace, capabilities)) is None


@given(capabilities=TARGET, trace=traces(), ticks=st.integers(1, 2**40))
def test_later_times_are_later_times(capabilities, trace, ticks):
    trace = from_zero(trace)
    one, other = through(shifted(trace, ticks), capabilities), through(trace, capabilities)
    assert difference(one, shifted(other, ticks)) is None


#: Kinds that a part need not close or open, and that say nothing about others.
ALONE = (Kind.TYPED, Kind.INSTANT, Kind.COUNTER, Kind.LOG)
FEW = traces(kinds=ALONE, field_classes=scalar_classes(), max_events=4)


@given(capabilities=TARGET, trace=traces(kinds=ALONE), after=st.integers(0, 2**37))
def test_a_part_of_a_conversion_is_the_conversion_of_the_part(capabilities, trace, after):
    trace = from_zero(timed(trace))
    until = Selection(until=f"+{after}ns")
    one, other = (
        through(select(trace, until), capabilities),
        select(through(trace, capabilities), until),
    )
    assert list(map(repr, events_of(one))) == list(map(repr, events_of(other)))


@pytest.mark.filterwarnings("ignore::converter.errors.SelectionWarning")
@settings(max_examples=6)
@given(one=FEW, other=FEW)
def test_parts_of_what_is_merged_are_what_was_merged(one, other):
    inputs = [
        on_cpu(timed(replace(trace, clock=NANOSECONDS)), cpu)
        for cpu, trace in enumerate((one, other))
    ]
    merged = merge(inputs)
    for cpu, trace in enumerate(inputs):
        part = select(merged, Selection(cpus=cpu))
        assert list(map(repr, events_of(part))) == list(map(repr, events_of(trace)))


def timed(trace):
    """The trace without events that have no time."""
    has_time = np.array([one.timed for one in trace.event_classes], np.bool_)
    batches = [batch.select(np.flatnonzero(has_time[batch.class_id])) for batch in trace.batches()]
    return with_batches(trace, batches)


def on_cpu(trace, cpu):
    """The trace with all events on one CPU."""
    batches = list(trace.batches())
    for batch in batches:
        batch.cpu = np.full(len(batch), cpu, np.int32)
    return with_batches(trace, batches)
