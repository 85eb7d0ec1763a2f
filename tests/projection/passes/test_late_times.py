"""Times that overflow with the wall clock added are cut where viewers fail over them."""

import shutil
import subprocess
from fractions import Fraction

import pytest
from support.traces.small_traces import event_class, events_of, trace_of

import converter
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind
from converter.ir.trace import ClockDomain

TICK = event_class(Kind.TYPED, "tick", "sched", n=IntegerClass(64, signed=True))
CUT = "time-too-late"
LATEST = {"dat": (1 << 63) - 1, "ctf": (1 << 63) - 2}
NOW = 1_700_000_000_000_000_000


def written(path, clock, *times):
    """The times that come back, and how many were cut."""
    trace = trace_of([TICK], [(0, ts, 0, 1, [0]) for ts in times], clock=clock)
    report = converter.write(trace, path, force=True)
    losses = {loss.code: loss.count for loss in report}
    return [ts for ts, *_ in events_of(converter.read(path))], losses


@pytest.mark.parametrize("epoch", [None, 0, NOW, -NOW, 1 << 62])
@pytest.mark.parametrize("target", LATEST)
def test_the_latest_time_is_that_which_viewers_hold(tmp_path, target, epoch):
    path, latest = tmp_path / f"a.{target}", LATEST[target] - max(epoch or 0, 0)
    for ts in (latest - 1, latest, latest + 1, (1 << 63) - 1):
        if ts < 1 << 63:
            found, losses = written(path, ClockDomain("boot", epoch_ns=epoch), 5, ts)
            assert found == [5, min(ts, latest)]
            assert losses.get(CUT, 0) == (ts > latest)


def test_ticks_are_not_nanoseconds(tmp_path):
    clock = ClockDomain("slow", Fraction(1000), epoch_ns=NOW)
    latest = (LATEST["ctf"] - NOW) // 1_000_000
    found, losses = written(tmp_path / "a.ctf", clock, latest, latest + 1)
    assert found == [latest, latest]
    assert losses[CUT] == 1


@pytest.mark.parametrize("target", LATEST)
def test_a_clock_that_starts_too_late_does_not_push_times_together(tmp_path, target):
    clock = ClockDomain("boot", epoch_ns=(1 << 62) + 1)
    found, losses = written(tmp_path / f"a.{target}", clock, 0, 1 << 62)
    assert found == [0, 1 << 62]
    assert losses["wall-clock-too-late"] == 1
    assert CUT not in losses


@pytest.mark.parametrize("target", ["fxt", "pftrace", "json", "uftrace", "lttng", "aix"])
def test_formats_whose_viewers_hold_them_have_them_all(tmp_path, target):
    times = [0, (1 << 63) - 1]
    found, losses = written(tmp_path / f"a.{target}", ClockDomain("boot", epoch_ns=NOW), *times)
    assert found == times
    assert CUT not in losses


@pytest.mark.parametrize("epoch", [None, NOW, -NOW])
def test_babeltrace_reads_the_latest_time(tmp_path, epoch):
    if shutil.which("babeltrace2") is None:
        pytest.skip("babeltrace2 is not installed")
    path = tmp_path / "a.ctf"
    written(path, ClockDomain("boot", epoch_ns=epoch), 0, (1 << 63) - 1)
    done = subprocess.run(["babeltrace2", str(path)], capture_output=True, timeout=60, check=True)
    assert len(done.stdout.splitlines()) == 2
