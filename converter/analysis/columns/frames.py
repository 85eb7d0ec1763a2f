"""Columns as the data frames of pandas and Polars."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.event_columns import EventColumns


def data_frame(columns: EventColumns) -> Any:
    """Return the rows as a `pandas.DataFrame`; ModuleNotFoundError if pandas is not installed."""
    pandas = _library("pandas")
    return pandas.DataFrame({name: _series(pandas, column) for name, column in columns.items()})


def _series(pandas: Any, column: NDArray[Any]) -> Any:
    """Return a column as pandas holds it; numbers that may be absent in one of its types that allow that."""
    if not isinstance(column, np.ma.MaskedArray):
        return column
    values, absent = np.ma.getdata(column), np.ma.getmaskarray(column)
    match column.dtype.kind:
        case "i" | "u":
            return pandas.arrays.IntegerArray(values.copy(), absent.copy())
        case "b":
            return pandas.arrays.BooleanArray(values.copy(), absent.copy())
    return column.filled(np.nan)


def polars_frame(columns: EventColumns) -> Any:
    """Return the rows as a `polars.DataFrame`; ModuleNotFoundError if Polars or PyArrow is not installed."""
    return _library("polars").from_arrow(columns.to_arrow())


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(f"this needs {name}: pip install {name}", name=name) from None
