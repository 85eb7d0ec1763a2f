"""Names of functions: which fields are addresses of some, and columns of names from columns of addresses."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import EventClass, Field
from converter.ir.field_classes import ArrayClass, IntegerClass, Style
from converter.ir.kinds import Role
from converter.projection.capabilities import Projection
from converter.projection.pieces import Piece, distinct

#: What addresses of functions are in an event.
SYMBOL_ROLES: Final = frozenset({Role.FUNCTION, Role.PARENT_FUNCTION, Role.INSTRUCTION})


def addresses_of(event_class: EventClass) -> tuple[str, ...]:
    """The fields that are addresses of functions, or stacks of such."""
    return tuple(repr(field.name) for field in event_class.fields if _is_address(field))


def _is_address(field: Field) -> bool:
    held = field.type.element if isinstance(field.type, ArrayClass) else field.type
    return isinstance(held, IntegerClass) and (
        field.role in SYMBOL_ROLES or held.style is Style.SYMBOL
    )


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
