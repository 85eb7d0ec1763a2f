"""What is within a field class: its fields, their roles, and where the fields are that it depends on."""

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
    """Where the lengths and selectors are that a field depends on."""
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
    """The field and all fields within it."""
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
    """The roles of a field and all fields within it."""
    found: set[FieldRole] = set()
    for item in fields_in(declared):
        if isinstance(item, FixedInteger | VariableInteger | Array | Blob):
            found |= item.roles
    return found


def key_kind(declared: FieldDeclaration) -> str:
    """What a length or a selector is read as, by the field that says it; other fields say none."""
    match declared:
        case FixedInteger() | VariableInteger():
            return "signed" if declared.signed else "unsigned"
        case FixedBoolean():
            return "boolean"
        case _:
            return ""
