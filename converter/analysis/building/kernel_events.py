"""Classes of tracepoints by name: those of Linux with the system, the types and the meaning that they have there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from converter.analysis.building.values import INTEGER
from converter.errors import ArgumentError
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import FieldClass, IntegerClass
from converter.ir.kinds import REQUIRED_ROLES, Role
from converter.projection.domain.linux_tracepoints import MEANINGS, meaning

#: The kernel's int: numbers of tasks, interrupts and CPUs, priorities.
_INT = IntegerClass(32, signed=True)
_INT_ROLES = frozenset(
    {Role.TID, Role.PREV_TID, Role.NEXT_TID, Role.PARENT_TID, Role.OLD_TID}
    | {Role.PRIORITY, Role.PREV_PRIORITY, Role.NEXT_PRIORITY, Role.TARGET_CPU, Role.IRQ}
)


@cache
def _systems() -> dict[str, str]:
    return {event: system for system, event in MEANINGS}


def system_of(name: str) -> str:
    """Return the group of the kernel's tracepoint of a name, or "" if there is none."""
    return _systems().get(name, "")


def kernel_class(name: str, system: str | None, fields: Mapping[str, FieldClass]) -> EventClass:
    """Return the class of an event with these fields.

    Raises:
        ArgumentError: fields are missing without which an event of the kernel is meaningless.
    """
    group = system_of(name) if system is None else system
    known = meaning(group, name)
    found = {known.roles.get(field, Role.NONE) for field in fields}
    missing = [
        field
        for field, role in known.roles.items()
        if role in REQUIRED_ROLES.get(known.kind, ()) and role not in found
    ]
    if missing:
        raise ArgumentError(f"{group}:{name} needs fields {', '.join(missing)}")
    return EventClass(
        known.kind,
        name,
        group,
        tuple(
            Field(field, _narrowed(held, role), role)
            for field, held in fields.items()
            for role in (known.roles.get(field, Role.NONE),)
        ),
    )


def _narrowed(held: FieldClass, role: Role) -> FieldClass:
    """Return an integer class narrowed to the kernel's width, unless the caller specified the width."""
    return _INT if held == INTEGER and role in _INT_ROLES else held
