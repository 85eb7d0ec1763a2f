"""Values of every field class of CTF 1.8 and CTF 2, at any bit and in any byte order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.ctf.files import Stream, events_of, open_trace, single

from converter.ir.field_classes import (
    IntegerClass,
)
from converter.ir.trace import Trace


@pytest.mark.parametrize("order", ["le", "be"])
@pytest.mark.parametrize("lead", range(8))
def test_integers_lie_at_any_bit(tmp_path: Path, order: str, lead: int) -> None:
    widths = [1, 3, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64]
    fields = f"integer {{ size = {lead or 8}; align = 1; }} lead;" + "".join(
        f"integer {{ size = {width}; align = 1; signed = {signed}; }} {name}{width};"
        for width in widths
        for name, signed in (("u", "false"), ("s", "true"))
    )
    stream = Stream({"bits": fields}, order=order)
    payload = stream.bits().integer(0, lead or 8)
    expected: dict[str, int] = {"lead": 0}
    for width in widths:
        pattern = 0xA5C3_96F0_1E2D_4B87 & (1 << width) - 1 | 1 << width - 1
        payload.integer(pattern, width).integer(pattern, width)
        expected[f"u{width}"] = pattern
        expected[f"s{width}"] = pattern - (1 << width)
    packet = stream.packet([stream.record(0, 1, payload)])
    assert single(tmp_path, stream, packet) == [(1, "bits", expected)]


@pytest.mark.parametrize("order", ["le", "be"])
def test_alignment_counts_from_the_packet(tmp_path: Path, order: str) -> None:
    stream = Stream(
        {"wide": "integer { size = 32; align = 64; } x; struct { uint8_t y; } align(32) s;"},
        order=order,
    )

    def packet(start: int) -> bytes:
        # The header has 76 bytes, the record's 5: x is at 88, y at 92.
        payload = stream.bits().raw(bytes(7)).number(start, 4).u8(3)
        return stream.packet([stream.record(0, 1, payload)], sequence=start, padding=1)

    # Packets of 94 bytes, so that those behind the first start at no multiple of 8 bytes in the file.
    assert single(tmp_path, stream, packet(0), packet(1), packet(2)) == [
        (1, "wide", {"x": number, "s": [("y", 3)]}) for number in range(3)
    ]


@pytest.mark.parametrize("order", ["le", "be"])
def test_texts_lists_and_structures(tmp_path: Path, order: str) -> None:
    fields = (
        "string s; integer { size = 8; align = 8; encoding = UTF8; } name[4];"
        " uint8_t _t_length; integer { size = 8; align = 8; encoding = UTF8; } t[_t_length];"
        " uint16_t n; struct { uint8_t m; int8_t inner[m]; string z; } items[n];"
        " uint8_t matrix[2][3]; integer { size = 3; align = 1; } odd[5]; uint8_t none[0];"
    )
    stream = Stream({"e": fields}, order=order)
    payload = stream.bits().text(b"h\xc3\xa9").raw(b"ab\0c").u8(3).raw(b"x\0y").number(2, 2)
    payload.u8(2).u8(0xFF).u8(1).text(b"one").u8(0).text(b"")
    payload.raw(bytes(range(6)))
    for number in (1, 2, 3, 4, 7):
        payload.integer(number, 3)
    payload.align(8)
    (event,) = single(tmp_path, stream, stream.packet([stream.record(0, 1, payload)]))
    assert event[2] == {
        "s": b"h\xc3\xa9",
        "name": b"ab",
        "t_length": 3,
        "t": b"x",
        "n": 2,
        "items": [
            [("m", 2), ("inner", [-1, 1]), ("z", b"one")],
            [("m", 0), ("inner", []), ("z", b"")],
        ],
        "matrix": [[0, 1, 2], [3, 4, 5]],
        "odd": [1, 2, 3, 4, 7],
        "none": [],
    }


def test_a_length_under_its_usual_name_is_left_out(tmp_path: Path) -> None:
    stream = Stream({"e": "uint8_t __x_length; uint8_t _x[__x_length];"})
    payload = stream.bits().u8(2).u8(5).u8(6)
    assert single(tmp_path, stream, stream.packet([stream.record(0, 1, payload)])) == [
        (1, "e", {"x": [5, 6]})
    ]


def test_variants(tmp_path: Path) -> None:
    fields = (
        "enum : int8_t { A = -1, B = 0 ... 5, C = 9 } tag;"
        " variant <tag> { uint8_t A; string B; struct { uint16_t p; uint8_t q[2]; } C; } v;"
        " uint8_t after;"
    )
    stream = Stream({"e": fields})
    records = [
        stream.record(0, 1, stream.bits().u8(0xFF).u8(7).u8(1)),
        stream.record(0, 2, stream.bits().u8(4).text(b"four").u8(2)),
        stream.record(0, 3, stream.bits().u8(9).number(300, 2).u8(1).u8(2).u8(3)),
    ]
    assert [event[2] for event in single(tmp_path, stream, stream.packet(records))] == [
        {"tag": -1, "v": ("A", 7), "after": 1},
        {"tag": 4, "v": ("B", b"four"), "after": 2},
        {"tag": 9, "v": ("C", [("p", 300), ("q", [1, 2])]), "after": 3},
    ]


def test_lengths_and_selectors_in_outer_scopes(tmp_path: Path) -> None:
    stream = Stream(
        {"e": "uint8_t a[stream.packet.context.n]; uint8_t b[stream.event.context.m];"},
        context="uint8_t m;",
        packet_extra="uint8_t n;",
    )
    packets = [
        stream.packet(
            [stream.record(0, n, stream.bits().u8(1).raw(bytes(n)).u8(9))],
            sequence=n,
            extra=bytes([n]),
        )
        for n in range(3)
    ]
    assert [event[2] for event in single(tmp_path, stream, *packets)] == [
        {"a": [0] * n, "b": [9], "m": 1, "n": n} for n in range(3)
    ]


CTF2_FIELDS = """
{"type": "preamble", "version": 2}
{"type": "trace-class", "packet-header-field-class": {"type": "structure", "member-classes": [
  {"name": "magic", "field-class": {"type": "fixed-length-unsigned-integer", "length": 32, "alignment": 8,
   "byte-order": "little-endian", "roles": ["packet-magic-number"]}}]}}
{"type": "data-stream-class", "id": 0}
{"type": "event-record-class", "name": "e", "id": 0, "data-stream-class-id": 0,
 "payload-field-class": {"type": "structure", "member-classes": [
  {"name": "u", "field-class": {"type": "variable-length-unsigned-integer"}},
  {"name": "s", "field-class": {"type": "variable-length-signed-integer"}},
  {"name": "n", "field-class": {"type": "fixed-length-unsigned-integer", "length": 8, "alignment": 8,
   "byte-order": "little-endian"}},
  {"name": "blob", "field-class": {"type": "dynamic-length-blob", "media-type": "image/png",
   "length-field-location": {"path": ["n"]}}},
  {"name": "fixed", "field-class": {"type": "static-length-blob", "length": 2}},
  {"name": "there", "field-class": {"type": "fixed-length-boolean", "length": 8, "alignment": 8,
   "byte-order": "little-endian"}},
  {"name": "maybe", "field-class": {"type": "optional", "selector-field-location": {"path": ["there"]},
   "field-class": {"type": "null-terminated-string"}}},
  {"name": "wide", "field-class": {"type": "null-terminated-string", "encoding": "utf-16le"}},
  {"name": "flags", "field-class": {"type": "fixed-length-bit-map", "length": 8, "alignment": 8,
   "byte-order": "little-endian", "flags": {"low": [[0, 0]], "high": [[6, 7]]}}},
  {"name": "half", "field-class": {"type": "fixed-length-floating-point-number", "length": 16,
   "alignment": 8, "byte-order": "little-endian"}},
  {"name": "mirrored", "field-class": {"type": "fixed-length-unsigned-integer", "length": 8,
   "alignment": 8, "byte-order": "little-endian", "bit-order": "last-to-first"}}
 ]}}
"""


def ctf2_trace(path: Path, metadata: str, data: bytes) -> Trace:
    path.mkdir()
    fragments = re.split(r"\n(?=\{\"type\": \"(?:pre|trace|data|event))", metadata)
    (path / "metadata").write_text("".join(f"\x1e{text}\n" for text in fragments if text.strip()))
    (path / "stream").write_bytes(data)
    return open_trace(path)


def test_field_classes_of_ctf_2(tmp_path: Path) -> None:
    leb_unsigned = bytes([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01])
    leb_signed = bytes([0x80, 0x7F])
    common = bytes.fromhex("c11ffcc1") + leb_unsigned + leb_signed + b"\x03png" + b"ab"
    tail = "h\u20ac".encode("utf-16le") + b"\0\0" + b"\xc1" + b"\x00\x3e" + b"\x03"
    for number, (flag, held) in enumerate([(b"\x01text\0", b"text"), (b"\x00", None)]):
        trace = ctf2_trace(tmp_path / str(number), CTF2_FIELDS, common + flag + tail)
        (event,) = events_of(trace)
        assert event[2] == {
            "u": 1 << 63,
            "s": -128,
            "n": 3,
            "blob": b"png",
            "fixed": b"ab",
            "there": held is not None,
            "maybe": held,
            "wide": "h\u20ac".encode(),
            "flags": 0xC1,
            "half": 1.5,
            "mirrored": 0xC0,
        }
        fields = {field.name: field for field in trace.event_classes[0].fields}
        flags = fields["flags"].type
        assert isinstance(flags, IntegerClass) and flags.flags
        assert {(label.text, label.low) for label in flags.labels} == {("low", 1), ("high", 0xC0)}
        assert not trace.event_classes[0].timed
