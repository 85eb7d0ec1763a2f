"""TSDL, the metadata of CTF 1.8: what is read from it, what is refused, and what is printed."""

from __future__ import annotations

import re
import struct
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from support.ctf.metadata_cases import ACCEPTED, HEAD, HOSTILE, REFUSED, TRACE, TYPES, fields
from support.ctf.metadata_strategies import trace_classes

from converter.errors import TraceError, UnsupportedError
from converter.formats.ctf.metadata.field_classes import (
    Array,
    ByteOrder,
    FieldDeclaration,
    FieldRole,
    FixedBits,
    FixedBoolean,
    FixedInteger,
    Location,
    Mapping,
    Member,
    Range,
    Scope,
    Structure,
    Text,
    Variant,
)
from converter.formats.ctf.metadata.files import packed, parse_metadata
from converter.formats.ctf.metadata.trace_class import TraceClass
from converter.formats.ctf.metadata.tsdl.printer import print_tsdl


def payload(text: str) -> Structure:
    """The fields of the only event."""
    trace = parse_metadata(text.encode())
    (event,) = trace.streams[0].events.values()
    assert event.payload is not None
    return event.payload


def types_of(structure: Structure | None) -> dict[str, Any]:
    """The types of a structure's members, of which the tests know what they are."""
    assert structure is not None
    return {member.name: member.type for member in structure.members}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_allowed_is_accepted(name: str) -> None:
    parse_metadata(ACCEPTED[name].encode())


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_by_line_and_column(name: str) -> None:
    text, reason = REFUSED[name]
    with pytest.raises(TraceError) as caught:
        parse_metadata(text.encode())
    message = str(caught.value)
    assert re.search(r"line \d+, column \d+", message)
    assert reason in message


def test_an_error_names_the_place() -> None:
    text = HEAD + TRACE + "event {\n\tfields := struct {\n\t\tuint9_t x;\n\t};\n};"
    with pytest.raises(TraceError, match="line 5, column 3: there is no type 'uint9_t'"):
        parse_metadata(text.encode())


def test_names_lose_the_underscore_that_they_can_do_without() -> None:
    members = payload(fields("uint8_t a; uint8_t _a; uint8_t __a; uint8_t _b; uint8_t _;")).members
    assert [member.name for member in members] == ["a", "_a", "__a", "b", "_"]
    assert [member.declared for member in members] == ["a", "_a", "__a", "_b", "_"]


def test_names_that_lose_theirs_do_not_clash() -> None:
    members = payload(fields("uint8_t __a; uint8_t _a;")).members
    assert [member.name for member in members] == ["_a", "a"]


def test_characters_in_arrays_are_text() -> None:
    text = "integer { size = 8; align = 8; encoding = UTF8; }"
    (array, _, sequence) = payload(fields(f"{text} a[4]; uint8_t n; {text} b[n];")).members
    assert isinstance(array.type, Text) and array.type.length == 4
    assert isinstance(sequence.type, Text)
    assert sequence.type.length == Location(Scope.PAYLOAD, ("n",))


def test_a_length_is_found_where_its_type_is_declared() -> None:
    members = payload(
        fields("uint8_t n; typedef struct { uint8_t a[n]; } t; struct { string n; t x; } s;")
    ).members
    structure = members[1].type
    assert isinstance(structure, Structure)
    inner = structure.members[1].type
    assert isinstance(inner, Structure)
    array = inner.members[0].type
    assert isinstance(array, Array) and array.length == Location(Scope.PAYLOAD, ("n",))


def test_options_take_no_name_on_a_path() -> None:
    (_, variant) = payload(
        fields(
            "enum : uint8_t { a, b } t;"
            " variant <t> { struct { uint8_t n; uint8_t x[n]; } a; uint8_t b; } v;"
        )
    ).members
    assert isinstance(variant.type, Variant)
    option = variant.type.options[0].type
    assert isinstance(option, Structure)
    array = option.members[1].type
    assert isinstance(array, Array) and array.length == Location(Scope.PAYLOAD, ("v", "n"))


def test_a_length_in_the_context_of_all_events() -> None:
    text = (
        HEAD + TRACE + TYPES + "stream { event.context := struct { uint8_t _n; }; };"
        "event { fields := struct { uint8_t a[stream.event.context.n]; uint8_t b[n]; }; };"
    )
    place = Location(Scope.COMMON_CONTEXT, ("n",))
    assert [item.length for item in types_of(payload(text)).values()] == [place, place]


def test_labels_of_one_name_are_one_mapping() -> None:
    members = types_of(payload(fields("enum : uint8_t { A = 0, B, A = 5 ... 7 } x;")))
    assert members["x"].mappings == (
        Mapping("A", (Range(0, 0), Range(5, 7))),
        Mapping("B", (Range(1, 1),)),
    )


def test_large_integers_are_bits() -> None:
    (member,) = payload(fields("integer { size = 128; align = 8; } x;")).members
    assert member.type == FixedBits(128, "little", 8)


def test_escapes_in_strings() -> None:
    text = HEAD + TRACE + r'env { a = "\nabc \" \x41 \x023 \x0231 \101 \43 \0431 \0NOT"; };'
    assert parse_metadata(text.encode()).environment == {"a": '\nabc " A # #1 A # #1 '}


def test_roles_come_from_names() -> None:
    text = (
        HEAD
        + TYPES
        + """
        trace { major = 1; minor = 8; byte_order = le;
            packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; }; };
        clock { name = c; };
        stream {
            packet.context := struct { uint32_t timestamp_begin; uint32_t content_size; };
            event.header := struct {
                enum : uint8_t { compact = 0 ... 254, extended = 255 } id;
                variant <id> {
                    struct { integer { size = 32; map = clock.c.value; } timestamp; } compact;
                    struct { uint32_t id; uint32_t timestamp; } extended;
                } v;
            };
        };"""
    )
    trace = parse_metadata(text.encode())
    header = types_of(trace.packet_header)
    assert header["magic"].roles == {FieldRole.MAGIC}
    assert header["uuid"].roles == {FieldRole.METADATA_UUID}
    assert header["stream_id"].roles == {FieldRole.STREAM_CLASS_ID}
    stream = trace.streams[0]
    assert stream.clock == "c"
    context = types_of(stream.packet_context)
    assert context["timestamp_begin"].roles == {FieldRole.TIMESTAMP}
    assert context["content_size"].roles == {FieldRole.CONTENT_LENGTH}
    id, variant = types_of(stream.event_header).values()
    assert id.roles == {FieldRole.EVENT_CLASS_ID}
    compact, extended = (types_of(option.type) for option in variant.options)
    assert compact["timestamp"].roles == {FieldRole.TIMESTAMP}
    assert extended["id"].roles == {FieldRole.EVENT_CLASS_ID}


def test_the_only_clock_is_that_of_all_streams() -> None:
    text = HEAD + TRACE + "clock { name = c; }; stream { };"
    assert parse_metadata(text.encode()).streams[0].clock == "c"


def test_a_clock_far_from_its_origin_counts_from_1970() -> None:
    for offset, expected in ((1_700_000_000, True), (5000, False)):
        clock = f"clock {{ name = c; absolute = FALSE; offset_s = {offset}; }};"
        trace = parse_metadata((HEAD + TRACE + clock).encode())
        assert trace.clocks["c"].unix_epoch is expected


def test_what_is_odd_is_remarked_on() -> None:
    text = (
        HEAD
        + "trace { major = 1; minor = 8; byte_order = le; more = 1; };\ntypealias integer { size = 8; b = c; } := x;"
    )
    assert [remark[:2] for remark in parse_metadata(text.encode()).remarks] == [(3, 31), (2, 55)]


# Packets


@pytest.mark.parametrize("order", ["little", "big"])
def test_metadata_in_packets(order: ByteOrder) -> None:
    text = TRACE.replace("le", "le" if order == "little" else "be").encode()
    first, second = text[:20], text[20:]
    data = packed(first, None, order) + packed(second, None, order)
    assert parse_metadata(data).byte_order == order
    assert parse_metadata(data + b"\0\0").byte_order == order


@pytest.mark.parametrize("size", [1, 36, 37])
def test_a_rest_behind_the_last_packet(size: int) -> None:
    """What is shorter than a header is no packet: Babeltrace warns of it, too."""
    data = packed(TRACE.encode(), None, "little") + b"x" * size
    if size == 37:
        with pytest.raises(TraceError, match="magic"):
            parse_metadata(data)
        return
    (warning,) = parse_metadata(data).tolerated
    assert warning.field == "metadata.packet header" and warning.found == size
    with pytest.raises(TraceError, match="packet header"):
        parse_metadata(data[:20])


@pytest.mark.parametrize("minor", [-1, 0, 3, 7, 8, 9])
def test_minor_versions(minor: int) -> None:
    text = HEAD + TRACE.replace("minor = 8", f"minor = {minor}")
    if not 0 <= minor <= 8:
        with pytest.raises(TraceError, match=r"trace\.minor|at least 0"):
            parse_metadata(text.encode())
        return
    trace = parse_metadata(text.encode())
    assert trace.version == (1, 8) and not trace.tolerated
    assert [what for *_, what in trace.remarks] == (
        [] if minor == 8 else [f"version 1.{minor} is read as 1.8"]
    )


def test_padding_between_packets() -> None:
    data = bytearray(packed(TRACE.encode(), None, "little"))
    data += bytes(64)
    struct.pack_into("<I", data, 28, 8 * len(data))
    assert parse_metadata(bytes(data)).byte_order == "little"


@pytest.mark.parametrize(
    ("offset", "value", "field"),
    [
        (24, 8, "content_size"),
        (24, 1 << 30, "content_size"),
        (28, 1 << 30, "packet_size"),
        (32, 1, "schemes"),
        (35, 9, "version"),
    ],
)
def test_damaged_packets(offset: int, value: int, field: str) -> None:
    data = bytearray(packed(TRACE.encode(), None, "little"))
    struct.pack_into("<I" if offset < 32 else "<B", data, offset, value)
    with pytest.raises(TraceError, match=field):
        parse_metadata(bytes(data))


def test_packets_of_another_byte_order_than_the_trace() -> None:
    with pytest.raises(TraceError, match="byte order"):
        parse_metadata(packed(TRACE.encode(), None, "big"))


def test_a_cut_file_ends_in_an_error_or_a_trace() -> None:
    data = packed(ACCEPTED["named variant"].encode(), None, "little")
    for size in range(len(data)):
        with pytest.raises(TraceError):
            parse_metadata(data[:size])


# Hostile metadata


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_metadata_end_in_an_error_soon(name: str) -> None:
    start = time.process_time()
    with pytest.raises(TraceError):
        parse_metadata(HOSTILE[name].encode())
    assert time.process_time() - start < 1


def test_metadata_of_any_size_are_not_read() -> None:
    with pytest.raises(TraceError, match="at most"):
        parse_metadata(b" " * ((1 << 25) + 1))


# Printing


@given(trace=trace_classes(version=1))
def test_what_is_printed_reads_as_it_was(trace: TraceClass) -> None:
    text = print_tsdl(trace)
    again = parse_metadata(text.encode("utf-8", "surrogateescape"))
    assert again == trace


@pytest.mark.parametrize(
    "declared",
    [
        FixedBoolean(8),
        FixedBits(8),
        replace(FixedInteger(8), reversed_bits=True),
        Text(encoding="utf-16le"),
    ],
)
def test_what_tsdl_has_no_word_for(declared: FieldDeclaration) -> None:
    trace = parse_metadata(fields("uint8_t a;").encode())
    trace.streams[0].events[0].payload = Structure((Member("a", declared),))
    with pytest.raises(UnsupportedError, match=r"CTF 1\.8 does not have"):
        print_tsdl(trace)
