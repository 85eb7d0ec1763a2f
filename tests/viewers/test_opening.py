"""The command that converts all traces of folders and opens them in a viewer."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from support.viewers.catapult import needs_catapult
from viewers.conversions import RECORDINGS

ROOT = Path(__file__).parents[2]


def told(*arguments: str | Path) -> tuple[int, str]:
    """The exit status of the command, and what it prints."""
    command = [sys.executable, "-m", "tests.opening", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


@needs_catapult
def test_all_traces_of_a_folder_are_opened(tmp_path: Path) -> None:
    """Also folders that are traces; files that are none are counted."""
    shutil.copy(RECORDINGS / "trace_cmd/uprobes.dat", tmp_path)
    (tmp_path / "inside").mkdir()
    shutil.copytree(RECORDINGS / "ctf/ctf_small", tmp_path / "inside/ctf")
    (tmp_path / "notes.txt").write_text("nothing")
    status, lines = told("catapult", tmp_path)
    assert status == 0
    assert "no traces: 1\n" in lines
    assert "catapult: 2 of 2 opened, 0 wrong, 0 as the original\n" in lines


@needs_catapult
def test_files_that_are_refused_as_they_are_count_as_such(tmp_path: Path) -> None:
    """So does what is wrong with them as they are; what cannot be converted is said."""
    (tmp_path / "unnamed.json").write_text('[{"ph": "X", "ts": 1, "dur": 1, "name": 1}]')
    (tmp_path / "cut.dat").write_bytes((RECORDINGS / "trace_cmd/small.dat").read_bytes()[:100])
    status, lines = told("catapult", tmp_path)
    assert status == 0
    assert f"{tmp_path}/cut.dat: not converted: " in lines
    assert "(as the original)\n" in lines
    assert "catapult: 0 of 1 opened, 0 wrong, 1 as the original\n" in lines
