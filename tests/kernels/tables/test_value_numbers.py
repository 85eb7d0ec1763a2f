"""Numbers of values: looked up in a table, and nothing beside it."""

import numpy as np
import pytest

from converter.kernels.tables.value_numbers import numbers_of_values

UNKNOWN = -5
NUMBERS = np.array([10, 11, UNKNOWN, 13], np.int32)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_small_values_of_every_type(dtype):
    signed = dtype[0] == "i"
    column = np.array([0, 2, -1 if signed else 0], dtype)
    out = np.zeros(3, np.int32)
    assert numbers_of_values(column, NUMBERS, UNKNOWN, out)
    assert out.tolist() == [11, 13, 10 if signed else 11]
    assert numbers_of_values(np.broadcast_to(column[1], 3), NUMBERS, UNKNOWN, out)
    assert out.tolist() == [13, 13, 13]


@pytest.mark.parametrize("value", [1, 3, -2, 1 << 62, -(1 << 63)])
def test_values_that_have_none(value):
    out = np.zeros(2, np.int32)
    assert not numbers_of_values(np.array([0, value], np.int64), NUMBERS, UNKNOWN, out)
    assert not numbers_of_values(np.array([0, value], np.int64).view("u8"), NUMBERS, UNKNOWN, out)


def test_nothing_has_numbers_without_a_table():
    out = np.zeros(0, np.int32)
    assert numbers_of_values(np.zeros(0, np.int64), NUMBERS[:0], UNKNOWN, out)
    with pytest.raises(ValueError, match="differ in length"):
        numbers_of_values(np.zeros(1, np.int64), NUMBERS, UNKNOWN, out)
