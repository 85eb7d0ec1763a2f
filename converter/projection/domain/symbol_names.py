"""Names of functions: finds the fields with addresses of functions, and computes columns of names from addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.distinct_values import distinct
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import ArrayClass, IntegerClass, Style
from converter.ir.kinds import Role
from converter.ir.tables import ComputedColumn
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition

#: Roles of fields with addresses of functions.
SYMBOL_ROLES: Final = frozenset({Role.FUNCTION, Role.PARENT_FUNCTION, Role.INSTRUCTION})


#: The conversions with which a kernel's format prints the name of a function, and the names of fields that are printed
#: so and have no role.
_PRINTS_NAMES: Final = re.compile(rb"%p[sSfFB]")
_PRINTED_NAMES: Final = frozenset(
    {
        *("address", "buf_ops", "call_site", "callback", "caller", "caller_ip", "callsite", "cb"),
        *("fn", "fun", "func", "function", "handler", "ip", "location", "ops", "parent_ip"),
        *("shrink", "tasklet"),
    }
)


def addresses_of(event_class: EventClass) -> tuple[Field, ...]:
    """Return the fields that are addresses of functions, or stacks of such."""
    printed = _PRINTED_NAMES if _PRINTS_NAMES.search(event_class.native) else ()
    return tuple(
        field
        for field in event_class.fields
        if _is_address(field) or (field.name in printed and _number(field))
    )


def addresses_by_style(event_class: EventClass) -> tuple[Field, ...]:
    """Return those of these fields that only their style identifies."""
    return tuple(
        one for one in event_class.fields if _is_address(one) and one.role not in SYMBOL_ROLES
    )


def names_lost(
    event_class: EventClass,
    addresses: Iterable[Field],
    held: Iterable[EventClass],
    *,
    by_style: bool = False,
) -> list[str]:
    """Return the addresses of a class that remain plain numbers in what a format holds of it.

    With `by_style`, a style identifies a number as the address of a function. A slice, or an instant, that was made
    from the event has the name of its function.
    """
    classes = list(held)
    lowered = any(one.kind is not event_class.kind for one in classes)
    numbers = {
        field.name
        for one in classes
        for field in one.fields
        if _number(field) and not (by_style and _is_address(field))
    }
    return [
        field.name
        for field in addresses
        if field.name in numbers and not (lowered and field.role is Role.FUNCTION)
    ]


def _is_address(field: Field) -> bool:
    held = _number(field)
    return held is not None and (field.role in SYMBOL_ROLES or held.style is Style.SYMBOL)


def _number(field: Field) -> IntegerClass | None:
    """Return the type of a number, or of the elements of a list of numbers."""
    held = field.type.element if isinstance(field.type, ArrayClass) else field.type
    return held if isinstance(held, IntegerClass) else None


def function_names(
    partition: Partition, role: Role, projection: Projection
) -> ComputedColumn | None:
    """Return the functions in the field with `role`: text as it is, addresses by their symbols; None without such a
    field.

    They are looked up on demand.
    """
    texts = partition.lazy_texts(role, projection.source.strings)
    if texts is not None:
        return texts
    addresses = partition.lazy_integers(role)
    if addresses is None:
        return None
    return ComputedColumn(
        lambda _, column: _names_of_addresses(column, projection), (addresses,), partition
    )


def _names_of_addresses(addresses: NDArray[Any], projection: Projection) -> NDArray[np.int32]:
    strings = projection.source.strings
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
