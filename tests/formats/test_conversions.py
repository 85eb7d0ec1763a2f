"""Kernel events that went through another format come back as trace-cmd printed them before."""

import shutil
import subprocess
from pathlib import Path

import pytest

import converter

FIXTURES = Path(__file__).parents[2] / "roundtrip_fixtures/trace_cmd"

needs_trace_cmd = pytest.mark.skipif(
    shutil.which("trace-cmd") is None, reason="trace-cmd is not installed"
)


def report(path, event):
    command = ["trace-cmd", "report", "-t", "-N", str(path)]
    text = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout.decode()
    return [line for line in text.splitlines() if f" {event}: " in line]


@needs_trace_cmd
def test_switches_come_back_from_fxt(tmp_path):
    converter.convert(FIXTURES / "small.dat", tmp_path / "a.fxt")
    converter.convert(tmp_path / "a.fxt", tmp_path / "b.dat")
    before = report(FIXTURES / "small.dat", "sched_switch")
    assert len(before) == 182
    assert report(tmp_path / "b.dat", "sched_switch") == before


@needs_trace_cmd
def test_wakers_come_back_from_fxt(tmp_path):
    """A wakeup of FXT is the waking by its waker, which is what viewers draw arrows from."""
    converter.convert(FIXTURES / "small.dat", tmp_path / "a.fxt")
    converter.convert(tmp_path / "a.fxt", tmp_path / "b.dat")
    before = report(FIXTURES / "small.dat", "sched_waking")
    assert len(before) == 87
    assert report(tmp_path / "b.dat", "sched_waking") == before
