"""Lossless detours by the judgement of other tools: after them they say the same of a trace as before.

By their own tools where there are any: trace-cmd, uftrace and Babeltrace; other formats by the canonical form.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

import converter
from converter.fixtures.generation import variants
from converter.ir.canonical import dump
from converter.ir.trace import Trace

FIXTURES = Path(__file__).parents[2] / "roundtrip_fixtures"
#: A variant of each format, to go through.
VIA = sorted({format.name: format for format, _ in variants()})


def printed(*command: str) -> bytes:
    """What a tool prints."""
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    return done.stdout


def trace_cmd_report(path: Path) -> bytes:
    return printed("trace-cmd", "report", "-t", "-R", str(path))


def uftrace_dump(path: Path) -> bytes:
    """The records, without the line that names the directory."""
    text = printed("uftrace", "dump", "--no-pager", "-d", str(path))
    return text.replace(str(path).encode(), b"")


def babeltrace_text(path: Path) -> bytes:
    return printed("babeltrace2", "--fields=all", "--clock-cycles", str(path))


#: What is recorded, how it is written again, and what shows it.
CASES = {
    "trace_cmd": (
        "trace-cmd",
        trace_cmd_report,
        ["trace_cmd/small.dat", "trace_cmd/scratch_v7_be64.dat"],
    ),
    "uftrace": ("uftrace", uftrace_dump, ["uftrace/rich"]),
    "ctf": ("babeltrace2", babeltrace_text, ["ctf/ctf_small", "ctf/ctf_lost", "ctf/perf_ctf"]),
}


@pytest.mark.parametrize("via", VIA)
@pytest.mark.parametrize(
    ("name", "recording"),
    [(name, recording) for name, (_, _, recordings) in CASES.items() for recording in recordings],
)
def test_the_tool_shows_the_same(name: str, recording: str, via: str, tmp_path: Path) -> None:
    program, shown, _ = CASES[name]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    detour, back = tmp_path / "detour", tmp_path / "back"
    converter.convert(FIXTURES / recording, detour, target_format=via, lossless=True)
    converter.convert(detour, back, target_format=name)
    before = shown(FIXTURES / recording)
    assert before
    assert shown(back) == before


#: Formats without a tool here.
OTHERS = [
    "aix/every-form-64.aix",
    "fxt/every-record-little.fxt",
    "fxt/every-record-big.fxt",
    "chrome/features.json",
    "lttng_legacy/net-2.6.tar.gz",
]


@cache
def recorded(recording: str) -> tuple[Trace, str]:
    """A recording, and its canonical form."""
    trace = converter.read(FIXTURES / recording)
    return trace, dump(trace)


@pytest.mark.parametrize("via", VIA)
@pytest.mark.parametrize("recording", OTHERS)
def test_the_trace_is_the_same(recording: str, via: str, tmp_path: Path) -> None:
    trace, text = recorded(recording)
    detour, back = tmp_path / "detour", tmp_path / "back"
    converter.write(trace, detour, via, lossless=True)
    converter.convert(detour, back, target_format=trace.format)
    assert dump(converter.read(back)) == text
