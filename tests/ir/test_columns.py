"""What columns take of memory."""

import numpy as np
import pytest

from converter.ir.columns import (
    ListColumn,
    NullColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    bytes_held,
    constant_column,
)

FOUR = np.arange(4, dtype=np.int32)


@pytest.mark.parametrize(
    ("column", "size"),
    [
        (FOUR, 16),
        (constant_column(np.int64(7), 1000), 8),
        (NullColumn(9), 0),
        (ListColumn(np.array([0, 1, 4]), FOUR), 24 + 16),
        (StructColumn(4, (FOUR, NullColumn(4), FOUR.astype(np.uint8))), 16 + 4),
        (UnionColumn(np.zeros(4, np.int16), FOUR, (FOUR, NullColumn(0))), 8 + 16 + 16),
        (OptionalColumn(np.ones(4, bool), FOUR), 4 + 16),
    ],
)
def test_bytes_held(column, size):
    assert bytes_held(column) == size
