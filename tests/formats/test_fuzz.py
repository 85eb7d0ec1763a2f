"""The search for inputs that end neither in a trace nor in a TraceError: a few of each format, of the many it makes."""

import pytest
from fuzz import attempt, numbered, owned, small, targets
from support.fuzz_corpus import Corpus, packed
from support.fuzz_inputs import made
from support.fuzz_outputs import LATER, PART, REPORT

from converter.registry import FORMATS

READABLE = [format.name for format in FORMATS if format.readable]


@pytest.mark.parametrize("format", READABLE)
def test_changed_inputs(format):
    corpus = Corpus(small(format))
    assert len(corpus.entries) > 10
    # Those that fail kill the process or raise; most others are read in part.
    usable = number = 0
    while number < 5 or (not usable and number < 400):
        files, target, lossless = numbered(format, number, corpus)
        usable += attempt(format, packed(files), target, lossless)
        number += 1
    assert usable > 0


@pytest.mark.parametrize("format", READABLE)
def test_inputs_that_no_fixture_is_like(format):
    """Each is read, written once and written without its beginning, which no writer copies."""
    ways = (REPORT, PART, *targets())
    later = [LATER + target for target in owned(format)] or [""]
    for number, files in enumerate(made(format)):
        for target in (ways[number % len(ways)], later[number % len(later)]):
            attempt(format, packed(files), target, lossless=False)
