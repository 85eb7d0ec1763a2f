"""Inputs of CTF for fields, packets and clocks: at any bit, of any size, damaged, in several rates."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any

from support.ctf2_fragments import (
    CLOCK,
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
from support.ctf_files import Stream
from support.fuzz_corpus import Files

_U32: Json = {**U8, "length": 32}
_LENGTH: Json = {**U8, "roles": ["packet-total-length"]}
_CONTENT: Json = {**U8, "roles": ["packet-content-length"]}


def files_of(stream: Stream, *packets: bytes, **files: bytes) -> Files:
    """The files of a trace."""
    found = {"metadata": stream.metadata().encode(), **files}
    return found | ({"stream_0": b"".join(packets)} if packets else {})


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


def depending() -> Iterator[Files]:
    """Sizes that packets say or do not say, ids that are not there, lengths and selectors in every scope."""
    optional = {"type": "optional", "selector-field-location": at("has")}
    for context, data in (
        ({}, b"\1\2\3"),
        ({"p": _LENGTH, "c": _CONTENT}, b"\x28\x20\1\2\xff\x18\x18\3"),
        ({"p": _LENGTH}, b"\x18\1\2\x10\3"),
        ({"c": _CONTENT}, b"\x18\1\2\x10\3"),
        ({"c": _CONTENT}, b"\x08\x08\x10\7"),
        ({"has": FLAG, "p": {**optional, "field-class": _LENGTH}}, b"\1\x18\1\0\2\3"),
    ):
        stream = {**STREAM, "packet-context-field-class": structure(**context)}
        yield {"metadata": sequence(stream, event(x=U8)), "stream": data}
    id = {**optional, "field-class": {**U8, "roles": ["event-record-class-id"]}}
    stream = {**STREAM, "event-record-header-field-class": structure(has=FLAG, id=id)}
    records = [event(x=U8), {**event(x=_U32), "id": 1}]
    data = b"\1\1\1\0\0\0\0\2\1\1\3\0\0\0\0\4\1\7"
    yield {"metadata": sequence(stream, *records), "stream": data}

    def listed(*path: str | None, origin: str | None = None) -> Json:
        location = at(*path, origin=origin)
        return {
            "type": "dynamic-length-array",
            "element-field-class": U8,
            "length-field-location": location,
        }

    choice = {**VARIANT, "selector-field-location": at("n")}
    held = structure(n=U8, s=listed("n"), v=choice)
    header = {"type": "trace-class", "packet-header-field-class": held}
    context = {**STREAM, "packet-context-field-class": held}
    for fragments, where in (([header, STREAM], "packet-header"), ([context], "packet-context")):
        for record in (
            event(x=U8, y=listed("n", origin=where)),
            event(x=listed("n", origin=where)),
        ):
            yield {"metadata": sequence(*fragments, record), "stream": b"\2ab\5\1yy\2zz"}
    options = [
        {"field-class": structure(len=U8, s=TEXT), "selector-field-ranges": [[0, 0]]},
        {"field-class": structure(s=TEXT, len=U8), "selector-field-ranges": [[1, 1]]},
        {"field-class": structure(s=TEXT, len=TEXT), "selector-field-ranges": [[2, 2]]},
    ]
    for count in (1, 2, 3):
        outer = {
            "type": "variant",
            "selector-field-location": at("tag"),
            "options": options[:count],
        }
        record = event(tag=U8, outer=outer, x=listed("outer", "len"))
        yield {"metadata": sequence(STREAM, record), "stream": b"\0\2a\0\7\7" + b"\1bc\0\1\5"}
    inner = structure(x=listed("x", None, None, "beside", "y", None, "n"))
    paths = [
        event(beside=structure(n=U8), s=inner),
        event(n=U8, x=listed(None, None, None, "n")),
        event(
            a={"type": "static-length-array", "length": 2, "element-field-class": structure(n=U8)},
            x=listed("a", "n"),
        ),
    ]
    aliases: list[Json] = [
        {"type": "field-class-alias", "name": "byte", "field-class": U8},
        {"type": "field-class-alias", "name": "list", "field-class": listed("n")},
        {"type": "field-class-alias", "name": "same", "field-class": "list"},
        event(n="byte", a="list", s=structure(n="byte", a="same")),
    ]
    for fragment in paths:
        yield {"metadata": sequence(STREAM, fragment), "stream": b"\2\3\4\2\1\1"}
    yield {"metadata": sequence(*aliases[:3], STREAM, aliases[3]), "stream": b"\1\2\1\3" * 3}
    yield {"metadata": sequence(STREAM, event()), "stream": bytes(9)}


def packets() -> Iterator[Files]:
    """Packets that are damaged, lost, left open, of another trace; records that do not end."""
    stream = Stream(
        {
            "mark": "",
            "e": "uint32_t n; uint64_t x[n];",
            "v": "enum : uint8_t { A } t; variant <t> { uint8_t A; } v;",
        }
    )
    good = stream.packet(stream.record(0, 3), begin=3, sequence=2)
    first = stream.packet(stream.record(0, 1), begin=1)
    bad = [
        stream.packet([stream.record(0, 1), stream.record(1, 2, stream.bits().number(n, 4))])
        for n in (0xFFFF_FFFF, 0x7FFF_FFFF, 100)
    ]
    bad += [
        stream.packet([stream.record(0, 1), stream.record(id, 2, b"\7rest\0")]) for id in (2, 9)
    ]
    ones = (1 << 64) - 1
    bad += [
        stream.packet(stream.record(0, 2), begin=2, sequence=1, **more)
        for more in (
            {"content": 10_000},
            {"content": 8},
            {"size": 0},
            {"size": 700},
            {"size": ones - 7},
            {"size": ones, "content": ones, "padding": 99},
            {"magic": 7},
            {"stream": 3},
            {"discarded": 3},
        )
    ]
    bad += [stream.packet(stream.record(0, 2), sequence=5, discarded=9), good[:60], bytes(200)]
    for packet in bad:
        yield files_of(stream, first, packet, good)
    index = struct.pack(">IIII", 0xC1F1DCC1, 1, 1, 72) + struct.pack(
        ">9Q", 0, 8 * len(first), 640, 1, 1, 0, 0, 0, 0
    )
    for held in (
        index,
        index[:10],
        index[:12] + struct.pack(">I", 8) + index[16:],
        index.replace(struct.pack(">Q", 640), b"\xff" * 8),
    ):
        yield {**files_of(stream, first, good), "index/stream_0.idx": held}
    yield files_of(stream, first, README=b"This is a trace of mine.\n" * 9)
    yield files_of(stream)
    yield {"stream_0": first}
    yield {"metadata": stream.metadata().encode(), "stream_0": first[:10]}
    other = Stream({"mark": "uint32_t x;", "e": "uint32_t x;"})
    records = [other.record(number % 2, 10 + number, b"\1\2\3\4") for number in range(40)]
    for start, size in ((76 + 81, 100), (76 + 85, 100)):
        data = bytearray(other.packet(records, begin=5))
        data[start : start + size] = bytes(size)
        yield files_of(
            other, bytes(data), other.packet(other.record(0, 99, bytes(4)), begin=90, sequence=1)
        )
    times = Stream(
        {"a": ""},
        header="struct { uint8_t id; integer { size = 64; align = 8; map = clock.c.value; } timestamp; }",
    )
    late = [times.bits().u8(0).number(ts, 8) for ts in (1, 3, 2, (1 << 64) - 1, 5)]
    yield files_of(times, times.packet(late))
    # Rotated files, and several traces, one of them damaged.
    metadata = stream.metadata().encode()
    yield {"metadata": metadata, "ch0_0_0": first, "ch0_0_1": good, "ch0_1_0": first}
    yield {
        "one/metadata": metadata,
        "one/ch0": first,
        "two/metadata": b"/* CTF 1.8 */ trace {",
        "two/ch0": good,
    }


def clocks() -> Iterator[Files]:
    """Clocks of several rates, of which some are related, and headers of two forms."""
    uuid = 'uuid = "{0}{0}{0}{0}-{0}{0}-{0}{0}-{0}{0}-{0}{0}{0}{0}{0}{0}";'
    for frequencies, attributes in (
        ((3, 1_000_000_000), ("absolute = true;", "absolute = true;")),
        ((1000, 1000), (uuid.format("0a"), uuid.format("0a"))),
        ((1000, 1000), (uuid.format("0a"), uuid.format("0b"))),
        ((1000, 3), ("absolute = true;", "")),
        ((1000, 1000), ("", "")),
    ):
        files: Files = {}
        for number, added in enumerate(attributes):
            stream = Stream(
                {"a": ""},
                frequency=frequencies[number],
                offset=5 + 5 * number,
                environment=f'host = "h"; n = {number};',
            )
            text = re.sub("absolute = [a-zA-Z]+;", "", stream.metadata())
            files[f"{number}/metadata"] = text.replace("clock {", f"clock {{ {added}").encode()
            files[f"{number}/stream"] = stream.packet(stream.record(0, 10), begin=10)
        yield files
    fragments = [
        {
            **CLOCK,
            "id": "d",
            "origin": {"name": "boot", "uid": "1"},
            "offset-from-origin": {"seconds": -5, "cycles": 3},
        },
        {**STREAM, "default-clock-class-id": "d"},
        {
            **event(x=U8),
            "attributes": {"lttng.org,2009": {"log-level": "debug", "emf-uri": "http://x"}},
        },
    ]
    yield {"metadata": sequence(*fragments), "stream": b"\1\2\3"}
    for order in ("le", "be"):
        for id_bits, time_bits, align in ((5, 27, 1), (13, 32, 1), (16, 56, 8)):
            last = (1 << id_bits) - 1
            header = (
                f"struct {{ enum : integer {{ size = {id_bits}; align = {align}; }}"
                f" {{ compact = 0 ... {last - 1}, extended = {last} }} id; variant <id> {{"
                f" struct {{ integer {{ size = {time_bits}; align = {align}; map = clock.c.value; }} timestamp; }}"
                " compact; struct { uint32_t id; integer { size = 64; align = 8; map = clock.c.value; } timestamp; }"
                " extended; } v; } align(8)"
            )
            stream = Stream(
                {"a": "", "b": "uint8_t x;", "c": "string x;"}, order=order, header=header
            )
            parts = []
            for ts, (extended, id) in enumerate(
                ((False, 0), (True, 1), (False, 2), (True, 0), (False, 1)), 1
            ):
                bits = stream.bits().integer(last if extended else id, id_bits, align)
                if extended:
                    bits.number(id, 4).number(ts, 8)
                else:
                    bits.integer(ts, time_bits, align)
                parts.append((bits.raw((b"", b"\x07", b"text\0")[id]) if id else bits).align(8))
            yield files_of(stream, stream.packet(parts))
    # More kinds of events than a first table has room for.
    many = Stream({f"e{number}": "uint8_t x;" for number in range(150)})
    yield files_of(many, many.packet([many.record(id, 1 + id, b"\1") for id in range(0, 150, 2)]))
    # More threads, more options and longer texts than first tables have room for.
    threads = Stream({"e": ""}, context="uint16_t _vpid; uint16_t _vtid;")
    ids = [struct.pack("<2H", 1 + at // 2, 1 + at) for at in range(300)]
    yield files_of(threads, threads.packet([threads.record(0, 1, each) for each in ids]))
    labels = ", ".join(f"o{number}" for number in range(260))
    options = "".join(f"uint8_t o{number};" for number in range(260))
    wide = Stream({"e": f"enum : uint16_t {{ {labels} }} t; variant <t> {{ {options} }} v;"})
    chosen = [
        wide.record(0, at, struct.pack("<HB", number, 7)) for at, number in enumerate((0, 259))
    ]
    yield files_of(wide, wide.packet(chosen))
    long = Stream({"e": "string text; uint32_t n; uint8_t data[n];"})
    texts = [b"x" * 9000 + b"\0" + struct.pack("<I", 3) + b"abc", b"\0" + struct.pack("<I", 0)]
    yield files_of(long, long.packet([long.record(0, at, text) for at, text in enumerate(texts)]))
