"""`perf script` and `perf report`, as oracles of recordings."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from converter.formats.perf.data import FORMAT
from converter.ir.trace import Trace
from converter.jobs.transcription import transcribe
from converter.projection.losses import LossReport
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink


def printed(data: bytes, folder: Path, *options: str, command: str = "script") -> list[str]:
    """The lines that a command of perf prints of a recording. The test is skipped without perf."""
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed")
    path = folder / "perf.data"
    path.write_bytes(data)
    run = [*("perf", command, "-f", "-i", str(path)), *options]
    result = subprocess.run(run, check=False, capture_output=True, text=True, errors="replace")
    assert not result.stderr, result.stderr
    return [line.strip() for line in result.stdout.splitlines() if line.strip()]


def written(trace: Trace, *, lossless: bool = False) -> tuple[bytes, LossReport]:
    """A trace as a recording, and the losses."""
    sink = BufferSink()
    report = transcribe(trace, sink, FORMAT, "", lossless=lossless, ahead=False)
    return sink.getvalue(), report


def opened(data: bytes) -> Trace:
    """The trace in a recording, without what is embedded in it."""
    return FORMAT.open(open_source(data), {})
