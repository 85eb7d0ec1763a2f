"""What is in a part of a trace: what is wanted, and what was so when it begins."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.traces.small_traces import event_class, events_of, trace_of
from support.traces.strategies import traces

import converter
from converter.errors import SelectionError
from converter.fixtures import synthetic_trace
from converter.ir.collect import collect, with_batches
from converter.ir.events import Batch
from converter.ir.field_classes import IntegerClass, OptionalClass, StringClass
from converter.ir.invariants import check
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Track, TrackScope
from converter.selection.select import select, selected
from converter.selection.selection import Selection

TEXT, I64, U32 = StringClass(), IntegerClass(64, True), IntegerClass(32)
BEGIN = event_class(Kind.SLICE_BEGIN, name=(TEXT, Role.NAME))
END = event_class(Kind.SLICE_END)
NAMED_END = event_class(Kind.SLICE_END, name=(TEXT, Role.NAME))
COMPLETE = event_class(
    Kind.SLICE_COMPLETE, name=(TEXT, Role.NAME), duration=(OptionalClass(I64), Role.DURATION)
)
ASYNC_BEGIN = event_class(Kind.ASYNC_BEGIN, name=(TEXT, Role.NAME), id=(I64, Role.ID))
ASYNC_END = event_class(Kind.ASYNC_END, id=(I64, Role.ID))
COUNTER = event_class(Kind.COUNTER, name=(TEXT, Role.NAME), value=(I64, Role.VALUE))
SWITCH = event_class(
    Kind.SCHED_SWITCH, "switch", "sched", prev=(I64, Role.PREV_TID), next=(I64, Role.NEXT_TID)
)
ENTRY = event_class(Kind.SYSCALL_ENTRY, "sys_enter", "raw", nr=(I64, Role.SYSCALL_NUMBER))
EXIT = event_class(Kind.SYSCALL_EXIT, "sys_exit", "raw", nr=(I64, Role.SYSCALL_NUMBER))
MARK = event_class(Kind.MARK, "print", "ftrace", message=(TEXT, Role.MESSAGE))
WAKING = event_class(Kind.SCHED_WAKING, "waking", "sched", tid=(I64, Role.TID))
BEGIN_WITH_VALUE = event_class(Kind.SLICE_BEGIN, name=(TEXT, Role.NAME), value=(I64, Role.NONE))
FORK = event_class(Kind.PROCESS_FORK, "fork", parent=(I64, Role.PARENT_TID), child=(I64, Role.TID))
CLASSES = [
    *(BEGIN, END, NAMED_END, COMPLETE, ASYNC_BEGIN, ASYNC_END, COUNTER),
    *(SWITCH, ENTRY, EXIT, MARK, FORK, WAKING, BEGIN_WITH_VALUE),
]
NUMBER = {one: number for number, one in enumerate(CLASSES)}


def at(ts, one, *values, thread=1, cpu=0, track=-1):
    return (NUMBER[one], ts, cpu, thread, values, track)


def part(batches, since=None, until=None, *, tables=None, **filters):
    """The events of a part as (ts, kind, place, values); times in nanoseconds."""
    trace = trace_of(CLASSES, *batches, **(tables or {}))
    selection = Selection(
        since=None if since is None else f"{since}ns",
        until=None if until is None else f"{until}ns",
        **filters,
    )
    result = select(trace, selection)
    check(result)
    return [
        (ts, kind.name, place, *fields.values()) for ts, kind, place, fields in events_of(result)
    ]


def both_ways(*events):
    """The events in one batch, and each in a batch of its own."""
    return [[list(events)], [[event] for event in events]]


@pytest.mark.parametrize(
    "batches",
    both_ways(
        at(10, BEGIN, b"outer"),
        at(11, BEGIN, b"done"),
        at(12, END),
        at(13, BEGIN, b"inner"),
        at(30, END),
        at(31, BEGIN, b"late"),
        at(60, END),
    ),
)
def test_open_slices_begin_and_end_with_the_window(batches):
    assert part(batches, 20, 50) == [
        (20, "SLICE_BEGIN", "t10", "outer"),
        (20, "SLICE_BEGIN", "t10", "inner"),
        (30, "SLICE_END", "t10"),
        (31, "SLICE_BEGIN", "t10", "late"),
        (50, "SLICE_END", "t10", "late"),
        (50, "SLICE_END", "t10", "outer"),
    ]


@pytest.mark.parametrize(
    "batches",
    both_ways(
        at(5, WAKING, 11),
        at(6, SWITCH, 0, 11),
        at(7, WAKING, 10),
        at(8, WAKING, 10),
        at(9, WAKING, 12),
        at(30, SWITCH, 11, 10),
    ),
)
def test_threads_that_have_been_woken_and_wait_are_woken_when_it_begins(batches):
    assert part(batches, 20, 50) == [
        (20, "SCHED_SWITCH", "t10", 0, 11),
        (20, "SCHED_WAKING", "t10", 10),
        (20, "SCHED_WAKING", "t10", 12),
        (30, "SCHED_SWITCH", "t10", 11, 10),
    ]


@pytest.mark.parametrize(
    "batches",
    both_ways(
        at(10, BEGIN, b"outer"),
        at(30, BEGIN_WITH_VALUE, b"with a value", 7),
        at(31, BEGIN, b"inner"),
        at(60, END),
    ),
)
def test_slices_of_several_classes_end_with_the_window(batches):
    assert part(batches, 20, 50)[-3:] == [
        (50, "SLICE_END", "t10", "inner"),
        (50, "SLICE_END", "t10", "with a value"),
        (50, "SLICE_END", "t10", "outer"),
    ]


def test_a_trace_that_ends_in_the_window_stays_open():
    batches = [[at(10, BEGIN, b"outer"), at(30, BEGIN, b"inner")]]
    assert part(batches, 20, 50) == [
        (20, "SLICE_BEGIN", "t10", "outer"),
        (30, "SLICE_BEGIN", "t10", "inner"),
    ]
    assert part(batches, 40, 50) == []


@pytest.mark.parametrize("batches", both_ways(at(10, BEGIN, b"all"), at(90, END)))
def test_a_window_without_events_shows_what_goes_on(batches):
    assert part(batches, 20, 50) == [
        (20, "SLICE_BEGIN", "t10", "all"),
        (50, "SLICE_END", "t10", "all"),
    ]


@pytest.mark.parametrize(
    "batches",
    both_ways(
        at(10, COMPLETE, b"inner", 15),
        at(5, COMPLETE, b"outer", 95),
        at(10, COMPLETE, b"over", 5),
        at(12, COMPLETE, b"unfinished", None),
        at(40, COMPLETE, b"cut", 20),
        at(60, COMPLETE, b"later", 20),
    ),
)
def test_complete_slices_are_clipped(batches):
    assert sorted(part(batches, 20, 50)) == [
        (20, "SLICE_COMPLETE", "t10", "inner", 5),
        (20, "SLICE_COMPLETE", "t10", "outer", 30),
        (20, "SLICE_COMPLETE", "t10", "unfinished", None),
        (40, "SLICE_COMPLETE", "t10", "cut", 10),
    ]


@pytest.mark.parametrize("duration", [-1, -5, -(1 << 63)])
def test_slices_that_end_before_they_begin_do_not_reach_a_later_window(duration):
    batches = [[at(10, COMPLETE, b"early", duration), at(30, COMPLETE, b"inside", duration)]]
    batches += [[at(40, COMPLETE, b"cut", 20), at(60, COMPLETE, b"later", duration)]]
    assert part(batches, 20, 50) == [
        (30, "SLICE_COMPLETE", "t10", "inside", duration),
        (40, "SLICE_COMPLETE", "t10", "cut", 10),
    ]


@pytest.mark.parametrize(
    ("ts", "duration", "since", "until", "expected"),
    [
        # From behind the end of time, and until before its beginning.
        (5, 5, 1 << 63, None, []),
        (5, 5, None, -1 << 64, []),
        (5, 5, -1 << 64, 10, [(5, "SLICE_COMPLETE", "t10", "a", 5)]),
        # Between this begin and that window there are more ticks than a signed number has.
        (-1 << 63, 5, 10, 20, []),
        (-1 << 63, (1 << 63) - 1, -10, -5, [(-10, "SLICE_COMPLETE", "t10", "a", 5)]),
    ],
)
def test_times_may_be_as_far_apart_as_64_bits_tell(ts, duration, since, until, expected):
    last = at((1 << 63) - 2, COUNTER, b"last", 1)
    assert part([[at(ts, COMPLETE, b"a", duration)], [last]], since, until) == expected


def test_durations_may_be_optional_more_than_once():
    nested = OptionalClass(OptionalClass(I64))
    one = event_class(Kind.SLICE_COMPLETE, name=(TEXT, Role.NAME), took=(nested, Role.DURATION))
    values = ((10, b"cut", 100), (15, b"open", None), (30, b"in", 5))
    rows = [(0, ts, 0, 1, (name, took), -1) for ts, name, took in values]
    found = select(trace_of([one], rows), Selection(since="20ns", until="50ns"))
    assert [fields["took"] for *_, fields in events_of(found)] == [30, None, 5]


@pytest.mark.parametrize("begins", [5, 10])
def test_the_outer_slice_stands_first(begins):
    batches = [[at(10, COMPLETE, b"inner", 15), at(begins, COMPLETE, b"outer", 95), at(30, END)]]
    assert [event[3] for event in part(batches, 20)] == ["outer", "inner"]


@pytest.mark.parametrize(
    "batches",
    both_ways(
        at(10, ASYNC_BEGIN, b"request", 1, thread=1),
        at(11, ASYNC_BEGIN, b"request", 2, thread=1),
        at(12, ASYNC_END, 1, thread=1),
        at(30, COUNTER, b"queue", 4),
        at(70, ASYNC_END, 2, thread=1),
    ),
)
def test_asynchronous_slices_are_told_apart_by_their_ids(batches):
    assert part(batches, 20, 50) == [
        (20, "ASYNC_BEGIN", "t10", "request", 2),
        (30, "COUNTER", "t10", "queue", 4),
        (50, "ASYNC_END", "t10", "request", 2),
    ]


@pytest.mark.parametrize(
    "batches",
    both_ways(
        at(10, COUNTER, b"queue", 1),
        at(11, COUNTER, b"queue", 2),
        at(12, COUNTER, b"other", 3),
        at(13, SWITCH, 0, 10, cpu=0, thread=0),
        at(14, SWITCH, 10, 11, cpu=0),
        at(15, SWITCH, 0, 10, cpu=1, thread=0),
        at(30, COUNTER, b"queue", 4),
    ),
)
def test_what_holds_is_said_again(batches):
    assert part(batches, 20) == [
        (20, "COUNTER", "t10", "queue", 2),
        (20, "COUNTER", "t10", "other", 3),
        (20, "SCHED_SWITCH", "t10", 10, 11),
        (20, "SCHED_SWITCH", "t0", 0, 10),
        (30, "COUNTER", "t10", "queue", 4),
    ]


@pytest.mark.parametrize(
    "batches",
    both_ways(
        at(10, MARK, b"B|10|outer\n"),
        at(11, MARK, b"C|10|queue|7"),
        at(12, MARK, b"S|10|request|3"),
        at(13, MARK, b"B|10|inner"),
        at(14, MARK, b"E|10"),
        at(30, MARK, b"just text"),
        at(60, MARK, b"E"),
    ),
)
def test_marks_are_what_atrace_means_by_them(batches):
    texts = [event[-1] for event in part(batches, 20, 50)]
    opened = ["B|10|outer\n", "C|10|queue|7", "S|10|request|3"]
    assert texts == [*opened, "just text", "F|10|request|3", "E|10"]


def test_calls_of_a_kernel_begin_with_the_window_but_end_as_recorded():
    batches = [[at(10, ENTRY, 1), at(30, EXIT, 1), at(31, ENTRY, 2), at(60, EXIT, 2)]]
    assert part(batches, 20, 50) == [
        (20, "SYSCALL_ENTRY", "t10", 1),
        (30, "SYSCALL_EXIT", "t10", 1),
        (31, "SYSCALL_ENTRY", "t10", 2),
    ]


def test_events_that_come_late_are_of_the_window_still():
    """Buffers of CPUs may stand one after the other in a file."""
    batches = [
        [at(10, BEGIN, b"a"), at(30, END)],
        [at(11, BEGIN, b"b", thread=2), at(12, BEGIN, b"c", thread=2), at(13, END, thread=2)],
        [at(14, END, thread=2), at(40, BEGIN, b"d", thread=2)],
    ]
    assert part(batches, 20) == [
        (20, "SLICE_BEGIN", "t10", "a"),
        (30, "SLICE_END", "t10"),
        (20, "SLICE_BEGIN", "t11", "b"),
        (20, "SLICE_END", "t11"),
        (40, "SLICE_BEGIN", "t11", "d"),
    ]


PAIRS = [
    at(1, BEGIN, b"kept"),
    at(2, BEGIN, b"not"),
    at(3, BEGIN, b"kept"),
    at(4, END),
    at(5, NAMED_END, b"not"),
    at(6, END),
    at(7, NAMED_END, b"kept"),
]


@pytest.mark.parametrize("batches", both_ways(*PAIRS))
def test_an_end_stays_where_its_begin_does(batches):
    # The last one has no begin.
    assert [event[0] for event in part(batches, events=("kept",))] == [1, 3, 4, 6]
    assert [event[0] for event in part(batches, where=("name == 'not'",))] == [2, 5]


def test_ends_of_calls_stay_alone_where_they_close_nothing():
    events = [at(1, ENTRY, 1), at(2, EXIT, 1), at(3, EXIT, 2), at(4, ENTRY, 3), at(5, EXIT, 3)]
    assert [event[0] for event in part([events], where=("sys_exit: nr > 1",))] == [3]
    assert [event[0] for event in part([events], events=("sys_enter",))] == [1, 2, 4, 5]
    # 2 and 5 close what is not there.
    assert [event[0] for event in part([events], events=("sys_exit",))] == [3]


PROCESSES = [Process(1, "init"), Process(10, "make"), Process(20, "cc"), Process(30, "ld")]
THREADS = [Thread(1, 0), Thread(10, 1), Thread(11, 1, "job"), Thread(20, 2), Thread(30, 3)]
FAMILY = {"processes": PROCESSES, "threads": THREADS}
FORKS = [
    at(1, BEGIN, b"early", thread=3),
    at(2, FORK, 10, 20, thread=1),
    at(3, FORK, 20, 30, thread=3),
    at(4, BEGIN, b"make", thread=1),
    at(5, BEGIN, b"job", thread=2),
    at(6, BEGIN, b"ld", thread=4),
    at(7, BEGIN, b"init", thread=0),
    at(8, SWITCH, 1, 11, thread=0),
]


@pytest.mark.parametrize("batches", both_ways(*FORKS))
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"pids": ("10",)}, {2, 4, 5, 8}),
        ({"pids": ("1?",)}, {2, 4, 5, 8}),
        ({"tids": ("10",)}, {2, 4}),
        ({"comms": ("make",)}, {2, 4, 5, 8}),
        ({"comms": ("j*",)}, {5, 8}),
        ({"pids": ("10",), "tids": ("11",)}, {5, 8}),
        ({"pids": ("10",), "children": True}, {2, 3, 4, 5, 6, 8}),
    ],
)
def test_tasks(batches, filters, expected):
    found = {event[0] for event in part(batches, tables=FAMILY, **filters)}
    # What a child did before its birth is seen in the order in which it is told.
    assert found - {1} == expected


def test_children_by_the_table_of_processes():
    processes = [Process(1), Process(10, parent_pid=1), Process(20, parent_pid=10)]
    tables = {"processes": processes, "threads": [Thread(n, i) for i, n in enumerate((1, 10, 20))]}
    events = [[at(1, BEGIN, b"x", thread=2), at(2, BEGIN, b"y", thread=0)]]
    found = part(events, tables=tables, pids=("10",), children=True)
    assert [event[0] for event in found] == [1]


def test_tracks_of_wanted_threads():
    tracks = [Track("of thread", TrackScope.THREAD, 1), Track("of all")]
    events = [[at(1, BEGIN, b"x", thread=-1, track=0), at(2, BEGIN, b"y", thread=-1, track=1)]]
    found = part(events, tables={"tracks": tracks}, tids=("10",))
    assert [event[0] for event in found] == [1]


@pytest.mark.parametrize(("ordered", "read"), [(False, 5), (True, 4)])
def test_counts(ordered, read):
    batches = [
        [at(10, BEGIN, b"a"), at(30, END), at(31, BEGIN, b"b")],
        [at(90, END)],
        [at(95, END)],
    ]
    trace = trace_of(CLASSES, *batches)
    trace.in_time_order, trace.source_batches = ordered, trace.make_batches
    result = selected(trace, Selection(since="20ns", until="50ns"))
    collect(result.trace)
    counts = result.counts
    assert (counts.read, counts.kept, counts.added, counts.all_read) == (read, 2, 2, not ordered)


@pytest.mark.parametrize(("name", "open"), [(b"a", []), (b"b", ["a"])])
def test_a_named_end_closes_the_slice_of_its_name_and_what_is_in_it(name, open):
    batches = [[at(10, BEGIN, b"a"), at(11, BEGIN, b"b"), at(12, NAMED_END, name), at(30, END)]]
    assert [event[3] for event in part(batches, 20, 50) if event[0] == 20] == open


@pytest.mark.parametrize(
    "waking",
    [
        event_class(Kind.SCHED_WAKING, "waking", "sched"),
        event_class(Kind.SCHED_WAKING, "waking", "sched", tid=(OptionalClass(I64), Role.TID)),
    ],
)
def test_a_wakeup_that_names_no_thread_leaves_none_waiting(waking):
    values = (1,) * len(waking.fields)
    trace = trace_of([waking, COUNTER], [(0, 5, 0, 1, values), (1, 30, 0, 1, (b"c", 1))])
    assert [event[0] for event in events_of(select(trace, Selection(since="20ns")))] == [30]


@pytest.mark.parametrize("tid", [(1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_ids_of_threads_may_have_64_bits(tid):
    """Columns have them as signed numbers."""
    held = tid - (1 << 64) if tid >> 63 else tid
    tables = {"processes": [Process(1)], "threads": [Thread(1, 0), Thread(tid, 0)]}
    events = [[at(1, BEGIN, b"x", thread=0), at(2, SWITCH, 1, held, thread=0)]]
    found = part(events, tables=tables, tids=(str(tid),))
    assert [event[0] for event in found] == [2]


@pytest.mark.parametrize(("until", "found"), [(119, []), (120, [120]), (118, None)])
def test_times_of_two_origins_may_not_be_reversed(until, found):
    """One tick apart is a part without events."""
    trace = trace_of(CLASSES, [at(ts, MARK, b"m") for ts in (100, 120, 140)])
    selection = Selection(since="+20ns", until=f"{until}ns")
    if found is None:
        with pytest.raises(SelectionError, match="is after"):
            events_of(select(trace, selection))
    else:
        assert [event[0] for event in events_of(select(trace, selection))] == found


def test_times_from_the_start_and_the_end():
    events = [[at(ts, COUNTER, b"c", ts) for ts in range(100, 200, 10)]]
    trace = trace_of(CLASSES, *events)
    for selection, expected in [
        (Selection(since="+20ns", until="+40ns"), [120, 130, 140]),
        (Selection(last="20ns"), [170, 180, 190]),
        (Selection(last="20ns", until="150ns"), [130, 140, 150]),
    ]:
        found = [ts for ts, *_, fields in events_of(select(trace, selection))]
        held = [fields["value"] for *_, fields in events_of(select(trace, selection))]
        assert held[1:] == expected if held[0] != expected[0] else held == expected
        assert found[-1] == expected[-1]


def test_nothing_wanted_is_everything():
    trace = trace_of(CLASSES, PAIRS)
    assert select(trace, Selection()) is trace


def split(trace):
    """The trace with a batch for each event."""
    trace = collect(trace)
    batches: list[Batch] = []
    for batch in trace.batches():
        batches += [batch.select(slice(i, i + 1)) for i in range(len(batch))]
    return with_batches(trace, batches)


@pytest.mark.parametrize(
    "selection",
    [
        Selection(since="+10us", until="+60us"),
        Selection(since="+10us", cpus=frozenset({0})),
        Selection(until="+60us", events=("*a*",)),
        Selection(where=("cpu == 1 || ts < 1.00003",)),
    ],
)
def test_batches_make_no_difference(selection):
    trace = collect(synthetic_trace("all", 800, 3))
    whole, pieces = (events_of(select(one, selection)) for one in (trace, split(trace)))
    assert whole
    assert sorted(map(repr, whole)) == sorted(map(repr, pieces))


@pytest.mark.filterwarnings("ignore::converter.errors.SelectionWarning")
@given(traces(), st.integers(0, 2**36), st.integers(0, 2**36), st.booleans())
def test_parts_of_any_trace_are_traces(trace, first, second, filtered):
    if trace.clock.ticks_per_second is None:
        return
    selection = Selection(
        since=f"+{min(first, second)}ns",
        until=f"+{max(first, second)}ns",
        events=("!*a*",) if filtered else (),
        where=("cpu != 1", "name ~ 'b*'") if filtered else (),
    )
    result = select(trace, selection)
    check(result)
    for batch in result.batches():
        assert len(batch)


RECORDINGS = Path(__file__).parents[2] / "roundtrip_fixtures"


@pytest.mark.parametrize(
    "name",
    [
        "trace_cmd/small.dat",
        "fxt/magic-trace.fxt",
        "chrome/features.json",
        "ctf/ctf_small",
        "perfetto/timeline.pftrace",
        "uftrace/rich",
        "aix/kernel-trace-64.aix",
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_part_is_written_in_the_format_of_the_whole(name, tmp_path):
    """What only the format has goes along; what the writer is given, it gives back."""
    path = tmp_path / "part"
    with converter.open_trace(RECORDINGS / name) as trace:
        variant = f"{trace.format}+{trace.variant}".rstrip("+")
        times = np.concatenate([batch.ts for batch in trace.batches()])
        third = int((times.max() - times.min()) * 10**9 / trace.clock.ticks_per_second) // 3
        middle = Selection(since=f"+{third}ns", until=f"+{2 * third}ns")
        expected = collect(select(trace, middle))
        formats = {f"{one.name}+{each}" for one in converter.FORMATS for each in one.variants}

        converter.write(
            select(trace, middle), path, variant if variant in formats else trace.format
        )
        again = converter.read(path, trace.format)
    kept = sum(len(batch) for batch in expected.batches())
    if name == "uftrace/rich":
        # A task is in execv where the part ends: uftrace has no ends of what a task is in when it executes a program.
        kept -= 1
    assert kept > 0
    assert sum(len(batch) for batch in again.batches()) == kept


def test_what_is_open_since_long_is_found_though_events_are_not_in_the_order_of_time():
    """Of batches before the last few only what is open is kept."""
    batches = [
        [at(20, BEGIN, "ends", thread=1), at(10, BEGIN, "goes on", thread=2)],
        *([at(ts, COUNTER, f"c{ts}", 1, thread=0)] for ts in (30, 40, 50, 60)),
        [at(70, END, thread=1)],
        [at(90, MARK, "m", thread=0), at(95, END, thread=2)],
    ]
    names = [values for _, kind, _, *values in part(batches, 80) if kind == "SLICE_BEGIN"]
    assert names == [["goes on"]]


def test_a_batch_without_wakeups_may_follow_one_whose_threads_wait():
    trace = converter.read(RECORDINGS / "trace_cmd/small.dat")
    both = [
        batch
        for event in ("sched_waking", "softirq_*")
        for batch in select(trace, Selection(events=(event,))).batches()
    ]
    late = max(int(batch.ts.max()) for batch in both)
    since = f"{late // 10**9}.{late % 10**9:09}"
    part = select(with_batches(trace, both), Selection(since=since))
    assert sum(map(len, part.batches())) > 0
