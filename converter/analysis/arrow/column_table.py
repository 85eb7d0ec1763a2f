"""Columns of NumPy arrays as a table of Arrow."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from converter.analysis.columns.resolved import plain
from converter.ir.event_columns import EventColumns


def column_table(columns: EventColumns) -> pa.Table:
    """Return the rows as a table. Values of one column that have no common type become text: JSON of what is no text
    or bytes.
    """
    return pa.table({name: _array(column) for name, column in columns.items()})


def _array(column: NDArray[Any]) -> pa.Array:
    if column.dtype != object:
        absent = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else None
        return pa.array(np.ma.getdata(column), mask=absent)
    # Arrow takes no arrays of NumPy inside other values.
    values = [plain(value) for value in column]
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([_as_text(value) for value in values], pa.string())


def _as_text(value: Any) -> str | None:
    match value:
        case None | str():
            return value
        case bytes():
            return value.decode("utf-8", "replace")
    return json.dumps(
        value, default=lambda one: _as_text(one) if isinstance(one, bytes) else str(one)
    )
