"""``traceconv diff`` and ``traceconv roundtrip``: output and exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from converter.cli import main

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures"
TRACE = str(FIXTURES / "trace_cmd/small.dat")
TIMELINE = str(FIXTURES / "chrome/features.json")


def run(capfd, *arguments):
    code = main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return code, out, err


def test_equal_traces(capfd):
    assert run(capfd, "diff", TRACE, TRACE) == (0, "equal: 338 events\n", "")
    assert run(capfd, "diff", TRACE, TRACE, "-q") == (0, "", "")


def test_different_traces(capfd):
    code, out, _ = run(capfd, "diff", TRACE, TIMELINE)
    assert code == 1
    assert out.startswith("different: 338 events")
    assert "only in the first" in out


def test_as_json(capfd):
    code, out, _ = run(capfd, "diff", TRACE, TIMELINE, "--json")
    form = json.loads(out)
    assert code == 1
    assert not form["equal"]
    assert sum(entry["only_first"] for entry in form["classes"].values()) == 338


def test_an_unknown_aspect_is_usage(capfd):
    code, _, err = run(capfd, "diff", TRACE, TRACE, "--ignore", "nonsense")
    assert code == 2
    assert "clock-offset" in err


@pytest.mark.parametrize("via", ["fxt", "perfetto,chrome", "ir"])
def test_a_round_trip_without_loss(capfd, via):
    code, out, _ = run(capfd, "roundtrip", TRACE, "--via", via, "--lossless", "--ignore", "native")
    assert (code, out.splitlines()[-1]) == (0, "equal: 338 events")


def test_a_round_trip_with_loss_says_where(capfd):
    code, out, _ = run(capfd, "roundtrip", TRACE, "--via", "chrome")
    assert code == 1
    assert out.startswith("trace_cmd -> chrome -> trace_cmd\n")
    assert "  to chrome: " in out


def test_an_unknown_format_is_an_error(capfd):
    code, _, err = run(capfd, "roundtrip", TRACE, "--via", "nonsense")
    assert code == 2
    assert "unknown format" in err


def test_lossless_says_nothing_of_losses(capfd, tmp_path):
    code, out, err = run(capfd, TRACE, "-o", tmp_path / "x.fxt", "--lossless", "--strict")
    assert (code, out, err) == (0, "", "")
    code, _, _ = run(capfd, "diff", TRACE, tmp_path / "x.fxt")
    assert code == 0


@pytest.mark.parametrize("other", ["chrome/features.json", "uftrace/rich", "ctf/ctf_small"])
def test_differences_are_described_in_words(capfd, other):
    code, out, _ = run(capfd, "diff", TRACE, FIXTURES / other)
    assert code == 1
    assert "the clock is called local in the first, " in out
    assert not re.search(
        r"Fraction|ClockDomain|None|\[\]|\{|<\w+\.", out.partition("first differences")[0]
    )
    assert re.search(r"^  only in the first: 827\.282959756 cpu 0 thread 23217 ", out, re.MULTILINE)


def test_fields_of_a_class_are_compared(capfd, tmp_path):
    run(capfd, TRACE, "-o", tmp_path / "x.json", "-q")
    _, out, _ = run(capfd, "diff", TRACE, tmp_path / "x.json")
    assert "fields of sched:sched_waking differ: pid (i32, i64), prio (i32, i64)" in out
    assert "process only in the first: 23264 true, parent 23263" in out
