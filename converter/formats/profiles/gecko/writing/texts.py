"""Columns of numbers as JSON text."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.gecko.layout import EXACT, NANOSECONDS


def compact(value: Any) -> str:
    """Return a value as JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def column_text(values: list[Any]) -> bytes:
    """Return values as JSON, each with a comma before it."""
    return ("," + json.dumps(values, separators=(",", ":"))[1:-1]).encode() if values else b""


def are_exact(nanoseconds: NDArray[np.int64]) -> bool:
    """Return True if doubles of milliseconds have all digits of these times."""
    if not len(nanoseconds):
        return True
    return int(nanoseconds.min()) > -EXACT and int(nanoseconds.max()) < EXACT


def times_text(nanoseconds: NDArray[np.int64], known: NDArray[np.bool_] | None = None) -> bytes:
    """Return times in milliseconds, with all their digits; null where they are not `known`."""
    if are_exact(nanoseconds):
        milliseconds: list[Any] = (nanoseconds / NANOSECONDS).tolist()
        if known is not None and not known.all():
            shown = known.tolist()
            pairs = zip(milliseconds, shown, strict=True)
            milliseconds = [one if is_known else None for one, is_known in pairs]
        return column_text(milliseconds)
    shown = [True] * len(nanoseconds) if known is None else known.tolist()
    return b"".join(
        _digits(one) if is_known else b",null"
        for one, is_known in zip(nanoseconds.tolist(), shown, strict=True)
    )


def _digits(nanoseconds: int) -> bytes:
    whole, rest = divmod(abs(nanoseconds), NANOSECONDS)
    sign = b"-" if nanoseconds < 0 else b""
    return b",%s%d.%06d" % (sign, whole, rest)
