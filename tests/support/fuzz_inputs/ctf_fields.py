"""Inputs of CTF for fields: at any bit, in both byte orders, of every class that either version has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from support.ctf.ctf2_fragments import (
    FLAG,
    STREAM,
    TEXT,
    U8,
    VARIANT,
    Json,
    at,
    event,
    sequence,
    structure,
)
from support.ctf.files import Stream
from support.fuzz_inputs.ctf_streams import files_of
from support.fuzzing.corpus import Files

_U32: Json = {**U8, "length": 32}


def fields() -> Iterator[Files]:
    """Fields of every class: at any bit, in both orders, in arrays, variants and options, as CTF 2 has them."""
    widths = [1, 3, 8, 9, 16, 17, 31, 32, 33, 63, 64]
    for order in ("le", "be"):
        for lead in (1, 3, 8):
            declared = f"integer {{ size = {lead}; align = 1; }} lead;" + "".join(
                f"integer {{ size = {width}; align = 1; signed = {signed}; }} {name}{width};"
                for width in widths
                for name, signed in (("u", "false"), ("s", "true"))
            )
            stream = Stream({"bits": declared}, order=order)
            payload = stream.bits().integer(0, lead)
            for width in widths:
                pattern = 0xA5C3_96F0_1E2D_4B87 & (1 << width) - 1 | 1 << width - 1
                payload.integer(pattern, width).integer(pattern, width)
            yield files_of(stream, stream.packet([stream.record(0, 1, payload)]))
        whole = Stream({"whole": _in_orders()}, order=order)
        yield files_of(
            whole, whole.packet([whole.record(0, at, bytes(range(60))) for at in range(3)])
        )
        mixed = Stream(
            {
                "mixed": "string s; integer { size = 8; align = 8; encoding = UTF8; } name[4];"
                " uint8_t _t_length; integer { size = 8; align = 8; encoding = UTF8; } t[_t_length];"
                " uint16_t n; struct { uint8_t m; int8_t inner[m]; string z; } items[n];"
                " uint8_t matrix[2][3]; integer { size = 3; align = 1; } odd[5]; uint8_t none[0];"
                " integer { size = 32; align = 64; } wide; struct { uint8_t y; } align(32) s2;",
                "variant": "enum : int8_t { A = -1, B = 0 ... 5, C = 9 } tag;"
                " variant <tag> { uint8_t A; string B; struct { uint16_t p; uint8_t q[2]; } C; } v;"
                " uint8_t after;",
                "real": "floating_point { exp_dig = 8; mant_dig = 24; align = 8; } f;"
                " floating_point { exp_dig = 11; mant_dig = 53; align = 8; } d[2];",
                "large": "integer { size = 128; align = 8; } x; integer { size = 128; } y[2];",
            },
            order=order,
        )
        payload = mixed.bits().text(b"h\xc3\xa9").raw(b"ab\0c").u8(3).raw(b"x\0y").number(2, 2)
        payload.u8(2).u8(0xFF).u8(1).text(b"one").u8(0).text(b"").raw(bytes(range(6)))
        for number in (1, 2, 3, 4, 7):
            payload.integer(number, 3)
        payload.align(8)
        records = [
            mixed.record(1, 1, mixed.bits().u8(0xFF).u8(7).u8(1)),
            mixed.record(1, 2, mixed.bits().u8(4).text(b"four").u8(2)),
            mixed.record(1, 3, mixed.bits().u8(9).number(300, 2).u8(1).u8(2).u8(3)),
            mixed.record(2, 4, mixed.bits().float(1.5, "f").float(2.5).float(-1e300)),
            mixed.record(3, 5, bytes(range(48))),
            mixed.record(0, 6, payload.raw(bytes(64))),
        ]
        yield files_of(mixed, mixed.packet(records))
    # Selectors of every width in both orders.
    for size in (16, 32, 64):
        for order in ("le", "be"):
            integer = (
                f"integer {{ size = {size}; align = 8; signed = true; byte_order = {order}; }}"
            )
            chosen = Stream(
                {
                    "e": f"enum : {integer} {{ A = -2, B = 3 }} t; uint8_t x;"
                    " variant <t> { uint8_t A; string B; } v;"
                }
            )
            selectors = [
                number.to_bytes(size // 8, {"le": "little", "be": "big"}[order], signed=True)
                for number in (-2, 3, 4)
            ]
            records = [
                chosen.record(0, 1, tag + b"\7ab\0"[: 4 - (at == 0) * 2])
                for at, tag in enumerate(selectors)
            ]
            yield files_of(chosen, chosen.packet(records))
    outer = Stream(
        {"e": "uint8_t a[stream.packet.context.n]; uint8_t b[stream.event.context.m];"},
        context="uint8_t m;",
        packet_extra="uint8_t n;",
    )
    yield files_of(
        outer,
        *(
            outer.packet(
                [outer.record(0, n, outer.bits().u8(1).raw(bytes(n)).u8(9))],
                sequence=n,
                extra=bytes([n]),
            )
            for n in range(3)
        ),
    )
    yield from _of_ctf_2()


def _in_orders() -> str:
    """Integers of whole bytes in both orders, one by one and in arrays."""
    return "".join(
        f"integer {{ size = {size}; align = 8; signed = {signed}; byte_order = {order}; }}"
        f" {order}{size}{signed[0]}{dimension};"
        for size in (8, 16, 32, 64)
        for signed in ("true", "false")
        for order, dimension in (("le", ""), ("be", ""))
    )


def _of_ctf_2() -> Iterator[Files]:
    """Field classes that only CTF 2 has, with values at their limits."""
    bits = {"length": 8, "alignment": 8, "byte-order": "little-endian"}
    held: dict[str, Any] = {
        "u": {"type": "variable-length-unsigned-integer"},
        "s": {"type": "variable-length-signed-integer"},
        "n": U8,
        "blob": {"type": "dynamic-length-blob", "length-field-location": at("n")},
        "there": FLAG,
        "maybe": {"type": "optional", "selector-field-location": at("there"), "field-class": TEXT},
        "wide": {**TEXT, "encoding": "utf-16le"},
        "wider": {"type": "static-length-string", "length": 8, "encoding": "utf-32be"},
        "text": {
            "type": "dynamic-length-string",
            "length-field-location": at("n"),
            "encoding": "utf-16be",
        },
        "flags": {"type": "fixed-length-bit-map", **bits, "flags": {"a": [[0, 0]], "b": [[6, 7]]}},
        "half": {"type": "fixed-length-floating-point-number", **bits, "length": 16},
        "mirrored": {**U8, "bit-order": "last-to-first"},
        "mirrored32": {**_U32, "bit-order": "first-to-last", "byte-order": "big-endian"},
        "many": {
            "type": "static-length-array",
            "length": 2,
            "element-field-class": {
                "type": "optional",
                "selector-field-location": at("there"),
                "field-class": structure(t=TEXT, u={"type": "variable-length-unsigned-integer"}),
            },
        },
        "either": VARIANT,
    }
    text = sequence(STREAM, event(**held))
    integers = [
        (b"\0", b"\0"),
        (b"\x80" * 9 + b"\1", b"\x80\x7f"),
        (b"\xff\x80" + b"\0", b"\x80" * 9 + b"\x7f"),
        (b"\x80" * 11 + b"\0", b"\xff" * 10 + b"\x7f"),
        (b"\xff" * 9 + b"\2", b"\0"),
        (b"\x80" * 9 + b"\3", b"\xff" * 9 + b"\1"),
    ]
    for there in (b"\1", b"\0"):
        texts = b"text\0" if there == b"\1" else b""
        for number, (unsigned, signed) in enumerate(integers):
            data = unsigned + signed + b"\2" + b"ab" + there + texts
            data += "h\u20ac".encode("utf-16le") + b"\0\0" + bytes(8) + b"\0a" + b"\xc1\0\x3e\3"
            data += b"\1\2\3\4" + (b"t\0\5" * 2 if there == b"\1" else b"") + b"\7"
            yield {"metadata": text, "stream": data * (1 + number % 2)}
    # Switches of byte order within a byte, and behind lengths that only data say.
    for first, second in (("big", "little"), ("little", "big")):
        a, x = (
            {**U8, "length": size, "byte-order": f"{o}-endian"}
            for size, o in ((3, first), (5, second))
        )
        odd = {
            "type": "dynamic-length-array",
            "length-field-location": at("n"),
            "element-field-class": {**a, "length": 4},
        }
        last = {**x, "length": 8}
        for fields in (
            {"a": a, "x": x},
            {"a": a, "x": {**x, "byte-order": a["byte-order"], "bit-order": "first-to-last"}},
            {"a": a, "s": TEXT, "x": last},
            {"n": U8, "a": odd, "x": last},
        ):
            yield {"metadata": sequence(STREAM, event(**fields)), "stream": b"\2\x12\7\1\x10\7"}
