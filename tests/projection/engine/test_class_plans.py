"""Plans of classes: what follows from a class is decided once, what follows from its events in each batch."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from support.traces.small_traces import brief, event_class, events_of, trace_of
from support.traces.strategies import traces
from support.traces.target_capabilities import PROFILER, TARGETS

from converter.ir.canonical import difference
from converter.ir.collect import collect, with_batches
from converter.ir.distinct_values import lazy_names
from converter.ir.events import Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.tables import ComputedColumn
from converter.projection import project as project_module
from converter.projection.instants import NAME, lower_to_instant
from converter.projection.project import project

I64 = IntegerClass(64, True)
BATCHES = 4
#: CPUs and vectors of the events of batches.
ROWS = (
    ((0, 1), (1, 2)),
    ((1, 2), (1, 1), (0, 2)),
    ((2, 1), (0, -7)),
    ((2, 2), (1, 1 << 40)),
    ((0, 1), (2, -7)),
)


def of_batches(*batches):
    """A trace with events of one class, which have a number, a text and a CPU."""
    declared = event_class(Kind.TYPED, "e", n=(I64, Role.VALUE), text=StringClass())
    events = [
        [(0, 10 * i + j, cpu, 1, value) for j, (cpu, *value) in enumerate(batch)]
        for i, batch in enumerate(batches)
    ]
    return trace_of([declared], *events)


def batches_of(*values):
    return of_batches(*([(0, value, b"a"), (1, value + 1, b"\xff")] for value in values))


def times_asked(rule, trace, **capabilities):
    """How often a rule is asked, and what becomes of the trace."""
    asked = []

    def counted(partition, projection):
        asked.append(len(partition))
        return rule(partition, projection)

    target, report = project(
        trace, replace(PROFILER, lowerings={Kind.TYPED: counted}, **capabilities), "other"
    )
    events = events_of(collect(target))
    return len(asked), events, {loss.code: (loss.count, loss.first_ts) for loss in report}


def test_a_rule_that_looks_at_no_event_is_asked_once():
    times, events, losses = times_asked(lower_to_instant, batches_of(*range(BATCHES)))
    assert times == 1
    assert [(event[3]["n"], event[3]["cpu"]) for event in events] == [
        (value + row, row) for value in range(BATCHES) for row in (0, 1)
    ]
    # What only a look tells is counted in each batch, and so is what follows from the class.
    assert losses["event-as"] == (2 * BATCHES, 0)
    assert losses["text-not-utf8"] == (BATCHES, 0)


def looks_at_values(partition, projection):
    is_large = partition.integers(Role.VALUE).max() > 2
    return lower_to_instant(partition, projection) if is_large else None


def looks_at_places(partition, projection):
    return lower_to_instant(partition, projection) if partition.positions[0] == 0 else None


def splits(partition, projection):
    return lower_to_instant(partition.select([0]), projection)


def hides_how_a_column_is_made(partition, projection):
    made = partition.with_argument(Field("more", I64), lambda: partition.integers(Role.VALUE) + 1)
    return lower_to_instant(made, projection)


def loses_of_some(partition, projection):
    projection.lose("gap-empty", partition, 1)
    return lower_to_instant(partition, projection)


@pytest.mark.parametrize(
    "rule",
    [looks_at_values, looks_at_places, splits, hides_how_a_column_is_made, loses_of_some],
)
def test_a_rule_that_looks_is_asked_in_each_batch(rule):
    assert times_asked(rule, batches_of(*range(BATCHES)))[0] == BATCHES


def test_what_is_computed_of_columns_is_computed_in_each_batch():
    def rule(partition, projection):
        more = ComputedColumn(lambda _, column: column * 2, (partition.table.lazy(0),), partition)
        return lower_to_instant(partition.with_argument(Field("more", I64), more), projection)

    times, events, _ = times_asked(rule, batches_of(5, 7))
    assert times == 1
    assert [event[3]["more"] for event in events] == [10, 12, 14, 16]


def test_names_and_tracks_by_value_are_found_once_for_a_value():
    softirq = event_class(Kind.SOFTIRQ_ENTRY, "softirq_entry", "irq", vec=(I64, Role.VECTOR))
    batches = [[(0, t, cpu, 1, (vec,)) for t, (cpu, vec) in enumerate(rows)] for rows in ROWS]
    named = []

    def rule(partition, projection):
        vectors = partition.lazy_integers(Role.VECTOR)
        names = lazy_names(
            partition,
            vectors,
            lambda one: named.append(one) or f"v{one}",
            projection.source.strings,
        )
        cpus = projection.lazy_cpus_of(partition)
        track = projection.place_on_cpu_track("Irq", partition, cpus)
        return [partition.as_kind(Kind.SLICE_BEGIN, [(NAME, names)], **track)]

    target, _ = project(
        trace_of([softirq], *batches),
        replace(PROFILER, lowerings={Kind.SOFTIRQ_ENTRY: rule}),
        "other",
    )
    assert [name for (name,) in brief(collect(target))] == [
        f"SLICE_BEGIN v{vec} at Irq Cpu {cpu}" for rows in ROWS for cpu, vec in rows
    ]
    # In the first batch, and after each in which there came new tracks; large numbers are not remembered.
    assert Counter(named) == {1: 3, 2: 3, -7: 2, 1 << 40: 1}


def test_batches_whose_places_are_others_have_plans_of_their_own():
    trace = of_batches(
        [(0, 1, b""), (1, 2, b"")], [(0, 3, b""), (-1, 4, b"")], [(2, 5, b""), (2, 6, b"")]
    )
    _, events, _ = times_asked(lower_to_instant, trace)
    assert [event[3].get("cpu") for event in events] == [0, 1, 0, None, 2, 2]


def test_events_on_no_thread_concern_their_own_class_alone():
    on = event_class(Kind.TYPED, "on", n=(I64, Role.VALUE))
    off = event_class(Kind.TYPED, "off", n=(I64, Role.VALUE))
    batches = [
        [(0, 10 * i, 0, 1, (i,)), (1, 10 * i + 1, 0, -1, (i,)), (0, 10 * i + 2, 0, 2, (i,))]
        for i in range(BATCHES)
    ]
    asked = []

    def rule(partition, projection):
        asked.append((partition.event_class.name, projection.is_on_threads(partition)))
        return lower_to_instant(partition, projection)

    times_asked(rule, trace_of([on, off], *batches))
    # Once more behind the first batch, in which there came a thread for the others.
    assert Counter(asked) == {("on", True): 2, ("off", False): BATCHES}


def test_a_class_that_comes_later_may_change_what_becomes_of_others():
    wakeup = event_class(Kind.SCHED_WAKEUP, "sched_wakeup", tid=(I64, Role.TID))
    waking = event_class(Kind.SCHED_WAKING, "sched_waking", tid=(I64, Role.TID))
    batches = [[(number, t, 0, 1, (10,)) for t in range(2)] for number in (0, 1, 0)]
    target, _ = project(trace_of([wakeup, waking], *batches), PROFILER, "other")
    kinds = [event[1] for event in events_of(collect(target))]
    assert kinds[::2] == [Kind.SCHED_WAKEUP, Kind.SCHED_WAKEUP, Kind.INSTANT]


@pytest.mark.parametrize("capabilities", TARGETS.values(), ids=list(TARGETS))
@settings(max_examples=15)
@given(trace=traces())
def test_plans_change_nothing(trace, capabilities):
    again = with_batches(trace, list(trace.batches()) * 3)

    def outcome(fewest_rows):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(project_module, "FEWEST_ROWS", fewest_rows)
            target, report = project(again, capabilities, "other")
            return collect(target), list(report)

    (planned, losses), (unplanned, expected) = outcome(2), outcome(1 << 62)
    assert difference(planned, unplanned) is None
    assert losses == expected


def test_a_plan_stands_back_where_there_are_exceptions():
    asked = []

    def rule(partition, projection):
        asked.append(len(partition))
        values = partition.lazy_integers(Role.VALUE)
        is_odd = ComputedColumn(lambda _, column: column % 2, (values,), partition)
        if projection.is_nowhere(is_odd):
            return lower_to_instant(partition, projection)
        odd, even = partition.split(np.asarray(is_odd()) != 0)
        return [part for half in (even, odd) if half for part in lower_to_instant(half, projection)]

    declared = event_class(Kind.TYPED, "e", n=(I64, Role.VALUE))
    values = [(1, 2), (2, 4), (6, 8), (3, 4), (2, 2), (5, 5)]
    trace = trace_of(
        [declared], *([(0, t, 0, 1, (one,)) for t, one in enumerate(pair)] for pair in values)
    )
    target, report = project(trace, replace(PROFILER, lowerings={Kind.TYPED: rule}), "other")
    found = [event[3]["n"] for event in events_of(collect(target))]
    assert found == [one for pair in values for one in pair]
    # The first batch has an exception; of the second the plan is made, which is asked for nothing but exceptions.
    assert len(asked) == 4
    assert {loss.code: loss.count for loss in report}["event-as"] == 2 * len(values)


@pytest.mark.parametrize(
    ("values", "times"),
    [
        # Of the second batch the plan is made; of others there are some rows that it does not know of.
        ([(1, 2, 6), (2, 4, 8), (6, 8, 3), (4, 2, 6), (3, 5, 7)], [3, 3, 3, 3]),
        ([(2, 4, 6), (8, 2, 4)], [3]),
        ([(1, 3, 5), (1, 3, 5)], [3, 3]),
    ],
)
def test_rows_that_become_others_have_their_losses(values, times):
    asked = []

    def rule(partition, projection):
        asked.append(len(partition))
        column = partition.lazy_integers(Role.VALUE)
        is_odd = ComputedColumn(lambda _, column: column % 2, (column,), partition)
        if projection.is_nowhere(is_odd):
            return lower_to_instant(partition, projection)
        odd, even = partition.split(np.asarray(is_odd()) != 0)
        parts = [] if even is None else lower_to_instant(even, projection)
        if odd is not None:
            projection.lose("event-renamed", odd, shown="odd")
            parts.append(
                odd.as_kind(Kind.SLICE_BEGIN, [(NAME, projection.constant("odd", len(odd)))])
            )
        return parts

    declared = event_class(Kind.TYPED, "e", n=(I64, Role.VALUE))
    batches = [
        [(0, 10 * i + j, one % 3, 1, (one,)) for j, one in enumerate(batch)]
        for i, batch in enumerate(values)
    ]
    capabilities = replace(PROFILER, lowerings={Kind.TYPED: rule})
    target, report = project(trace_of([declared], *batches), capabilities, "other")
    projected = collect(target)
    flat = [one for batch in values for one in batch]
    kinds = [Kind.SLICE_BEGIN if one % 2 else Kind.INSTANT for one in flat]
    assert [
        target.event_classes[id].kind for batch in projected.batches() for id in batch.class_id
    ] == kinds
    assert [event[3]["n"] for event in events_of(projected)] == flat
    assert [event[3]["cpu"] for event in events_of(projected)] == [one % 3 for one in flat]
    assert asked == times
    losses = {
        (loss.code, dict(loss.parameters).get("shown")): (loss.count, loss.first_ts)
        for loss in report
    }
    odd = [10 * i + j for i, batch in enumerate(values) for j, one in enumerate(batch) if one % 2]
    even = [
        10 * i + j for i, batch in enumerate(values) for j, one in enumerate(batch) if not one % 2
    ]
    assert losses.get(("event-renamed", "odd")) == ((len(odd), odd[0]) if odd else None)
    assert losses.get(("event-as", "instant")) == ((len(even), even[0]) if even else None)
