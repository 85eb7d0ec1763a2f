"""The search for inputs that end neither in a trace nor in a TraceError: a few of each format, of the many it makes."""

import pytest
from fuzz import attempt, numbered, small
from support.fuzz_corpus import Corpus, packed

from converter.registry import FORMATS


@pytest.mark.parametrize("format", [format.name for format in FORMATS if format.readable])
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
