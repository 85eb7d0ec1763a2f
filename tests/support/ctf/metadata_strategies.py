"""Hypothesis strategies for the classes that CTF metadata declare, as their parsers give them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from converter.formats.ctf.metadata.field_classes import (
    Array,
    Blob,
    FieldDeclaration,
    FieldRole,
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
    VariableInteger,
    Variant,
)
from converter.formats.ctf.metadata.trace_class import (
    ClockClass,
    EventRecordClass,
    StreamClass,
    TraceClass,
)

ORDERS: Any = st.sampled_from(("little", "big"))
ALIGNMENTS = st.sampled_from((1, 8, 16, 32))
BASES = st.sampled_from((2, 8, 10, 16))
WORDS = st.sampled_from(("a", "b", "len", "x1", "Y"))
#: Texts without null characters, which end those of TSDL.
TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=6)


@dataclass
class Place:
    """Where a field is: what came before it that says a length or selects something."""

    version: int
    scope: Scope
    path: tuple[str, ...] = ()
    lengths: list[Location] = field(default_factory=list)
    selectors: list[tuple[Location, tuple[Mapping, ...]]] = field(default_factory=list)
    booleans: list[Location] = field(default_factory=list)

    def inside(self, *names: str) -> Place:
        """The same further in: what is declared there is not seen outside."""
        return Place(
            self.version,
            self.scope,
            (*self.path, *names),
            list(self.lengths),
            list(self.selectors),
            list(self.booleans),
        )

    def usable_selectors(self) -> list[tuple[Location, tuple[Mapping, ...]]]:
        """In TSDL those of the structures around: readers find no others."""
        if self.version == 2:
            return self.selectors
        return [
            (selector, labels)
            for selector, labels in self.selectors
            if selector.scope is self.scope
            and selector.path[:-1] == self.path[: len(selector.path) - 1]
        ]


@st.composite
def mappings(draw: DrawFn, lowest: int, highest: int) -> tuple[Mapping, ...]:
    """Labels with ranges."""
    names = draw(st.lists(WORDS, min_size=1, max_size=3, unique=True))
    values = st.integers(lowest, highest)
    result = []
    for name in names:
        spans = draw(st.lists(st.tuples(values, values), min_size=1, max_size=2))
        result.append(Mapping(name, tuple(Range(min(one), max(one)) for one in spans)))
    return tuple(result)


@st.composite
def integers(draw: DrawFn, version: int) -> FixedInteger:
    """Integers of any kind."""
    length = draw(st.integers(1, 64))
    signed = draw(st.booleans())
    lowest = -(1 << (length - 1)) if signed else 0
    labels = draw(st.one_of(st.just(()), mappings(lowest, (1 << (length - signed)) - 1)))
    return FixedInteger(
        length,
        signed,
        draw(ORDERS),
        draw(ALIGNMENTS),
        draw(BASES),
        labels,
        reversed_bits=version == 2 and draw(st.booleans()),
    )


@st.composite
def field_classes(draw: DrawFn, place: Place, depth: int = 2) -> FieldDeclaration:
    """Field classes of a version; lengths and selectors are those that are at hand."""
    version = place.version
    choices = ["integer", "float", "string", "text"]
    if version == 1:
        choices.append("large")
    else:
        choices += ["bits", "boolean", "variable", "blob"]
    if depth:
        choices += ["array", "structure"]
        if place.lengths:
            choices.append("sequence")
        if place.usable_selectors():
            choices.append("variant")
        if place.booleans and version == 2:
            choices.append("optional")
    inner = depth - 1
    match draw(st.sampled_from(choices)):
        case "integer":
            return draw(integers(version))
        case "float":
            sizes = st.sampled_from((16, 32, 64, 128))
            return FixedFloat(draw(sizes), draw(ORDERS), draw(ALIGNMENTS))
        case "string":
            encodings = ("utf-8", "ascii") if version == 1 else ("utf-8", "utf-16be", "utf-32le")
            return Text(encoding=draw(st.sampled_from(encodings)))
        case "text":
            length: Any = draw(st.one_of(st.integers(0, 9), *map(st.just, place.lengths)))
            if version == 2:
                return Text(length)
            signed = draw(st.booleans())
            return Text(length, "utf-8", FixedInteger(8, signed, alignment=8, encoding="UTF8"))
        case "large":
            return FixedBits(draw(st.integers(65, 512)), draw(ORDERS), draw(ALIGNMENTS))
        case "bits":
            flags = draw(st.one_of(st.just(()), mappings(0, 7)))
            return FixedBits(8, draw(ORDERS), draw(ALIGNMENTS), flags, draw(st.booleans()))
        case "boolean":
            return FixedBoolean(draw(st.integers(1, 64)), draw(ORDERS), draw(ALIGNMENTS))
        case "variable":
            labels = draw(st.one_of(st.just(()), mappings(0, 300)))
            return VariableInteger(draw(st.booleans()), draw(BASES), labels)
        case "blob":
            length = draw(st.one_of(st.integers(0, 9), *map(st.just, place.lengths)))
            return Blob(length, draw(st.sampled_from(("application/octet-stream", "image/png"))))
        case "array":
            alignment = draw(ALIGNMENTS) if version == 2 else 1
            element = draw(field_classes(place.inside(), inner).filter(_is_no_character))
            return Array(element, draw(st.integers(0, 99)), alignment)
        case "sequence":
            element = draw(field_classes(place.inside(), inner).filter(_is_no_character))
            return Array(element, draw(st.sampled_from(place.lengths)))
        case "variant":
            return draw(variants(place, inner))
        case "optional":
            element = draw(field_classes(place.inside(), inner))
            return Optional(draw(st.sampled_from(place.booleans)), element)
        case _:
            return draw(structures(place.inside(), inner))


def _is_no_character(declared: FieldDeclaration) -> bool:
    return not (isinstance(declared, FixedInteger) and declared.encoding)


@st.composite
def variants(draw: DrawFn, place: Place, depth: int) -> Variant:
    """Variants whose options have the names of the selector's labels, in TSDL the only ones that they can have."""
    selector, labels = draw(st.sampled_from(place.usable_selectors()))
    options = tuple(
        Option(
            label.name,
            draw(field_classes(place.inside(), depth)),
            # What a value selects is unambiguous in CTF 2; in TSDL labels may overlap.
            label.ranges if place.version == 1 else (Range(number, number),),
            label.name if place.version == 1 else "",
        )
        for number, label in enumerate(labels)
    )
    return Variant(selector, options)


@st.composite
def structures(draw: DrawFn, place: Place, depth: int = 2) -> Structure:
    """Structures, with fields that further ones refer to among their members."""
    members = []
    names = WORDS if place.version == 1 else st.one_of(WORDS, TEXTS)
    for name in draw(st.lists(names, max_size=4, unique=True)):
        here = (*place.path, name)
        location = Location(place.scope, here)
        declared: FieldDeclaration = draw(field_classes(place.inside(name), depth))
        number = isinstance(declared, FixedInteger | VariableInteger)
        if number and not declared.signed:
            place.lengths.append(location)
        if number and declared.mappings:
            place.selectors.append((location, declared.mappings))
        if isinstance(declared, FixedBoolean):
            place.booleans.append(location)
        members.append(Member(name, declared, f"_{name}" if place.version == 1 else ""))
    return Structure(tuple(members), draw(ALIGNMENTS))


@st.composite
def trace_classes(draw: DrawFn, version: int) -> TraceClass:
    """Traces as metadata of a version declare them."""
    trace = TraceClass((1, 8) if version == 1 else (2, 0))
    trace.uuid = draw(st.one_of(st.none(), st.builds(UUID, int=st.integers(0, (1 << 128) - 1))))
    values = st.one_of(TEXTS, st.integers(-(1 << 63), (1 << 63) - 1))
    names = st.one_of(WORDS, TEXTS)
    trace.environment = draw(st.dictionaries(names, values, max_size=3))
    if version == 1:
        trace.byte_order = draw(ORDERS)
    else:
        trace.name, trace.uid, trace.namespace = draw(st.tuples(TEXTS, TEXTS, TEXTS))
    place = Place(version, Scope.PACKET_HEADER)
    trace.packet_header = draw(st.one_of(st.none(), structures(place)))
    for name in draw(st.lists(WORDS, max_size=2, unique=True)):
        clock = draw(clocks(version, name))
        trace.clocks[name] = clock
    ids = draw(st.lists(st.integers(0, 9), min_size=version == 2, max_size=2, unique=True))
    if len(ids) > 1 or (version == 1 and ids not in ([], [0])):
        # Only packets that say of which class they are make sense of ids.
        role = FieldRole.STREAM_CLASS_ID
        trace.packet_header = _with_id(trace.packet_header, "stream_id", role, version)
    for id in ids:
        trace.streams[id] = draw(streams(trace, version, id, place))
    return trace


def _with_id(before: Structure | None, name: str, role: FieldRole, version: int) -> Structure:
    """A structure with the field that says of which class something is."""
    held = FixedInteger(32, roles=frozenset({role}))
    member = Member(name, held, name if version == 1 else "")
    before = before or Structure()
    assert all(one.name != name for one in before.members)
    return Structure((*before.members, member), before.minimum_alignment)


@st.composite
def clocks(draw: DrawFn, version: int, name: str) -> ClockClass:
    """Clocks that say whether they count from 1970."""
    frequency = draw(st.integers(1, (1 << 64) - 1))
    clock = ClockClass(
        name,
        frequency,
        draw(st.integers(-(1 << 40), 1 << 20)),
        draw(st.integers(0, min(frequency - 1, 1000))),
        unix_epoch=draw(st.booleans()),
        description=draw(TEXTS),
        precision=draw(st.one_of(st.none(), st.integers(0, 99))),
    )
    if version == 2:
        clock.id = name
        clock.uid = draw(TEXTS)
        clock.accuracy = draw(st.one_of(st.none(), st.integers(0, 99)))
        if not clock.unix_epoch:
            origins = st.tuples(st.one_of(st.none(), WORDS), TEXTS, TEXTS)
            clock.origin = draw(st.one_of(st.none(), origins))
    return clock


@st.composite
def streams(draw: DrawFn, trace: TraceClass, version: int, id: int, header: Place) -> StreamClass:
    """Stream classes; fields of a scope are referred to from the scopes behind it."""
    stream = StreamClass(id)
    if version == 2:
        stream.name = draw(TEXTS)
        stream.clock = draw(st.sampled_from(("", *trace.clocks)))
    elif len(trace.clocks) == 1:
        stream.clock = next(iter(trace.clocks))
    place = header.inside()
    for scope, name in (
        (Scope.PACKET_CONTEXT, "packet_context"),
        (Scope.EVENT_HEADER, "event_header"),
        (Scope.COMMON_CONTEXT, "common_context"),
    ):
        place.scope = scope
        setattr(stream, name, draw(st.one_of(st.none(), structures(place, 1))))
    numbers = draw(st.lists(st.integers(0, 1 << 40), max_size=2, unique=True))
    if len(numbers) > 1:
        role = FieldRole.EVENT_CLASS_ID
        stream.event_header = _with_id(stream.event_header, "id", role, version)
    for number in numbers:
        own = place.inside()
        own.scope = Scope.SPECIFIC_CONTEXT
        event = EventRecordClass(number, draw(TEXTS))
        event.specific_context = draw(st.one_of(st.none(), structures(own, 1)))
        own.scope = Scope.PAYLOAD
        event.payload = draw(st.one_of(st.none(), structures(own)))
        event.model_uri = draw(TEXTS)
        level = st.integers(-5, 20) if version == 1 else st.one_of(WORDS, st.integers(0, 9))
        event.log_level = draw(st.one_of(st.none(), level))
        stream.events[number] = event
    return stream
