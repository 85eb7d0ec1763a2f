"""The search for inputs that end neither in a trace nor in a TraceError: a few of each format, of the many it makes."""

import pytest
from fuzz import attempt, numbered, small, targets
from support.fuzz_inputs import made
from support.fuzzing.corpus import Corpus, packed
from support.fuzzing.outputs import ANEW, PART, REPORT
from support.samples import ALL

from converter.registry import FORMATS, source_format

#: The most inputs that no fixture is like, of each format, but for the nights.
MOST_MADE = 48
READABLE = [format.name for format in FORMATS if format.readable]


@pytest.mark.parametrize("format", READABLE)
def test_changed_inputs(format):
    corpus = Corpus(small(format))
    assert len(corpus.entries) > 10
    # Those that fail kill the process or raise; most others are read in part.
    usable = number = 0
    while number < 3 or (not usable and number < 400):
        files, target, lossless = numbered(format, number, corpus)
        usable += attempt(format, packed(files), target, lossless)
        number += 1
    assert usable > 0


@pytest.mark.parametrize("format", READABLE)
def test_inputs_that_no_fixture_is_like(format):
    """Each is read, and written in one of the formats; and in its own, of which nothing is copied."""
    ways = (REPORT, PART, *targets())
    anew = ANEW if source_format(format)[0].writable else ""
    inputs = made(format)
    for number in range(0, len(inputs), 1 if ALL else 1 + len(inputs) // MOST_MADE):
        for target in (ways[number % len(ways)], anew):
            attempt(format, packed(inputs[number]), target, lossless=False)


@pytest.mark.parametrize("format", ["aix", "ctf", "parquet", "uftrace"])
def test_inputs_of_several_files_are_read(format):
    """As folders, where the format has such, or as a file and what lies beside it."""
    several = [files for files in small(format) if "" not in files]
    assert several
    assert any(attempt(format, packed(files), "", lossless=False) for files in several)
