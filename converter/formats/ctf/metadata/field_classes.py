"""Field classes as CTF declares them: the bit layout of records, for both versions of the format.

The terms are those of CTF2-SPEC-2.0 ("Field classes"); what only CTF 1.8 has (TSDL) is expressed in them. Parsers of
both versions produce these; the decoding program and the printers consume them. All are immutable and hashable.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum, unique
from typing import Literal, NamedTuple

ByteOrder = Literal["little", "big"]


@unique
class Scope(IntEnum):
    """The structures around and in an event record, in the order in which they are decoded (CTF2-SPEC-2.0, 6)."""

    PACKET_HEADER = 0
    PACKET_CONTEXT = 1
    EVENT_HEADER = 2
    COMMON_CONTEXT = 3
    SPECIFIC_CONTEXT = 4
    PAYLOAD = 5


@unique
class FieldRole(StrEnum):
    """The meaning of a field's value for the reader, under CTF 2's name for the role."""

    MAGIC = "packet-magic-number"
    METADATA_UUID = "metadata-stream-uuid"
    STREAM_CLASS_ID = "data-stream-class-id"
    STREAM_ID = "data-stream-id"
    PACKET_LENGTH = "packet-total-length"
    CONTENT_LENGTH = "packet-content-length"
    TIMESTAMP = "default-clock-timestamp"
    PACKET_END_TIMESTAMP = "packet-end-default-clock-timestamp"
    SEQUENCE_NUMBER = "packet-sequence-number"
    DISCARDED = "discarded-event-record-counter-snapshot"
    EVENT_CLASS_ID = "event-record-class-id"


class Range(NamedTuple):
    """Integers from `low` to `high`, both included."""

    low: int
    high: int


class Mapping(NamedTuple):
    """The name of some ranges of an integer's values (enumeration label)."""

    name: str
    ranges: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Location:
    """The location of a field that holds a length or selects an option.

    Always absolute: the member names from the root structure of `scope` down. Arrays, variants and optionals on the
    path have no name of their own; it goes through their current element or selected option.
    """

    scope: Scope
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FixedInteger:
    """An integer of `length` bits (1..64) whose first bit is at a multiple of `alignment` bits."""

    length: int
    signed: bool = False
    byte_order: ByteOrder = "little"
    alignment: int = 1
    #: The preferred display base: 2, 8, 10 or 16.
    base: int = 10
    mappings: tuple[Mapping, ...] = ()
    roles: frozenset[FieldRole] = frozenset()
    #: CTF 1.8: the clock that it is mapped to.
    clock: str = ""
    #: CTF 1.8: the encoding of a character, "UTF8" or "ASCII"; arrays of such bytes are strings.
    encoding: str = ""
    #: CTF 2: "last-to-first" if bits are counted in the opposite direction to the byte order.
    reversed_bits: bool = False


@dataclass(frozen=True, slots=True)
class FixedBits:
    """A bit array (CTF 2), or a bit map where `flags` names ranges of its bits."""

    length: int
    byte_order: ByteOrder = "little"
    alignment: int = 1
    flags: tuple[Mapping, ...] = ()
    reversed_bits: bool = False


@dataclass(frozen=True, slots=True)
class FixedBoolean:
    """A boolean: false if all bits are 0."""

    length: int
    byte_order: ByteOrder = "little"
    alignment: int = 1
    reversed_bits: bool = False


@dataclass(frozen=True, slots=True)
class FixedFloat:
    """An IEEE 754 number of 16, 32, 64 or 128 bits (those of 32 and 64 have values here)."""

    length: int
    byte_order: ByteOrder = "little"
    alignment: int = 1
    reversed_bits: bool = False


@dataclass(frozen=True, slots=True)
class VariableInteger:
    """LEB128, byte-aligned (CTF 2)."""

    signed: bool = False
    base: int = 10
    mappings: tuple[Mapping, ...] = ()
    roles: frozenset[FieldRole] = frozenset()


@dataclass(frozen=True, slots=True)
class Text:
    """A byte-aligned string: null-terminated, of `length` bytes, or of the length in the field at `length`.

    Those with a length end at their first null character. `encoding` is "utf-8", "utf-16be" ..., or "ascii".
    """

    length: int | Location | None = None
    encoding: str = "utf-8"
    #: CTF 1.8: the integer class whose array the string is.
    element: FixedInteger | None = None


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes (CTF 2)."""

    length: int | Location
    media_type: str = "application/octet-stream"
    roles: frozenset[FieldRole] = frozenset()


@dataclass(frozen=True, slots=True)
class Array:
    """`length` elements, or the number in the field at `length`."""

    element: FieldDeclaration
    length: int | Location
    minimum_alignment: int = 1
    #: CTF 1.8: the trace's UUID in the packet header.
    roles: frozenset[FieldRole] = frozenset()


class Member(NamedTuple):
    """A named member of a structure. `name` is as displayed: without the underscore that CTF 1.8 puts before names.

    `declared` is the name as the metadata has it.
    """

    name: str
    type: FieldDeclaration
    declared: str = ""


@dataclass(frozen=True, slots=True)
class Structure:
    """Members in order."""

    members: tuple[Member, ...] = ()
    minimum_alignment: int = 1


class Option(NamedTuple):
    """An option of a variant, selected by any of `ranges`. `name` as for members; may be empty in CTF 2."""

    name: str
    type: FieldDeclaration
    ranges: tuple[Range, ...]
    declared: str = ""


@dataclass(frozen=True, slots=True)
class Variant:
    """One of several options, selected by the field at `selector`."""

    selector: Location
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Optional:
    """Present if the field at `selector` is true, or if its value is in `ranges` where these are given (CTF 2)."""

    selector: Location
    element: FieldDeclaration
    ranges: tuple[Range, ...] | None = None


FieldDeclaration = (
    FixedInteger
    | FixedBits
    | FixedBoolean
    | FixedFloat
    | VariableInteger
    | Text
    | Blob
    | Array
    | Structure
    | Variant
    | Optional
)


def alignment_of(declared: FieldDeclaration) -> int:
    """Return the alignment of a field of this class in bits (CTF 1.8.3, 4.1.2; CTF2-SPEC-2.0, 6.4)."""
    match declared:
        case FixedInteger() | FixedBits() | FixedBoolean() | FixedFloat():
            return declared.alignment
        case VariableInteger() | Text() | Blob():
            if isinstance(declared, Text) and declared.element is not None:
                return max(8, declared.element.alignment)
            return 8
        case Array():
            return max(declared.minimum_alignment, alignment_of(declared.element))
        case Structure():
            alignments = [alignment_of(member.type) for member in declared.members]
            return max([declared.minimum_alignment, *alignments])
        case Variant() | Optional():
            return 1
