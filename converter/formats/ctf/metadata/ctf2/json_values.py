"""The JSON of CTF 2's metadata: objects whose properties are read by name and type (CTF2-SPEC-2.0, 5)."""

from __future__ import annotations

import json
from typing import Any, Final

from converter.formats.ctf.metadata.errors import MAX_ALIGNMENT
from converter.formats.ctf.metadata.field_classes import (
    ByteOrder,
    FieldRole,
    FixedInteger,
    Mapping,
    Range,
    Scope,
    Structure,
)
from converter.formats.ctf.metadata.field_trees import roles_in

_MISSING: Final = object()
_LARGEST: Final = (1 << 64) - 1
_ROLES: Final = {role.value: role for role in FieldRole}
_BYTE_ORDERS: Final[dict[str, ByteOrder]] = {"little-endian": "little", "big-endian": "big"}
#: The bit order that goes with each byte order, unless "bit-order" says otherwise.
NATURAL_BIT_ORDERS: Final = {"little": "first-to-last", "big": "last-to-first"}


class FragmentError(Exception):
    """An error in a fragment, with its location there."""

    def __init__(
        self, path: str, message: str = "", *, expected: str | None = None, found: object = None
    ) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.expected = expected
        self.found = found


class Json:
    """A JSON object whose properties are read by name and type."""

    def __init__(self, value: Any, path: str = "") -> None:
        if not isinstance(value, dict):
            raise FragmentError(path, expected="an object", found=kind_of(value))
        for name, held in value.items():
            if held is None:
                raise FragmentError(f"{path}.{name}", expected="a value", found="null")
        self.value: dict[str, Any] = value
        self.path = path
        #: The properties that have been read.
        self.known: set[str] = set()

    def finish(self, *, extensible: bool = True) -> None:
        """Reject properties that have not been read.

        Extensible objects also have attributes, which can be anything, and extensions, none of which is supported.
        """
        if extensible:
            for name in ("attributes", "extensions"):
                if not isinstance(self.get(name), dict | None):
                    where = f"{self.path}.{name}"
                    raise FragmentError(where, expected="an object", found=kind_of(self.get(name)))
            if self.get("extensions"):
                raise FragmentError(
                    f"{self.path}.extensions",
                    "the trace needs extensions that are not known",
                    found=", ".join(sorted(self.get("extensions"))),
                )
        for name in self.value:
            if name not in self.known:
                raise FragmentError(f"{self.path}.{name}", "there is no such property")

    def get(self, name: str) -> Any:
        """Return the value of a property, or None if it is missing."""
        self.known.add(name)
        return self.value.get(name)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string; it is required unless there is a default."""
        value = self.get(name)
        if value is None and name not in self.value and default is not None:
            return default
        if not isinstance(value, str):
            raise FragmentError(f"{self.path}.{name}", expected="a string", found=kind_of(value))
        return value

    def integer(
        self, name: str, lowest: int, default: Any = _MISSING, highest: int = _LARGEST
    ) -> Any:
        """Return an integer; it is required unless there is a default."""
        value = self.get(name)
        if value is None and name not in self.value and default is not _MISSING:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
            raise FragmentError(
                f"{self.path}.{name}",
                expected=f"an integer from {lowest} to {highest}",
                found=kind_of(value),
            )
        return value

    def list(self, name: str) -> list[Any]:
        """Return a list, empty if the property is missing."""
        value = self.get(name)
        if value is None and name not in self.value:
            return []
        if not isinstance(value, list):
            raise FragmentError(f"{self.path}.{name}", expected="a list", found=kind_of(value))
        return value


def parsed(text: str) -> Any:
    """Parse JSON strictly by the standard: unique names in each object, and finite numbers only.

    Raises:
        ValueError: the text is not such JSON.

    """
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise json.JSONDecodeError(f"property {twice!r} is there twice", "", 0)
    return result


def _no_constant(name: str) -> Any:
    raise json.JSONDecodeError(f"{name} is no number", "", 0)


def kind_of(value: Any) -> object:
    """Return a description of a value for messages."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return "nothing" if value is None else value


def byte_order_of(given: Json) -> tuple[ByteOrder, bool]:
    """Return the byte order, and True if bits are counted in the opposite order."""
    text = given.text("byte-order")
    if text not in _BYTE_ORDERS:
        raise FragmentError(f"{given.path}.byte-order", expected="a byte order", found=text)
    order = _BYTE_ORDERS[text]
    bits = given.text("bit-order", NATURAL_BIT_ORDERS[order])
    if bits not in NATURAL_BIT_ORDERS.values():
        raise FragmentError(f"{given.path}.bit-order", expected="a bit order", found=bits)
    return order, bits != NATURAL_BIT_ORDERS[order]


def alignment_of(given: Json, name: str) -> int:
    """Return the alignment that a property declares, 1 if it is missing."""
    value = int(given.integer(name, 1, 1, MAX_ALIGNMENT))
    if value & (value - 1):
        raise FragmentError(f"{given.path}.{name}", expected="a power of two", found=value)
    return value


def base_of(given: Json) -> int:
    """Return the preferred display base of an integer."""
    value = given.integer("preferred-display-base", 2, 10)
    if value not in (2, 8, 10, 16):
        raise FragmentError(
            f"{given.path}.preferred-display-base", expected="2, 8, 10 or 16", found=value
        )
    return int(value)


#: Scopes in which fields of each role may occur; the metadata's UUID is bytes.
_SCOPES: Final = {
    FieldRole.MAGIC: {Scope.PACKET_HEADER},
    FieldRole.METADATA_UUID: {Scope.PACKET_HEADER},
    FieldRole.STREAM_CLASS_ID: {Scope.PACKET_HEADER},
    FieldRole.STREAM_ID: {Scope.PACKET_HEADER},
    FieldRole.PACKET_LENGTH: {Scope.PACKET_CONTEXT},
    FieldRole.CONTENT_LENGTH: {Scope.PACKET_CONTEXT},
    FieldRole.TIMESTAMP: {Scope.PACKET_CONTEXT, Scope.EVENT_HEADER},
    FieldRole.PACKET_END_TIMESTAMP: {Scope.PACKET_CONTEXT},
    FieldRole.SEQUENCE_NUMBER: {Scope.PACKET_CONTEXT},
    FieldRole.DISCARDED: {Scope.PACKET_CONTEXT},
    FieldRole.EVENT_CLASS_ID: {Scope.EVENT_HEADER},
}


def roles_of(given: Json, *, of_bytes: bool = False) -> frozenset[FieldRole]:
    """Return the roles of a field class: those of unsigned integers, or those of bytes."""
    roles: list[FieldRole] = []
    for name in given.list("roles"):
        role = _ROLES.get(name) if isinstance(name, str) else None
        if role is None or (role is FieldRole.METADATA_UUID) is not of_bytes:
            raise FragmentError(f"{given.path}.roles", expected="a role", found=name)
        roles.append(role)
    return frozenset(roles)


def check_roles(structure: Structure, scope: Scope, path: str) -> None:
    """Reject roles that fields of this scope cannot have (CTF2-SPEC-2.0, 5.3).

    Raises:
        FragmentError: a field has such a role, or the magic number is not the first field of the packet header.

    """
    roles = roles_in(structure)
    for role in roles:
        if scope not in _SCOPES[role]:
            raise FragmentError(path, f"the role {role} has no place here")
    if FieldRole.MAGIC in roles:
        first = structure.members[0].type if structure.members else None
        count = sum(FieldRole.MAGIC in roles_in(member.type) for member in structure.members)
        if (
            count > 1
            or not isinstance(first, FixedInteger)
            or FieldRole.MAGIC not in first.roles
            or first.length != 32
        ):
            raise FragmentError(path, "the magic number is not the first field, of 32 bits")


def mappings_of(
    given: Json, name: str, lowest: int = 0, highest: int = _LARGEST
) -> tuple[Mapping, ...]:
    """Return the names of ranges, none if the property is missing."""
    held = given.get(name)
    if held is None:
        return ()
    where = Json(held, f"{given.path}.{name}")
    return tuple(
        Mapping(label, ranges_of(held, where, label, lowest, highest))
        for label, held in where.value.items()
    )


def ranges_of(
    value: Any, given: Json, name: str, lowest: int = -(1 << 63), highest: int = _LARGEST
) -> tuple[Range, ...]:
    """Return a list of [lowest, highest]."""
    where = f"{given.path}.{name}"
    if not isinstance(value, list) or not value:
        raise FragmentError(where, expected="a list of ranges", found=kind_of(value))
    ranges = []
    for one in value:
        valid = (
            isinstance(one, list)
            and len(one) == 2
            and all(isinstance(each, int) and not isinstance(each, bool) for each in one)
            and lowest <= one[0] <= one[1] <= highest
        )
        if not valid:
            raise FragmentError(where, expected="[lowest, highest]", found=one)
        ranges.append(Range(*one))
    return tuple(ranges)
