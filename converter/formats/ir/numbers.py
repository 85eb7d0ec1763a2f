"""Columns of integers and floats as `Numbers` of schemas/ir.proto: as narrow as their values allow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ir.messages import Numbers
from converter.ir.columns import constant_column
from converter.limits import LIMITS, allowed, limit

_MASK = (1 << 64) - 1
_WIDTHS = (1, 2, 4)
#: The most numbers in a constant column, as all readers allow by default.
MAX_EQUAL = LIMITS["ir.equal"].default


def pack(numbers: NDArray[Any], message: Numbers, *, deltas: bool = False) -> None:
    """Put a column of integers, floats or booleans into a new message."""
    message.SetInParent()
    if numbers.dtype.kind == "f":
        plain = np.ascontiguousarray(numbers, numbers.dtype.newbyteorder("<"))
        message.width, message.data = plain.itemsize, plain.tobytes()
        return
    if not len(numbers):
        return
    if numbers.dtype.kind == "b":
        numbers = numbers.view(np.uint8)
    if deltas:
        first = int(numbers[0])
        pack(np.diff(numbers.view(np.int64), prepend=np.int64(first)), message)
        if message.width <= 4:
            # The first distance is from the base: it represents the number itself.
            message.data = message.base.to_bytes(8, "little", signed=True) + message.data
            message.base, message.deltas = _signed(first), True
            return
        message.Clear()
    if numbers.strides == (0,) and len(numbers) <= MAX_EQUAL:
        message.base = _signed(int(numbers[0]))
        return
    low, high = int(numbers.min()), int(numbers.max())
    span = high - low
    if span == 0 and len(numbers) <= MAX_EQUAL:
        message.base = _signed(low)
        return
    for width in _WIDTHS:
        if span < 1 << (8 * width):
            break
    else:
        wide = np.ascontiguousarray(numbers, "<i8" if numbers.dtype.kind == "i" else "<u8")
        message.width, message.data = 8, wide.tobytes()
        return
    if numbers.itemsize == width:
        unsigned = f"u{width}"
        distances = numbers.view(unsigned) - np.array(low).astype(numbers.dtype).view(unsigned)
    else:
        distances = numbers - numbers.dtype.type(low)
    data = distances.astype(f"<u{width}", copy=False).tobytes()
    message.width, message.base, message.data = width, _signed(low), data


def unpack(message: Numbers, dtype: np.dtype[Any], count: int, what: str) -> NDArray[Any]:
    """Return the column of `count` numbers of a type; constant ones are broadcast.

    Raises:
        TraceError: the message has another number of them, or some outside of the type.

    """
    width, data = message.width, message.data
    if dtype.kind == "f":
        _check_size(len(data), count * dtype.itemsize, what)
        return np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype, copy=False)
    if width not in (0, 1, 2, 4, 8):
        raise TraceError(field=what, expected="a width of 0, 1, 2, 4 or 8", found=width)
    if not count:
        return np.zeros(0, dtype)
    if message.deltas:
        step = int.from_bytes(data[:8], "little", signed=True)
        _check_size(len(data), 8 + count * width, what)
        distances = _widened(data[8:], width, count) + np.int64(step)
        # The writer makes the first distance 0, but a file may contain anything.
        distances[0] += np.int64(message.base)
        with np.errstate(over="ignore"):
            wide = np.cumsum(distances, dtype=np.int64)
        return _fitting(wide, dtype, what)
    _check_size(len(data), count * width, what)
    if width == 0:
        if count > limit("ir.equal"):
            raise TraceError(
                field=what, expected=f"{allowed('ir.equal')} that are equal", found=count
            )
        constant = _fitting(np.array([message.base], np.int64), dtype, what)
        return constant_column(constant[0], count)
    with np.errstate(over="ignore"):
        wide = _widened(data, width, count) + np.int64(message.base)
    return _fitting(wide, dtype, what)


def _widened(data: bytes, width: int, count: int) -> NDArray[np.int64]:
    if width == 0:
        return np.zeros(count, np.int64)
    return np.frombuffer(data, f"<u{width}").astype(np.int64)


def _fitting(wide: NDArray[np.int64], dtype: np.dtype[Any], what: str) -> NDArray[Any]:
    if dtype.kind == "b":
        truth: NDArray[Any] = wide != 0
        return truth
    if dtype.itemsize == 8:
        same: NDArray[Any] = wide.view(dtype)
        return same
    limits = np.iinfo(dtype)
    if wide.min() < limits.min or wide.max() > limits.max:
        raise TraceError(field=what, expected=f"numbers of {dtype}", found="others")
    return wide.astype(dtype)


def _check_size(found: int, expected: int, what: str) -> None:
    if found != expected:
        raise TraceError(field=what, expected=f"{expected} bytes", found=f"{found}")


def _signed(number: int) -> int:
    number &= _MASK
    return number - (1 << 64) if number >> 63 else number
