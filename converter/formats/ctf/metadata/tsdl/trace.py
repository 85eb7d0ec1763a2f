"""The trace that TSDL metadata declares (CTF 1.8.3, 5, 6, 7 and 8)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final
from uuid import UUID

from converter.formats.ctf.metadata.errors import Positions
from converter.formats.ctf.metadata.field_classes import (
    Array,
    FieldDeclaration,
    FieldRole,
    FixedInteger,
    Member,
    Scope,
    Structure,
    Variant,
)
from converter.formats.ctf.metadata.field_trees import fields_in, roles_in
from converter.formats.ctf.metadata.trace_class import (
    MINOR_VERSION,
    ClockClass,
    EventRecordClass,
    StreamClass,
    TraceClass,
)
from converter.formats.ctf.metadata.tsdl.field_locations import TypeResolver
from converter.formats.ctf.metadata.tsdl.lexer import tokens
from converter.formats.ctf.metadata.tsdl.parser import (
    BYTE_ORDERS,
    Block,
    native_byte_order,
    parse_blocks,
)
from converter.formats.ctf.metadata.tsdl.tokens import TokenReader

_SIGNATURE: Final = re.compile(r"/\*\s*CTF\s+(\S+)")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")

#: The roles of packet fields, by their names (CTF 1.8.3, 5.1 and 5.2).
_HEADER_ROLES: Final = {
    "magic": FieldRole.MAGIC,
    "uuid": FieldRole.METADATA_UUID,
    "stream_id": FieldRole.STREAM_CLASS_ID,
    "stream_instance_id": FieldRole.STREAM_ID,
}
CONTEXT_ROLES: Final = {
    "packet_size": FieldRole.PACKET_LENGTH,
    "content_size": FieldRole.CONTENT_LENGTH,
    "timestamp_begin": FieldRole.TIMESTAMP,
    "timestamp_end": FieldRole.PACKET_END_TIMESTAMP,
    "packet_seq_num": FieldRole.SEQUENCE_NUMBER,
    "events_discarded": FieldRole.DISCARDED,
}
_EVENT_ROLES: Final = {"id": FieldRole.EVENT_CLASS_ID, "timestamp": FieldRole.TIMESTAMP}
#: A clock this far from its origin counts from 1970, whatever else is declared: no clock runs for twenty years.
_TWENTY_YEARS: Final = 20 * 365 * 86400


def parse_tsdl(text: str, *, signed: bool = True) -> TraceClass:
    """Return the classes that a TSDL text declares. A text in packets needs no signature in its first line.

    Raises:
        TraceError: the text is not valid TSDL, or contradicts itself; names line and column.

    """
    return _TraceBuilder(text, signed=signed).build()


class _TraceBuilder:
    def __init__(self, text: str, *, signed: bool) -> None:
        self._text = text
        self._signed = signed
        self._positions = Positions(text)
        self._trace = TraceClass()
        self._resolver = TypeResolver(self._positions, self._trace.environment)
        self._events: list[tuple[Block, EventRecordClass]] = []

    def build(self) -> TraceClass:
        """Parse the text and build the trace class."""
        trace = self._trace
        self._signature()
        order = native_byte_order(tokens(self._text))
        trace.byte_order = order or "little"
        reader = TokenReader(tokens(self._text), self._positions)
        blocks, remarks, tolerated = parse_blocks(reader, trace.byte_order)
        for offset, message in remarks:
            self._remark(offset, message)
        named: dict[str, list[Block]] = {}
        for block in blocks:
            named.setdefault(block.name, []).append(block)
        for name in ("trace", "env"):
            for block in named.get(name, ())[1:]:
                raise self._positions.error(block.offset, f"there are two {name} blocks")
        if "trace" not in named:
            raise self._positions.error(len(self._text), "there is no trace block")
        for name, build in (
            ("clock", self._clock),
            ("env", self._environment),
            ("trace", self._trace_block),
            ("stream", self._stream),
            ("event", self._event),
        ):
            for block in named.get(name, ()):
                build(block)
        for stream in trace.streams.values():
            stream.clock = self._clock_of(stream)
        for offset, message in dict.fromkeys(tolerated + self._resolver.tolerated):
            trace.tolerated.append(self._positions.error(offset, message))
        return trace

    def _signature(self) -> None:
        found = _SIGNATURE.match(self._text)
        if found is None:
            if self._signed:
                self._remark(0, "the first line is not /* CTF 1.8 */")
        elif found[1].removesuffix("*/") != "1.8":
            raise self._positions.error(
                found.start(1), expected="version 1.8", found=found[1].removesuffix("*/")
            )

    def _remark(self, offset: int, message: str) -> None:
        self._trace.remarks.append((*self._positions.place(offset), message))

    # Attributes

    def _integer(self, block: Block, name: str, lowest: int = 0) -> int | None:
        value = block.values.get(name)
        if value is None:
            return None
        if not isinstance(value.value, int) or value.value < lowest:
            raise self._positions.error(
                value.offset,
                expected=f"an integer of at least {lowest}",
                found=value.value,
                field=f"{block.name}.{name}",
            )
        return value.value

    def _string(self, block: Block, name: str, *, words: bool = False) -> str:
        """Return a quoted text; for a name, a bare word is accepted too."""
        value = block.values.get(name)
        if value is None:
            return ""
        if not isinstance(value.value, str) or not (words or value.is_text):
            raise self._positions.error(
                value.offset, expected="a string", found=value.value, field=f"{block.name}.{name}"
            )
        return value.value

    def _uuid(self, block: Block) -> UUID | None:
        value = block.values.get("uuid")
        if value is None:
            return None
        if not isinstance(value.value, str) or not _UUID.fullmatch(value.value):
            raise self._positions.error(
                value.offset, expected="a UUID", found=value.value, field=f"{block.name}.uuid"
            )
        return UUID(value.value)

    def _structure(
        self, block: Block, name: str, scope: Scope, outer: dict[Scope, Structure | None]
    ) -> Structure | None:
        found = block.types.get(name)
        return None if found is None else self._resolver.root(*found, scope, outer)

    def _check_attributes(self, block: Block, values: set[str], types: set[str]) -> None:
        """Remark on unknown attributes and count them; they are allowed."""
        for name, value in block.values.items():
            if name not in values:
                self._remark(value.offset, f"unknown attribute {block.name}.{name}")
                self._trace.other_attributes += block.name != "event"
        for name, (_, offset) in block.types.items():
            if name not in types:
                self._remark(offset, f"unknown attribute {block.name}.{name}")
                self._trace.other_attributes += 1

    # Blocks

    def _trace_block(self, block: Block) -> None:
        trace = self._trace
        self._check_attributes(block, {"major", "minor", "uuid", "byte_order"}, {"packet.header"})
        for name, wanted in (("major", 1), ("minor", MINOR_VERSION)):
            version = self._integer(block, name)
            if version is None:
                raise self._positions.error(block.offset, f"the trace has no {name} version")
            if version != wanted:
                place = block.values[name].offset
                if name == "major" or not 0 <= version < wanted:
                    raise self._positions.error(
                        place, expected=str(wanted), found=version, field=f"trace.{name}"
                    )
                # GstShark says that its traces are of CTF 1.3.
                self._remark(place, f"version 1.{version} is read as 1.{MINOR_VERSION}")
        order = block.values.get("byte_order")
        if order is None:
            raise self._positions.error(block.offset, "the trace has no byte_order")
        if order.value not in BYTE_ORDERS:
            raise self._positions.error(
                order.offset, expected="le, be or network", found=order.value
            )
        trace.uuid = self._uuid(block)
        header = self._structure(block, "packet.header", Scope.PACKET_HEADER, {})
        trace.packet_header = _with_roles(header, _HEADER_ROLES)
        for number, member in enumerate(header.members if header is not None else ()):
            wrong = _wrong_in_header(number, member)
            if wrong:
                raise self._positions.error(block.types["packet.header"][1], wrong)

    def _clock(self, block: Block) -> None:
        known = {"name", "uuid", "description", "freq", "precision", "offset_s", "offset"}
        self._check_attributes(block, {*known, "absolute"}, set())
        name = self._string(block, "name", words=True)
        if not name:
            raise self._positions.error(block.offset, "a clock needs a name")
        if name in self._trace.clocks:
            raise self._positions.error(block.offset, f"there are two clocks {name!r}")
        lowest = -(1 << 63)
        clock = ClockClass(name)
        clock.frequency = self._integer(block, "freq", 1) or 1_000_000_000
        clock.offset_seconds = self._integer(block, "offset_s", lowest) or 0
        clock.offset_cycles = self._integer(block, "offset", lowest) or 0
        clock.description = self._string(block, "description")
        clock.precision = self._integer(block, "precision")
        uuid = self._uuid(block)
        clock.uid = "" if uuid is None else str(uuid)
        absolute = block.values.get("absolute")
        if absolute is not None and (absolute.is_text or absolute.value not in _TRUTHS):
            raise self._positions.error(
                absolute.offset, expected="true or false", found=absolute.value
            )
        offset = clock.offset_seconds + clock.offset_cycles // clock.frequency
        clock.unix_epoch = offset >= _TWENTY_YEARS or (
            absolute is not None and _TRUTHS[absolute.value]
        )
        self._trace.clocks[name] = clock

    def _environment(self, block: Block) -> None:
        self._trace.environment.update({name: value.value for name, value in block.values.items()})

    def _stream(self, block: Block) -> None:
        names = ("packet.context", "event.header", "event.context")
        self._check_attributes(block, {"id"}, set(names))
        number = self._integer(block, "id") or 0
        if number in self._trace.streams:
            raise self._positions.error(block.offset, f"there are two streams {number}")
        if self._trace.streams and FieldRole.STREAM_CLASS_ID not in roles_in(
            self._trace.packet_header
        ):
            message = "packets do not say of which of several streams they are"
            raise self._positions.error(block.offset, message)
        outer: dict[Scope, Structure | None] = {Scope.PACKET_HEADER: self._trace.packet_header}
        stream = StreamClass(number)
        context = self._structure(block, names[0], Scope.PACKET_CONTEXT, outer)
        stream.packet_context = outer[Scope.PACKET_CONTEXT] = _with_roles(context, CONTEXT_ROLES)
        header = self._structure(block, names[1], Scope.EVENT_HEADER, outer)
        stream.event_header = outer[Scope.EVENT_HEADER] = _with_event_roles(header)
        stream.common_context = self._structure(block, names[2], Scope.COMMON_CONTEXT, outer)
        self._trace.streams[number] = stream

    def _event(self, block: Block) -> None:
        streams = self._trace.streams
        self._check_attributes(
            block,
            {"id", "name", "stream_id", "loglevel", "model.emf.uri"},
            {"context", "fields"},
        )
        number = self._integer(block, "stream_id")
        if number is None and len(streams) > 1:
            raise self._positions.error(
                block.offset, "there are several streams, and the event does not say its own"
            )
        if number is None:
            number = next(iter(streams), 0)
        if not streams:
            streams[number] = StreamClass(number)
        if number not in streams:
            raise self._positions.error(block.offset, f"there is no stream {number}")
        stream = streams[number]
        event = EventRecordClass(
            self._integer(block, "id") or 0, self._string(block, "name", words=True)
        )
        if event.id in stream.events:
            raise self._positions.error(
                block.offset, f"stream {number} has two events of the id {event.id}"
            )
        if stream.events and FieldRole.EVENT_CLASS_ID not in roles_in(stream.event_header):
            message = f"events of stream {number} do not say which of several they are"
            raise self._positions.error(block.offset, message)
        event.log_level = self._integer(block, "loglevel", -(1 << 63))
        event.model_uri = self._string(block, "model.emf.uri")
        outer = {
            Scope.PACKET_HEADER: self._trace.packet_header,
            Scope.PACKET_CONTEXT: stream.packet_context,
            Scope.EVENT_HEADER: stream.event_header,
            Scope.COMMON_CONTEXT: stream.common_context,
        }
        specific = self._structure(block, "context", Scope.SPECIFIC_CONTEXT, outer)
        event.specific_context = outer[Scope.SPECIFIC_CONTEXT] = specific
        event.payload = self._structure(block, "fields", Scope.PAYLOAD, outer)
        event.attributes = {
            name: value.value
            for name, value in block.values.items()
            if name not in ("id", "name", "stream_id", "loglevel", "model.emf.uri")
        }
        stream.events[event.id] = event

    # Clocks of streams

    def _clock_of(self, stream: StreamClass) -> str:
        """Return the clock of a stream's timestamps: if none is named, the trace's only clock."""
        clocks = self._trace.clocks
        of_records = [stream.common_context]
        for event in stream.events.values():
            of_records += [event.specific_context, event.payload]
        named = _clocks_in([stream.event_header, stream.packet_context])
        for name in [*named, *_clocks_in(of_records)]:
            if name not in clocks:
                raise self._positions.error(0, f"there is no clock {name!r}")
        if named:
            return named[0]
        return next(iter(clocks)) if len(clocks) == 1 else ""


_TRUTHS: Final[dict[int | str, bool]] = {
    **dict.fromkeys(("true", "TRUE", 1), True),
    **dict.fromkeys(("false", "FALSE", 0), False),
}


def _clocks_in(structures: Iterable[Structure | None]) -> list[str]:
    """Return the names of clocks that integers are mapped to."""
    return [
        declared.clock
        for structure in structures
        for declared in fields_in(structure)
        if isinstance(declared, FixedInteger) and declared.clock
    ]


def _with_roles(structure: Structure | None, roles: dict[str, FieldRole]) -> Structure | None:
    """Return the structure with the roles that its members have by their names."""
    if structure is None:
        return None
    return replace(
        structure, members=tuple(_with_role(member, roles) for member in structure.members)
    )


def _with_role(member: Member, roles: dict[str, FieldRole]) -> Member:
    role = roles.get(member.name)
    declared = member.type
    if role is FieldRole.METADATA_UUID:
        if isinstance(declared, Array) and declared.length == 16 and _is_byte(declared.element):
            return member._replace(type=replace(declared, roles=frozenset({role})))
    elif (
        role is not None
        and isinstance(declared, FixedInteger)
        and not declared.signed
        and (role is not FieldRole.MAGIC or declared.length == 32)
    ):
        return member._replace(type=replace(declared, roles=frozenset({role})))
    return member


def _wrong_in_header(number: int, member: Member) -> str:
    """Return what is wrong with a magic number or a UUID (CTF 1.8.3, 5.1), "" for ordinary fields of another type."""
    match member.name, member.type:
        case "magic", FixedInteger(length, False) if number or length != 32:
            return "the magic number is not the first field, of 32 bits"
        case "uuid", Array(FixedInteger(bits), int() as length) if (length, bits) != (16, 8):
            return "the UUID has not 16 bytes"
        case _:
            return ""


def _is_byte(declared: FieldDeclaration) -> bool:
    return isinstance(declared, FixedInteger) and declared.length == 8


def _with_event_roles(structure: Structure | None) -> Structure | None:
    """Add event roles: ids and timestamps may be in variants, those of the compact and of the large header."""
    return None if structure is None else _event_roles_in(structure)


def _event_roles_in(structure: Structure) -> Structure:
    members = []
    for member in structure.members:
        declared: FieldDeclaration = member.type
        if isinstance(declared, Structure):
            declared = _event_roles_in(declared)
        elif isinstance(declared, Variant):
            options = tuple(
                option._replace(type=_event_roles_in(option.type))
                if isinstance(option.type, Structure)
                else option
                for option in declared.options
            )
            declared = replace(declared, options=options)
        members.append(_with_role(member._replace(type=declared), _EVENT_ROLES))
    return replace(structure, members=tuple(members))
