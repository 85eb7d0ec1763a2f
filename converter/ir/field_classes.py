"""Field classes: the declared type of a field, in CTF's terms (CTF2-SPEC-2.0, "Field classes").

A field class determines how a column is stored (see `columns`) and how a value reads. All are immutable and hashable,
so an event class can be compared and interned by value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, unique
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


@unique
class Style(IntEnum):
    """The display style of an integer. The stored value is the same in every style."""

    DECIMAL = 0
    HEXADECIMAL = 1
    OCTAL = 2
    BINARY = 3
    POINTER = 4
    OBJECT_ID = 5
    SYMBOL = 6
    CHARACTER = 7


class Label(NamedTuple):
    """The name of a range of values of an integer field (CTF enumeration mapping)."""

    low: int
    high: int
    text: str


@dataclass(frozen=True, slots=True)
class IntegerClass:
    """An integer of `bits` (1..64) bits, stored in the next of 8, 16, 32, 64.

    With `flags`, each label names a mask of bits, else a range of values.
    """

    bits: int = 64
    signed: bool = False
    style: Style = Style.DECIMAL
    labels: tuple[Label, ...] = ()
    flags: bool = False

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The NumPy type of the column."""
        width = 8 if self.bits <= 8 else 16 if self.bits <= 16 else 32 if self.bits <= 32 else 64
        return np.dtype(f"{'i' if self.signed else 'u'}{width // 8}")

    @property
    def least(self) -> int:
        """The lowest number of this many bits."""
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def most(self) -> int:
        """The highest number of this many bits."""
        return (1 << self.bits - self.signed) - 1

    def holds(self, numbers: NDArray[np.integer[Any]]) -> bool:
        """Return True if all of these integers, of any type, are in range."""
        # As numbers of Python: NumPy compares signed with unsigned 64-bit ones as floats.
        return not len(numbers) or (
            self.least <= int(numbers.min()) and int(numbers.max()) <= self.most
        )


@dataclass(frozen=True, slots=True)
class FloatClass:
    """An IEEE 754 number of 32 or 64 bits."""

    bits: int = 64

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The NumPy type of the column."""
        return np.dtype(f"f{self.bits // 8}")


@dataclass(frozen=True, slots=True)
class BooleanClass:
    """True or false; the column is of NumPy bool."""


@dataclass(frozen=True, slots=True)
class StringClass:
    """Text: bytes that are usually UTF-8, and are kept unchanged if they are not.

    The column is int32 ids of the trace's strings, or a `ListColumn` of uint8 if values hardly ever repeat (log
    messages), so that memory stays bounded by a batch.
    """


@dataclass(frozen=True, slots=True)
class BytesClass:
    """Uninterpreted bytes (CTF BLOB); the column is a `ListColumn` of uint8."""

    media_type: str = "application/octet-stream"

    @property
    def is_native(self) -> bool:
        """True if the bytes are words of a record that only its own format has, and no viewer shows."""
        return self.media_type.startswith("application/x-") and self.media_type.endswith("-words")


@dataclass(frozen=True, slots=True)
class NullClass:
    """A name without a value (FXT null argument, JSON null)."""


@dataclass(frozen=True, slots=True)
class ArrayClass:
    """`length` elements, or with None as many as each event has."""

    element: FieldClass
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A named member of a structure or option of a variant."""

    name: str
    type: FieldClass


@dataclass(frozen=True, slots=True)
class StructureClass:
    """Named members in order. Names may repeat (JSON objects, C padding), so position identifies them."""

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class VariantClass:
    """One of several options, chosen per event."""

    options: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class OptionalClass:
    """A value that may be absent from an event."""

    element: FieldClass


FieldClass = (
    IntegerClass
    | FloatClass
    | BooleanClass
    | StringClass
    | BytesClass
    | NullClass
    | ArrayClass
    | StructureClass
    | VariantClass
    | OptionalClass
)


def type_name(field_class: FieldClass) -> str:
    """Return a short name of a field class."""
    match field_class:
        case IntegerClass(bits, signed):
            return f"{'int' if signed else 'uint'}{bits}"
        case FloatClass(bits):
            return f"float{bits}"
        case ArrayClass(element, length):
            return f"{type_name(element)}[{'' if length is None else length}]"
        case OptionalClass(element):
            return f"{type_name(element)}?"
    return type(field_class).__name__.removesuffix("Class").lower()


def parts_of(held: FieldClass) -> Iterator[FieldClass]:
    """Return a field class, and those that its values consist of."""
    yield held
    match held:
        case ArrayClass(element) | OptionalClass(element):
            yield from parts_of(element)
        case StructureClass(members) | VariantClass(members):
            for member in members:
                yield from parts_of(member.type)


def media_types_of(held: FieldClass) -> Iterator[str]:
    """Return the media types of byte strings in values of a field class."""
    return (part.media_type for part in parts_of(held) if isinstance(part, BytesClass))
