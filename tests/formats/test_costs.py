"""Inputs that take the most time for their size; `python -m tests.costs` reads all of them, and larger ones."""

import pytest
from costs import cost

from converter.errors import MOST_WARNINGS, TraceWarning, note


@pytest.mark.parametrize("name", ["uftrace_sessions", "uftrace_images", "uftrace_nonsense"])
def test_a_line_does_not_take_longer_the_more_there_are(name):
    # Where each line looks at all before it, as once, this takes minutes.
    assert cost(name, 100_000).seconds < 10


def test_warnings_are_few_and_different():
    warnings = []
    for number in [*range(MOST_WARNINGS + 10), 3]:
        note(warnings, TraceWarning(message="m", offset=number % (MOST_WARNINGS + 5)))
        note(warnings, TraceWarning(message="m", offset=0))
    assert len(warnings) == MOST_WARNINGS + 1
    assert [one.offset for one in warnings[:-1]] == list(range(MOST_WARNINGS))
    assert "more damage" in str(warnings[-1])
