"""Traces of events with fields of any types, which depend on a seed alone."""

from __future__ import annotations

import random
from typing import Any

from support.traces.small_traces import trace_of

from converter.ir.events import EventClass, Field
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
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace, Track, TrackScope

_NAME = Field("name", StringClass(), Role.NAME)
_CATEGORY = Field("category", StringClass(), Role.CATEGORY)
_KINDS = (Kind.TYPED, Kind.INSTANT, Kind.SLICE_BEGIN, Kind.SLICE_END, Kind.TYPED, Kind.LOG)
_TEXTS = (b"", b"a", "né".encode(), b"\xff\xc3", b"0x1f", b"NaN", b"a\0b", b"long " * 90, b'"[\n')
_LABELS = (Label(0, 0, "zero"), Label(1, 5, "some"), Label(8, 8, "bit"))


def any_trace(seed: int, classes: int = 4, events: int = 24) -> Trace:
    """A trace of a few classes."""
    chance = random.Random(seed)
    declared = [_class(chance, number) for number in range(classes)]
    tracks = [Track(f"t{scope}", TrackScope(scope), 0) for scope in (1, 2)]
    tracks.append(Track("global", TrackScope.GLOBAL))
    held = [
        (
            number := chance.randrange(classes),
            1000 + 7 * time,
            chance.choice((-1, 0, 1, 3)),
            chance.choice((-1, 0, 1, 2)),
            [value_of(field.type, chance) for field in declared[number].fields],
            chance.choice((-1, -1, 0, 1, 2)),
        )
        for time in range(events)
    ]
    cut = chance.randrange(events)
    return trace_of(declared, held[:cut], held[cut:], tracks=tracks)


def many_threads(count: int = 300) -> Trace:
    """More threads than some formats have numbers for, whose events have texts too long for some records."""
    held = EventClass(
        Kind.INSTANT, fields=(_NAME, _CATEGORY, Field("texts", ArrayClass(StringClass())))
    )
    # The second is too long for a record, unless its texts are elsewhere.
    texts = [[], [b"%d" % number * 400 for number in range(25)], [b"a"]]
    events = [
        (
            0,
            10 + number,
            0,
            number % count,
            (b"x", b"c", texts[number % 97 if number % 97 < 3 else 0]),
        )
        for number in range(2 * count)
    ]
    return trace_of([held], events, tids=range(count))


def long_texts() -> Trace:
    """Texts, lists and bytes that some records hold only in part, or in others."""
    fields = [Field(f"text {number}", StringClass()) for number in range(3)]
    blob = Field("blob", BytesClass())
    declared = [
        EventClass(Kind.INSTANT, fields=(_NAME, _CATEGORY, *fields)),
        EventClass(Kind.INSTANT, fields=(_NAME, _CATEGORY, blob)),
        EventClass(Kind.LOG, fields=(Field("message", StringClass(), Role.MESSAGE),)),
        EventClass(
            Kind.SLICE_BEGIN, fields=(_NAME, _CATEGORY, Field("list", ArrayClass(StringClass())))
        ),
        EventClass(
            Kind.BLOB, fields=(_NAME, _CATEGORY, Field("payload", BytesClass(), Role.PAYLOAD))
        ),
    ]
    events = []
    for number, size in enumerate((3, 20_000, 31_999, 40_000, 70_000)):
        text, short = bytes([97 + number]) * size, b"n"
        events += [
            (0, 10 * number, 0, 1, [short, short, text, text[:20_000], text[:31_999]]),
            (0, 10 * number + 1, 0, 1, [text, short, short, short, short]),
            (1, 10 * number + 2, 0, 1, [short, text[:9000], text]),
            (2, 10 * number + 3, 0, 1, [text]),
            (3, 10 * number + 4, 0, 1, [short, short, [text[:9000]] * 4]),
            (4, 10 * number + 5, 0, 1, [text[:300], short, text]),
        ]
    return trace_of(declared, events, strings_as_ids=False)


def _class(chance: random.Random, number: int) -> EventClass:
    kind = chance.choice(_KINDS)
    fields = [Field(f"f{i}", field_class(chance)) for i in range(chance.randrange(1, 6))]
    if kind in (Kind.INSTANT, Kind.SLICE_BEGIN):
        fields[:0] = [_NAME, _CATEGORY]
    if kind is Kind.LOG:
        fields.insert(0, Field("message", StringClass(), Role.MESSAGE))
    name = f"event {number}" if kind is Kind.TYPED else ""
    return EventClass(kind, name, "system" if name else "", tuple(fields))


def field_class(chance: random.Random, depth: int = 0) -> FieldClass:
    """Any field class."""
    match chance.randrange(10 if depth < 3 else 6):
        case 0 | 1:
            bits = chance.choice((1, 7, 8, 16, 31, 32, 64))
            style = chance.choice((Style.DECIMAL, *Style))
            labels = _LABELS if bits > 7 and chance.random() < 0.3 else ()
            return IntegerClass(
                bits, chance.random() < 0.5, style, labels, bool(labels) and bits == 16
            )
        case 2:
            return StringClass()
        case 3:
            return FloatClass(chance.choice((32, 64)))
        case 4:
            return chance.choice((BooleanClass(), NullClass()))
        case 5:
            return BytesClass(chance.choice((BytesClass().media_type, "application/json")))
        case 6:
            return ArrayClass(field_class(chance, depth + 1), chance.choice((None, None, 0, 2)))
        case 7:
            return StructureClass(_members(chance, depth))
        case 8:
            return VariantClass(_members(chance, depth))
    inner = field_class(chance, depth + 1)
    # What may be absent anyway can be no more so.
    return inner if isinstance(inner, OptionalClass | NullClass) else OptionalClass(inner)


def _members(chance: random.Random, depth: int) -> tuple[Member, ...]:
    return tuple(
        Member(f"m{number}", field_class(chance, depth + 1))
        for number in range(chance.randrange(1, 4))
    )


def value_of(held: FieldClass, chance: random.Random) -> Any:
    """Any value of a field class."""
    match held:
        case IntegerClass(bits, signed):
            number = chance.choice((0, 1, 8, (1 << bits - signed) - 1, (1 << bits) // 3))
            number = min(number, (1 << bits - signed) - 1)
            return -number - 1 if signed and chance.random() < 0.5 else number
        case FloatClass():
            return chance.choice((0.0, -0.0, 1.5, -(2.0**40), float("inf"), float("nan")))
        case BooleanClass():
            return chance.random() < 0.5
        case StringClass() | BytesClass():
            return chance.choice(_TEXTS)
        case NullClass():
            return None
        case ArrayClass(element, length):
            size = chance.randrange(4) if length is None else length
            return [value_of(element, chance) for _ in range(size)]
        case StructureClass(members):
            return [(member.name, value_of(member.type, chance)) for member in members]
        case VariantClass(options):
            option = chance.choice(options)
            return option.name, value_of(option.type, chance)
        case OptionalClass(element):
            return None if chance.random() < 0.4 else value_of(element, chance)
    raise TypeError(held)
