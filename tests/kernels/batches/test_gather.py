"""Stretches of segments are copied only where they are whole, whatever Python says of them."""

import numpy as np
import pytest

from converter.kernels.batches.gather import Segments

DATA = np.frombuffer(b"abcdefgh", np.uint8)


@pytest.mark.parametrize("size", [7, 1 << 62, (1 << 63) - 1])
def test_a_span_that_is_longer_than_its_segment_has_no_bytes(size):
    offsets = np.zeros(2, np.int64)
    Segments([DATA]).measure(np.array([2]), np.array([size]), False, 1, offsets)
    assert offsets.tolist() == [0, 0]


@pytest.mark.parametrize("ends", [[2, 9], [5, 4], [-1, 3], [2, -(1 << 63) + 1], [0, (1 << 63) - 1]])
def test_spans_are_copied_only_into_the_room_there_is(ends):
    with pytest.raises(ValueError, match="span 0"):
        Segments([DATA]).copy(np.array([4]), np.array(ends), np.zeros(8, np.uint8))
