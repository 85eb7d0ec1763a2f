"""Inputs that are truncated, replaced or removed while they are read, and outputs that find no room."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import converter
from converter.errors import TraceError

FIXTURES = Path(__file__).parents[2] / "roundtrip_fixtures"
INPUTS = {
    "aix": "aix/kernel-trace-64.aix",
    "chrome": "generated/chrome.json",
    "ctf": "generated/ctf-1.8.ctf",
    "fxt": "fxt/magic-trace.fxt",
    "ir": "generated/fxt.canonical.json",
    "lttng_legacy": "generated/lttng_legacy-2.6.lttng",
    "perfetto": "generated/perfetto.pftrace",
    "trace_cmd": "trace_cmd/scratch_v7_be64.dat",
    "uftrace": "generated/uftrace.uftrace",
}


def copied(format, folder):
    """A copy of an input of a format, and the files of it."""
    source, target = FIXTURES / INPUTS[format], folder / Path(INPUTS[format]).name
    inside = [path for path in sorted(source.rglob("*")) if path.is_file()] or [source]
    for path in inside:
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(path.read_bytes())
    return target, [target / path.relative_to(source) for path in inside]


def count(trace):
    return sum(len(batch) for batch in trace.batches())


def truncate(path):
    os.truncate(path, path.stat().st_size // 16)


def replace(path):
    path.with_name("new").write_bytes(b"something else")
    path.with_name("new").replace(path)


@pytest.mark.parametrize("change", [truncate, replace, Path.unlink])
@pytest.mark.parametrize("format", INPUTS)
def test_what_changes_behind_an_open_input_is_a_trace_or_an_error(format, change, tmp_path):
    """Files are read, and never mapped: what shrinks meanwhile kills no process."""
    target, files = copied(format, tmp_path)
    whole = count(converter.read(target))
    with converter.open_trace(target) as trace:
        for path in files:
            change(path)
        try:
            events = count(trace)
        except TraceError:
            return
    # What was open stays as it was; what was cut is told.
    assert events == whole or trace.warnings


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_standard_output_without_room_is_one_line():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "converter", str(FIXTURES / INPUTS["fxt"]), "-o", "-", "-t", "json"],
            stdout=full, stderr=subprocess.PIPE, check=False, timeout=120,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.decode().startswith("traceconv: ")
    assert b"No space left" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_two_runs_to_one_target_leave_one_whole_output(tmp_path):
    source = FIXTURES / INPUTS["fxt"]
    converter.convert(source, tmp_path / "alone.json")
    target = tmp_path / "out.json"
    errors = []

    def convert():
        try:
            converter.convert(source, target, force=True)
        except TraceError as error:
            errors.append(error)

    threads = [threading.Thread(target=convert) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert target.read_bytes() == (tmp_path / "alone.json").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone.json", "out.json"]
