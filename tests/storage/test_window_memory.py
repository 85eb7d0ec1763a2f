"""Windows share memory, but never one that somebody still looks at."""

import numpy as np
import pytest

from converter.kernels.batches.gather import Segments
from converter.storage.window_memory import WindowMemory


def place(pages):
    return pages.__array_interface__["data"][0]


def test_memory_is_used_again_when_nobody_refers_to_it():
    memory = WindowMemory()
    pages = memory.take(1 << 16)
    first = place(pages)
    assert place(memory.take(1 << 16)) != first
    del pages
    assert place(memory.take(1 << 10)) == first


@pytest.mark.parametrize(
    "derive",
    [
        lambda pages: pages[8:16][2:],
        lambda pages: pages.view(np.uint32),
        lambda pages: pages.data,
        lambda pages: Segments([pages[:64]]),
    ],
    ids=["slice", "view", "memoryview", "segments"],
)
def test_memory_is_not_used_again_while_anything_derived_from_it_lives(derive):
    memory = WindowMemory()
    pages = memory.take(1 << 16)
    first = place(pages)
    derived = derive(pages)
    del pages
    assert place(memory.take(1 << 16)) != first
    del derived
    assert place(memory.take(1 << 16)) == first


def test_memory_grows_with_the_windows():
    memory = WindowMemory()
    memory.take(16)
    large = memory.take(1 << 20)
    large[:] = 1
    assert len(large) == 1 << 20


def test_a_window_may_be_empty():
    memory = WindowMemory()
    assert len(memory.take(0)) == 0
    memory.take(10)
    assert len(memory.take(0)) == 0
