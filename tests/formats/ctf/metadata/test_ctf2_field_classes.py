"""Field classes in the metadata of CTF 2: each class, roles, aliases and locations."""

from __future__ import annotations

import pytest
from support.ctf.ctf2_fragments import (
    CLOCK,
    FLAG,
    PREAMBLE,
    S8,
    STREAM,
    TEXT,
    U8,
    VARIANT,
    Json,
    at,
    event,
    payload,
    sequence,
    structure,
)

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
from converter.formats.ctf.metadata.files import parse_metadata

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
        VARIANT,
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
    # The same under a name, with attributes that nobody knows.
    more = {"attributes": {"my.tracer": 1}, "extensions": {}}
    alias = {"type": "field-class-alias", "name": "it", "field-class": {**given, **more}}
    assert payload(alias, STREAM, event(n=U8, flag=FLAG, signed=S8, x="it"))["x"] == expected


def test_names_are_kept_as_they_are() -> None:
    members = payload(STREAM, event(**{"": U8, "_a": U8, "a": U8, "\u00e9 b:c": U8}))
    assert list(members) == ["", "_a", "a", "\u00e9 b:c"]


def test_roles() -> None:
    def integer(role: FieldRole) -> Json:
        return {**U8, "length": 32, "roles": [role.value]}

    uuid = {"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]}
    header = {role.value: integer(role) for role in _OF_HEADER} | {"metadata-stream-uuid": uuid}
    context = {role.value: integer(role) for role in _OF_CONTEXT}
    of_record = {
        role.value: integer(role) for role in (FieldRole.TIMESTAMP, FieldRole.EVENT_CLASS_ID)
    }
    trace = parse_metadata(
        sequence(
            {**PREAMBLE, "uuid": [1] * 16},
            {"type": "trace-class", "packet-header-field-class": structure(**header)},
            CLOCK,
            {
                **STREAM,
                "default-clock-class-id": "c",
                "packet-context-field-class": structure(**context),
                "event-record-header-field-class": structure(**of_record),
            },
        )
    )
    stream = trace.streams[0]
    seen = set()
    for root in (trace.packet_header, stream.packet_context, stream.event_header):
        assert root is not None
        for member in root.members:
            assert isinstance(member.type, FixedInteger | Blob)
            assert member.type.roles == {FieldRole(member.name)}
            seen |= member.type.roles
    assert seen == set(FieldRole)


_OF_HEADER = (FieldRole.MAGIC, FieldRole.STREAM_CLASS_ID, FieldRole.STREAM_ID)
_OF_CONTEXT = (
    FieldRole.PACKET_LENGTH,
    FieldRole.CONTENT_LENGTH,
    FieldRole.TIMESTAMP,
    FieldRole.PACKET_END_TIMESTAMP,
    FieldRole.SEQUENCE_NUMBER,
    FieldRole.DISCARDED,
)


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
