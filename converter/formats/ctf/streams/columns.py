"""Maps declared fields to the IR: their field classes, and how their columns are built from decoded slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

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
    Optional,
    Range,
    Scope,
    Structure,
    Text,
    VariableInteger,
    Variant,
)
from converter.ir.columns import (
    Column,
    ListColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    column_from_values,
    list_of_bytes,
    neutral,
    take,
)
from converter.ir.display.text import unique_names
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Label,
    Member,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)
from converter.kernels.tables.strings import StringTable

_STYLES = {2: Style.BINARY, 8: Style.OCTAL, 16: Style.HEXADECIMAL}


def field_class(declared: FieldDeclaration, scope: Scope, path: tuple[str, ...]) -> FieldClass:
    """Return the IR's class for a field at this location."""
    match declared:
        case FixedInteger() | FixedBits() | FixedFloat() if declared.length > 64:
            return BytesClass()
        case FixedInteger():
            return IntegerClass(
                declared.length,
                declared.signed,
                _STYLES.get(declared.base, Style.DECIMAL),
                _labels(declared.mappings),
            )
        case FixedBits():
            masks = tuple(
                Label(mask, mask, flag.name)
                for flag in declared.flags
                if (mask := _mask(flag.ranges, declared.length))
            )
            return IntegerClass(declared.length, False, Style.HEXADECIMAL, masks, flags=bool(masks))
        case FixedBoolean():
            return BooleanClass()
        case FixedFloat():
            return FloatClass(64 if declared.length == 64 else 32)
        case VariableInteger():
            return IntegerClass(
                64,
                declared.signed,
                _STYLES.get(declared.base, Style.DECIMAL),
                _labels(declared.mappings),
            )
        case Text():
            if is_spread(declared):
                assert declared.element is not None
                return ArrayClass(
                    field_class(declared.element, scope, path), _constant(declared.length)
                )
            return StringClass()
        case Blob():
            return BytesClass(declared.media_type)
        case Array():
            return ArrayClass(
                field_class(declared.element, scope, path), _constant(declared.length)
            )
        case Structure():
            return StructureClass(
                tuple(
                    Member(member.name, field_class(member.type, scope, (*path, member.name)))
                    for member in kept_members(declared, scope, path)
                )
            )
        case Variant():
            return VariantClass(
                tuple(
                    Member(name, field_class(option.type, scope, path))
                    # Options need distinct names; CTF 2 allows several without a name.
                    for name, option in zip(
                        unique_names([option.name for option in declared.options]),
                        declared.options,
                        strict=True,
                    )
                )
            )
        case Optional():
            return OptionalClass(field_class(declared.element, scope, path))


def is_spread(text: Text) -> bool:
    """Return True if a text's characters are not contiguous, so that it is read as an array of integers."""
    return text.element is not None and text.element.alignment > 8


def kept_members(structure: Structure, scope: Scope, path: tuple[str, ...]) -> list[FieldMember]:
    """Return the members except those whose value follows from another.

    These are plain unsigned integers: `_NAME_length` with the length of the member NAME (LTTng's convention), and
    `_NAME_selector`, which selects the option of the variant NAME or whether the optional NAME is present.
    """
    by_name = {member.name: member.type for member in structure.members}

    def is_implied(name: str, declared: FieldDeclaration) -> bool:
        if not name.startswith("_"):
            return False
        place = Location(scope, (*path, name))
        if name.endswith("_length"):
            match by_name.get(name[1 : -len("_length")]):
                case Array() | Text() | Blob() as sized:
                    return _is_plain(declared) and sized.length == place
        elif name.endswith("_selector"):
            match by_name.get(name[1 : -len("_selector")]):
                case Variant() as variant:
                    numbered = all(
                        option.ranges == (Range(number, number),)
                        for number, option in enumerate(variant.options)
                    )
                    named = (
                        isinstance(declared, FixedInteger)
                        and not declared.signed
                        and [mapping.ranges for mapping in declared.mappings]
                        == [option.ranges for option in variant.options]
                    )
                    plain = _is_plain(declared) or named
                    return plain and variant.selector == place and numbered
                case Optional() as optional:
                    if optional.selector != place:
                        return False
                    if isinstance(declared, FixedBoolean):
                        return optional.ranges is None
                    return _is_plain(declared) and optional.ranges == (Range(1, 1),)
        return False

    return [
        FieldMember(member.name, member.type)
        for member in structure.members
        if not is_implied(member.name, member.type)
    ]


class FieldMember(NamedTuple):
    """A member whose value is delivered."""

    name: str
    type: FieldDeclaration


def _is_plain(declared: FieldDeclaration) -> bool:
    match declared:
        case FixedInteger() | VariableInteger():
            return not declared.signed and not declared.mappings
    return False


def _constant(length: int | Location | None) -> int | None:
    return length if isinstance(length, int) else None


def _labels(mappings: Sequence[Mapping]) -> tuple[Label, ...]:
    return tuple(
        Label(low, high, mapping.name) for mapping in mappings for low, high in mapping.ranges
    )


def _mask(ranges: Sequence[Range], length: int) -> int:
    mask = 0
    for low, high in ranges:
        if 0 <= low <= high < length:
            mask |= (1 << (high + 1)) - (1 << low)
    return mask


def texts_of(column: Column, strings: StringTable) -> Iterator[bytes]:
    """Yield the bytes of a column of texts, interned or not."""
    if isinstance(column, ListColumn):
        assert isinstance(column.values, np.ndarray)
        data = column.values.tobytes()
        for start, end in pairwise(column.offsets.tolist()):
            yield data[start:end]
    elif isinstance(column, np.ndarray):
        for item in column.tolist():
            yield strings[item]


class Plan(Protocol):
    """Builds the column of a field from the slots that a program has filled."""

    def build(self, slots: Sequence[NDArray[np.uint8]], strings: StringTable) -> Column:
        """Return the column of all values found."""


class Scalars(NamedTuple):
    """Numbers of type `stored` in the slot and of type `dtype` in the column."""

    slot: int
    stored: np.dtype[np.generic]
    dtype: np.dtype[np.generic]

    def build(self, slots: Sequence[NDArray[np.uint8]], strings: StringTable) -> Column:
        """Return the column."""
        return slots[self.slot].view(self.stored).astype(self.dtype, copy=False)


class Bytes(NamedTuple):
    """Text or bytes of varying length: the end of each in the slot, their contents in the next slot."""

    slot: int

    def build(self, slots: Sequence[NDArray[np.uint8]], strings: StringTable) -> ListColumn:
        """Return the column."""
        return ListColumn(offsets(slots[self.slot]), slots[self.slot + 1])


class Recoded(NamedTuple):
    """Text in another encoding than UTF-8; invalid characters are replaced."""

    slot: int
    encoding: str

    def build(self, slots: Sequence[NDArray[np.uint8]], strings: StringTable) -> Column:
        """Return the column."""
        ends = offsets(slots[self.slot]).tolist()
        data = slots[self.slot + 1].tobytes()
        return list_of_bytes(
            [
                data[start:end].decode(self.encoding, "replace").encode()
                for start, end in pairwise(ends)
            ]
        )


class Chunks(NamedTuple):
    """Bytes of a fixed size, read as integers of 8 bits."""

    slot: int
    size: int

    def build(self, slots: Sequence[NDArray[np.uint8]], strings: StringTable) -> Column:
        """Return the column."""
        values = slots[self.slot]
        return ListColumn(np.arange(0, len(values) + 1, self.size, dtype=np.int64), values)


class Transformed(NamedTuple):
    """A column that is converted to another class."""

    plan: Plan
    change: Callable[[Column], Column]

    def build(self, slots: Sequence[NDArray[np.uint8]], strings: StringTable) -> Column:
        """Return the column."""
        return self.change(self.plan.build(slots, strings))


class ConstantText(NamedTuple):
    """One text for all records, which are counted in a slot."""

    slot: int
    text: str

    def build(self, slots: Sequence[NDArray[np.uint8]], strings: StringTable) -> Column:
        """Return the column."""
        return np.full(len(slots[self.slot]), strings.intern(self.text), np.int32)


class Lists(NamedTuple):
    """Lists: the end of each among all elements, and the elements."""

    slot: int
    element: Plan

    def build(self, slots: Sequence[NDArray[np.uint8]], strings: StringTable) -> Column:
        """Return the column."""
        return ListColumn(offsets(slots[self.slot]), self.element.build(slots, strings))


class Structures(NamedTuple):
    """Structures as columns of their members. Structures without members are counted in a slot."""

    members: tuple[Plan, ...]
    slot: int

    def build(self, slots: Sequence[NDArray[np.uint8]], strings: StringTable) -> Column:
        """Return the column."""
        columns = tuple(member.build(slots, strings) for member in self.members)
        return StructColumn(len(slots[self.slot]), columns)


class Unions(NamedTuple):
    """The option number of each value, and the values of each option."""

    slot: int
    options: tuple[Plan, ...]

    def build(self, slots: Sequence[NDArray[np.uint8]], strings: StringTable) -> Column:
        """Return the column."""
        tags = slots[self.slot].view(np.int16)
        rows = np.zeros(len(tags), np.int32)
        for number in range(len(self.options)):
            here = np.flatnonzero(tags == number)
            rows[here] = np.arange(len(here))
        return UnionColumn(tags, rows, tuple(plan.build(slots, strings) for plan in self.options))


class Optionals(NamedTuple):
    """A flag for the presence of each value, and the values that are present."""

    slot: int
    element: Plan
    type: FieldClass

    def build(self, slots: Sequence[NDArray[np.uint8]], strings: StringTable) -> Column:
        """Return the column."""
        valid = slots[self.slot].view(np.bool_)
        values = self.element.build(slots, strings)
        if len(values) == 0:
            # Absent values need a placeholder.
            values = column_from_values(self.type, [neutral(self.type)], strings)
        return OptionalColumn(valid, take(values, np.maximum(np.cumsum(valid) - 1, 0)))


def offsets(ends: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the offsets of lists from their ends."""
    counted = ends.view(np.int64)
    result = np.zeros(len(counted) + 1, np.int64)
    result[1:] = counted
    return result
