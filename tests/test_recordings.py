"""What judges recordings of many tasks, on one that is there; to record, the command needs root and trace-cmd."""

import sys
from pathlib import Path

import pytest
import recordings

SMALL = Path(__file__).parents[1] / "roundtrip_fixtures" / "trace_cmd" / "small.dat"


def test_conversions_that_are_the_same_each_time_are_no_finding():
    assert recordings.check(SMALL, ["fxt"], 2) == []


def test_conversions_that_fail_are_noticed(tmp_path):
    path = tmp_path / "none.dat"
    path.write_bytes(b"\x17\x08\x44tracing")
    (fault,) = recordings.conversion_faults(path, "fxt", 1)
    assert fault.startswith("fxt, time 1: ended with ")


def test_conversions_that_write_something_else_are_noticed(monkeypatch):
    code = "import sys, os; open(sys.argv[1], 'w').write(str(os.getpid()))"
    monkeypatch.setattr(
        recordings, "command", lambda *given: [sys.executable, "-c", code, str(given[2])]
    )
    (fault,) = recordings.conversion_faults(SMALL, "fxt", 2)
    assert fault == "fxt, time 2: other bytes than before"


def test_processes_that_are_killed_are_noticed(monkeypatch):
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    monkeypatch.setattr(recordings, "command", lambda *_: [sys.executable, "-c", code])
    (fault,) = recordings.conversion_faults(SMALL, "fxt", 1)
    assert fault.startswith("fxt, time 1: ended with -11")


@pytest.mark.parametrize("ours", ["one\\nTWO\\n", "one\\n"])
def test_reports_that_differ_are_noticed(ours, monkeypatch, tmp_path):
    program = tmp_path / "trace-cmd-3.4"
    program.write_text("#!/bin/sh\necho one\necho two\n")
    program.chmod(0o755)
    monkeypatch.setattr(recordings, "reporter", lambda: str(program))
    code = f"print('{ours}', end='')"
    monkeypatch.setattr(recordings, "command", lambda *_: [sys.executable, "-c", code])
    (fault,) = recordings.report_faults(SMALL)
    assert "line 2 of the report is" in fault


@pytest.mark.parametrize("load", ["forks", "threads"])
def test_loads_end(load):
    recordings.LOADS[load](3)


def test_the_instance_is_not_compared_after_lost_events():
    lost = b"traceconv7: CPU:0 [EVENTS DROPPED]\n"
    shown = [
        [*recordings.without_instances(lost + instance + b"a-1\ntraceconv7: b-2\n")]
        for instance in (b"traceconv7: ", b"")
    ]
    assert shown[0] == shown[1] == [lost[:-1], b"a-1", b"traceconv7: b-2"]
