"""Lossless detours by the judgement of other tools: after them they say the same of a trace as before.

Formats without such a tool are in the test of all pairs.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from support.samples import sampled

import converter
from converter.fixtures.generation import variants

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


@cache
def shown_of(name: str, recording: str) -> bytes:
    """What the tool shows of a recording itself."""
    return CASES[name][1](FIXTURES / recording)


@pytest.mark.parametrize(
    ("name", "recording", "via"),
    sampled(
        (
            (name, recording, via)
            for name, (_, _, recordings) in CASES.items()
            for recording in recordings
            for via in VIA
        ),
        4,
    ),
)
def test_the_tool_shows_the_same(name: str, recording: str, via: str, tmp_path: Path) -> None:
    program, shown, _ = CASES[name]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    detour, back = tmp_path / "detour", tmp_path / "back"
    converter.convert(FIXTURES / recording, detour, target_format=via, lossless=True)
    converter.convert(detour, back, target_format=name)
    before = shown_of(name, recording)
    assert before
    assert shown(back) == before
