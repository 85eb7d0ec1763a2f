"""What tests of sinks write, fail with, and look for afterwards."""

import contextlib
import os

import numpy as np
import pytest

BIG = np.random.default_rng(3).bytes(300_000)


class BrokenError(Exception):
    """What a producer fails with."""


def open_descriptors(folder):
    """How many descriptors of this process are files below `folder`."""
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not say what is open")
    targets = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the descriptor that listed them is closed by now
            targets.append(os.readlink(f"/proc/self/fd/{number}"))
    return sum(target.startswith(f"{folder}/") for target in targets)
