"""How values and latencies are distributed."""

import numpy as np
import pytest
from support.traces.small_traces import event_class, trace_of

import converter
from converter.analysis.statistics.distributions import field_values, wakeup_latencies
from converter.errors import UnsupportedError
from converter.ir.field_classes import FloatClass, IntegerClass, OptionalClass, StringClass
from converter.ir.kinds import Kind, Role

SMALL = "roundtrip_fixtures/trace_cmd/small.dat"
I64 = IntegerClass(64, True)
SWITCH = event_class(
    Kind.SCHED_SWITCH, "switch", "sched", prev=(I64, Role.PREV_TID), next=(I64, Role.NEXT_TID)
)
WAKING = event_class(Kind.SCHED_WAKING, "waking", "sched", tid=(I64, Role.TID))
READ = event_class(
    Kind.TYPED,
    "read",
    "disk",
    size=(I64, Role.NONE),
    ratio=(FloatClass(64), Role.NONE),
    maybe=(OptionalClass(I64), Role.NONE),
    name=(StringClass(), Role.NONE),
)
CLASSES = [SWITCH, WAKING, READ]


def switch(ts, previous, following):
    return (0, ts, 0, 0, (previous, following))


def waking(ts, tid):
    return (1, ts, 0, 0, (tid,))


def read(ts, *values):
    return (2, ts, 0, 0, values)


def held(found):
    """The bins that have values: their middle, and how many."""
    middles = (found.edges[:-1] + found.edges[1:]) / 2
    return [(middles[i], int(found.counts[i])) for i in np.flatnonzero(found.counts)]


EVENTS = [read(1, 5, 0.5, 1, "a"), read(2, 7, 0.25, None, "b"), read(3, 5, float("nan"), None, "a")]


@pytest.mark.parametrize("cut", [0, 1, 3])
@pytest.mark.parametrize("event", ["read", "disk:read"])
def test_whole_numbers_are_in_the_middle_of_bins(event, cut):
    trace = trace_of(CLASSES, EVENTS[:cut], EVENTS[cut:])
    assert held(field_values(trace, event, "size")) == [(5, 2), (7, 1)]
    found = field_values(trace, event, "maybe")
    assert (held(found), found.lowest, found.highest) == ([(1, 1)], 1, 1)


def test_numbers_that_are_none_are_in_no_bin():
    found = field_values(trace_of(CLASSES, EVENTS), "read", "ratio")
    assert (found.total, found.lowest, found.highest) == (2, 0.25, 0.5)
    assert found.counts[0] == found.counts[-1] == 1


def test_many_values_share_bins_and_extreme_ones_fit():
    sizes = [-(1 << 63), 0, (1 << 63) - 1]
    events = [read(number, size, 0.0, None, "") for number, size in enumerate(sizes)]
    found = field_values(trace_of(CLASSES, events), "read", "size")
    assert found.total == 3
    assert len(found.counts) <= 61


@pytest.mark.parametrize("field", ["name", "missing", "size"])
def test_no_numbers(field):
    trace = trace_of(CLASSES, EVENTS if field != "size" else [])
    with pytest.raises(UnsupportedError, match="--events 20"):
        field_values(trace, "read", field)


@pytest.mark.parametrize("cut", range(10))
def test_a_latency_is_from_the_first_wakeup_to_the_switch(cut):
    events = [
        *(waking(10, 1), waking(20, 2), waking(25, 1)),
        *(switch(110, 9, 1), switch(1020, 1, 2)),
        *(switch(2000, 2, 1), waking(3000, 0), switch(4000, 1, 0), waking(5000, 2)),
    ]
    found = wakeup_latencies(trace_of(CLASSES, events[:cut], events[cut:]))
    assert (found.total, found.lowest, found.highest) == (2, 100, 1000)


def test_latencies_of_a_recording():
    with converter.open_trace(SMALL) as trace:
        found = wakeup_latencies(trace)
        slow = _slowly(trace)
    assert found.total == len(slow)
    assert (found.lowest, found.highest) == (min(slow), max(slow))


def _slowly(trace):
    waiting, latencies = {}, []
    for batch in trace.batches():
        for place, (ts, number) in enumerate(zip(batch.ts.tolist(), batch.class_id, strict=True)):
            one = trace.event_classes[number]
            fields = {
                field.role: batch.tables[number].column(index)
                for index, field in enumerate(one.fields)
                if field.role in (Role.TID, Role.NEXT_TID)
            }
            row = batch.row[place]
            if one.name in ("sched_waking", "sched_wakeup", "sched_wakeup_new"):
                waiting.setdefault(int(fields[Role.TID][row]), ts)
            elif one.kind is Kind.SCHED_SWITCH:
                since = waiting.pop(int(fields[Role.NEXT_TID][row]), None)
                if since is not None:
                    latencies.append(ts - since)
    return latencies


def test_no_wakeups():
    with pytest.raises(UnsupportedError, match="no wakeups"):
        wakeup_latencies(trace_of(CLASSES, [switch(1, 2, 3)]))
