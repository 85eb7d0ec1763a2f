"""What relates clocks: the best that both know, and what is said where nothing does."""

from fractions import Fraction

import numpy as np
import pytest
from support.traces.losses import line_of
from support.traces.small_traces import event_class, events_of, trace_of

import converter
from converter.errors import ArgumentError, UnsupportedError
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain
from converter.merging.merge import merge, parse_offset

NAMED = event_class(Kind.INSTANT, name=(StringClass(), Role.NAME))
MARK = event_class(Kind.MARK, "print", "ftrace", buf=(StringClass(), Role.MESSAGE))
SYNC = event_class(
    Kind.CLOCK_SYNC, name=(StringClass(), Role.NAME), sync_id=(StringClass(), Role.NONE)
)
COMPLETE = event_class(
    Kind.SLICE_COMPLETE,
    name=(StringClass(), Role.NAME),
    duration=(IntegerClass(64), Role.DURATION),
)
SECOND = 1_000_000_000


def trace(clock, *times, domains=(), environment=None, name=b"e"):
    """An instant called `name` at each of these times."""
    return trace_of(
        [NAMED],
        [(0, ts, -1, 1, [name]) for ts in times],
        clock=clock,
        clock_domains=list(domains),
        environment=environment or {},
    )


def mono(epoch=None):
    return ClockDomain("mono", epoch_ns=epoch)


def times(merged):
    return [ts for ts, *_ in events_of(merged)]


def said(merged):
    return [str(one) for one in merged.inputs]


def test_two_known_distances_from_1970_relate():
    one = trace(ClockDomain("ns", epoch_ns=1_000), 10, 500)
    other = trace(ClockDomain("ns", epoch_ns=1_300), 0, 100)
    merged = merge([one, other])
    assert times(merged) == [10, 300, 400, 500]
    assert said(merged) == ["1: its clock 'ns' is that of all, +0 s", "2: by epoch, +0.0000003 s"]


def test_of_clocks_that_are_alike_the_first_by_name_is_that_of_all():
    tsc, wall = ClockDomain("tsc"), ClockDomain("wall")
    one, other = trace(mono(), 1, domains=[tsc, wall]), trace(mono(), 2, domains=[wall, tsc])
    merged = merge([one, other], names=["a", "b"]), merge([other, one], names=["b", "a"])
    assert [found.clock_domains for found in merged] == [[tsc, wall], [tsc, wall]]


def test_a_clock_of_the_machine_is_better_than_the_time_of_day():
    # The time of day of one is rounded to seconds.
    one = trace(mono(1_700_000_000 * SECOND + 421), 10)
    other = trace(ClockDomain("monotonic", epoch_ns=1_700_000_001 * SECOND), 20)
    merged = merge([one, other])
    assert times(merged) == [10, 20]
    assert said(merged)[1] == "2: by clock 'monotonic', +0 s"


def test_a_clock_of_another_boot_is_another_clock():
    one = trace(mono(1_700_000_000 * SECOND), 10)
    other = trace(mono(1_700_000_100 * SECOND), 10)
    merged = merge([one, other])
    assert times(merged) == [10, 100 * SECOND + 10]
    assert said(merged)[1] == "2: by epoch, +100 s"


def test_a_clock_that_one_knows_besides_its_own_relates():
    boot = ClockDomain("boottime", epoch_ns=1_000)
    one = trace(boot, 10, domains=[ClockDomain("monotonic", epoch_ns=1_700)])
    merged = merge([one, trace(mono(), 10)])
    assert times(merged) == [10, 710]
    assert said(merged)[1] == "2: by clock 'monotonic', +0.0000007 s"


def test_a_mark_of_the_kernel_says_what_another_clock_shows():
    kernel = trace_of(
        [MARK],
        [(0, 5 * SECOND, 0, 1, [b"trace_event_clock_sync: parent_ts=7.5\n"])],
        clock=ClockDomain("counter"),
    )
    merged = merge([kernel, trace(mono(0), 7 * SECOND)])
    assert times(merged) == [7 * SECOND, 7_500_000_000]


def test_a_moment_that_two_have_marked_relates_them():
    def synced(ts, clock):
        return trace_of([SYNC], [(0, ts, -1, 1, [b"clock_sync", b"guid"])], clock=clock)

    merged = merge([synced(100, ClockDomain("a")), synced(700, ClockDomain("b"))])
    assert times(merged) == [100, 100]
    assert said(merged)[1] == "2: by clock_sync 'guid', -0.0000006 s"


def test_clocks_that_start_with_the_machine_relate_nearly():
    merged = merge([trace(mono(), 10), trace(ClockDomain("local"), 30)], names=["a", "b"])
    assert times(merged) == [10, 30]
    assert any("drift apart" in one.doubt for one in merged.inputs)


def test_what_nothing_relates_starts_together():
    merged = merge([trace(mono(0), 1000, 2000), trace(ClockDomain("ns"), 7, 9)], names=["a", "b"])
    assert times(merged) == [1000, 1000, 1002, 2000]
    assert "offsets=" in merged.inputs[1].doubt
    assert str(merged.inputs[1]) == "b: starts with the others, +0.000000993 s"


def test_inputs_that_nothing_relates_to_the_first_stay_together():
    json = [trace(ClockDomain("x"), 50), trace(ClockDomain("x"), 40)]
    assert times(merge([trace(mono(0), 1000), *json])) == [1000, 1000, 1010]


def test_an_offset_is_added_to_what_relates():
    inputs = [trace(mono(0), 10), trace(mono(0), 10)]
    merged = merge(inputs, names=["a.dat", "dir/b.dat"], offsets={"b.dat": "+2us"})
    assert times(merged) == [10, 2010]
    assert said(merged)[1] == "b.dat: by clock 'monotonic' and the offset given, +0.000002 s"


def test_an_offset_relates_what_nothing_else_does():
    merged = merge([trace(mono(0), 10), trace(ClockDomain("ns"), 10)], offsets={"2": "1us"})
    assert times(merged) == [10, 1010]
    assert not merged.inputs[1].doubt


def test_an_event_that_both_have_relates():
    one = trace_of(
        [MARK], [(0, 10, 0, 1, [b"start\n"]), (0, 20, 0, 1, [b"start\n"])], clock=mono(0)
    )
    other = trace(mono(0), 500, 600, name=b"start")
    merged = merge([one, other], align="start")
    assert times(merged) == [10, 10, 20, 110]
    assert said(merged)[1] == "2: by event 'start', -0.00000049 s"


def test_an_event_is_found_by_its_name_and_system():
    one = trace_of([MARK], [(0, 10, 0, 1, [b"x"])], clock=mono(0))
    other = trace_of([MARK], [(0, 30, 0, 1, [b"y"])], clock=ClockDomain("ns"))
    for name in ("print", "ftrace:print"):
        assert times(merge([one, other], align=name)) == [10, 10]


def test_the_finest_clock_counts():
    fine = ClockDomain("mono", Fraction(10**12), 0)
    coarse = trace_of(
        [COMPLETE], [(0, 3, -1, 1, [b"e", 5])], clock=ClockDomain("mono", Fraction(1000))
    )
    merged = merge([trace(fine, 7), coarse])
    assert merged.clock.ticks_per_second == 10**12
    assert times(merged) == [7, 3 * 10**9]
    assert events_of(merged)[1][3]["duration"] == 5 * 10**9
    assert not list(merged.losses)


def test_times_that_are_no_ticks_of_the_finest_are_rounded_down_and_said():
    odd = ClockDomain("mono", Fraction(3))
    merged = merge([trace(mono(), 7), trace(odd, 1, 2, 3)])
    assert times(merged) == [7, 333_333_333, 666_666_666, SECOND]
    assert [line_of(loss) for loss in merged.losses] == [
        "merge-times-rounded input=2 shown=1 GHz was=3 Hz (1)"
    ]


def test_a_clock_too_fine_for_all_times_gives_way_to_nanoseconds():
    fine = ClockDomain("ns", Fraction(10**15), 0)
    today = trace(ClockDomain("realtime", epoch_ns=0), 1_700_000_000 * SECOND)
    merged = merge([trace(fine, 5_000_000), today])
    assert merged.clock.ticks_per_second == SECOND
    assert times(merged) == [5, 1_700_000_000 * SECOND]
    assert "to nanoseconds" in " ".join(map(str, merged.losses))


def test_ticks_of_an_unknown_length_stay_where_all_are():
    bare = ClockDomain("x86-tsc", None)
    merged = merge([trace(bare, 1), trace(bare, 2)])
    assert merged.clock.ticks_per_second is None
    assert times(merged) == [1, 2]


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("+1.5s", 1_500_000_000),
        ("-20ms", -20_000_000),
        ("300us", 300_000),
        ("7ns", 7),
        ("2", 2 * SECOND),
    ],
)
def test_offsets(text, nanoseconds):
    assert parse_offset(text) == nanoseconds


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (
            {"offsets": {"c": "1s"}},
            "there is no input 'c': offsets and machines name inputs, here a, b",
        ),
        ({"offsets": {"a": "soon"}}, "'soon' is no offset"),
        ({"align": "nothing"}, "no event 'nothing' to align by in a, b"),
        ({"machines": {"m": ["z"]}}, "there is no input 'z'"),
        ({"offsets": {"a": "999999999999s"}}, "too far from the others'"),
    ],
)
def test_what_cannot_be_done_is_said(told, words):
    with pytest.raises((ArgumentError, UnsupportedError), match=words):
        merge([trace(mono(0), 1), trace(mono(0), 2)], names=["a", "b"], **told)


def test_a_trace_is_read_once_at_a_time():
    one = trace(mono(0), 1)
    with pytest.raises(UnsupportedError, match="opened twice"):
        merge([one, one])


def test_a_batch_out_of_order_is_put_in_order():
    merged = converter.merge([trace(mono(0), 30, 10, 20), trace(mono(0), 15)])
    assert times(merged) == [10, 15, 20, 30]
    assert all(np.all(np.diff(batch.ts) >= 0) for batch in merged.batches())


def test_a_batch_out_of_order_keeps_what_is_of_its_events():
    """Names, threads and CPUs move with the times."""
    events = [(0, ts, ts // 10, ts // 20, [b"%d" % ts]) for ts in (30, 0, 20)]
    merged = merge([trace_of([NAMED], events, clock=mono(0)), trace(mono(0), 15)])
    assert [(ts, fields["name"]) for ts, _, _, fields in events_of(merged)] == [
        (0, "0"),
        (15, "e"),
        (20, "20"),
        (30, "30"),
    ]
    (batch,) = merged.batches()
    assert batch.cpu.tolist() == [0, -1, 2, 3]
    tids = [merged.threads[thread].tid for thread in batch.thread.tolist()]
    assert tids == [0, 10, 10, 10]


def test_of_clocks_alike_but_for_their_name_that_of_the_machine_is_that_of_all():
    clocks = [ClockDomain("alpha", epoch_ns=0), ClockDomain("mono", epoch_ns=0)]
    for inputs in (clocks, clocks[::-1]):
        merged = merge([trace(clock, 10) for clock in inputs])
        assert merged.clock.name == "mono"


@pytest.mark.parametrize(("most", "related"), [(1, False), (2, True), (3, True)])
def test_moments_relate_up_to_their_limit(most, related, monkeypatch):
    monkeypatch.setattr("converter.merging.survey._MOST_MARKS", most)
    inputs = [
        trace_of(
            [SYNC],
            [(0, ts + 5, -1, 1, [b"clock_sync", name]) for ts, name in enumerate(names)],
            clock=ClockDomain(clock),
        )
        for clock, names in (("a", (b"one", b"two")), ("b", (b"two",)))
    ]
    assert ("by clock_sync 'two'" in said(merge(inputs))[1]) is related
