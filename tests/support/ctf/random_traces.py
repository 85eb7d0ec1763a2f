"""Whole traces of CTF drawn at random over all field classes: their classes, and data streams that fit them."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field
from uuid import UUID

from converter.formats.ctf.layout import PACKET_MAGIC
from converter.formats.ctf.metadata.field_classes import (
    Array,
    Blob,
    ByteOrder,
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
    alignment_of,
)
from converter.formats.ctf.metadata.trace_class import (
    ClockClass,
    EventRecordClass,
    StreamClass,
    TraceClass,
)

_PACKETS = 2
_RECORDS = 4


def random_trace(seed: int, version: int) -> tuple[TraceClass, dict[str, bytes]]:
    """The classes of a trace of CTF 1.8 (1) or CTF 2 (2), and its data streams by name."""
    return _Drawing(random.Random(seed), version).trace()


@dataclass
class _Fields:
    """What fields before the one at hand say, by their place."""

    scope: Scope
    lengths: list[Location] = field(default_factory=list)
    selectors: list[tuple[Location, tuple[Mapping, ...]]] = field(default_factory=list)
    booleans: list[Location] = field(default_factory=list)

    def inside(self, scope: Scope | None = None) -> _Fields:
        """What is seen further in, or from a scope behind; of booleans, Babeltrace 2.1.2 looks in no other scope."""
        booleans = [] if scope is not None else [*self.booleans]
        return _Fields(scope or self.scope, [*self.lengths], [*self.selectors], booleans)


class _Drawing:
    def __init__(self, source: random.Random, version: int) -> None:
        self._random = source
        self._version = version
        self._order: ByteOrder = source.choice(("little", "big"))
        self._names = 0

    def trace(self) -> tuple[TraceClass, dict[str, bytes]]:
        draw = self._random
        plain = self._version == 1
        trace = TraceClass((1, 8) if plain else (2, 0), self._order)
        if draw.random() < 0.7:
            trace.uuid = UUID(int=draw.getrandbits(128), version=4)
        if draw.random() < 0.5:
            trace.environment = {"n": 3, "text": 'a "text"\n', "negative": -1}
        count = draw.choice((1, 1, 2))
        header: list[Member] = []
        if draw.random() < 0.7:
            header.append(self._special("magic", 32, FieldRole.MAGIC))
        if trace.uuid is not None and draw.random() < 0.7:
            roles = frozenset({FieldRole.METADATA_UUID})
            byte = FixedInteger(8, byte_order=self._order, alignment=8)
            held = Array(byte, 16, roles=roles) if plain else Blob(16, roles=roles)
            header.append(self._member("uuid", held))
        if count > 1 or draw.random() < 0.5:
            header.append(self._special("stream_id", 8, FieldRole.STREAM_CLASS_ID))
        trace.packet_header = Structure(tuple(header)) if header else None
        if draw.random() < 0.8:
            trace.clocks["c"] = ClockClass(
                "c",
                draw.choice((1_000_000_000, 1000, 3_000_000)),
                draw.choice((0, 1_600_000_000)),
                unix_epoch=draw.random() < 0.5,
                id="" if plain else "c",
            )
            if trace.clocks["c"].offset_seconds:
                trace.clocks["c"].unix_epoch = True
        files = {}
        for number in range(count):
            stream = self._stream(number, trace)
            trace.streams[number] = stream
            files[f"stream{number}"] = self._data(trace, stream)
        return trace, files

    # Classes

    def _stream(self, number: int, trace: TraceClass) -> StreamClass:
        draw = self._random
        stream = StreamClass(number, clock="c" if "c" in trace.clocks else "")
        roles = [
            ("packet_size", FieldRole.PACKET_LENGTH),
            ("content_size", FieldRole.CONTENT_LENGTH),
        ]
        if stream.clock:
            roles += [
                ("timestamp_begin", FieldRole.TIMESTAMP),
                ("timestamp_end", FieldRole.PACKET_END_TIMESTAMP),
            ]
        roles += [
            ("packet_seq_num", FieldRole.SEQUENCE_NUMBER),
            ("events_discarded", FieldRole.DISCARDED),
        ]
        members = [self._special(name, 32, role) for name, role in roles]
        if draw.random() < 0.3:
            members = [one for one in members if one.name != "packet_seq_num"]
        stream.packet_context = Structure(tuple(members))
        header = []
        events = draw.randint(1, 4)
        if events > 1 or draw.random() < 0.5:
            header.append(self._special("id", draw.choice((5, 8)), FieldRole.EVENT_CLASS_ID))
        if stream.clock:
            bits = draw.choice((27, 32, 64))
            header.append(self._special("timestamp", bits, FieldRole.TIMESTAMP))
        stream.event_header = Structure(tuple(header)) if header else None
        fields = _Fields(Scope.COMMON_CONTEXT)
        if draw.random() < 0.4:
            stream.common_context = self._structure(fields, (), 1)
        for id in range(events):
            own = fields.inside(Scope.SPECIFIC_CONTEXT)
            event = EventRecordClass(id, f"p:e{number}{id}")
            if draw.random() < 0.3:
                event.specific_context = self._structure(own, (), 1)
            event.payload = self._structure(own.inside(Scope.PAYLOAD), (), 2)
            stream.events[id] = event
        return stream

    def _special(self, name: str, bits: int, role: FieldRole) -> Member:
        clock = ""
        if self._version == 1 and role in (FieldRole.TIMESTAMP, FieldRole.PACKET_END_TIMESTAMP):
            clock = "c"
        alignment = 8 if bits % 8 == 0 else 1
        held = FixedInteger(
            bits, False, self._order, alignment, roles=frozenset({role}), clock=clock
        )
        return self._member(name, held)

    def _member(self, name: str, held: FieldDeclaration) -> Member:
        return Member(name, held, name if self._version == 1 else "")

    def _name(self) -> str:
        self._names += 1
        return f"f{self._names}"

    def _structure(self, fields: _Fields, path: tuple[str, ...], depth: int) -> Structure:
        draw = self._random
        members = []
        for _ in range(draw.randint(1, 5)):
            name = self._name()
            place = Location(fields.scope, (*path, name))
            held = self._field(fields, (*path, name), depth)
            match held:
                case FixedInteger(signed=False) | VariableInteger(signed=False):
                    if held.mappings:
                        fields.selectors.append((place, held.mappings))
                    else:
                        fields.lengths.append(place)
                case FixedBoolean():
                    fields.booleans.append(place)
                case _:
                    pass
            members.append(Member(name, held, f"_{name}" if self._version == 1 else ""))
        return Structure(tuple(members), draw.choice((1, 1, 8, 32)))

    def _field(self, fields: _Fields, path: tuple[str, ...], depth: int) -> FieldDeclaration:
        draw = self._random
        plain = self._version == 1
        kinds = ["integer", "integer", "label", "float", "string", "text"]
        if not plain:
            kinds += ["bits", "flags", "boolean", "variable", "blob"]
        if depth:
            kinds += ["array", "structure"]
            # In a record's own context Babeltrace finds nothing of it.
            own = fields.scope is Scope.SPECIFIC_CONTEXT
            if fields.lengths and not own:
                kinds += ["sequence", "long text"]
            if fields.selectors and not own:
                kinds += ["variant", "variant"]
            if fields.booleans:
                kinds.append("optional")
        alignment = draw.choice((1, 8, 16))
        character = FixedInteger(8, alignment=8, byte_order=self._order, encoding="UTF8")
        inner = fields.inside()
        match draw.choice(kinds):
            case "integer":
                bits, base = draw.randint(1, 64), draw.choice((2, 8, 10, 16))
                return FixedInteger(bits, draw.random() < 0.4, self._order, alignment, base)
            case "label":
                labels = tuple(
                    Mapping(name, (Range(2 * number, 2 * number + 1),))
                    for number, name in enumerate(("RED", "GREEN", "BLUE"))
                )
                return FixedInteger(8, False, self._order, alignment, mappings=labels)
            case "float":
                return FixedFloat(draw.choice((32, 64)), self._order, alignment)
            case "string":
                return Text()
            case "text":
                length = draw.randint(1, 6)
                return Text(length, "utf-8", character if plain else None)
            case "bits":
                return FixedBits(draw.randint(1, 64), self._order, alignment)
            case "flags":
                flags = (Mapping("a", (Range(0, 1),)), Mapping("b", (Range(3, 3),)))
                return FixedBits(8, self._order, alignment, flags)
            case "boolean":
                return FixedBoolean(draw.randint(1, 16), self._order, alignment)
            case "variable":
                return VariableInteger(draw.random() < 0.5, draw.choice((10, 16)))
            case "blob":
                return Blob(draw.randint(1, 5), draw.choice(("application/octet-stream", "a/b")))
            case "array":
                return Array(self._element(inner, path, depth), draw.randint(0, 3))
            case "sequence":
                element = self._element(inner, path, depth)
                return Array(element, draw.choice(fields.lengths))
            case "long text":
                return Text(draw.choice(fields.lengths), "utf-8", character if plain else None)
            case "structure":
                return self._structure(inner, path, depth - 1)
            case "variant":
                usable = [
                    one for one in fields.selectors if not plain or _is_around(one[0], fields, path)
                ]
                if not usable:
                    return Text()
                selector, labels = draw.choice(usable)
                options = tuple(
                    Option(
                        label.name,
                        self._field(fields.inside(), path, depth - 1),
                        label.ranges,
                        label.name if plain else "",
                    )
                    for label in labels
                )
                return Variant(selector, options)
            case _:
                # Babeltrace 2.1.2 aligns also for a field that is not there.
                element = FixedInteger(draw.randint(1, 64), False, self._order)
                return Optional(draw.choice(fields.booleans), element)

    def _element(self, fields: _Fields, path: tuple[str, ...], depth: int) -> FieldDeclaration:
        return self._field(fields, path, depth - 1)

    # Data

    def _data(self, trace: TraceClass, stream: StreamClass) -> bytes:
        draw = self._random
        result = b""
        clock = 0
        for number in range(_PACKETS):
            begin = clock
            ends: dict[FieldRole, int] = {}
            state = draw.getstate()
            # Sizes and the end's time are known when all is written: once more with them.
            for _ in range(2):
                draw.setstate(state)
                clock = begin
                packet = _Packet(draw, self._order)
                values = {
                    FieldRole.MAGIC: PACKET_MAGIC,
                    FieldRole.STREAM_CLASS_ID: stream.id,
                    FieldRole.TIMESTAMP: begin,
                    FieldRole.SEQUENCE_NUMBER: number,
                    FieldRole.DISCARDED: 0,
                    **ends,
                }
                uuid = trace.uuid.bytes if trace.uuid is not None else b""
                packet.root(trace.packet_header, Scope.PACKET_HEADER, values, uuid)
                packet.root(stream.packet_context, Scope.PACKET_CONTEXT, values)
                for _ in range(_RECORDS):
                    clock += draw.choice((0, 1, 1000, 1 << 20))
                    event = draw.choice(list(stream.events.values()))
                    header = {FieldRole.EVENT_CLASS_ID: event.id, FieldRole.TIMESTAMP: clock}
                    packet.root(stream.event_header, Scope.EVENT_HEADER, header)
                    packet.root(stream.common_context, Scope.COMMON_CONTEXT, {})
                    packet.root(event.specific_context, Scope.SPECIFIC_CONTEXT, {})
                    packet.root(event.payload, Scope.PAYLOAD, {})
                content = len(packet.bits)
                size = -(-content // 64) * 64
                ends = {
                    FieldRole.CONTENT_LENGTH: content,
                    FieldRole.PACKET_LENGTH: size,
                    FieldRole.PACKET_END_TIMESTAMP: clock,
                }
            result += packet.tobytes(size)
        return result


def _is_around(selector: Location, fields: _Fields, path: tuple[str, ...]) -> bool:
    """Whether a selector is in a structure around: readers of CTF 1.8 find no other."""
    around = selector.path[:-1]
    return selector.scope is fields.scope and around == path[: len(around)]


class _Packet:
    """The bits of a packet, in the order in which its byte order counts them."""

    def __init__(self, source: random.Random, order: ByteOrder) -> None:
        self.bits: list[int] = []
        self._random = source
        self._order = order
        self._values: dict[Location, int] = {}

    def root(
        self,
        structure: Structure | None,
        scope: Scope,
        roles: dict[FieldRole, int],
        uuid: bytes = b"",
    ) -> None:
        if structure is not None:
            self._field(structure, Location(scope, ()), roles, uuid)

    def tobytes(self, size: int) -> bytes:
        bits = [*self.bits, *[0] * (size - len(self.bits))]
        shifts = range(8) if self._order == "little" else range(7, -1, -1)
        return bytes(
            sum(bits[at + number] << shift for number, shift in enumerate(shifts))
            for at in range(0, size, 8)
        )

    def _align(self, alignment: int) -> None:
        self.bits += [0] * (-len(self.bits) % alignment)

    def _integer(self, value: int, length: int) -> None:
        bits = [value >> number & 1 for number in range(length)]
        self.bits += bits if self._order == "little" else bits[::-1]

    def _bytes(self, data: bytes) -> None:
        self._align(8)
        for byte in data:
            self._integer(byte, 8)

    def _length(self, length: int | Location) -> int:
        return length if isinstance(length, int) else self._values[length]

    def _field(
        self,
        declared: FieldDeclaration,
        place: Location,
        roles: dict[FieldRole, int],
        uuid: bytes = b"",
    ) -> None:
        draw = self._random
        self._align(alignment_of(declared))
        match declared:
            case FixedInteger(length):
                if declared.roles:
                    value = roles.get(next(iter(declared.roles)), 0)
                elif declared.mappings:
                    value = draw.randint(0, 5)
                elif draw.random() < 0.7:
                    value = draw.randint(0, min(3, (1 << (length - declared.signed)) - 1))
                else:
                    value = draw.randint(0, 3) if not declared.signed else draw.getrandbits(length)
                self._values[place] = value & (1 << length) - 1
                self._integer(value, length)
            case FixedBits(length):
                self._integer(draw.getrandbits(length), length)
            case FixedBoolean(length):
                value = draw.choice((0, 1))
                self._values[place] = value
                self._integer(value, length)
            case FixedFloat(length):
                data = struct.pack("<f" if length == 32 else "<d", draw.choice((0.5, -2.0, 1e30)))
                self._integer(int.from_bytes(data, "little"), length)
            case VariableInteger():
                value = draw.randint(0, 3)
                self._values[place] = value
                self._bytes(bytes([value]))
            case Text(None):
                self._bytes(draw.choice(("", "text", "déjà")).encode() + b"\0")
            case Text(length) if length is not None:
                self._bytes(bytes(draw.choice(b"abc") for _ in range(self._length(length))))
            case Blob(length):
                data = uuid if declared.roles else draw.randbytes(self._length(length))
                self._bytes(data)
            case Array(element, length):
                if declared.roles:
                    self._bytes(uuid)
                    return
                for _ in range(self._length(length)):
                    self._field(element, place, roles)
            case Structure(members):
                for member in members:
                    inner = Location(place.scope, (*place.path, member.name))
                    self._field(member.type, inner, roles, uuid)
            case Variant(selector, options):
                value = self._values[selector]
                chosen = next(
                    one
                    for one in options
                    if any(span.low <= value <= span.high for span in one.ranges)
                )
                self._field(chosen.type, place, roles)
            case Optional(selector, element):
                if self._values[selector]:
                    self._field(element, place, roles)
            case _:
                raise AssertionError(declared)
