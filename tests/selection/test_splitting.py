"""Parts of a trace: each is what is between its times, and all of it is in one of them."""

from fractions import Fraction
from pathlib import Path

import pytest
from support.traces.small_traces import event_class, events_of, trace_of

import converter
from converter.errors import SelectionError
from converter.fixtures import synthetic_trace
from converter.ir.canonical import difference
from converter.ir.collect import collect, with_batches
from converter.ir.field_classes import StringClass
from converter.ir.invariants import check
from converter.ir.kinds import Kind, Role
from converter.selection.consecutive import Consecutive
from converter.selection.parts import Division, TimeLength, parse_division
from converter.selection.select import select
from converter.selection.selection import Selection
from converter.selection.side_by_side import SideBySide

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "roundtrip_fixtures" / "trace_cmd" / "small.dat"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("10s", TimeLength(Fraction(10))),
        ("20ms", TimeLength(Fraction(2, 100))),
        ("1GB", 10**9),
        ("1.5kB", 1500),
        ("64MiB", 64 << 20),
        ("cpu", Division.CPU),
        ("process", Division.PROCESS),
    ],
)
def test_what_a_trace_is_split_by(text, meant):
    assert parse_division(text) == meant


@pytest.mark.parametrize("text", ["", "0s", "-1s", "+1s", "10", "5B", "GB", "1e9s", "thread"])
def test_what_nothing_is_split_by(text):
    if text == "10":
        assert parse_division(text) == TimeLength(Fraction(10))
        return
    with pytest.raises(SelectionError, match=r"split by|too small"):
        parse_division(text)


def in_parts(trace, length):
    for part in Consecutive(trace, length).parts():
        part.trace = collect(part.trace)
        check(part.trace)
        yield part


def all_traces():
    with converter.open_trace(SMALL) as trace:
        yield collect(trace), "5ms"
    yield collect(synthetic_trace(["timeline", "sched", "calls", "interrupts"], 2000)), "100us"


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("ordered", [True, False])
def test_a_part_is_what_is_between_its_times(number, ordered):
    trace, length = list(all_traces())[number]
    trace.in_time_order = ordered
    parts = list(in_parts(trace, parse_division(length)))
    assert len(parts) > 5
    rate = trace.clock.ticks_per_second
    assert sum(part.events for part in parts) == sum(map(len, trace.batches()))
    for part in parts:
        since, until = (
            f"{int(Fraction(tick) / rate * 10**9)}ns" for tick in (part.first, part.last)
        )
        wanted = select(trace, Selection(since=since, until=until))
        assert difference(part.trace, wanted) is None, (part.first, part.last)


TICK = event_class(Kind.COUNTER, name=(StringClass(), Role.NAME))


def ticking(*batches):
    """Events at these times."""
    return trace_of([TICK], *([(0, ts, 0, 1, (b"c",)) for ts in times] for times in batches))


def test_an_event_at_the_end_of_a_part_is_in_it_though_it_is_read_late():
    parts = list(in_parts(ticking([0, 9], [9, 10]), TimeLength(Fraction(10, 10**9))))
    assert [[ts for ts, *_ in events_of(part.trace)][-part.events :] for part in parts] == [
        [0, 9, 9],
        [10],
    ]


def test_the_shortest_part_is_a_tick():
    parts = in_parts(ticking([0, 1, 2]), TimeLength(Fraction(1, 10**12)))
    assert [part.events for part in parts] == [1, 1, 1]


@pytest.mark.parametrize("written", [lambda events: 10 * events, lambda events: 100 + 10 * events])
def test_parts_of_a_size_are_at_most_512_events_larger(written):
    most, sizes = 60_000, []
    for part in Consecutive(ticking(range(30_000)), most).parts():
        part.written = lambda part=part: written(part.events)
        collect(part.trace)
        sizes.append(part.written())
    assert len(sizes) == 5
    assert all(most <= size <= most + 5120 for size in sizes[:-1])


def test_a_writer_that_keeps_all_until_its_end_makes_one_part():
    (part,) = in_parts(ticking(range(5000), range(5000, 10_000)), 1000)
    assert part.events == 10_000


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("division", list(Division))
def test_parts_side_by_side_are_what_options_select(number, division):
    trace, _ = list(all_traces())[number]
    splitting = SideBySide(trace, division)
    parts = {}
    for batch in trace.batches():
        for place, piece in splitting.pieces(batch):
            parts.setdefault(splitting.labels[place], []).append(piece)
    assert len(parts) > 1
    for label, batches in parts.items():
        part = with_batches(trace, batches)
        check(part)
        if label.startswith("no-"):
            assert all((batch.cpu < 0).all() or (batch.thread < 0).any() for batch in batches)
        elif division is Division.CPU:
            wanted = select(trace, Selection(cpus=frozenset({int(label[3:])})))
            assert difference(part, wanted) is None, label
        else:
            wanted = select(trace, Selection(pids=(label[3:],)))
            assert difference(part, wanted) is None, label
