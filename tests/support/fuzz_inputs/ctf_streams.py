"""Inputs of CTF for packets and clocks: of any size, damaged, in several rates, with lengths in every scope."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from support.ctf.ctf2_fragments import (
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
from support.ctf.files import Stream, compact_header
from support.fuzzing.corpus import Files

_U32: Json = {**U8, "length": 32}
_LENGTH: Json = {**U8, "roles": ["packet-total-length"]}
_CONTENT: Json = {**U8, "roles": ["packet-content-length"]}


def files_of(stream: Stream, *packets: bytes, **files: bytes) -> Files:
    """The files of a trace."""
    found = {"metadata": stream.metadata().encode(), **files}
    return found | ({"stream_0": b"".join(packets)} if packets else {})


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
            header = compact_header(id_bits, time_bits, align)
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
