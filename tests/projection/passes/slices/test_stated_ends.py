"""Ends by name, for viewers that pop one slice an end: the slices that each side has are the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import EndMatching, Semantics
from converter.ir.trace import Trace
from converter.projection.losses import LossReport
from converter.projection.passes.slices.stated_ends import with_inner_ends

FIELDS = (
    Field("name", StringClass(), Role.NAME),
    Field("category", StringClass(), Role.CATEGORY),
)
CLASSES = [
    EventClass(Kind.TYPED, "other"),
    EventClass(Kind.SLICE_BEGIN, fields=FIELDS),
    EventClass(Kind.SLICE_END, fields=FIELDS),
    EventClass(Kind.SLICE_END),
]
OTHER, BEGIN, END, NAMELESS_END = range(4)
NAMES = (b"", b"a", b"b", b"c")


def trace_of(*batches, or_unnamed=False):
    """A trace of events (time, class, thread, track, index of the name)."""
    ends = EndMatching.NAME_OR_UNNAMED if or_unnamed else EndMatching.NAME
    trace = Trace("test", semantics=Semantics(ends=ends), event_classes=list(CLASSES))
    ids = [trace.strings.intern(name) for name in NAMES]

    def batch_of(events):
        columns = np.array(events, np.int64).reshape(-1, 5)
        class_id = columns[:, 1].astype(np.int32)
        row, tables = np.zeros(len(events), np.int32), {}
        for number, event_class in enumerate(CLASSES):
            rows = np.flatnonzero(class_id == number)
            row[rows] = np.arange(len(rows))
            name = np.array([ids[i] for i in columns[rows, 4]], np.int32)
            if len(rows):
                fields = [name, name * 0][: len(event_class.fields)]
                tables[number] = Table(len(rows), fields)
        return Batch(
            ts=columns[:, 0],
            class_id=class_id,
            row=row,
            tables=tables,
            thread=columns[:, 2].astype(np.int32),
            cpu=np.full(len(events), -1, np.int32),
            track=columns[:, 3].astype(np.int32),
        )

    trace.make_batches = lambda: map(batch_of, batches)
    return trace


def events_of(trace):
    """The events in order of time within each batch, as (time, kind, thread, track, name)."""
    for batch in trace.batches():
        for at in np.argsort(batch.ts, kind="stable").tolist():
            number = int(batch.class_id[at])
            table = batch.tables[number]
            name = b""
            if trace.event_classes[number].fields:
                name = trace.strings[int(table.column(0)[batch.row[at]])]
            kind = trace.event_classes[number].kind
            yield int(batch.ts[at]), kind, int(batch.thread[at]), int(batch.track[at]), name


def slices(events, matches):
    """The slices that end, as (thread, track, name, begin, end, depth): `matches` finds the one that an end closes."""
    stacks, found = {}, []
    for ts, kind, thread, track, name in events:
        stack = stacks.setdefault((thread, track), [])
        if kind is Kind.SLICE_BEGIN:
            stack.append((name, ts))
        elif kind is Kind.SLICE_END and stack:
            at = matches([one for one, _ in stack], name)
            while at is not None and len(stack) > at:
                inner, begin = stack.pop()
                found.append((thread, track, inner, begin, ts, len(stack)))
    return found, stacks


def by_name(open_names, name):
    if not name:
        return len(open_names) - 1
    return next((i for i in reversed(range(len(open_names))) if open_names[i] == name), None)


def by_name_or_unnamed(open_names, name):
    matching = (i for i in reversed(range(len(open_names))) if open_names[i] in (name, b""))
    return next(matching, None) if name else len(open_names) - 1


def innermost(open_names, _):
    return len(open_names) - 1


EVENT = st.tuples(
    st.integers(0, 20), st.integers(0, 3), st.integers(-1, 1), st.integers(-1, 0), st.integers(0, 3)
)


@pytest.mark.parametrize("or_unnamed", [False, True])
@given(st.lists(st.lists(EVENT, max_size=25), max_size=4))
def test_both_viewers_have_the_same_slices(or_unnamed, batches):
    # Later batches are later, in any order inside.
    shifted = [[(ts + 100 * i, *rest) for ts, *rest in events] for i, events in enumerate(batches)]
    trace = trace_of(*shifted, or_unnamed=or_unnamed)
    report = LossReport()
    stated = with_inner_ends(trace, report, or_unnamed=or_unnamed)
    matches = by_name_or_unnamed if or_unnamed else by_name
    before, after = list(events_of(trace)), list(events_of(stated))
    assert slices(after, innermost) == slices(before, matches)
    # All else is as it was.
    assert [event for event in after if event[1] is not Kind.SLICE_END] == [
        event for event in before if event[1] is not Kind.SLICE_END
    ]
    counts = {loss.code: loss.count for loss in report}
    added = counts.get("slice-end-added", 0)
    dropped = counts.get("slice-end-unmatched", 0)
    assert len(after) == len(before) + added - dropped


def test_an_outer_end_closes_what_is_inside():
    trace = trace_of(
        [(1, BEGIN, 0, -1, 1), (2, BEGIN, 0, -1, 2)],
        [(5, END, 0, -1, 1), (6, BEGIN, 0, -1, 3), (7, END, 0, -1, 3)],
    )
    stated = with_inner_ends(trace, LossReport(), or_unnamed=False)
    assert [(ts, kind.name, name) for ts, kind, _, _, name in events_of(stated)] == [
        (1, "SLICE_BEGIN", b"a"),
        (2, "SLICE_BEGIN", b"b"),
        (5, "SLICE_END", b"b"),
        (5, "SLICE_END", b"a"),
        (6, "SLICE_BEGIN", b"c"),
        (7, "SLICE_END", b"c"),
    ]


def test_an_end_of_no_open_slice_is_dropped_and_counted():
    trace = trace_of([(1, BEGIN, 0, -1, 1), (2, END, 0, -1, 3), (4, END, 0, -1, 1)])
    report = LossReport()
    stated = with_inner_ends(trace, report, or_unnamed=False)
    assert [ts for ts, *_ in events_of(stated)] == [1, 4]
    assert [(loss.code, loss.count) for loss in report] == [("slice-end-unmatched", 1)]
