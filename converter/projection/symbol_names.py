"""Columns of function names from columns of addresses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from converter.ir.kinds import Role
from converter.projection.capabilities import Projection
from converter.projection.pieces import Piece, distinct


def function_names(piece: Piece, role: Role, projection: Projection) -> NDArray[np.int32] | None:
    """The functions in the field with `role`: text as it is, addresses by their symbols; None without such a field."""
    strings = projection.source.strings
    texts = piece.texts(role, strings)
    if texts is not None:
        return texts
    addresses = piece.integers(role)
    if addresses is None:
        return None
    values, inverse = distinct(addresses)
    # Kernel addresses that were declared as signed are negative.
    unsigned = values.astype(np.uint64)
    symbols = projection.source.symbols
    names = symbols.names(unsigned) if symbols is not None else [None] * len(unsigned)
    ids = [
        strings.intern(f"{address:#x}" if name is None else name)
        for address, name in zip(unsigned.tolist(), names, strict=True)
    ]
    return np.array(ids, np.int32)[inverse]
