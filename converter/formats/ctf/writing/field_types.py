"""Fields of any trace as CTF declares them, and the operations that write their columns.

All fields are byte-aligned, as LTTng writes them, and little-endian. Lengths and selectors are members of their own
before what they belong to: `_NAME_length` (LTTng's convention) and `_NAME_selector`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from converter.errors import UnsupportedError
from converter.formats.ctf.metadata.field_classes import (
    Array,
    Blob,
    FieldDeclaration,
    FixedBits,
    FixedBoolean,
    FixedFloat,
    FixedInteger,
    Location,
    Mapping,
    Member,
    Option,
    Optional,
    Range,
    Scope,
    Structure,
    Text,
    Variant,
)
from converter.formats.ctf.metadata.other_version import recorded_name
from converter.formats.ctf.metadata.tsdl.lexer import KEYWORDS
from converter.formats.ctf.writing.emit import (
    OP_ARRAY,
    OP_BYTES,
    OP_GROUP,
    OP_LIST,
    OP_OPTIONAL,
    OP_SCALAR,
    OP_STRING,
    OP_THREAD,
    OP_UNION,
)
from converter.ir.columns import (
    Column,
    ListColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
)
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)

#: The parts of its thread that an event has: the ID, that of the process, the name.
THREAD: Final = 1
PROCESS: Final = 2
NAME: Final = 4
_PART_ORDER: Final = (PROCESS, THREAD, NAME)

#: (code, width, number of operations of nested fields).
Operation = tuple[int, int, int]
#: Converts a column to the kernel's inputs: one per operation.
Binder = Callable[[Any], list[Any]]

_NOT_IN_IDENTIFIERS: Final = re.compile(r"[^A-Za-z0-9_]", re.ASCII)
_BASES: Final = {
    Style.HEXADECIMAL: 16,
    Style.POINTER: 16,
    Style.SYMBOL: 16,
    Style.OCTAL: 8,
    Style.BINARY: 2,
}
#: The name of the only member of a structure that exists for the length or selector in it.
_ONLY: Final = "value"
#: The name of fields without a name.
_UNNAMED: Final = "unnamed"
_LENGTH: Final = FixedInteger(32, alignment=8)


@dataclass(frozen=True, slots=True)
class ThreadParts:
    """Parts of an event's thread with their names, in the order in which they are written. They have no column."""

    names: dict[int, str]

    def can_precede(self, part: int) -> bool:
        """Return True if a part can be written after these."""
        return all(_PART_ORDER.index(one) < _PART_ORDER.index(part) for one in self.names)


@dataclass(slots=True)
class Written:
    """Declared members, and how their columns are written."""

    members: list[Member] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    binders: list[Binder] = field(default_factory=list)

    def columns(self, columns: Iterable[Column | None]) -> list[Any]:
        """Return the kernel's inputs for the columns of all fields, None for parts of the thread."""
        return [
            one
            for binder, column in zip(self.binders, columns, strict=True)
            for one in binder(column)
        ]

    def extend(self, other: Written) -> None:
        """Add members of another structure, whose names may be the same."""
        self.members += other.members
        self.operations += other.operations
        self.binders += other.binders


@dataclass(slots=True)
class _Type:
    """A field: the members before it, its declaration, and how it is written."""

    declared: FieldDeclaration
    operations: list[Operation]
    bind: Binder
    before: list[Member] = field(default_factory=list)


class FieldWriter:
    """Declares fields of a scope for a version of CTF."""

    def __init__(self, version: int, scope: Scope = Scope.PAYLOAD) -> None:
        self._plain = version == 1
        self._scope = scope

    def structure(
        self,
        fields: Iterable[tuple[str, FieldClass | ThreadParts]],
        path: tuple[str, ...] = (),
        lengths: dict[str, str] | None = None,
    ) -> Written:
        """Return the members of a structure at a path of names in the scope.

        `lengths`: members whose values are the lengths of others, by the names of these.
        """
        result = Written()
        taken: set[str] = set()
        names: dict[str, str] = {}
        for wanted, held in fields:
            if isinstance(held, ThreadParts):
                taken.update(held.names.values())
                result.members += self._thread_members(held)
                result.operations.append((OP_THREAD, sum(held.names), 0))
                result.binders.append(lambda _: [None])
                continue
            name = self._name(wanted, held, taken)
            declared_name = recorded_name(name, taken) if self._plain else ""
            taken.update(self._names_for(name, held))
            length = names.get(lengths[wanted]) if lengths and wanted in lengths else None
            names[wanted] = name
            if isinstance(held, ArrayClass) and length is not None:
                written = self._array(held.element, None, name, path, length)
            else:
                written = self._field(held, name, path)
            result.members += [*written.before, Member(name, written.declared, declared_name)]
            result.operations += written.operations
            result.binders.append(written.bind)
        return result

    def _thread_members(self, parts: ThreadParts) -> list[Member]:
        number = FixedInteger(64, True, alignment=8)
        return [
            self._member(name, Text() if part == NAME else number)
            for part, name in parts.names.items()
        ]

    # Names

    def _name(self, wanted: str, held: FieldClass, taken: set[str]) -> str:
        """Return a name that no other member has, nor the length or selector of one."""
        name = wanted
        if self._plain:
            name = _NOT_IN_IDENTIFIERS.sub("_", wanted)
        name = name or _UNNAMED
        if self._plain and f"_{name}" in KEYWORDS:
            # C's _Bool is a keyword of TSDL.
            name += "_"
        while self._clashes(self._names_for(name, held), taken):
            name += "_"
        return name

    def _clashes(self, names: set[str], taken: set[str]) -> bool:
        """Return True if a member cannot have these names after others."""
        if self._plain and any(recorded_name(name, taken) in taken for name in names):
            return True
        return not taken.isdisjoint(names)

    def _names_for(self, name: str, held: FieldClass) -> set[str]:
        """Return the names that a member uses."""
        match held:
            case BytesClass() | ArrayClass(_, None):
                key = f"_{name}_length"
            case VariantClass() | OptionalClass():
                key = f"_{name}_selector"
            case _:
                return {name}
        return {name, key}

    def _member(self, name: str, declared: FieldDeclaration) -> Member:
        return Member(name, declared, f"_{name}" if self._plain else "")

    # Types

    def _field(self, held: FieldClass, name: str, path: tuple[str, ...]) -> _Type:
        match held:
            case IntegerClass():
                return self._integer(held)
            case FloatClass(bits):
                return _scalar(FixedFloat(bits, alignment=8), bits // 8, np.dtype(f"<f{bits // 8}"))
            case BooleanClass():
                boolean = (
                    FixedInteger(8, alignment=8) if self._plain else FixedBoolean(8, alignment=8)
                )
                return _scalar(boolean, 1, np.dtype(np.uint8))
            case StringClass():
                return _Type(Text(), [(OP_STRING, 0, 0)], _bind_string)
            case BytesClass(media_type):
                return self._bytes(media_type, name, path)
            case NullClass():
                return _Type(Structure(), [], lambda _: [])
            case ArrayClass(element, length):
                return self._array(element, length, name, path)
            case StructureClass(members):
                return self._structure(members, name, path)
            case VariantClass(options):
                return self._variant([(one.name, one.type) for one in options], name, path)
            case OptionalClass(element):
                return self._optional(element, name, path)

    def _integer(self, held: IntegerClass) -> _Type:
        # In whole bytes, so that records end at a byte boundary.
        width = held.dtype.itemsize
        flags = _flags(held) if held.flags and not self._plain else ()
        if flags:
            bits = FixedBits(8 * width, alignment=8, flags=flags)
            return _scalar(bits, width, held.dtype.newbyteorder("<"))
        mappings = () if held.flags else _mappings(held)
        declared = FixedInteger(
            8 * width, held.signed, alignment=8, base=_BASES.get(held.style, 10), mappings=mappings
        )
        return _scalar(declared, width, held.dtype.newbyteorder("<"))

    def _bytes(self, media_type: str, name: str, path: tuple[str, ...]) -> _Type:
        before, location = self._key_member("length", name, path, _LENGTH)
        byte = FixedInteger(8, alignment=8, base=16)
        declared = Array(byte, location) if self._plain else Blob(location, media_type)
        return _Type(declared, [(OP_BYTES, 0, 0)], _bind_bytes, [before])

    def _array(
        self,
        element: FieldClass,
        length: int | None,
        name: str,
        path: tuple[str, ...],
        length_member: str | None = None,
    ) -> _Type:
        inner = self._element_type(element, (*path, name))

        def bind(column: Column) -> list[Any]:
            assert isinstance(column, ListColumn)
            offsets = np.ascontiguousarray(column.offsets, np.int64)
            return [offsets, *inner.bind(column.values)]

        if length is not None:
            operations = [(OP_ARRAY, length, len(inner.operations)), *inner.operations]
            return _Type(Array(inner.declared, length), operations, bind)
        if length_member is not None:
            location = Location(self._scope, (*path, length_member))
            operations = [(OP_LIST, 1, len(inner.operations)), *inner.operations]
            return _Type(Array(inner.declared, location), operations, bind)
        before, location = self._key_member("length", name, path, _LENGTH)
        operations = [(OP_LIST, 0, len(inner.operations)), *inner.operations]
        return _Type(Array(inner.declared, location), operations, bind, [before])

    def _structure(self, members: Iterable[Any], name: str, path: tuple[str, ...]) -> _Type:
        written = self.structure([(one.name, one.type) for one in members], (*path, name))

        def bind(column: Column) -> list[Any]:
            assert isinstance(column, StructColumn)
            return written.columns(column.members)

        return _Type(Structure(tuple(written.members)), written.operations, bind)

    def _variant(
        self, options: list[tuple[str, FieldClass]], name: str, path: tuple[str, ...]
    ) -> _Type:
        if len(options) > 1 << 15:
            raise UnsupportedError(f"a variant of {len(options)} options", format="ctf")
        taken: set[str] = set()
        names = [self._option_name(wanted, taken) for wanted, _ in options]
        types = [self._element_type(held, (*path, name)) for _, held in options]
        width = 1 if len(options) <= 256 else 2
        before, declared = self._selected(names, types, name, path, 8 * width)
        operations: list[Operation] = []
        for one in types:
            operations += [(OP_GROUP, 0, len(one.operations)), *one.operations]

        def bind(column: Column) -> list[Any]:
            assert isinstance(column, UnionColumn)
            tags = np.ascontiguousarray(column.tags, np.int16)
            columns: list[Any] = [(tags, np.ascontiguousarray(column.rows, np.int32))]
            for one, held in zip(types, column.options, strict=True):
                columns += [None, *one.bind(held)]
            return columns

        return _Type(declared, [(OP_UNION, width, len(operations)), *operations], bind, [before])

    def _optional(self, element: FieldClass, name: str, path: tuple[str, ...]) -> _Type:
        inner = self._element_type(element, (*path, name))
        if self._plain:
            nothing = _Type(Structure(), [], lambda _: [])
            before, declared = self._selected(["none", "some"], [nothing, inner], name, path, 8)
        else:
            selector = FixedBoolean(8, alignment=8)
            before, location = self._key_member("selector", name, path, selector)
            declared = Optional(location, inner.declared)

        def bind(column: Column) -> list[Any]:
            assert isinstance(column, OptionalColumn)
            return [column.valid.view(np.uint8), *inner.bind(column.values)]

        operations = [(OP_OPTIONAL, 0, len(inner.operations)), *inner.operations]
        return _Type(declared, operations, bind, [before])

    def _selected(
        self, names: list[str], types: list[_Type], name: str, path: tuple[str, ...], bits: int
    ) -> tuple[Member, FieldDeclaration]:
        """Return a variant with numbered options, and its selector."""
        numbers = [(Range(number, number),) for number in range(len(names))]
        mappings = tuple(Mapping(*one) for one in zip(names, numbers, strict=True))
        selector = FixedInteger(bits, alignment=8, mappings=mappings if self._plain else ())
        before, location = self._key_member("selector", name, path, selector)
        options = [
            Option(option, one.declared, ranges, option if self._plain else "")
            for option, one, ranges in zip(names, types, numbers, strict=True)
        ]
        return before, Variant(location, tuple(options))

    def _option_name(self, wanted: str, taken: set[str]) -> str:
        """Return a name that can also be a label."""
        name = wanted
        if self._plain:
            name = _NOT_IN_IDENTIFIERS.sub("_", wanted)
            if not name[:1].isalpha() or name in KEYWORDS:
                name = f"o_{name}"
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    def _key_member(
        self, what: str, name: str, path: tuple[str, ...], declared: FieldDeclaration
    ) -> tuple[Member, Location]:
        """Return the length or selector of a member."""
        own = f"_{name}_{what}"
        return self._member(own, declared), Location(self._scope, (*path, own))

    def _element_type(self, held: FieldClass, path: tuple[str, ...]) -> _Type:
        """Return the type of an element or option, in a structure of its own if it needs a length or selector."""
        match held:
            case BytesClass() | ArrayClass(_, None) | VariantClass() | OptionalClass():
                inner = self._field(held, _ONLY, path)
                members = (*inner.before, self._member(_ONLY, inner.declared))
                return _Type(Structure(members), inner.operations, inner.bind)
            case _:
                # Elements and options have no name of their own on a path.
                return self._field(held, path[-1], path[:-1])


def _mappings(held: IntegerClass) -> tuple[Mapping, ...]:
    """Return the labels that an enumeration can have."""
    ranges: dict[str, list[Range]] = {}
    for low, high, text in held.labels:
        if text and "\0" not in text and held.least <= low <= high <= held.most:
            ranges.setdefault(text, []).append(Range(low, high))
    return tuple(Mapping(text, tuple(spans)) for text, spans in ranges.items())


def _flags(held: IntegerClass) -> tuple[Mapping, ...]:
    """Return the flags that a bit map can have; a signed number has none."""
    found = []
    for mask, _, text in held.labels:
        if text and "\0" not in text and 0 < mask <= held.most and not held.signed:
            bits = [bit for bit in range(held.bits) if mask >> bit & 1]
            found.append(Mapping(text, tuple(Range(bit, bit) for bit in bits)))
    return tuple(found)


def _scalar(declared: FieldDeclaration, width: int, dtype: np.dtype[Any]) -> _Type:
    def bind(column: Column) -> list[Any]:
        assert isinstance(column, np.ndarray)
        return [
            column.view(np.uint8) if column.dtype == np.bool_ else column.astype(dtype, copy=False)
        ]

    return _Type(declared, [(OP_SCALAR, width, 0)], bind)


def _bind_string(column: Column) -> list[Any]:
    if isinstance(column, np.ndarray):
        return [column.astype(np.int32, copy=False)]
    return _bind_bytes(column)


def _bind_bytes(column: Column) -> list[Any]:
    assert isinstance(column, ListColumn)
    values = np.ascontiguousarray(column.values, np.uint8)
    return [(values, np.ascontiguousarray(column.offsets, np.int64))]
