"""The metadata of one version of CTF expressed in the other, for the same data streams.

The bytes of packets and records are the same in both versions (CTF2-SPEC-2.0, 6), so that a trace is converted to
the other version by its metadata alone. CTF 2 can express nearly all of CTF 1.8, and CTF 1.8 can express what tracers
use of CTF 2. Whether a given trace can be expressed is found by printing its metadata and parsing them back.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from converter.errors import TraceError, UnsupportedError
from converter.formats.ctf.metadata.consistency import broken_clauses
from converter.formats.ctf.metadata.ctf2.printer import print_sequence
from converter.formats.ctf.metadata.field_classes import (
    Array,
    Blob,
    ByteOrder,
    FieldDeclaration,
    FieldRole,
    FixedBits,
    FixedInteger,
    Mapping,
    Member,
    Option,
    Optional,
    Range,
    Structure,
    Text,
    Variant,
)
from converter.formats.ctf.metadata.field_trees import roles_in
from converter.formats.ctf.metadata.files import parse_metadata
from converter.formats.ctf.metadata.trace_class import (
    LOG_LEVELS,
    TSDL_ATTRIBUTES,
    ClockClass,
    EventRecordClass,
    StreamClass,
    TraceClass,
)
from converter.formats.ctf.metadata.tsdl.lexer import KEYWORDS
from converter.formats.ctf.metadata.tsdl.printer import print_tsdl

_TIMES: Final = frozenset({FieldRole.TIMESTAMP, FieldRole.PACKET_END_TIMESTAMP})
_BYTE: Final = FixedInteger(8, alignment=8)
#: Babeltrace's name for the clock of a CTF 1.8 trace that has times and no clock.
_UNKNOWN_CLOCK: Final = "default"


def metadata_in(trace: TraceClass, version: int) -> bytes:
    """Return the metadata file in version 1 (1.8) or 2 that declares the data streams of `trace`, which is of the
    other.

    Raises:
        UnsupportedError: that version cannot express them.

    """
    if version == 2:
        data = print_sequence(_as_ctf2(trace))
    else:
        data = print_tsdl(_as_tsdl(trace)).encode("utf-8", "surrogateescape")
    try:
        again = parse_metadata(data)
    except TraceError as error:
        raise _unsupported("the other version does not allow what was said") from error
    if _layout(_as_ctf2(again)) != _layout(_as_ctf2(trace)):
        raise _unsupported("the other version has no words for a field class")
    for clause in broken_clauses(again):
        raise _unsupported(f"readers of the other version would refuse it: {clause}")
    return data


def _layout(trace: TraceClass) -> tuple[Any, ...]:
    """Return everything that decides how the data streams are decoded."""
    names = {id: clock.name or id for id, clock in trace.clocks.items()}
    clocks = {
        names[id]: (
            clock.frequency,
            clock.offset_seconds * clock.frequency + clock.offset_cycles,
            clock.unix_epoch,
        )
        for id, clock in trace.clocks.items()
    }
    streams = {
        id: (
            names.get(stream.clock),
            stream.packet_context,
            stream.event_header,
            stream.common_context,
            {number: _event_layout(event) for number, event in stream.events.items()},
        )
        for id, stream in trace.streams.items()
    }
    return trace.uuid, trace.environment, trace.packet_header, clocks, streams


def _event_layout(event: EventRecordClass) -> tuple[Any, ...]:
    return (
        event.name,
        event.specific_context,
        event.payload,
    )


def _unsupported(what: str) -> UnsupportedError:
    return UnsupportedError(what, format="ctf", field="metadata")


# In CTF 2


def _as_ctf2(trace: TraceClass) -> TraceClass:
    """Return the same classes without what only TSDL has: declared names, clocks of integers, character encodings."""
    clocks = {name: replace(clock, id=name) for name, clock in trace.clocks.items()}
    return replace(
        trace,
        version=(2, 0),
        packet_header=_packet_header(trace),
        clocks=clocks,
        streams={
            id: replace(
                stream,
                clock=_clock_of(stream, clocks),
                packet_context=_root(stream.packet_context),
                event_header=_root(stream.event_header),
                common_context=_root(stream.common_context),
                events={number: _event(event) for number, event in stream.events.items()},
            )
            for id, stream in trace.streams.items()
        },
        remarks=[],
    )


def _packet_header(trace: TraceClass) -> Structure | None:
    """Return the header; bytes called `uuid` are the metadata's UUID only if the metadata has one."""
    header = _root(trace.packet_header)
    if header is None or trace.uuid is not None:
        return header
    return replace(
        header,
        members=tuple(
            one._replace(type=replace(one.type, roles=frozenset()))
            if isinstance(one.type, Blob)
            else one
            for one in header.members
        ),
    )


def _clock_of(stream: StreamClass, clocks: dict[str, ClockClass]) -> str:
    """Return the stream's default clock if it has times. In CTF 1.8, times without a clock are nanoseconds of an
    unknown one.
    """
    if not _TIMES & (roles_in(stream.packet_context) | roles_in(stream.event_header)):
        return ""
    if stream.clock:
        return stream.clock
    name = _UNKNOWN_CLOCK
    while name in clocks and clocks[name] != ClockClass(name, id=name):
        name += "_"
    clocks.setdefault(name, ClockClass(name, id=name))
    return name


def _event(event: EventRecordClass) -> EventRecordClass:
    level, attributes = event.log_level, event.attributes
    if isinstance(level, int):
        if 0 <= level < len(LOG_LEVELS):
            level = LOG_LEVELS[level]
        else:
            level, attributes = None, {**attributes, "loglevel": level}
    if is_tsdl(attributes):
        attributes = {"attributes": {TSDL_ATTRIBUTES: attributes}}
    return replace(
        event,
        log_level=level,
        attributes=attributes,
        specific_context=_root(event.specific_context),
        payload=_root(event.payload),
    )


def _root(structure: Structure | None) -> Structure | None:
    return None if structure is None else _structure(structure)


def _structure(structure: Structure) -> Structure:
    members = tuple(Member(one.name, _field(one.type)) for one in structure.members)
    return replace(structure, members=members)


def _field(declared: FieldDeclaration) -> FieldDeclaration:
    match declared:
        case FixedInteger(mappings=mappings):
            return replace(declared, clock="", encoding="", mappings=_merged(mappings))
        case FixedBits(length) if length > 64:
            raise _unsupported(f"CTF 2 has no integers of {length} bits")
        case Text(length, encoding, element):
            if element is not None and (element.length, element.alignment) != (8, 8):
                raise _unsupported("CTF 2 has no strings of characters that are not bytes")
            return Text(length, "utf-8" if encoding == "ascii" else encoding)
        case Array(_, 16, roles=roles) if FieldRole.METADATA_UUID in roles:
            return Blob(16, roles=roles)
        case Array(element):
            return replace(declared, element=_field(element))
        case Structure():
            return _structure(declared)
        case Variant(selector, options):
            return Variant(
                selector,
                tuple(
                    option._replace(type=_field(option.type), declared="")
                    for option in selected(options)
                ),
            )
        case Optional(element=element):
            return replace(declared, element=_field(element))
        case _:
            return declared


def selected(options: Iterable[Option]) -> Iterator[Option]:
    """Return the options with the values that select them: where labels overlap, the first option has the value.

    Options that no label selects never occur and are left out.
    """
    taken: list[Range] = []
    for option in options:
        ranges = [left for span in option.ranges for left in _without(span, taken)]
        taken += ranges
        if ranges:
            yield option._replace(ranges=tuple(ranges))


def _without(span: Range, taken: Iterable[Range]) -> list[Range]:
    """Return the parts of a range that are not in `taken`."""
    left = [span]
    for other in taken:
        left = [
            part
            for one in left
            for part in (
                Range(one.low, min(one.high, other.low - 1)),
                Range(max(one.low, other.high + 1), one.high),
            )
            if part.low <= part.high
        ]
    return left


def _merged(mappings: Iterable[Mapping]) -> tuple[Mapping, ...]:
    """Return mappings that combine all ranges of the same name."""
    ranges: dict[str, tuple[Any, ...]] = {}
    for name, spans in mappings:
        ranges[name] = (*ranges.get(name, ()), *spans)
    return tuple(Mapping(name, spans) for name, spans in ranges.items())


# In CTF 1.8


def _as_tsdl(trace: TraceClass) -> TraceClass:
    """Return the same classes for TSDL, without what it cannot express (see `metadata_losses`)."""
    names = {id: clock.name or id for id, clock in trace.clocks.items()}
    if len(set(names.values())) < len(names):
        raise _unsupported("two clocks have one name")
    for name in trace.environment:
        if not name.isascii() or not name.isidentifier() or name in KEYWORDS:
            raise _unsupported(f"CTF 1.8 has no entry {name!r} in its environment")
    return replace(
        trace,
        version=(1, 8),
        byte_order=_byte_order(trace),
        packet_header=_tsdl_root(trace.packet_header, ""),
        clocks={names[id]: _tsdl_clock(clock, names[id]) for id, clock in trace.clocks.items()},
        streams={
            id: _tsdl_stream(stream, names.get(stream.clock, ""))
            for id, stream in trace.streams.items()
        },
    )


def _tsdl_clock(clock: ClockClass, name: str) -> ClockClass:
    """Return the clock: in TSDL it can have a UUID, and no other origin than the common one of all clocks."""
    try:
        uid = str(UUID(clock.uid))
    except ValueError:
        uid = ""
    return replace(clock, name=name, id="", uid=uid, origin=None, accuracy=None)


def _tsdl_stream(stream: StreamClass, clock: str) -> StreamClass:
    return replace(
        stream,
        clock=clock,
        packet_context=_tsdl_root(stream.packet_context, clock),
        event_header=_tsdl_root(stream.event_header, clock),
        common_context=_tsdl_root(stream.common_context, None),
        events={number: _tsdl_event(event) for number, event in stream.events.items()},
    )


def _tsdl_event(event: EventRecordClass) -> EventRecordClass:
    level = event.log_level
    if isinstance(level, str):
        level = LOG_LEVELS.index(level) if level in LOG_LEVELS else None
    attributes = tsdl_attributes(event.attributes)
    return replace(
        event,
        log_level=level,
        attributes=attributes,
        specific_context=_tsdl_root(event.specific_context, None),
        payload=_tsdl_root(event.payload, None),
    )


def is_tsdl(attributes: dict[str, Any]) -> bool:
    """Return True if these are unknown attributes from TSDL, not those of a CTF 2 class."""
    return bool(attributes.keys() - {"namespace", "uid", "attributes", "extensions"})


def tsdl_attributes(attributes: dict[str, Any]) -> dict[str, str | int]:
    """Return the attributes that a class had in TSDL, as CTF 2 keeps them; their values are untrusted."""
    held = attributes.get("attributes", {}).get(TSDL_ATTRIBUTES)
    if isinstance(held, dict) and all(type(one) in (str, int) for one in held.values()):
        return held
    return {}


def _byte_order(trace: TraceClass) -> ByteOrder:
    """Return the byte order of the first integer, which becomes that of the trace."""
    for member in trace.packet_header.members if trace.packet_header is not None else ():
        if isinstance(member.type, FixedInteger):
            return member.type.byte_order
    return "little"


def _tsdl_root(structure: Structure | None, clock: str | None) -> Structure | None:
    return None if structure is None else _tsdl_structure(structure, clock)


def _tsdl_structure(structure: Structure, clock: str | None) -> Structure:
    """Return a structure for TSDL.

    `clock` is the stream's in packets and record headers, and None in what is recorded. Names in headers have a meaning
    and are kept as they are; other names get LTTng's leading underscore.
    """
    shown: set[str] = set()
    members = []
    for one in structure.members:
        declared = recorded_name(one.name, shown) if clock is None else _plain_name(one.name)
        members.append(Member(one.name, _tsdl_field(one.type, clock), declared))
        shown.add(one.name)
    return replace(structure, members=tuple(members))


def recorded_name(name: str, earlier: Container[str]) -> str:
    """Return the name in TSDL of a field that is recorded: readers take one underscore from it, which LTTng puts there.

    Babeltrace refuses a name that is declared as an earlier one is shown: that needs none, if it begins otherwise.
    """
    declared = f"_{name}"
    if declared in earlier and name[:1].isalpha() and name not in KEYWORDS:
        return name
    return declared


def _tsdl_field(declared: FieldDeclaration, clock: str | None) -> FieldDeclaration:
    match declared:
        case FixedInteger(roles=roles) if clock and roles & _TIMES:
            return replace(declared, clock=clock)
        case Blob(16, roles=roles) if FieldRole.METADATA_UUID in roles:
            return Array(_BYTE, 16, roles=roles)
        case Array(element):
            return replace(declared, element=_tsdl_field(element, clock))
        case Structure():
            return _tsdl_structure(declared, clock)
        case Variant(selector, options):
            held = [
                Option(one.name, _tsdl_field(one.type, clock), one.ranges, _plain_name(one.name))
                for one in options
            ]
            return Variant(selector, tuple(held))
        case _:
            return declared


def _plain_name(name: str) -> str:
    """Return the declared name: with an additional underscore, which readers remove, if the name needs one."""
    return f"_{name}" if name.startswith("_") or name in KEYWORDS else name
