"""Holes in recordings; `python -m tests.holes` makes many."""

import random

import pytest
from holes import Recording, Result
from support.inputs.damaged_inputs import FIXTURES, files_at


@pytest.mark.parametrize(
    ("format", "path", "refused"),
    [
        ("fxt", "fxt/magic-trace.fxt", 0),
        ("perfetto", "generated/perfetto.pftrace", 0),
        # All events are in one bundle, so that none is left.
        ("perfetto", "perfetto/kernel_every_event.pftrace", 3),
    ],
)
def test_zeroed_pages_lose_what_they_cover(format, path, refused):
    recording = Recording(format, files_at(FIXTURES / path))
    result = Result()
    for number in range(3):
        hole = recording.hole(random.Random(f"{format} {number}"))
        zeroed = type(hole)("zeroed", max(hole.start, 1024), max(hole.end, 2048))
        assert recording.read(zeroed, result) is None
    assert result.inside > 0
    assert (result.lost, result.silent, result.refused) == (0, 0, refused)
    assert (result.outside > 0) == (refused == 0)
