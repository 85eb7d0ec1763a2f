"""Conversion between Arrow and NumPy arrays, by their buffers.

PyArrow's own conversions (`pa.array`, `Array.to_numpy`) import pandas if that is installed, which takes more time and
memory than many a trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def array_of(
    values: NDArray[Any],
    kind: pa.DataType | None = None,
    *,
    valid: NDArray[np.bool_] | pa.Buffer | None = None,
) -> pa.Array:
    """Return an array of numbers or truth values (shape (n,)), sharing their memory if they are contiguous.

    Args:
        values: the values.
        kind: a type of values of that width; by default NumPy's.
        valid: the mask of values that are not null (shape (n,)), or its `bits`; by default all.
    """
    known = valid
    if isinstance(valid, np.ndarray):
        known = None if valid.all() else bits(valid)
    held = bits(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    kind = kind or pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [known, held])


def text_array_of(texts: Sequence[str]) -> pa.StringArray:
    """Return an array of plain texts."""
    encoded = [text.encode() for text in texts]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(one) for one in encoded], out=offsets[1:])
    data = pa.py_buffer(b"".join(encoded))
    if len(data) <= np.iinfo(np.int32).max:
        # Without a cast, which imports `pyarrow.compute`: that takes 50 ms.
        buffers = [None, pa.py_buffer(offsets.astype(np.int32)), data]
        return pa.Array.from_buffers(pa.string(), len(encoded), buffers)
    buffers = [None, pa.py_buffer(offsets), data]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers).cast(pa.string())


def numbers(array: pa.Array, null: int | None = None) -> NDArray[Any]:
    """Return the numbers, or truth values, of an array without nulls; or integers as int64, with `null` for nulls."""
    if null is not None:
        if not array.null_count:
            return numbers(array).astype(np.int64, copy=False)
        held = pa.Array.from_buffers(
            array.type, len(array), [None, array.buffers()[1]], offset=array.offset
        )
        return np.where(numbers(array.is_valid()), numbers(held).astype(np.int64), null)
    is_truth = pa.types.is_boolean(array.type)
    found: NDArray[Any] = np.from_dlpack(array.cast(pa.uint8()) if is_truth else array)
    found.flags.writeable = False
    return found.view(np.bool_) if is_truth else found


def bits(values: NDArray[np.bool_]) -> pa.Buffer:
    """Return truth values as the bits of a buffer."""
    return pa.py_buffer(np.packbits(values, bitorder="little"))
