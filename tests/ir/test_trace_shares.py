"""Readers of several traces take together what one would take alone."""

import pytest

from converter.ir.trace import Trace


@pytest.mark.parametrize(
    ("readers", "window", "batch"),
    [(1, 4 << 20, 1 << 17), (8, 512 << 10, 1 << 14), (1000, 64 << 10, 1 << 12)],
)
def test_windows_and_batches_are_smaller_the_more_are_read(readers, window, batch):
    trace = Trace("none", readers=readers)
    assert trace.bytes_of_a_window(4 << 20) == window
    assert trace.events_of_a_batch(1 << 17) == batch


def test_what_is_small_anyway_stays():
    trace = Trace("none", readers=1000)
    assert (trace.bytes_of_a_window(1 << 10), trace.events_of_a_batch(100)) == (1 << 10, 100)
