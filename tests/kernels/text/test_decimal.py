"""Numbers as decimal text: every number of digits, at its ends and in between."""

from __future__ import annotations

import random

import numpy as np
import pytest

from converter.kernels.tables.strings import format_integers


def numbers(most: int) -> list[int]:
    ends = [10**places + step for places in range(20) for step in (-1, 0, 1)]
    halves = [10**places * times for places in range(8, 17) for times in (1, 9_999, 10**8 - 1)]
    chosen = random.Random(1)
    others = [chosen.randrange(10 ** chosen.randint(1, 20)) for _ in range(2000)]
    return [number for number in (*ends, *halves, *others, most) if number <= most]


@pytest.mark.parametrize("signed", [False, True])
def test_numbers_are_as_python_writes_them(signed):
    given = numbers(2**63 - 1 if signed else 2**64 - 1)
    given += [-number for number in given] + [-(2**63)] if signed else []
    values = np.array(given, np.int64 if signed else np.uint64).view(np.uint64)
    text, ends = format_integers(np.array([0, len(given)], np.int64), values, signed)
    assert bytes(text[: ends[1]]).decode() == str(given)
