import json
from pathlib import Path

import pytest

from converter.cli import main

SMALL = Path(__file__).parents[3] / "roundtrip_fixtures/trace_cmd/small.dat"


def printed(capfd, *arguments):
    assert main(["info", *map(str, arguments)]) == 0
    return capfd.readouterr().out


def test_who_is_busy(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    lines = printed(capfd, SMALL, "--timeline").split("\n\n")[-1].splitlines()
    assert lines[0].startswith("timeline, from 827.282959756 s; a column is ")
    assert [line.split()[:2] for line in lines[1:3]] == [["CPU", "0"], ["CPU", "1"]]
    assert lines[3] == "threads, by time on a CPU"
    assert len(lines) == 15
    assert {len(line) for line in lines[1:3] + lines[4:-1]} == {58}


def test_the_same_for_programs(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    timeline = json.loads(printed(capfd, SMALL, "--timeline", "--json"))["timeline"]
    assert timeline["start_ns"] == 827282959756
    assert [line["name"] for line in timeline["cpus"]] == ["CPU 0", "CPU 1"]
    (one, *_) = timeline["threads"]
    assert len(one["shares"]) == 100
    assert one["total"] == pytest.approx(sum(one["shares"]) / 100, abs=1e-4)


def test_where_nobody_is(capfd, tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"traceEvents": []}')
    assert "no switches of tasks, and no slices" in printed(capfd, path, "--timeline")
