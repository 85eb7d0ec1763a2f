"""Signals at moments that are hard to meet, to the command as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.samples import ALL

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "roundtrip_fixtures" / "trace_cmd" / "markers.dat"

#: A signal comes while the n-th thread of the pool is started, or in its place the system has no more threads.
#: The threads before it take no task: one that did could finish all tasks before another thread is needed.
_AT_START = """
import signal, sys, threading
from converter.storage.pool import workers
workers._WORTHWHILE = 0.0
start, count = threading.Thread.start, 0
def started(self):
    global count
    if self.name == "traceconv-worker":
        count += 1
        if count == {n}:
            {what}
        elif count < {n}:
            self._target = lambda: None
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
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)},
        capture_output=True,
        timeout=120,
        check=False,
        **options,
    )


@pytest.mark.parametrize(
    ("number", "n", "target"),
    [
        (number, n, target)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for n in (1, 2)
        for target in ("o.json", "o.tcir")
    ]
    if ALL
    else [(signal.SIGINT, 1, "o.json"), (signal.SIGTERM, 2, "o.tcir")],
)
def test_a_signal_while_a_thread_is_started(tmp_path, number, n, target):
    script = _AT_START.format(n=n, what=f"signal.raise_signal({int(number)})")
    ran = _run(script, tmp_path, "-o", target, "--jobs", "8")
    assert (ran.returncode, ran.stderr) == (128 + number, b"")
    assert os.listdir(tmp_path) == []


def test_a_signal_while_a_viewer_is_waited_for(tmp_path):
    script = """
import signal, sys
from converter.cli.actions import opening
opening._wait = lambda *_, **__: signal.raise_signal(signal.SIGHUP)
sys.argv = ["traceconv", "open", *sys.argv[1:]]
from converter.cli import command
command()
"""
    ran = _run(script, tmp_path, "--no-browser", "--port", "0", "-q")
    assert (ran.returncode, ran.stderr) == (128 + signal.SIGHUP, b"")
    assert os.listdir(tmp_path) == []


def test_a_system_without_more_threads(tmp_path):
    script = _AT_START.format(n=1, what='raise RuntimeError("can\'t start new thread")')
    ran = _run(script, tmp_path, "-o", "o.json", "--jobs", "8", "-q")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert os.listdir(tmp_path) == ["o.json"]


@pytest.mark.skipif(not ALL, reason="one of those below is of this kind")
def test_a_full_standard_error_changes_nothing(tmp_path):
    command = [sys.executable, "-m", "converter", str(SOURCE), "-o", "o.fxt"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            command, cwd=tmp_path, env=environment, stderr=full, timeout=120, check=False
        )
    assert ran.returncode == 0
    assert os.listdir(tmp_path) == ["o.fxt"]


#: A signal comes while an output gets its name, or right after it.
_AT_COMMIT = """
import os, signal, sys
from converter.storage.writing import durability, placing
sync_name = placing.sync_name
def synced(path):
    {what}
    sync_name(path)
placing.sync_name = synced
sys.argv = ["traceconv", *sys.argv[1:]]
from converter.cli import command
command()
"""


@pytest.mark.parametrize(
    ("number", "target"),
    [
        (signal.SIGINT, "o.json"),
        (signal.SIGHUP, "o.ctf"),
        *([(signal.SIGTERM, "o.ctf"), (signal.SIGHUP, "o.aix")] if ALL else ()),
    ],
)
def test_a_signal_while_an_output_gets_its_name(tmp_path, number, target):
    ran = _run(_AT_COMMIT.format(what=f"signal.raise_signal({int(number)})"), tmp_path, target)
    assert ran.returncode == 0
    assert target in os.listdir(tmp_path)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_a_name_that_does_not_reach_the_disk_is_none(tmp_path):
    for target in ("o.ctf", "o.aix") if ALL else ("o.ctf",):
        script = _AT_COMMIT.format(what='raise OSError(5, "Input/output error")')
        ran = _run(script, tmp_path, target)
        assert ran.returncode == 1
        assert ran.stderr.count(b"\n") == 1
        assert os.listdir(tmp_path) == []


#: How a standard stream may be: full, closed, or a pipe that nobody reads.
_FULL, _CLOSED, _UNREAD = "{}>/dev/full", "{}>&-", "{}> >(exec 0<&-; sleep 0.1)"


@pytest.mark.skipif(not os.path.exists("/bin/bash"), reason="needs bash")
@pytest.mark.parametrize(
    ("how", "arguments"),
    [
        (_FULL, ("o.json", "--split", "100ms")),
        (_CLOSED, ("o.txt", "report")),
        (_UNREAD, ("o.json", "-v")),
        *[one for one in ((_CLOSED, ("o.json", "-v")), (_FULL, ("o.html", "view"))) if ALL],
    ],
)
def test_a_standard_error_that_takes_nothing_changes_no_status(tmp_path, how, arguments):
    target, *more = arguments
    command = more[0] if more[0].isalpha() else "convert"
    options = " ".join(more) if command == "convert" else ""
    line = f"{sys.executable} -m converter {command} {SOURCE} -o {target} {options} {how.format(2)}"
    ran = subprocess.run(
        ["/bin/bash", "-c", line],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0
    assert os.listdir(tmp_path)
    # What is for standard error goes nowhere else.
    assert b"traceconv:" not in ran.stdout


@pytest.mark.skipif(not os.path.exists("/bin/bash"), reason="needs bash")
@pytest.mark.parametrize("how", [_FULL, _CLOSED] if ALL else [_CLOSED])
def test_losses_that_cannot_be_printed_leave_no_output(tmp_path, how):
    """The losses are asked for: they are printed before the output has its name."""
    line = f"{sys.executable} -m converter {SOURCE} -o o.json --losses - {how.format(1)}"
    ran = subprocess.run(
        ["/bin/bash", "-c", line],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    assert ran.returncode in (1, 141)
    assert os.listdir(tmp_path) == []


#: A signal comes while an object is finalized, where Python ignores exceptions.
_AT_FINALIZER = """
import signal, sys, time
from converter.storage.writing import placing
sync_data = placing.sync_data
class Dying:
    def __del__(self):
        signal.raise_signal({number})
def synced(path):
    Dying()
    time.sleep(5)
    sync_data(path)
placing.sync_data = synced
sys.argv = ["traceconv", *sys.argv[1:]]
from converter.cli import command
command()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM] if ALL else [signal.SIGTERM])
def test_a_signal_while_an_object_is_finalized(tmp_path, number):
    ran = _run(_AT_FINALIZER.format(number=int(number)), tmp_path, "-o", "o.json")
    assert (ran.returncode, ran.stderr) == (128 + number, b"")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit address space")
def test_memory_that_is_refused_for_objects_does_not_abort(tmp_path):
    """The interpreter has no memory even for the exception: what was set aside is enough to say so."""
    script = """
import resource, sys
import converter.cli as cli
run = cli._run
def exhausted(arguments):
    cli._set_memory_aside()
    kept = []
    while True:
        kept.append([object()])
cli._run = exhausted
import converter.cli.output.messages, converter.errors.guarding, converter.cli.output.streams
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (64 << 20)
resource.setrlimit(resource.RLIMIT_AS, (size, size))
cli.command()
"""
    ran = _run(script, tmp_path)
    assert (ran.returncode, ran.stderr.count(b"\n")) == (1, 1)
    assert b"not enough memory" in ran.stderr
