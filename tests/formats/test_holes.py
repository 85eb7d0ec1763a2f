"""Holes in recordings; `python -m tests.holes` makes many."""

import random

import pytest
from holes import Recording, Result
from support.damaged_inputs import FIXTURES, files_at


@pytest.mark.parametrize(
    ("format", "path"),
    [("fxt", "fxt/magic-trace.fxt"), ("perfetto", "perfetto/kernel_every_event.pftrace")],
)
def test_zeroed_pages_lose_what_they_cover(format, path):
    recording = Recording(format, files_at(FIXTURES / path))
    result = Result()
    for number in range(3):
        hole = recording.hole(random.Random(f"{format} {number}"))
        zeroed = type(hole)("zeroed", max(hole.start, 1024), max(hole.end, 2048))
        assert recording.read(zeroed, result) is None
    assert result.inside > 0
    assert (result.lost, result.silent, result.refused) == (0, 0, 0)
