"""The search for traces that other programs cannot read once they are written: a few of the many it draws."""

import shutil

import pytest
from programs import TARGETS, attempt

#: By format, a program that reads it.
PROGRAM = {"uftrace": "uftrace", "trace_cmd": "trace-cmd"}


@pytest.mark.parametrize("format", TARGETS)
def test_drawn_traces(format, tmp_path):
    if not shutil.which(PROGRAM[format]):
        pytest.skip(f"{PROGRAM[format]} is not installed")
    for number in (1, 2):
        assert attempt(format, number, tmp_path) == []
