"""The search for inputs that end neither in a trace nor in a TraceError: a few of each format, of the many it makes."""

import pytest
from fuzz import attempt, numbered, originals

from converter.registry import FORMATS


@pytest.mark.parametrize("format", [format.name for format in FORMATS if format.readable])
def test_damaged_inputs(format):
    inputs = originals(format)
    assert len(inputs) > 10
    # Those that fail kill the process or raise; most others are read in part.
    assert sum(attempt(format, *numbered(format, number, inputs)) for number in range(5)) > 0
