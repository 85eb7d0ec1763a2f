"""Signals at moments that are hard to meet, to the command as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "roundtrip_fixtures" / "trace_cmd" / "markers.dat"

#: A signal comes while the n-th thread of the pool is started, or in its place the system has no more threads.
_AT_START = """
import signal, sys, threading
from converter.storage.pool import workers
workers._WORTHWHILE = 0.0
start, count = threading.Thread.start, 0
def started(self):
    global count
    count += self.name == "traceconv-worker"
    if count == {n} and self.name == "traceconv-worker":
        {what}
    start(self)
threading.Thread.start = started
sys.argv = ["traceconv", *sys.argv[1:]]
from converter.cli import command
command()
"""


def _run(
    script: str, folder: Path, *arguments: str, **options
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", script, str(SOURCE), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=120,
        check=False,
        **options,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("target", ["o.json", "o.tcir"])
def test_a_signal_while_a_thread_is_started(tmp_path, number, n, target):
    script = _AT_START.format(n=n, what=f"signal.raise_signal({int(number)})")
    ran = _run(script, tmp_path, "-o", target, "--jobs", "8")
    assert (ran.returncode, ran.stderr) == (128 + number, b"")
    assert os.listdir(tmp_path) == []


def test_a_system_without_more_threads(tmp_path):
    script = _AT_START.format(n=1, what='raise RuntimeError("can\'t start new thread")')
    ran = _run(script, tmp_path, "-o", "o.json", "--jobs", "8", "-q")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert os.listdir(tmp_path) == ["o.json"]


def test_a_full_standard_error_changes_nothing(tmp_path):
    command = [sys.executable, "-m", "converter", str(SOURCE), "-o", "o.fxt"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            command, cwd=tmp_path, env=environment, stderr=full, timeout=120, check=False
        )
    assert ran.returncode == 0
    assert os.listdir(tmp_path) == ["o.fxt"]
