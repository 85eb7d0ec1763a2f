"""How many flows a part cuts, however a format says that an event is a point of one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.traces.small_traces import event_class, trace_of

from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    IntegerClass,
    OptionalClass,
    StringClass,
)
from converter.ir.kinds import Kind, Role
from converter.selection.select import selected
from converter.selection.selection import Selection

TEXT, I64, FLAG = StringClass(), IntegerClass(64, True), BooleanClass()
IDS = ArrayClass(IntegerClass(64))
KINDS = (Kind.FLOW_BEGIN, Kind.FLOW_STEP, Kind.FLOW_END)
EVENTS = [event_class(kind, id=(I64, Role.ID)) for kind in KINDS]
TEXTS = [event_class(kind, id=(TEXT, Role.ID)) for kind in KINDS]
MAYBE = [event_class(kind, id=(OptionalClass(I64), Role.ID)) for kind in KINDS]
#: Slices of the second version of the Trace Event Format's flows, of number or text.
BOUND, BOUND_BY_TEXT = (
    event_class(
        Kind.SLICE_COMPLETE,
        name=(TEXT, Role.NAME),
        duration=(I64, Role.DURATION),
        bind_id=(of, Role.ID),
        flow_in=(FLAG, Role.CONTEXT),
        flow_out=(FLAG, Role.CONTEXT),
    )
    for of in (I64, TEXT)
)
#: Events of track events' flows.
POINT, LAST = (
    event_class(Kind.INSTANT, name=(TEXT, Role.NAME), **{name: (of, Role.CONTEXT)})
    for name, of in (("flow_ids", OptionalClass(IDS)), ("terminating_flow_ids", IDS))
)
SEND, RECEIVE = (
    event_class(kind, kind.name.lower(), id=(I64, Role.ID))
    for kind in (Kind.MESSAGE_SEND, Kind.MESSAGE_RECEIVE)
)
BEGIN = event_class(Kind.SLICE_BEGIN, name=(TEXT, Role.NAME), flow_ids=(IDS, Role.CONTEXT))
END = event_class(Kind.SLICE_END)
CLASSES = [*EVENTS, *TEXTS, *MAYBE, BOUND, BOUND_BY_TEXT, POINT, LAST, SEND, RECEIVE, BEGIN, END]
NUMBER = {one: number for number, one in enumerate(CLASSES)}

#: How a format says what a point is: by id, and 0 (the first), 1 (one between) or 2 (the last).
WAYS = {
    "events": lambda id, turn: (EVENTS[turn], id),
    "events with text ids": lambda id, turn: (TEXTS[turn], str(id)),
    "events whose ids may be missing": lambda id, turn: (MAYBE[turn], id),
    "slices": lambda id, turn: (BOUND, "s", 0, id, turn > 0, turn < 2),
    "slices with text ids": lambda id, turn: (BOUND_BY_TEXT, "s", 0, str(id), turn > 0, turn < 2),
    "messages": lambda id, turn: (RECEIVE if turn else SEND, id),
    "arrays": lambda id, turn: (LAST if turn == 2 else POINT, "i", [id]),
}


def at(ts, one, *values):
    return (NUMBER[one], ts, 0, 1, values, -1)


def cut_flows(batches, since=None, until=None):
    selection = Selection(
        since=None if since is None else f"{since}ns", until=None if until is None else f"{until}ns"
    )
    result = selected(trace_of(CLASSES, *batches), selection)
    for _ in result.trace.batches():
        pass
    return result.counts.cut_flows


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("since", "until", "cut"),
    [(0, None, 0), (15, None, 2), (25, None, 2), (5, 28, 2), (15, 28, 3), (None, 45, 0)],
)
def test_flows_that_begin_or_end_outside_are_counted(way, since, until, cut):
    point = WAYS[way]
    points = [
        *((10, 1, 0), (12, 2, 0), (18, 3, 0), (20, 1, 1), (22, 2, 2)),
        *((30, 3, 2), (31, 1, 2), (40, 1, 0), (41, 1, 2)),
    ]
    events = [at(ts, *point(id, turn)) for ts, id, turn in points]
    for batches in ([events], [events[:4], events[4:]], [[event] for event in events]):
        assert cut_flows(batches, since, until) == cut


def arrows(points):
    """Between which times the arrows of each flow are; points are (ts, id, turn)."""
    latest, found = {}, []
    for ts, id, turn in points:
        if id in latest and turn:
            latest[id][1].append((latest[id][0], ts))
            latest[id][0] = ts
        else:
            found.append([])
            latest[id] = [ts, found[-1]]
        if turn == 2:
            del latest[id]
    return found


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 2)), max_size=30),
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(1, 30),
)
def test_each_flow_with_an_arrow_that_is_cut_counts_once(drawn, since, length, size):
    points = [(ts, id, turn) for ts, (id, turn) in enumerate(drawn)]
    inside = range(since, since + length + 1)
    expected = sum(
        any((begin in inside) != (end in inside) for begin, end in flow) for flow in arrows(points)
    )
    events = [at(ts, *WAYS["arrays"](id, turn)) for ts, id, turn in points]
    batches = [events[first : first + size] for first in range(0, len(events), size)]
    assert cut_flows(batches, since, since + length) == expected


def test_the_arrow_of_a_slice_that_is_open_when_the_part_begins_is_there():
    events = [at(5, BEGIN, "s", [1]), at(20, LAST, "i", [1]), at(25, END)]
    assert cut_flows([events], 10, 30) == 0
    assert cut_flows([events], 10, 15) == 1


def test_events_that_name_no_flow_are_none():
    events = [at(5, POINT, "i", None), at(20, POINT, "i", [1, 2]), at(21, LAST, "i", [])]
    assert cut_flows([events], 10, 30) == 0


def test_messages_that_nobody_receives_are_no_flows():
    events = [at(5, SEND, 1), at(20, RECEIVE, 2), at(25, SEND, 3)]
    assert cut_flows([events], 10, 22) == 0
    assert cut_flows([[*events, at(30, RECEIVE, 3)]], 10, 27) == 1
