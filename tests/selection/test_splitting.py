"""Parts of a trace: each is what is between its times, and all of it is in one of them."""

from fractions import Fraction
from pathlib import Path

import pytest

import converter
from converter.errors import SelectionError
from converter.fixtures import synthetic_trace
from converter.ir.canonical import difference
from converter.ir.collect import collect, with_batches
from converter.ir.invariants import check
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
