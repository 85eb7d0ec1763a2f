"""Complete slices as begin and end: where the ends stand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fxt.files import event, start
from support.traces.losses import line_of
from support.traces.small_traces import brief, event_class, events_of, projected, trace_of
from support.traces.strategies import traces
from support.traces.target_capabilities import PROFILER, VIEWER
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.formats.fxt.record_types import EventType
from converter.ir.collect import collect
from converter.ir.columns import OptionalColumn
from converter.ir.field_classes import IntegerClass, OptionalClass, StringClass
from converter.ir.invariants import check
from converter.ir.kinds import Kind, Role
from converter.projection.losses import LossReport
from converter.projection.passes.slices.complete_slices import begin_and_end

NAME = {"name": (StringClass(), Role.NAME)}
I64 = IntegerClass(64, True)
COMPLETE = event_class(Kind.SLICE_COMPLETE, **NAME, dur=(I64, Role.DURATION), x=IntegerClass(32))
INSTANT = event_class(Kind.INSTANT, **NAME)
CLASSES = [COMPLETE, INSTANT]


def complete(ts, name, duration, thread=1, cpu=-1):
    return 0, ts, cpu, thread, (name.encode(), duration, 5)


def instant(ts, name):
    return 1, ts, -1, 1, (name.encode(),)


def split(*batches, classes=CLASSES):
    report = LossReport()
    result = collect(begin_and_end(trace_of(classes, *batches), report))
    check(result)
    return result, [line_of(loss) for loss in report]


def story(trace):
    """Events as +slice, -slice (by nesting on its thread) and instants, with their times."""
    open_on, told = {}, []
    for ts, kind, place, fields in events_of(trace):
        if kind is Kind.SLICE_BEGIN:
            open_on.setdefault(place, []).append(fields["name"])
            told.append(f"+{fields['name']}@{ts}")
        elif kind is Kind.SLICE_END:
            told.append(f"-{open_on[place].pop()}@{ts}")
        else:
            told.append(f"{fields['name']}@{ts}")
    return " ".join(told)


def test_ends_stand_where_their_time_is():
    trace, losses = split([complete(0, "a", 10), complete(2, "b", 3), instant(7, "i")])
    assert story(trace) == "+a@0 +b@2 -b@5 i@7 -a@10"
    assert losses == ["slice-as-begin-and-end (2)"]


def test_the_begin_has_the_other_fields():
    trace, _ = split([complete(0, "a", 10)])
    assert events_of(trace)[0] == (0, Kind.SLICE_BEGIN, "t10", {"name": "a", "x": 5})


def test_ends_stand_in_later_batches():
    trace, _ = split(
        [complete(0, "a", 100), complete(1, "b", 20)],
        [instant(10, "i")],
        [instant(21, "j"), instant(22, "k")],
        [],
        [instant(99, "l")],
    )
    assert story(trace) == "+a@0 +b@1 i@10 -b@21 j@21 k@22 l@99 -a@100"
    assert [len(batch) for batch in trace.batches()] == [2, 1, 3, 1, 1]


def test_ends_stand_before_what_begins_at_the_same_time():
    trace, _ = split([complete(0, "a", 5), complete(5, "b", 5), instant(5, "i")])
    assert story(trace) == "+a@0 -a@5 +b@5 i@5 -b@10"


def test_inner_slices_end_first():
    trace, _ = split([complete(0, "a", 5), complete(1, "b", 4), complete(2, "c", 3)])
    assert story(trace) == "+a@0 +b@1 +c@2 -c@5 -b@5 -a@5"


def test_slices_without_duration_end_behind_their_begin():
    trace, _ = split([complete(0, "a", 0), instant(0, "i"), complete(3, "b", 0)], [instant(3, "j")])
    assert story(trace) == "+a@0 -a@0 i@0 +b@3 -b@3 j@3"


def test_inner_slices_that_are_written_first():
    trace, _ = split([complete(0, "inner", 2), complete(0, "outer", 9), complete(4, "next", 1)])
    assert story(trace) == "+outer@0 +inner@0 -inner@2 +next@4 -next@5 -outer@9"


def test_slices_of_several_threads_that_begin_together():
    trace, _ = split([complete(0, "a", 2), complete(0, "b", 9, thread=2), complete(0, "c", 4)])
    assert story(trace) == "+c@0 +b@0 +a@0 -a@2 -c@4 -b@9"


def test_events_that_come_too_late():
    trace, _ = split([instant(50, "i"), complete(10, "a", 5), instant(60, "j")])
    assert story(trace) == "i@50 +a@10 -a@15 j@60"


def test_durations_that_are_not_known():
    optional = event_class(
        Kind.SLICE_COMPLETE, **NAME, dur=(OptionalClass(IntegerClass(64)), Role.DURATION)
    )
    trace, _ = split(
        [(0, 0, -1, 1, (b"a", None)), (0, 1, -1, 1, (b"b", 4)), (0, 2, -1, 1, (b"c", 2**64 - 1))],
        classes=[optional],
    )
    assert story(trace) == f"+a@0 +b@1 +c@2 -c@5 -b@{2**63 - 1}"
    trace, _ = split([complete(0, "a", -1), complete(0, "b", 3)])
    assert story(trace) == "+a@0 +b@0 -b@3"


def test_where_ends_are():
    trace, _ = split([complete(0, "a", 5, cpu=3), complete(1, "b", 2, thread=-1, cpu=2)])
    ends = [place for _, kind, place, _ in events_of(trace) if kind is Kind.SLICE_END]
    assert ends == ["cpu 2", "t10"]
    cpus = np.concatenate([batch.cpu for batch in trace.batches()]).tolist()
    assert cpus == [3, 2, 2, 3]


def test_a_projection_to_a_format_with_begin_and_end():
    trace = trace_of(CLASSES, [complete(0, "a", 10)], [instant(3, "i")])
    target, losses = projected(trace, PROFILER)
    assert brief(target) == [
        ("SLICE_BEGIN a at t10",),
        ("INSTANT i at t10",),
        ("SLICE_END at t10",),
    ]
    assert "slice-as-begin-and-end (1)" in losses
    kept, _ = projected(trace, VIEWER)
    assert [kind for _, kind, _, _ in events_of(kept)] == [Kind.SLICE_COMPLETE, Kind.INSTANT]


spans = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 2), st.integers(0, 3)),
    max_size=12,
)


@given(spans, st.integers(0, 12))
def test_nested_slices_stay_nested(drawn, cut):
    """Slices cut from larger ones: each end closes the slice that it belongs to."""
    events = []
    for thread in range(1, 3):
        start, end = 0, 100
        for index, (from_start, from_end, where, gap) in enumerate(drawn):
            if where != thread and where:
                continue
            start, end = start + from_start, end - from_end
            if end - start < gap:
                break
            events.append(complete(start, f"{thread}.{index}", end - start, thread))
    events.sort(key=lambda event: event[1])
    trace, _ = split(events[:cut], events[cut:])
    expected = {(name.decode(), ts + duration) for _, ts, _, _, (name, duration, _) in events}
    ended = {
        (part[1:].split("@")[0], int(part.split("@")[1]))
        for part in story(trace).split()
        if part.startswith("-")
    }
    assert ended == expected
    times = np.concatenate([b.ts for b in trace.batches()] or [np.zeros(0)])
    assert (np.diff(times) >= 0).all()


@given(traces(kinds=(Kind.SLICE_COMPLETE, Kind.SLICE_BEGIN, Kind.SLICE_END)))
def test_any_trace(trace):
    result = collect(begin_and_end(trace, LossReport()))
    check(result)
    before = sum(len(batch) for batch in trace.batches())
    known = 0
    for batch in trace.batches():
        for number, table in batch.tables.items():
            event_class = trace.event_classes[number]
            if event_class.kind is Kind.SLICE_COMPLETE:
                column = table.column(event_class.index_of(Role.DURATION))
                assert not isinstance(column, OptionalColumn)
                known += int((column >= 0).sum())
    assert sum(len(batch) for batch in result.batches()) == before + known


BEGIN = event_class(Kind.SLICE_BEGIN, **NAME)
END = event_class(Kind.SLICE_END)


def shown_by_stacks(trace):
    """Slices as viewers of stacks have them, by name, start and end: complete ones that do not nest are left out."""
    held = collect(trace)
    stacks, found = {}, []
    for batch in held.batches():
        for at in np.lexsort((np.arange(len(batch)), batch.ts)).tolist():
            ts, row = int(batch.ts[at]), int(batch.row[at])
            event_class = held.event_classes[batch.class_id[at]]
            table = batch.tables[int(batch.class_id[at])]
            values = dict(
                zip([f.name for f in event_class.fields], range(table.width), strict=True)
            )
            place = int(batch.thread[at]), int(batch.track[at])
            stack = stacks.setdefault(place, [])
            while stack and stack[-1][2] is not None and stack[-1][2] <= ts:
                stack.pop()
            if event_class.kind is Kind.SLICE_END:
                if stack:
                    found.append((stack[-1][0], stack[-1][1], ts))
                    stack.pop()
                continue
            name = held.strings[int(table.column(values["name"])[row])].decode()
            until = None
            if event_class.kind is Kind.SLICE_COMPLETE:
                until = ts + int(table.column(values["dur"])[row])
                if any(one[2] is not None and one[2] < until for one in stack):
                    continue
                found.append((name, ts, until))
            stack.append((name, ts, until))
    return sorted(found)


def test_slices_that_cross_are_on_a_track_beside():
    slices = [
        complete(0, "a", 10),
        complete(5, "b", 10),
        complete(7, "c", 2000),
        complete(8, "d", 1),
    ]
    for unit in (1, 1000):
        report = LossReport()
        trace = begin_and_end(trace_of(CLASSES, slices), report, unit)
        wanted = [("a", 0, 10), ("b", 5, 15), ("c", 7, 2007), ("d", 8, 9)]
        assert shown_by_stacks(trace) == wanted
        assert "slice-beside (2)" in map(line_of, report)
        assert shown_by_stacks(trace) == wanted
        assert [track.name for track in trace.tracks] == [
            "overlapping slices",
            "overlapping slices 2",
        ]


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(1, 2)), max_size=12),
    st.data(),
)
def test_complete_slices_keep_their_times_whatever_they_cross(drawn, data):
    drawn.sort(key=lambda one: one[0])
    slices = [complete(ts, f"s{i}", dur, thread) for i, (ts, dur, thread) in enumerate(drawn)]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(slices)), max_size=2)))
    batches = [slices[a:b] for a, b in zip([0, *cuts], [*cuts, len(slices)], strict=True)]
    wanted = sorted((f"s{i}", ts, ts + dur) for i, (ts, dur, _) in enumerate(drawn))
    for unit in (2, 1000):
        assert (
            shown_by_stacks(begin_and_end(trace_of(CLASSES, *batches), LossReport(), unit))
            == wanted
        )


def test_a_complete_slice_that_crosses_an_end_is_on_a_track_beside():
    begin, end = lambda ts, name: (2, ts, -1, 1, (name.encode(),)), lambda ts: (3, ts, -1, 1, ())
    classes = [*CLASSES, BEGIN, END]
    for events in (
        [begin(0, "a"), complete(5, "x", 10), end(8)],
        [complete(0, "x", 10), begin(5, "a"), end(18)],
    ):
        trace = begin_and_end(trace_of(classes, events), LossReport(), 1000)
        a = ("a", 0, 8) if events[0][0] == 2 else ("a", 5, 18)
        x = ("x", 5, 15) if events[0][0] == 2 else ("x", 0, 10)
        assert shown_by_stacks(trace) == [a, x]


def begin_at(ts, name):
    return 2, ts, -1, 1, (name.encode(),)


def end_at(ts):
    return 3, ts, -1, 1, ()


PAIRS = [*CLASSES, BEGIN, END]
OUTLASTING = "slice-outlasting"


def as_pairs(*batches):
    report = LossReport()
    trace = begin_and_end(trace_of(PAIRS, *batches), report, 1000)
    return shown_by_stacks(trace), {loss.code: loss.count for loss in report}


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_an_end_that_closes_nothing_does_not_close_a_complete_slice(cut):
    events = [complete(0, "a", 9), end_at(3), end_at(4), instant(20, "i")]
    shown, losses = as_pairs(events[:cut], events[cut:])
    assert shown == [("a", 0, 9)]
    # In a batch without complete slices, too.
    assert losses["slice-end-unmatched"] == 2
    # Outside of one it closes nothing anywhere, and stays.
    _, losses = as_pairs([complete(0, "a", 9), end_at(9), end_at(30)])
    assert "slice-end-unmatched" not in losses


@pytest.mark.parametrize("later", [[], [instant(40, "i")]])
def test_a_slice_that_never_ends_does_not_take_the_end_of_the_one_around(later):
    shown, losses = as_pairs([complete(0, "a", 10), begin_at(5, "open"), *later])
    assert shown == [("a", 0, 10)]
    assert losses[OUTLASTING] == 1


def test_whether_a_slice_ends_may_be_known_in_the_next_batch():
    first = [complete(0, "a", 10), begin_at(5, "b")]
    shown, losses = as_pairs(first, [end_at(8), instant(20, "i")])
    assert shown == [("a", 0, 10), ("b", 5, 8)]
    assert OUTLASTING not in losses
    _, losses = as_pairs(first, [instant(20, "i")])
    assert losses[OUTLASTING] == 1


def test_slices_out_of_order_that_touch_do_not_nest():
    shown, _ = as_pairs([complete(20, "c", 2), complete(10, "b", 10), complete(5, "a", 5)])
    assert shown == [("a", 5, 10), ("b", 10, 20), ("c", 20, 22)]
    trace, _ = split([complete(20, "c", 0), complete(10, "b", 10)])
    ends = [(ts, kind) for ts, kind, _, _ in sorted(events_of(trace), key=lambda one: one[0])]
    assert ends == [
        (10, Kind.SLICE_BEGIN),
        (20, Kind.SLICE_END),
        (20, Kind.SLICE_BEGIN),
        (20, Kind.SLICE_END),
    ]


@pytest.mark.parametrize(
    ("durations", "begins"), [((0, 5), "ab"), ((5, 0), "ab"), ((2, 5), "ba"), ((0, 2, 5), "acb")]
)
def test_what_takes_no_time_is_not_inside_of_what_comes_later(durations, begins):
    slices = [complete(3, name, dur) for name, dur in zip("abc", durations, strict=False)]
    trace, _ = split(slices)
    names = [fields["name"] for _, kind, _, fields in events_of(trace) if kind is Kind.SLICE_BEGIN]
    assert names == list(begins)


@needs_trace_processor
def test_an_end_follows_that_of_the_slice_inside_at_its_time(tmp_path):
    """Ends match by name in Perfetto: the other way round, the outer slice would never end."""
    parts = [start("little")]
    for kind, ts, name, tail in (
        (EventType.DURATION_COMPLETE, 100, b"outer", 106),
        (EventType.DURATION_COMPLETE, 101, b"middle", 106),
        (EventType.DURATION_BEGIN, 102, b"inner", None),
        (EventType.DURATION_END, 106, b"inner", None),
        (EventType.DURATION_BEGIN, 106, b"next", None),
    ):
        parts.append(event("little", kind, ts, thread=(1, 2), name=name, tail=tail))
    source, target = tmp_path / "a.fxt", tmp_path / "b.pftrace"
    source.write_bytes(b"".join(parts))
    converter.convert(source, target)
    for path in (source, target):
        assert answer(path, "select name, dur, depth from slice order by ts") == [
            ["outer", "6", "0"],
            ["middle", "5", "1"],
            ["inner", "4", "2"],
            ["next", "-1", "0"],
        ]
