"""The search for inputs that end neither in a trace nor in a TraceError: a few of each format, of the many it makes."""

import numpy as np
import pytest
from fuzz import attempt, numbered, small
from fuzz_kernels import chosen, recordings
from support.fuzz_corpus import Corpus, packed
from support.kernel_calls import Recording

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


@pytest.mark.parametrize("format", ["ctf", "fxt", "perfetto"])
def test_calls_of_kernels_with_changed_arguments(format):
    among = recordings(format, small(format)[:8])
    assert len(among) > 8
    for number in range(300):
        # What a kernel does not refuse kills the process, or raises.
        recording, step, path, value = chosen(format, number, among)
        recording.again(step, path, value)


def test_a_call_is_made_again_with_what_it_was_given():
    given = []

    def kernel(data, *, more):
        given.append((bytes(data), more.tolist()))

    recording = Recording()
    more = np.array([1, 2])
    recording.call(kernel, "", (memoryview(b"ab"),), {"more": more})
    more[0] = 7
    step, path, value = recording.inputs[0]
    recording.again(step, path, value[:1])
    assert given == [(b"ab", [1, 2]), (b"a", [1, 2])]
    assert [value.tolist() for _, _, value in recording.inputs[1:]] == [[1, 2]]
