"""Inputs that take the most time for their size; `python -m tests.costs` reads all of them, and larger ones."""

import pytest
from costs import cost
from support.trace_cmd.files import PAGE, File, Kernel

from converter.errors import TraceWarning, note
from converter.formats.aix.trcfmt import parse
from converter.ir.events import decode
from converter.jobs.reading import open_trace
from converter.limits import LIMITS, limited


@pytest.mark.parametrize("name", ["uftrace_sessions", "uftrace_images", "uftrace_nonsense"])
def test_a_line_does_not_take_longer_the_more_there_are(name):
    # Where each line looks at all before it, as once, this takes minutes.
    assert cost(name, 100_000).seconds < 10


def test_warnings_are_few_and_different():
    most = LIMITS["warnings"].default
    warnings = []
    for number in [*range(most + 10), 3]:
        note(warnings, TraceWarning(message="m", offset=number % (most + 5)))
        note(warnings, TraceWarning(message="m", offset=0))
    assert len(warnings) == most + 1
    assert [one.offset for one in warnings[:-1]] == list(range(most))
    assert "more damage" in str(warnings[-1])


def test_a_warning_that_has_travelled_is_told_once():
    warnings = []
    for found in (8192, "8192", b"8192", 8193, None, "8193"):
        note(warnings, TraceWarning(field="f", expected="x", found=found))
    assert [one.found for one in warnings] == [8192, b"8192", 8193, None]


#: Warnings of an input, of those that are full of damage.
MOST = 40


def _options():
    kernel = Kernel()
    places = range(MOST + 9)
    options = [(3, kernel.pack("QBBII", place, 0, 0, PAGE, 0)) for place in places]
    # Of an event, so that something is left.
    page = kernel.page(1, kernel.record(1, kernel.slice(1, 2)))
    return File(kernel, {0: page}, options=options).version_7()


def _pages():
    kernel = Kernel()
    pages = [kernel.page(i, kernel.record(1, kernel.slice(1, 2))) for i in range(4)]
    damaged = b"".join(pages[:2]) + b"\xff" * 16 + pages[2][16:] + pages[3]
    return File(kernel, dict.fromkeys(range(MOST + 9), damaged)).version_7()


@pytest.mark.parametrize("made", [_options, _pages])
def test_damage_everywhere_gives_few_warnings(made):
    with open_trace(made(), "trace_cmd", limits={"warnings": MOST}) as trace:
        for batch in trace.batches():
            decode(batch)
        assert len(trace.warnings) == MOST + 1
        assert "more damage" in str(trace.warnings[-1])


def test_templates_of_nothing_but_damage_give_few_warnings():
    with limited({"warnings": MOST}):
        found = parse("".join(f"nonsense {i}\n" for i in range(MOST + 9)))
    assert len(found.warnings) == MOST + 1
