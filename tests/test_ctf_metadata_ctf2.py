"""JSON sequences, the metadata of CTF 2: each fragment and field class, and what is refused, by its place."""

from __future__ import annotations

import json
import struct
import time
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from ctf_files import events_of, open_trace
from ctf_metadata_strategies import trace_classes
from hypothesis import given

from converter.errors import TraceError
from converter.formats.ctf.ctf2_printer import print_sequence
from converter.formats.ctf.field_classes import (
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
from converter.formats.ctf.metadata_files import PACKET_MAGIC, parse_metadata
from converter.formats.ctf.trace_class import TraceClass

Json = dict[str, Any]

PREAMBLE: Json = {"type": "preamble", "version": 2}
STREAM: Json = {"type": "data-stream-class"}
U8: Json = {
    "type": "fixed-length-unsigned-integer",
    "length": 8,
    "byte-order": "little-endian",
}
S8: Json = {**U8, "type": "fixed-length-signed-integer"}
FLAG: Json = {**U8, "type": "fixed-length-boolean"}
TEXT: Json = {"type": "null-terminated-string"}


def sequence(*fragments: Json) -> bytes:
    """A file of these fragments behind a preamble, unless they have their own."""
    if not fragments or fragments[0].get("type") != "preamble":
        fragments = (PREAMBLE, *fragments)
    return "".join(f"\x1e{json.dumps(each)}\n" for each in fragments).encode()


def structure(**members: Any) -> Json:
    """A structure of these members; names in a path are those of the members."""
    classes = [{"name": name, "field-class": held} for name, held in members.items()]
    return {"type": "structure", "member-classes": classes}


def event(**members: Any) -> Json:
    """An event record class with this payload."""
    return {"type": "event-record-class", "payload-field-class": structure(**members)}


def at(*path: str | None, origin: str | None = None) -> Json:
    """The location of a field."""
    return {"path": list(path)} | ({} if origin is None else {"origin": origin})


def payload(*fragments: Json) -> dict[str, Any]:
    """The fields of the only event record, by name."""
    trace = parse_metadata(sequence(*fragments))
    (record,) = trace.streams[0].events.values()
    assert record.payload is not None
    return {member.name: member.type for member in record.payload.members}


# Field classes


PAYLOAD_N = Location(Scope.PAYLOAD, ("n",))

FIELD_CLASSES: dict[str, tuple[Json, FieldDeclaration]] = {
    "unsigned integer": (U8, FixedInteger(8)),
    "all of an integer": (
        {
            "type": "fixed-length-signed-integer",
            "length": 13,
            "byte-order": "big-endian",
            "bit-order": "first-to-last",
            "alignment": 16,
            "preferred-display-base": 16,
            "mappings": {"low": [[-4, -1]], "odd": [[1, 1], [3, 3]]},
        },
        FixedInteger(
            13,
            True,
            "big",
            16,
            16,
            (Mapping("low", (Range(-4, -1),)), Mapping("odd", (Range(1, 1), Range(3, 3)))),
            reversed_bits=True,
        ),
    ),
    "bit order of the byte order": (
        {**U8, "byte-order": "big-endian", "bit-order": "last-to-first"},
        FixedInteger(8, byte_order="big"),
    ),
    "bit array": ({**U8, "type": "fixed-length-bit-array", "length": 3}, FixedBits(3)),
    "wide bit array": ({**U8, "type": "fixed-length-bit-array", "length": 99}, FixedBits(99)),
    "bit map": (
        {**U8, "type": "fixed-length-bit-map", "flags": {"a": [[0, 0], [2, 3]], "b": [[7, 7]]}},
        FixedBits(
            8, flags=(Mapping("a", (Range(0, 0), Range(2, 3))), Mapping("b", (Range(7, 7),)))
        ),
    ),
    "boolean": ({**FLAG, "length": 1, "alignment": 4}, FixedBoolean(1, alignment=4)),
    **{
        f"number of {bits} bits": (
            {**U8, "type": "fixed-length-floating-point-number", "length": bits},
            FixedFloat(bits),
        )
        for bits in (16, 32, 64, 128)
    },
    "LEB128": (
        {
            "type": "variable-length-unsigned-integer",
            "preferred-display-base": 2,
            "mappings": {"most": [[(1 << 64) - 1, (1 << 64) - 1]]},
        },
        VariableInteger(
            base=2, mappings=(Mapping("most", (Range((1 << 64) - 1, (1 << 64) - 1),)),)
        ),
    ),
    "signed LEB128": ({"type": "variable-length-signed-integer"}, VariableInteger(True)),
    "string": (TEXT, Text()),
    **{
        f"string in {encoding}": ({**TEXT, "encoding": encoding}, Text(encoding=encoding))
        for encoding in ("utf-8", "utf-16be", "utf-16le", "utf-32be", "utf-32le")
    },
    "string of a length": (
        {"type": "static-length-string", "length": 16, "encoding": "utf-16le"},
        Text(16, "utf-16le"),
    ),
    "string of another's length": (
        {"type": "dynamic-length-string", "length-field-location": at("n")},
        Text(PAYLOAD_N),
    ),
    "bytes": (
        {"type": "static-length-blob", "length": 0, "media-type": "image/png"},
        Blob(0, "image/png"),
    ),
    "bytes of another's length": (
        {"type": "dynamic-length-blob", "length-field-location": at("n")},
        Blob(PAYLOAD_N),
    ),
    "array": (
        {
            "type": "static-length-array",
            "length": 3,
            "element-field-class": S8,
            "minimum-alignment": 32,
        },
        Array(FixedInteger(8, True), 3, 32),
    ),
    "array of another's length": (
        {
            "type": "dynamic-length-array",
            "length-field-location": at("n"),
            "element-field-class": TEXT,
        },
        Array(Text(), PAYLOAD_N),
    ),
    "structure": (
        {**structure(a=U8, b=TEXT), "minimum-alignment": 64},
        Structure((Member("a", FixedInteger(8)), Member("b", Text())), 64),
    ),
    "structure of nothing": ({"type": "structure"}, Structure()),
    "variant": (
        {
            "type": "variant",
            "selector-field-location": at("n"),
            "options": [
                {"name": "a", "field-class": U8, "selector-field-ranges": [[1, 2], [5, 5]]},
                {"field-class": TEXT, "selector-field-ranges": [[3, 3]]},
            ],
        },
        Variant(
            PAYLOAD_N,
            (
                Option("a", FixedInteger(8), (Range(1, 2), Range(5, 5))),
                Option("", Text(), (Range(3, 3),)),
            ),
        ),
    ),
    "optional": (
        {"type": "optional", "selector-field-location": at("flag"), "field-class": TEXT},
        Optional(Location(Scope.PAYLOAD, ("flag",)), Text()),
    ),
    "optional by ranges": (
        {
            "type": "optional",
            "selector-field-location": at("signed"),
            "selector-field-ranges": [[-1, 0], [9, 9]],
            "field-class": TEXT,
        },
        Optional(Location(Scope.PAYLOAD, ("signed",)), Text(), (Range(-1, 0), Range(9, 9))),
    ),
}


@pytest.mark.parametrize("name", FIELD_CLASSES)
def test_field_classes(name: str) -> None:
    given, expected = FIELD_CLASSES[name]
    found = payload(STREAM, event(n=U8, flag=FLAG, signed=S8, x=given))
    assert found["x"] == expected
    # The same under a name, with attributes and extensions that nobody knows.
    more = {"attributes": {"my.tracer": 1}, "extensions": {"my.tracer": {}}}
    alias = {"type": "field-class-alias", "name": "it", "field-class": {**given, **more}}
    assert payload(alias, STREAM, event(n=U8, flag=FLAG, signed=S8, x="it"))["x"] == expected


def test_names_are_kept_as_they_are() -> None:
    members = payload(STREAM, event(**{"": U8, "_a": U8, "a": U8, "\u00e9 b:c": U8}))
    assert list(members) == ["", "_a", "a", "\u00e9 b:c"]


def test_of_options_for_one_value_the_first_is_taken(tmp_path: Path) -> None:
    options = [
        {"name": "a", "field-class": U8, "selector-field-ranges": [[1, 5]]},
        {"name": "b", "field-class": TEXT, "selector-field-ranges": [[4, 9]]},
    ]
    chosen = {"type": "variant", "selector-field-location": at("n"), "options": options}
    (tmp_path / "metadata").write_bytes(sequence(STREAM, event(n=U8, x=chosen)))
    (tmp_path / "data").write_bytes(b"\x04\x07" + b"\x09text\0")
    found = [fields["x"] for _, _, fields in events_of(open_trace(tmp_path))]
    assert found == [("a", 7), ("b", b"text")]


def test_roles() -> None:
    roles = {role.value.replace("-", "_"): role for role in FieldRole}
    integers = {
        name: {**U8, "length": 64, "roles": [role.value]}
        for name, role in roles.items()
        if role is not FieldRole.METADATA_UUID
    }
    uuid = {"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]}
    header = {"type": "trace-class", "packet-header-field-class": structure(u=uuid, **integers)}
    trace = parse_metadata(sequence(header, STREAM))
    assert trace.packet_header is not None
    for member in trace.packet_header.members:
        assert isinstance(member.type, FixedInteger | Blob)
        name = "metadata_stream_uuid" if member.name == "u" else member.name
        assert member.type.roles == {roles[name]}


def test_an_alias_is_taken_at_its_place() -> None:
    list_class = {
        "type": "dynamic-length-array",
        "length-field-location": at("n"),
        "element-field-class": "byte",
    }
    aliases: list[Json] = [
        {"type": "field-class-alias", "name": "byte", "field-class": U8},
        {"type": "field-class-alias", "name": "list", "field-class": list_class},
        {"type": "field-class-alias", "name": "same", "field-class": "list"},
    ]
    found = payload(*aliases, STREAM, event(n="byte", a="list", s=structure(n="byte", a="same")))
    assert found["a"].length == Location(Scope.PAYLOAD, ("n",))
    inner = {member.name: member.type for member in found["s"].members}
    assert inner["a"].length == Location(Scope.PAYLOAD, ("s", "n"))
    assert inner["a"].element == FixedInteger(8)


def test_locations_lead_from_where_they_are_or_from_a_root() -> None:
    def blob(*path: str | None, origin: str | None = None) -> Json:
        return {"type": "dynamic-length-blob", "length-field-location": at(*path, origin=origin)}

    fragments = (
        {"type": "trace-class", "packet-header-field-class": structure(h=U8)},
        {
            "type": "data-stream-class",
            "packet-context-field-class": structure(c=structure(n=U8)),
            "event-record-header-field-class": structure(e=U8),
            "event-record-common-context-field-class": structure(o=U8),
        },
        {
            **event(
                n=U8,
                own=blob("n"),
                root=blob("n", origin="event-record-payload"),
                s=structure(n=U8, inner=blob("n"), outer=blob(None, "n")),
                into=blob("s", "n"),
                header=blob("h", origin="packet-header"),
                context=blob("c", "n", origin="packet-context"),
                event=blob("e", origin="event-record-header"),
                common=blob("o", origin="event-record-common-context"),
                specific=blob("p", origin="event-record-specific-context"),
                list={
                    "type": "static-length-array",
                    "length": 2,
                    "element-field-class": structure(m=U8, b=blob("m")),
                },
            ),
            "specific-context-field-class": structure(p=U8),
        },
    )
    found = payload(*fragments)
    lengths = {name: item.length for name, item in found.items() if isinstance(item, Blob)}
    assert lengths == {
        "own": Location(Scope.PAYLOAD, ("n",)),
        "root": Location(Scope.PAYLOAD, ("n",)),
        "into": Location(Scope.PAYLOAD, ("s", "n")),
        "header": Location(Scope.PACKET_HEADER, ("h",)),
        "context": Location(Scope.PACKET_CONTEXT, ("c", "n")),
        "event": Location(Scope.EVENT_HEADER, ("e",)),
        "common": Location(Scope.COMMON_CONTEXT, ("o",)),
        "specific": Location(Scope.SPECIFIC_CONTEXT, ("p",)),
    }
    inner = {member.name: member.type for member in found["s"].members}
    assert inner["inner"].length == Location(Scope.PAYLOAD, ("s", "n"))
    assert inner["outer"].length == Location(Scope.PAYLOAD, ("n",))
    element = {member.name: member.type for member in found["list"].element.members}
    assert element["b"].length == Location(Scope.PAYLOAD, ("list", "m"))


# Fragments


def test_the_preamble_and_the_trace() -> None:
    uuid = UUID("2a6422d0-6cee-11e0-8c08-cb07d7b3a564")
    trace = parse_metadata(
        sequence(
            {**PREAMBLE, "uuid": list(uuid.bytes), "attributes": {"any": [1]}, "extensions": {}},
            {
                "type": "trace-class",
                "name": "session",
                "namespace": "lttng.org,2009",
                "uid": "7",
                "environment": {"hostname": "h", "tracer_major": 2, "big": (1 << 64) - 1},
            },
            STREAM,
        )
    )
    assert trace.version == (2, 0) and trace.uuid == uuid
    assert (trace.name, trace.namespace, trace.uid) == ("session", "lttng.org,2009", "7")
    assert trace.environment == {"hostname": "h", "tracer_major": 2, "big": (1 << 64) - 1}
    assert not trace.remarks


def test_clock_classes() -> None:
    first = {
        "type": "clock-class",
        "id": "m",
        "name": "monotonic",
        "uid": "boot",
        "frequency": 3,
        "description": "a clock",
        "origin": "unix-epoch",
        "offset-from-origin": {"seconds": -5, "cycles": 2},
        "precision": 9,
        "accuracy": 0,
    }
    other = {
        "type": "clock-class",
        "id": "o",
        "frequency": 1,
        "origin": {"namespace": "n", "name": "boot", "uid": "u"},
    }
    # Clocks may come before the trace class.
    trace = parse_metadata(
        sequence(
            first,
            {"type": "trace-class"},
            other,
            {**STREAM, "default-clock-class-id": "m"},
            {**STREAM, "id": 1},
        )
    )
    clock = trace.clocks["m"]
    assert (clock.name, clock.uid, clock.frequency, clock.description) == (
        "monotonic",
        "boot",
        3,
        "a clock",
    )
    assert (clock.offset_seconds, clock.offset_cycles, clock.unix_epoch) == (-5, 2, True)
    assert (clock.precision, clock.accuracy) == (9, 0)
    assert trace.clocks["o"].origin == ("n", "boot", "u") and not trace.clocks["o"].unix_epoch
    assert [stream.clock for stream in trace.streams.values()] == ["m", ""]


def test_streams_and_records() -> None:
    tracer = {"lttng.org,2009": {"log-level": "debug:line", "emf-uri": "uri", "more": 1}, "x": 2}
    record = {
        "type": "event-record-class",
        "id": 9,
        "data-stream-class-id": 4,
        "name": "a:b",
        "namespace": "n",
        "uid": "u",
        "attributes": tracer,
        "extensions": {"y": 3},
    }
    stream = {"type": "data-stream-class", "id": 4, "name": "channel", "attributes": {"z": 1}}
    trace = parse_metadata(sequence(stream, record, {**record, "id": 10, "attributes": {}}))
    assert list(trace.streams) == [4] and trace.streams[4].name == "channel"
    assert trace.streams[4].attributes == {"attributes": {"z": 1}}
    first, second = trace.streams[4].events.values()
    assert (first.id, first.name, first.payload) == (9, "a:b", None)
    assert (first.log_level, first.model_uri) == ("debug:line", "uri")
    assert first.attributes == {
        "namespace": "n",
        "uid": "u",
        "attributes": {"lttng.org,2009": {"more": 1}, "x": 2},
        "extensions": {"y": 3},
    }
    assert second.log_level is None


def test_what_is_odd_is_remarked_on() -> None:
    header = structure(t={**U8, "roles": ["default-clock-timestamp"]})
    trace = parse_metadata(
        sequence({**STREAM, "colour": "red", "event-record-header-field-class": header})
    )
    texts = sorted(text for _, _, text in trace.remarks)
    assert texts == [
        "data stream class 0 has times, but no default clock class",
        "unknown property 'colour' of data-stream-class",
    ]
    assert {line for line, _, _ in trace.remarks} == {2}


# The sequence


def test_framing() -> None:
    fragments = [json.dumps(PREAMBLE), json.dumps(STREAM, indent=4)]
    expected = parse_metadata(sequence(STREAM))
    for text in (
        "\x1e" + "\n\x1e".join(fragments) + "\n",
        "\x1e" + "\x1e".join(fragments),
        "\n \x1e\n " + " \n\n\x1e \t".join(fragments) + "\n\n",
        "\x1e" + "\n\x1e\n\x1e".join(fragments) + "\n\0\0",
        "\n\x1e".join(fragments),
    ):
        assert parse_metadata(text.encode()) == expected


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_sequence_in_packets(order: str) -> None:
    text = sequence(STREAM)
    uuid = bytes(range(16))

    def packet(part: bytes) -> bytes:
        bits = 8 * (37 + len(part))
        return (
            struct.pack(
                order + "I16sIIIBBBBB", PACKET_MAGIC, uuid, 0, bits, bits + 24, 0, 0, 0, 2, 0
            )
            + part
            + bytes(3)
        )

    assert parse_metadata(packet(text[:30]) + packet(text[30:])) == parse_metadata(text)


@given(trace=trace_classes(version=2))
def test_what_is_printed_reads_as_it_was(trace: TraceClass) -> None:
    assert parse_metadata(print_sequence(trace)) == trace


# What is refused

MEMBER = "fragment 2.payload-field-class.member-classes[0].field-class"
#: By name: the field class of a record's only field, where in it the defect is, and what the error says.
REFUSED_FIELDS: dict[str, tuple[Any, str, str]] = {
    "nothing": (None, "", "expected an object, found nothing"),
    "a number": (3, "", "expected an object, found 3"),
    "no such alias": ("u8", "", "there is no field class alias 'u8'"),
    "no type": ({}, ".type", "expected a string, found nothing"),
    "unknown type": ({"type": "integer"}, ".type", "expected a field class, found integer"),
    "no length": ({**U8, "length": None}, ".length", "found nothing"),
    "no bits": ({**U8, "length": 0}, ".length", "an integer from 1 to 64"),
    "too many bits": ({**U8, "length": 65}, ".length", "an integer from 1 to 64"),
    "half a bit": ({**U8, "length": 0.5}, ".length", "found 0.5"),
    "true bits": ({**U8, "length": True}, ".length", "found True"),
    "a length in words": ({**U8, "length": "8"}, ".length", "found 8"),
    "no byte order": ({"type": "fixed-length-boolean", "length": 1}, ".byte-order", "a string"),
    "other byte order": ({**U8, "byte-order": "middle"}, ".byte-order", "found middle"),
    "other bit order": ({**U8, "bit-order": "up"}, ".bit-order", "expected a bit order"),
    "alignment of 3": ({**U8, "alignment": 3}, ".alignment", "a power of two"),
    "alignment of 0": ({**U8, "alignment": 0}, ".alignment", "an integer from 1"),
    "base 7": ({**U8, "preferred-display-base": 7}, ".preferred-display-base", "2, 8, 10 or 16"),
    "unknown role": ({**U8, "roles": ["king"]}, ".roles", "expected a role, found king"),
    "roles as an object": ({**U8, "roles": {}}, ".roles", "expected a list"),
    "mappings as a list": ({**U8, "mappings": []}, ".mappings", "expected an object"),
    "a mapping of nothing": ({**U8, "mappings": {"a": []}}, ".mappings.a", "a list of ranges"),
    "a range backwards": ({**U8, "mappings": {"a": [[2, 1]]}}, ".mappings.a", "found [2, 1]"),
    "a range of one": ({**U8, "mappings": {"a": [[2]]}}, ".mappings.a", "[lowest, highest]"),
    "a negative range": ({**U8, "mappings": {"a": [[-1, 1]]}}, ".mappings.a", "found [-1, 1]"),
    "a range of 65 bits": ({**U8, "mappings": {"a": [[0, 1 << 64]]}}, ".mappings.a", "found"),
    "a map without flags": (
        {**U8, "type": "fixed-length-bit-map"},
        ".flags",
        "expected at least one flag",
    ),
    "number of 24 bits": (
        {**U8, "type": "fixed-length-floating-point-number", "length": 24},
        ".length",
        "16, 32, 64 or 128 bits",
    ),
    "unknown encoding": ({**TEXT, "encoding": "latin-1"}, ".encoding", "found latin-1"),
    "negative length": ({"type": "static-length-string", "length": -1}, ".length", "found -1"),
    "huge length": ({"type": "static-length-blob", "length": 1 << 31}, ".length", "from 0 to"),
    "no location": ({"type": "dynamic-length-blob"}, ".length-field-location", "an object"),
    "no path": (
        {"type": "dynamic-length-blob", "length-field-location": {}},
        ".length-field-location.path",
        "a path of names",
    ),
    "path to a structure": (
        {"type": "dynamic-length-blob", "length-field-location": at("n", None)},
        ".length-field-location.path",
        "a path of names",
    ),
    "path of numbers": (
        {"type": "dynamic-length-blob", "length-field-location": {"path": [1]}},
        ".length-field-location.path",
        "a path of names",
    ),
    "unknown origin": (
        {"type": "dynamic-length-blob", "length-field-location": at("n", origin="moon")},
        ".length-field-location.origin",
        "expected an origin, found moon",
    ),
    "field of no scope": (
        {"type": "dynamic-length-blob", "length-field-location": at("n", origin="packet-header")},
        ".length-field-location",
        "there is no field before this",
    ),
    "field of no name": (
        {"type": "dynamic-length-blob", "length-field-location": at("m")},
        ".length-field-location",
        "there is no field before this: found ['m']",
    ),
    "field outside the root": (
        {"type": "dynamic-length-blob", "length-field-location": at(None, None, "n")},
        ".length-field-location",
        "there is no field before this",
    ),
    "field in an integer": (
        {"type": "dynamic-length-blob", "length-field-location": at("n", "m")},
        ".length-field-location",
        "there is no field before this",
    ),
    "signed length": (
        {"type": "dynamic-length-string", "length-field-location": at("signed")},
        ".length-field-location",
        "a length must be an unsigned integer",
    ),
    "length of text": (
        {
            "type": "dynamic-length-array",
            "length-field-location": at("text"),
            "element-field-class": U8,
        },
        ".length-field-location",
        "a length must be an unsigned integer",
    ),
    "array of nothing": (
        {"type": "static-length-array", "length": 1},
        ".element-field-class",
        "expected an object",
    ),
    "members by name": (
        {"type": "structure", "member-classes": {"a": U8}},
        ".member-classes",
        "expected a list",
    ),
    "a member without a name": (
        {"type": "structure", "member-classes": [{"field-class": U8}]},
        ".member-classes[0].name",
        "expected a string",
    ),
    "a member without a class": (
        {"type": "structure", "member-classes": [{"name": "a"}]},
        ".member-classes[0].field-class",
        "expected an object",
    ),
    "two members of a name": (
        {
            "type": "structure",
            "member-classes": [{"name": "a", "field-class": U8}, {"name": "a", "field-class": U8}],
        },
        ".member-classes[1].name",
        "there are two members 'a'",
    ),
    "no options": (
        {"type": "variant", "selector-field-location": at("n"), "options": []},
        ".options",
        "expected at least one option",
    ),
    "an option that nothing selects": (
        {
            "type": "variant",
            "selector-field-location": at("n"),
            "options": [{"field-class": U8}],
        },
        ".options[0].selector-field-ranges",
        "expected a list of ranges",
    ),
    "a selector of text": (
        {
            "type": "variant",
            "selector-field-location": at("text"),
            "options": [{"field-class": U8, "selector-field-ranges": [[0, 0]]}],
        },
        ".selector-field-location",
        "a variant's selector must be an integer",
    ),
    "ranges of a boolean": (
        {
            "type": "optional",
            "selector-field-location": at("flag"),
            "selector-field-ranges": [[1, 1]],
            "field-class": U8,
        },
        ".selector-field-ranges",
        "only integers have ranges",
    ),
    "an integer without ranges": (
        {"type": "optional", "selector-field-location": at("n"), "field-class": U8},
        ".selector-field-location",
        "a selector without ranges must be a boolean",
    ),
}


@pytest.mark.parametrize("name", REFUSED_FIELDS)
def test_defects_of_field_classes(name: str) -> None:
    held, place, text = REFUSED_FIELDS[name]
    context = structure(n=U8, signed=S8, text=TEXT, flag=FLAG)
    held = _in_context(held)
    record = {**event(x=held), "specific-context-field-class": context}
    with pytest.raises(TraceError) as caught:
        parse_metadata(sequence(STREAM, record))
    error = caught.value
    assert error.field == f"metadata.{MEMBER}{place}"
    assert text in str(error) and "line 3, column 2" in str(error)


def _in_context(held: Any) -> Any:
    """The same with those locations from the specific context on whose first name is of a field there."""
    if isinstance(held, list):
        return [_in_context(each) for each in held]
    if not isinstance(held, dict):
        return held
    path = held.get("path")
    if list(held) == ["path"] and path and path[0] in ("n", "signed", "text", "flag"):
        return {"origin": "event-record-specific-context", "path": path}
    return {name: _in_context(each) for name, each in held.items()}


CLOCK: Json = {"type": "clock-class", "id": "c", "frequency": 10}
#: By name: the fragments, the number of the wrong one and the place in it, and what the error says.
REFUSED: dict[str, tuple[tuple[Json, ...], str, str]] = {
    "two preambles": ((PREAMBLE, PREAMBLE), "fragment 1", "two preambles"),
    "no version": (({"type": "preamble"},), "fragment 0.version", "expected 2"),
    "another version": (({**PREAMBLE, "version": 3},), "fragment 0.version", "found 3"),
    "true as the version": (({**PREAMBLE, "version": True},), "fragment 0.version", "found True"),
    "half a UUID": (({**PREAMBLE, "uuid": [1] * 8},), "fragment 0.uuid", "16 bytes"),
    "a UUID of words": (({**PREAMBLE, "uuid": [256] * 16},), "fragment 0.uuid", "16 bytes"),
    "extensions that are needed": (
        ({**PREAMBLE, "extensions": {"my.tracer": {"compressed": True}}},),
        "fragment 0.extensions",
        "extensions that are not known",
    ),
    "unknown fragment": (({"type": "comment"},), "fragment 1.type", "found comment"),
    "fragment without a type": (({},), "fragment 1.type", "a string"),
    "two traces": (({"type": "trace-class"},) * 2, "fragment 2", "two trace classes"),
    "a late trace": ((STREAM, {"type": "trace-class"}), "fragment 2", "behind a data stream"),
    "an environment of floats": (
        ({"type": "trace-class", "environment": {"a": 1.5}},),
        "fragment 1.environment.a",
        "a string or an integer",
    ),
    "a header that is no structure": (
        ({"type": "trace-class", "packet-header-field-class": U8},),
        "fragment 1.packet-header-field-class",
        "expected a structure",
    ),
    "a UUID of 15 bytes": (
        (
            {
                "type": "trace-class",
                "packet-header-field-class": structure(
                    u={
                        "type": "static-length-blob",
                        "length": 15,
                        "roles": ["metadata-stream-uuid"],
                    }
                ),
            },
        ),
        "fragment 1.packet-header-field-class.member-classes[0].field-class.length",
        "16 bytes",
    ),
    "a clock without an id": (({"type": "clock-class"},), "fragment 1.id", "a string"),
    "a clock that stands": (({**CLOCK, "frequency": 0},), "fragment 1.frequency", "from 1"),
    "two clocks": ((CLOCK, CLOCK), "fragment 2.id", "two clock classes 'c'"),
    "more cycles than a second has": (
        ({**CLOCK, "offset-from-origin": {"cycles": 10}},),
        "fragment 1.offset-from-origin.cycles",
        "less than the frequency",
    ),
    "an unknown origin": (({**CLOCK, "origin": "noon"},), "fragment 1.origin", "an object"),
    "an origin without a uid": (
        ({**CLOCK, "origin": {"name": "a"}},),
        "fragment 1.origin.uid",
        "a string",
    ),
    "negative precision": (({**CLOCK, "precision": -1},), "fragment 1.precision", "from 0"),
    "a stream of no clock": (
        ({**STREAM, "default-clock-class-id": "x"},),
        "fragment 1.default-clock-class-id",
        "there is no clock class 'x'",
    ),
    "two streams": ((STREAM, STREAM), "fragment 2.id", "two data stream classes 0"),
    "a negative id": (({**STREAM, "id": -1},), "fragment 1.id", "from 0"),
    "a record of no stream": (
        (STREAM, {"type": "event-record-class", "data-stream-class-id": 3}),
        "fragment 2.data-stream-class-id",
        "there is no data stream class 3",
    ),
    "two records": ((STREAM, event(), event()), "fragment 3.id", "two event record classes 0"),
    "two aliases": (
        ({"type": "field-class-alias", "name": "a", "field-class": U8},) * 2,
        "fragment 2.name",
        "already defined",
    ),
    "a damaged alias": (
        (
            {
                "type": "field-class-alias",
                "name": "a",
                "field-class": structure(b={**U8, "length": 0}),
            },
        ),
        "fragment 1.field-class.member-classes[0].field-class.length",
        "found 0",
    ),
    "an alias of itself": (
        ({"type": "field-class-alias", "name": "a", "field-class": "a"},),
        "fragment 1.field-class",
        "there is no field class alias 'a'",
    ),
    "an alias before it is there": (
        ({"type": "field-class-alias", "name": "a", "field-class": structure(b="c")},),
        "fragment 1.field-class.member-classes[0].field-class",
        "there is no field class alias 'c'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_defects_of_fragments(name: str) -> None:
    fragments, place, text = REFUSED[name]
    with pytest.raises(TraceError) as caught:
        parse_metadata(sequence(*fragments))
    error = caught.value
    assert error.field == f"metadata.{place}"
    line = 1 + int(place.split()[1].split(".")[0])
    assert text in str(error) and f"line {line}, column 2" in str(error)


@pytest.mark.parametrize(
    ("data", "place", "text"),
    [
        (b"\x1e{}", "line 1, column 2", "expected a string"),
        (b'\x1e{"type": "trace-class"}', "line 1, column 2", "expected preamble"),
        (b"\x1e[]", "line 1, column 2", "expected an object, found a list"),
        (b'\x1e{"type": "preamble",}', "line 1, column", "no JSON"),
        (b'\x1e{"type": "preamble"', "line 1, column", "no JSON"),
        (sequence() + b"\x1e\n{'", "line 3, column 2", "no JSON"),
        (sequence(), "line 2, column 1", "there is no data stream class"),
        (b"\x1e" + b"[" * 100_000, "line 1, column 2", "no JSON"),
        (b'\x1e{"a": ' + b"9" * 10_000 + b"}", "line 1, column 2", "no JSON"),
    ],
    ids=["no type", "no preamble", "list", "comma", "cut", "quote", "empty", "nesting", "digits"],
)
def test_what_is_no_sequence(data: bytes, place: str, text: str) -> None:
    with pytest.raises(TraceError) as caught:
        parse_metadata(data)
    assert place in str(caught.value) and text in str(caught.value)


def test_a_cut_file_ends_in_an_error_or_a_trace() -> None:
    data = sequence(CLOCK, STREAM, event(n=U8, x=FIELD_CLASSES["variant"][0]))
    whole = parse_metadata(data)
    for size in range(1, len(data)):
        try:
            trace = parse_metadata(data[:size])
        except TraceError:
            continue
        assert trace.streams[0].events in ({}, whole.streams[0].events)


# Hostile metadata


def _nested(depth: int) -> Json:
    held: Json = U8
    for _ in range(depth):
        held = structure(a=held)
    return held


def _doubled(count: int, *, located: bool = False) -> tuple[Json, ...]:
    """Aliases each of which is twice the one before; the first perhaps depends on its place."""
    names = [f"a{number}" for number in range(count)]
    blob = {"type": "dynamic-length-blob", "length-field-location": at("n")}
    held = structure(n=U8, b=blob) if located else U8
    first: Json = {"type": "field-class-alias", "name": "a0", "field-class": held}
    return (
        first,
        *(
            {
                "type": "field-class-alias",
                "name": after,
                "field-class": structure(x=before, y=before),
            }
            for before, after in pairwise(names)
        ),
    )


@pytest.mark.parametrize(
    "fragments",
    [
        (STREAM, event(x=_nested(60))),
        (STREAM, event(x=_nested(300))),
        (*_doubled(80), STREAM),
        (*_doubled(80, located=True), STREAM),
        (
            *_doubled(12, located=True),
            STREAM,
            *({**event(x="a11"), "id": number} for number in range(20)),
        ),
        (*_doubled(15), STREAM, *({**event(x="a14"), "id": number} for number in range(20))),
        (STREAM, event(**{f"m{number}": U8 for number in range(20_000)})),
    ],
    ids=[
        "nesting",
        "deep nesting",
        "doubling",
        "doubling what has a place",
        "many that have a place",
        "many doubled",
        "members",
    ],
)
def test_hostile_metadata_end_in_an_error_soon(fragments: tuple[Json, ...]) -> None:
    data = sequence(*fragments)
    start = time.process_time()
    with pytest.raises(TraceError):
        parse_metadata(data)
    assert time.process_time() - start < 1
