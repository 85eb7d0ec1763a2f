"""Walks over the fields within a field class, their roles, and the locations that they depend on."""

from __future__ import annotations

from collections.abc import Iterator

from converter.formats.ctf.metadata.field_classes import (
    Array,
    Blob,
    FieldDeclaration,
    FieldRole,
    FixedBoolean,
    FixedInteger,
    Location,
    Optional,
    Structure,
    Text,
    VariableInteger,
    Variant,
)


def locations(declared: FieldDeclaration | None) -> Iterator[Location]:
    """Yield the locations of the lengths and selectors that a field depends on."""
    match declared:
        case Structure():
            for member in declared.members:
                yield from locations(member.type)
        case Array():
            if isinstance(declared.length, Location):
                yield declared.length
            yield from locations(declared.element)
        case Text() | Blob():
            if isinstance(declared.length, Location):
                yield declared.length
        case Variant():
            yield declared.selector
            for option in declared.options:
                yield from locations(option.type)
        case Optional():
            yield declared.selector
            yield from locations(declared.element)


def fields_in(declared: FieldDeclaration | None) -> Iterator[FieldDeclaration]:
    """Yield the field and all fields within it."""
    if declared is None:
        return
    yield declared
    match declared:
        case Structure():
            for member in declared.members:
                yield from fields_in(member.type)
        case Array() | Optional():
            yield from fields_in(declared.element)
        case Variant():
            for option in declared.options:
                yield from fields_in(option.type)


def roles_in(declared: FieldDeclaration | None) -> set[FieldRole]:
    """Return the roles of a field and of all fields within it."""
    found: set[FieldRole] = set()
    for item in fields_in(declared):
        if isinstance(item, FixedInteger | VariableInteger | Array | Blob):
            found |= item.roles
    return found


def has_plain_fields(declared: FieldDeclaration) -> bool:
    """Return True unless all fields within this one have roles: what they hold is for readers alone."""
    match declared:
        case Structure():
            return any(has_plain_fields(member.type) for member in declared.members) or not (
                roles_in(declared)
            )
        case Variant():
            return any(has_plain_fields(option.type) for option in declared.options)
        case Optional():
            return has_plain_fields(declared.element)
        case FixedInteger() | VariableInteger() | Array() | Blob():
            return not declared.roles
    return True


def key_kind(declared: FieldDeclaration) -> str:
    """Return the type of key that a field provides as a length or a selector, "" if it cannot."""
    match declared:
        case FixedInteger() | VariableInteger():
            return "signed" if declared.signed else "unsigned"
        case FixedBoolean():
            return "boolean"
        case _:
            return ""
