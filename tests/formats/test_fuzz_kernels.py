"""The search for arguments that kernels neither take nor refuse: a few calls of some formats, of the many it makes."""

import numpy as np
import pytest
from fuzz import small
from fuzz_kernels import chosen, recordings
from support.fuzzing.corpus import size_of
from support.fuzzing.kernel_calls import Recording


@pytest.mark.parametrize("format", ["ctf", "fxt", "perfetto"])
def test_calls_of_kernels_with_changed_arguments(format):
    among = recordings(format, sorted(small(format)[:9], key=size_of)[:4])
    assert len(among) > 4
    for number in range(60):
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
