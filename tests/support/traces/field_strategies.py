"""Hypothesis strategies for field classes, and for the values that fields of them have."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from converter.ir.events import Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Label,
    Member,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)
from converter.ir.kinds import Role

_TEXT_ROLES = frozenset(
    {
        Role.NAME,
        Role.CATEGORY,
        Role.SCOPE,
        Role.MESSAGE,
        Role.COMM,
        Role.PREV_COMM,
        Role.NEXT_COMM,
        Role.PARENT_COMM,
        Role.OLD_COMM,
        Role.NEW_COMM,
        Role.FILENAME,
    }
)

INTEGERS = tuple(IntegerClass(bits, signed) for bits in (8, 16, 32, 64) for signed in (False, True))

#: Durations stay far from the end of time, so that begin + duration is a time.
_LONGEST = 1 << 40


@dataclass(frozen=True)
class Contents:
    """Strategies for what stands in strings, byte strings and names."""

    texts: SearchStrategy[bytes]
    blobs: SearchStrategy[bytes]
    names: SearchStrategy[str]


@cache  # or each draw would lay out anew what characters there are
def texts(*, utf8_only: bool = True, max_bytes: int | None = None) -> SearchStrategy[bytes]:
    """Strings as bytes: short ones, of letters that repeat, of any script, and of any bytes where allowed."""
    size = 8 if max_bytes is None else min(8, max_bytes // 4)
    text = st.text(
        st.one_of(st.sampled_from("ab/é"), st.characters(exclude_categories=("Cs",))), max_size=size
    )
    encoded = text.map(str.encode)
    return encoded if utf8_only else st.one_of(encoded, st.binary(max_size=size))


@cache
def names(*, utf8_only: bool = True, max_bytes: int | None = None) -> SearchStrategy[str]:
    """Strings as the tables of a trace hold them: bytes that are not UTF-8 as surrogates."""
    return texts(utf8_only=utf8_only, max_bytes=max_bytes).map(
        lambda text: text.decode("utf-8", "surrogateescape")
    )


NAMES = names()

#: Whatever the IR allows.
ANYTHING = Contents(texts(utf8_only=False), st.binary(max_size=12), names(utf8_only=False))


@st.composite
def integer_classes(draw: DrawFn) -> IntegerClass:
    """Integers of any width, style and labels."""
    bits = draw(st.one_of(st.sampled_from((8, 16, 32, 64)), st.integers(1, 64)))
    signed = draw(st.booleans())
    low, high = integer_range(bits, signed)
    labels = []
    for _ in range(draw(st.integers(0, 2))):
        ends = sorted((draw(st.integers(low, high)), draw(st.integers(low, high))))
        labels.append(Label(ends[0], ends[1], draw(names())))
    return IntegerClass(
        bits,
        signed,
        draw(st.sampled_from(Style)),
        tuple(labels),
        bool(labels) and draw(st.booleans()),
    )


def integer_range(bits: int, signed: bool) -> tuple[int, int]:
    """The least and the greatest integer of so many bits."""
    return (-1 << bits - 1, (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def scalar_classes() -> SearchStrategy[FieldClass]:
    """Field classes without others inside."""
    return st.one_of(
        st.sampled_from(INTEGERS),
        st.just(StringClass()),
        integer_classes(),
        st.sampled_from(
            (
                FloatClass(32),
                FloatClass(64),
                BooleanClass(),
                BytesClass(),
                BytesClass("image/png"),
                NullClass(),
            )
        ),
    )


def nested_classes(
    leaves: SearchStrategy[FieldClass],
    *,
    arrays: bool = True,
    structures: bool = True,
    variants: bool = True,
    optionals: bool = True,
    names: SearchStrategy[str] = NAMES,
) -> SearchStrategy[FieldClass]:
    """The leaves, and what is built from them with the allowed classes."""

    def extended(inner: SearchStrategy[FieldClass]) -> SearchStrategy[FieldClass]:
        choices: list[SearchStrategy[FieldClass]] = []
        if arrays:
            lengths = st.one_of(st.none(), st.integers(0, 3))
            choices.append(st.builds(ArrayClass, inner, lengths))
        members = st.builds(Member, names, inner)
        if structures:
            choices.append(st.lists(members, max_size=3).map(tuple).map(StructureClass))
        if variants:
            options = st.lists(members, min_size=1, max_size=3, unique_by=lambda o: o.name)
            choices.append(options.map(tuple).map(VariantClass))
        if optionals:
            plain = inner.filter(lambda held: not isinstance(held, NullClass | OptionalClass))
            choices.append(plain.map(OptionalClass))
        return st.one_of(choices)

    if not (arrays or structures or variants or optionals):
        return leaves
    return st.recursive(leaves, extended, max_leaves=4)


#: Every field class that the IR has.
FIELD_CLASSES = nested_classes(scalar_classes())


def _single(bits: int) -> float:
    """The float of these 32 bits; of those that are no number, the usual one."""
    (number,) = struct.unpack("<f", bits.to_bytes(4, "little"))
    return math.nan if math.isnan(number) else float(number)


#: `st.floats(width=32)` fails where an example is made of another that has a larger double in this place.
_SINGLES = st.one_of(
    st.sampled_from((0.0, -0.0, 0.5, -1.0, math.inf, -math.inf, math.nan)),
    st.integers(0, (1 << 32) - 1).map(_single),
)


def values(field_class: FieldClass, contents: Contents = ANYTHING) -> SearchStrategy[Any]:
    """Values of a field class, as `column_from_values` takes them."""
    match field_class:
        case IntegerClass(bits, signed):
            return st.integers(*integer_range(bits, signed))
        case FloatClass(bits):
            return _SINGLES if bits == 32 else st.floats()
        case BooleanClass():
            return st.booleans()
        case StringClass():
            return contents.texts
        case BytesClass():
            return contents.blobs
        case NullClass():
            return st.none()
        case ArrayClass(element, length):
            return st.lists(
                values(element, contents),
                min_size=length or 0,
                max_size=3 if length is None else length,
            )
        case StructureClass(members):
            held = [st.tuples(st.just(m.name), values(m.type, contents)) for m in members]
            return st.tuples(*held).map(list)
        case VariantClass(options):
            return st.one_of(
                [st.tuples(st.just(o.name), values(o.type, contents)) for o in options]
            )
        case OptionalClass(element):
            return st.one_of(st.none(), values(element, contents))


def field_values(field: Field, contents: Contents) -> SearchStrategy[Any]:
    """Values of a field: those of its class that its role allows."""
    if field.role is Role.DURATION and isinstance(field.type, IntegerClass):
        _, high = integer_range(field.type.bits, field.type.signed)
        return st.integers(0, min(high, _LONGEST))
    return values(field.type, contents)


@cache
def role_types(role: Role) -> SearchStrategy[FieldClass]:
    """The field classes in which a role comes."""
    if role in _TEXT_ROLES:
        return st.just(StringClass())
    if role is Role.DURATION:
        return st.sampled_from((IntegerClass(64), IntegerClass(64, signed=True), IntegerClass(32)))
    if role is Role.FRAMES:
        return st.just(ArrayClass(IntegerClass(64, style=Style.POINTER)))
    if role is Role.SYSCALL_ARGUMENTS:
        return st.just(ArrayClass(IntegerClass(64), 6))
    if role is Role.PAYLOAD:
        return st.just(BytesClass())
    if role in (Role.ID, Role.TYPE):
        return st.sampled_from((IntegerClass(64), StringClass()))
    return st.sampled_from(INTEGERS)
