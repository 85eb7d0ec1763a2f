"""Packets that say some of what packets can say of themselves, and fields that depend on others in all scopes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.ctf.ctf2_fragments import (
    CLOCK,
    STREAM,
    TEXT,
    U8,
    Json,
    at,
    event,
    sequence,
    structure,
)
from support.ctf.files import events_of, open_trace

from converter.errors import TraceError
from converter.formats.ctf.metadata.files import parse_metadata
from converter.ir.collect import collect
from converter.ir.invariants import check

U32: Json = {**U8, "length": 32}
LENGTH: Json = {**U8, "roles": ["packet-total-length"]}
CONTENT: Json = {**U8, "roles": ["packet-content-length"]}

#: By name: a packet's context, the file, and the values of the records' only field.
LAYOUTS: dict[str, tuple[Json, bytes, list[int]]] = {
    "nothing: all of the file": ({}, b"\1\2\3", [1, 2, 3]),
    "both": ({"p": LENGTH, "c": CONTENT}, b"\x28\x20\1\2\xff\x18\x18\3", [1, 2, 3]),
    "only the packet's size": ({"p": LENGTH}, b"\x18\1\2\x10\3", [1, 2, 3]),
    "only the content's size": ({"c": CONTENT}, b"\x18\1\2\x10\3", [1, 2, 3]),
    "packets without records": ({"c": CONTENT}, b"\x08\x08\x10\7", [7]),
    "a size that is there if another field says so": (
        {
            "has": {**U8, "type": "fixed-length-boolean"},
            "p": {"type": "optional", "selector-field-location": at("has"), "field-class": LENGTH},
        },
        b"\1\x18\1\0\2\3",
        [1, 2, 3],
    ),
}


def values(tmp_path: Path, *fragments: Json, data: bytes) -> list[Any]:
    """The records' field `x`."""
    (tmp_path / "metadata").write_bytes(sequence(*fragments))
    (tmp_path / "stream").write_bytes(data)
    trace = open_trace(tmp_path)
    found = [fields["x"] for _, _, fields in events_of(trace)]
    assert not trace.warnings
    return found


@pytest.mark.parametrize("name", LAYOUTS)
def test_sizes_of_packets(tmp_path: Path, name: str) -> None:
    context, data, found = LAYOUTS[name]
    stream = {**STREAM, "packet-context-field-class": structure(**context)}
    assert values(tmp_path, stream, event(x=U8), data=data) == found


@pytest.mark.parametrize("bits", [8, 64])
def test_ends_of_packets_are_times_if_nothing_else_is(tmp_path: Path, bits: int) -> None:
    end = {**U8, "length": bits, "roles": ["packet-end-default-clock-timestamp"]}
    stream = {
        **STREAM,
        "default-clock-class-id": "c",
        "packet-context-field-class": structure(p=LENGTH, e=end),
    }
    size = 8 * (1 + bits // 8 + 2)
    ends = [1, 3, 3, 250, 2, 9]
    data = b"".join(
        bytes([size]) + (value & 0xFF).to_bytes(bits // 8, "little") + b"ab" for value in ends
    )
    (tmp_path / "metadata").write_bytes(sequence(CLOCK, stream, event(x=U8)))
    (tmp_path / "stream").write_bytes(data)
    trace = open_trace(tmp_path)
    wrapped = 256 if bits == 8 else 0
    before = [0, 1, 3, 3, 250, 2 + wrapped]
    # A clock of 64 bits that falls has wrapped around, too, which no time holds.
    count = 12 if bits == 8 else 10
    assert [ts for ts, _, _ in events_of(trace)][:count] == [
        ts for ts in before[: count // 2] for _ in "ab"
    ]
    assert all(declared.timed for declared in trace.event_classes)


def test_an_id_that_a_record_does_not_say_is_0(tmp_path: Path) -> None:
    """The record before does not say it either."""
    has = {**U8, "type": "fixed-length-boolean"}
    id = {**U8, "roles": ["event-record-class-id"]}
    header = structure(
        has=has,
        id={"type": "optional", "selector-field-location": at("has"), "field-class": id},
    )
    stream = {**STREAM, "event-record-header-field-class": header}
    records = [event(x=U8), {**event(x=U32), "id": 1}]
    assert values(tmp_path, stream, *records, data=b"\1\1\1\0\0\0\0\2\1\1\3\0\0\0\0\4") == [
        1,
        2,
        3,
        4,
    ]


def test_a_stream_class_without_any_structure_is_read(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_bytes(sequence(STREAM))
    (tmp_path / "stream").write_bytes(b"ab")
    trace = open_trace(tmp_path)
    with pytest.raises(TraceError, match="an event record class of the stream"):
        list(trace.batches())
    (tmp_path / "stream").write_bytes(b"")
    assert not events_of(open_trace(tmp_path))


def _list(*path: str | None, origin: str | None = None) -> Json:
    return {
        "type": "dynamic-length-array",
        "element-field-class": U8,
        "length-field-location": at(*path, origin=origin),
    }


def _choice(*path: str | None) -> Json:
    return {
        "type": "variant",
        "selector-field-location": at(*path),
        "options": [
            {"name": "one", "field-class": U8, "selector-field-ranges": [[0, 3]]},
            {"name": "two", "field-class": TEXT, "selector-field-ranges": [[4, 9]]},
        ],
    }


@pytest.mark.parametrize("where", ["packet-header", "packet-context"])
def test_packets_have_lengths_and_selectors_of_their_own(tmp_path: Path, where: str) -> None:
    held = structure(n=U8, s=_list("n"), v=_choice("n"))
    stream: Json = STREAM
    fragments: list[Json] = []
    if where == "packet-header":
        fragments = [{"type": "trace-class", "packet-header-field-class": held}]
    else:
        stream = {**STREAM, "packet-context-field-class": held}
    record = event(x=U8, y=_list("n", origin=where))
    assert values(tmp_path, *fragments, stream, record, data=b"\2ab\5\1yy\2zz") == [1, 2]
    record = event(x=_list("n", origin=where))
    assert values(tmp_path, *fragments, stream, record, data=b"\2ab\5\1\2\3\4") == [[1, 2], [3, 4]]


def _with_options(**members: Json) -> Json:
    """A variant of two structures that have the field `len` at different places."""
    return {
        "type": "variant",
        "selector-field-location": at("tag"),
        "options": [
            {"field-class": structure(len=U8, s=TEXT), "selector-field-ranges": [[0, 0]]},
            {"field-class": structure(s=TEXT, **members), "selector-field-ranges": [[1, 1]]},
        ],
    }


def test_a_length_in_each_option_of_a_variant(tmp_path: Path) -> None:
    record = event(tag=U8, outer=_with_options(len=U8), x=_list("outer", "len"))
    data = b"\0\2a\0\7\7" + b"\1bc\0\1\5"
    assert values(tmp_path, STREAM, record, data=data) == [[7, 7], [5]]


@pytest.mark.parametrize(
    ("second", "message"),
    [({}, "there is no field"), ({"len": TEXT}, "different classes")],
    ids=["missing", "of another kind"],
)
def test_options_that_do_not_agree(second: dict[str, Json], message: str) -> None:
    record = event(tag=U8, outer=_with_options(**second), x=_list("outer", "len"))
    with pytest.raises(TraceError, match=message):
        parse_metadata(sequence(STREAM, record))


def test_what_has_ended_is_not_looked_into() -> None:
    """Which element of an array, or whether an optional field is there, nobody could say."""
    array = {"type": "static-length-array", "length": 2, "element-field-class": structure(n=U8)}
    with pytest.raises(TraceError, match="there is no field"):
        parse_metadata(sequence(STREAM, event(a=array, x=_list("a", "n"))))


def test_paths_go_up_and_down(tmp_path: Path) -> None:
    inner = structure(x=_list("x", None, None, "beside", "y", None, "n"))
    record = event(beside=structure(n=U8), s=inner)
    (tmp_path / "metadata").write_bytes(sequence(STREAM, record))
    (tmp_path / "stream").write_bytes(b"\2\3\4")
    assert events_of(open_trace(tmp_path))[0][2] == {"beside": [("n", 2)], "s": [("x", [3, 4])]}


TSDL = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { %s }; };
env { n = 2; name = "three"; }; stream { };
event { name = e; fields := struct { %s }; };
"""


def _tsdl(tmp_path: Path, fields: str, data: bytes, header: str = "") -> list[dict[str, Any]]:
    (tmp_path / "metadata").write_text(TSDL % (header, fields))
    (tmp_path / "stream").write_bytes(data)
    return [fields for _, _, fields in events_of(open_trace(tmp_path))]


def test_a_length_that_the_environment_says(tmp_path: Path) -> None:
    found = _tsdl(tmp_path, "u8 a[env.n]; struct { string s[env.n]; } b;", b"\1\2x\0y\0")
    assert found == [{"a": [1, 2], "b": [("s", [b"x", b"y"])]}]


@pytest.mark.parametrize("name", ["name", "other"])
def test_an_environment_that_says_no_length(tmp_path: Path, name: str) -> None:
    with pytest.raises(TraceError, match="a length from 0"):
        _tsdl(tmp_path, f"u8 a[env.{name}];", b"\1")


def test_tsdl_of_lengths_in_options_and_in_packets(tmp_path: Path) -> None:
    fields = (
        "enum : u8 { X, Y } tag;"
        " variant <tag> { struct { u8 len; } X; struct { string s; u8 len; } Y; } v;"
        " u8 a[v.len]; u8 b[trace.packet.header.n];"
    )
    data = b"\1h" + b"\0\1\7\5" + b"\1s\0\2\1\2\6"
    found = _tsdl(tmp_path, fields, data, header="u8 n; u8 s[n];")
    assert [(each["a"], each["b"]) for each in found] == [([7], [5]), ([1, 2], [6])]


def test_tsdl_of_a_length_that_is_a_variant(tmp_path: Path) -> None:
    fields = (
        "enum : u8 { X, Y } t; variant <t> { u8 X; variant <t> { u8 X; u8 Y; } Y; } v; u8 a[v];"
    )
    found = _tsdl(tmp_path, fields, b"\0\1\7" + b"\1\2\7\7")
    assert [each["a"] for each in found] == [[7], [7, 7]]


@pytest.mark.parametrize(
    "fields",
    [
        "u8 n[2]; u8 a[n];",
        "struct { u8 n; } s[2]; u8 a[s.n];",
        "enum : u8 { X, Y } t; variant <t> { u8 X; string Y; } v; u8 a[v];",
        (
            "enum : u8 { X, Y } t; variant <t> { struct { u8 n; } X; struct { string n; } Y; } v;"
            " u8 a[v.n];"
        ),
    ],
)
def test_tsdl_of_what_says_no_length(fields: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"there is no field|must be an unsigned integer"):
        _tsdl(tmp_path, fields, bytes(9))


def test_tsdl_wants_quotation_marks_around_texts() -> None:
    metadata = (
        "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };"
        "clock { name = c; description = %s; }; stream { };"
    )
    assert parse_metadata((metadata % '"fast"').encode()).clocks["c"].description == "fast"
    with pytest.raises(TraceError, match="expected a string"):
        parse_metadata((metadata % "fast").encode())


def test_tsdl_of_options_that_do_not_agree(tmp_path: Path) -> None:
    fields = "enum : u8 { X, Y } t; variant <t> { struct { u8 n; } X; u8 Y; } v; u8 a[v.n];"
    with pytest.raises(TraceError, match=r"there is no field 'v\.n'"):
        _tsdl(tmp_path, fields, b"\0\1\1")


def test_options_without_names_are_told_apart(tmp_path: Path) -> None:
    options = [
        {"field-class": held, "selector-field-ranges": [[number, number]]}
        for number, held in enumerate((U8, TEXT, _list("n")))
    ]
    variant = {"type": "variant", "selector-field-location": at("n"), "options": options}
    (tmp_path / "metadata").write_bytes(sequence(STREAM, event(n=U8, x=variant)))
    (tmp_path / "stream").write_bytes(b"\0\7\1a\0\2bc")
    trace = collect(open_trace(tmp_path))
    check(trace)
    found = [fields["x"] for _, _, fields in events_of(trace)]
    assert found == [("", 7), ("#2", b"a"), ("#3", [98, 99])]


def test_times_need_a_clock() -> None:
    header = structure(t={**U8, "roles": ["default-clock-timestamp"]})
    stream = {**STREAM, "event-record-header-field-class": header}
    with pytest.raises(TraceError, match="no default clock class"):
        parse_metadata(sequence(CLOCK, stream))
    parse_metadata(sequence(CLOCK, {**stream, "default-clock-class-id": "c"}))


def _bits(length: int, order: str, **more: Any) -> Json:
    return {**U8, "length": length, "byte-order": f"{order}-endian", **more}


#: By name: the fields of a record of whole bytes, and whether its byte order changes within a byte.
ORDERS: dict[str, tuple[dict[str, Json], bool]] = {
    "one order": ({"a": _bits(3, "big"), "x": _bits(5, "big")}, False),
    "another within a byte": ({"a": _bits(3, "big"), "x": _bits(5, "little")}, True),
    "bits counted the other way": (
        {"a": _bits(3, "big"), "x": _bits(5, "big", **{"bit-order": "first-to-last"})},
        False,
    ),
    "another from a byte on": ({"a": _bits(8, "big"), "x": _bits(8, "little")}, False),
    "another that is aligned": (
        {"a": _bits(3, "big"), "x": _bits(8, "little", alignment=8)},
        False,
    ),
    "another that is aligned to less": (
        {"a": _bits(3, "big"), "x": _bits(4, "little", alignment=4)},
        True,
    ),
    "behind a string": ({"a": _bits(3, "big"), "s": TEXT, "x": _bits(8, "little")}, False),
    "behind an array": (
        {
            "a": {
                "type": "static-length-array",
                "length": 3,
                "element-field-class": _bits(3, "big"),
            },
            "x": _bits(7, "little"),
        },
        True,
    ),
    "in an option": (
        {
            "n": U8,
            "a": _bits(3, "little"),
            "v": {
                "type": "variant",
                "selector-field-location": at("n"),
                "options": [
                    {"field-class": _bits(5, "big"), "selector-field-ranges": [[0, 0]]},
                    {"field-class": _bits(5, "little"), "selector-field-ranges": [[1, 1]]},
                ],
            },
            "x": U8,
        },
        True,
    ),
}


@pytest.mark.parametrize("name", ORDERS)
def test_byte_orders_change_between_bytes(tmp_path: Path, name: str) -> None:
    fields, mixed = ORDERS[name]
    (tmp_path / "metadata").write_bytes(sequence(STREAM, event(**fields)))
    (tmp_path / "stream").write_bytes(bytes(4))
    trace = open_trace(tmp_path)
    if mixed:
        with pytest.raises(TraceError, match="changes within a byte"):
            list(trace.batches())
    else:
        assert events_of(trace)
        assert not any("within a byte" in str(warning) for warning in trace.warnings)


def test_a_byte_order_that_changes_behind_a_length(tmp_path: Path) -> None:
    """Where the position is known only when the data are read, they say whether it is that of a byte."""
    array = {**_list("n"), "element-field-class": _bits(4, "big")}
    record = event(n=U8, a=array, x=_bits(8, "little"))
    assert values(tmp_path, STREAM, record, data=b"\2\x12\7") == [7]
    (tmp_path / "stream").write_bytes(b"\1\x10\7")
    with pytest.raises(TraceError, match="changes within a byte"):
        list(open_trace(tmp_path).batches())


def test_bitfields_of_gnu_c_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="expected"):
        _tsdl(tmp_path, "u8 a:4;", b"\1")
