"""Conversions whose system calls fail, and processes that are killed; `python -m tests.faults` tries many."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)
def test_an_output_is_whole_or_not_there():
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", "--count", "4", "--first", "7"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("4 faults, 0 failed\n", "", 0)
