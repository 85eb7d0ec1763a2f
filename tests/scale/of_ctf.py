"""Dimensions of CTF traces: files, packets, classes, and what a record holds."""

from __future__ import annotations

import struct

from scale.drawn import Dimension, Drawn, token, tokens

_HEAD = """/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := ts64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
clock { name = c; freq = 1000000000; };
"""
_STREAM = """stream { id = %d;
    packet.context := struct { u64 packet_size; u64 content_size; u32 cpu_id; u32 events_discarded; };
    event.header := struct { u32 id; ts64 timestamp; };
    event.context := struct { u32 vpid; u32 vtid; };
};
"""
_EVENT = 'event { name = "%s"; id = %d; stream_id = %d; fields := struct { %s }; };\n'
_MAGIC = 0xC1FC1FC1


def _packet(*records: bytes, cpu: int = 0, stream: int = 0, lost: int = 0) -> bytes:
    content = b"".join(records)
    bits = 8 * (8 + 24 + len(content))
    head = struct.pack("<IIQQII", _MAGIC, stream, bits, bits, cpu, lost)
    return head + content


def _record(id: int, ts: int, payload: bytes = b"", tid: int = 1000) -> bytes:
    return struct.pack("<IQII", id, ts, 50, tid) + payload


def _trace(events: str, files: dict[str, bytes], streams: int = 1) -> dict[str, bytes]:
    metadata = _HEAD + "".join(_STREAM % number for number in range(streams)) + events
    return {"metadata": metadata.encode(), **files}


_ONE = _EVENT % ("named", 0, 0, "string text;")


def _named(number: int, ts: int, tid: int = 1000) -> bytes:
    return _record(0, ts, token("n", number).encode() + b"\0", tid)


def files(count: int) -> Drawn:
    """Files of a packet each, by the CPU that wrote them."""
    found = {
        f"stream_{number}": _packet(_named(number, 10 * number), cpu=number)
        for number in range(count)
    }
    return Drawn(_trace(_ONE, found), tokens("n", count), count)


def packets(count: int) -> Drawn:
    """Packets of a file."""
    data = b"".join(_packet(_named(number, 10 * number)) for number in range(count))
    return Drawn(_trace(_ONE, {"stream": data}), tokens("n", count), count)


def threads(count: int) -> Drawn:
    """Threads that records name in their context."""
    records = (_named(number, 10 * number, 1000 + number) for number in range(count))
    return Drawn(_trace(_ONE, {"stream": _packet(*records)}), tokens("n", count), count)


def classes(count: int) -> Drawn:
    """Classes of events with a record each."""
    events = "".join(_EVENT % (token("e", n), n, 0, f"u32 {token('f', n)};") for n in range(count))
    records = (_record(n, 10 * n, struct.pack("<I", n)) for n in range(count))
    named = tokens("e", count) | tokens("f", count)
    return Drawn(_trace(events, {"stream": _packet(*records)}), named, count)


def streams(count: int) -> Drawn:
    """Classes of streams with a class of events and a file each."""
    events = "".join(_EVENT % (token("e", n), 0, n, "u32 value;") for n in range(count))
    found = {
        f"stream_{n}": _packet(_record(0, 10 * n, struct.pack("<I", n)), stream=n)
        for n in range(count)
    }
    return Drawn(_trace(events, found, count), tokens("e", count), count)


def fields(count: int) -> Drawn:
    """Fields of a class."""
    members = " ".join(f"u32 {token('f', number)};" for number in range(count))
    values = struct.pack(f"<{count}I", *range(count))
    records = _record(0, 10, values), _record(0, 20, values)
    held = _trace(_EVENT % ("wide", 0, 0, members), {"stream": _packet(*records)})
    return Drawn(held, tokens("f", count), 2)


def list_lengths(count: int) -> Drawn:
    """Numbers of a sequence, beside an array of as many, in a record."""
    numbers = struct.pack(f"<{count}I", *range(count))
    array = f"u32 fixed[{count}];" if count else ""
    event = _EVENT % ("list", 0, 0, f"u32 length; u32 values[length]; {array}")
    data = _packet(_record(0, 10, struct.pack("<I", count) + numbers + numbers))
    return Drawn(_trace(event, {"stream": data}), frozenset(), 1)


def enumerators(count: int) -> Drawn:
    """Names of the numbers of an enumeration, all of which occur."""
    names = ", ".join(f"{token('l', number)} = {number}" for number in range(count))
    event = _EVENT % ("state", 0, 0, f"enum : u32 {{ {names} }} value;")
    records = (_record(0, 10 * n, struct.pack("<I", n)) for n in range(count))
    return Drawn(_trace(event, {"stream": _packet(*records)}), tokens("l", count), count)


def options(count: int) -> Drawn:
    """Options of a variant, all of which occur."""
    names = ", ".join(f"{token('o', number)} = {number}" for number in range(count))
    members = " ".join(f"u32 {token('o', number)};" for number in range(count))
    held = f"enum : u32 {{ {names} }} tag; variant <tag> {{ {members} }} value;"
    event = _EVENT % ("choice", 0, 0, held)
    records = (_record(0, 10 * n, struct.pack("<II", n, n)) for n in range(count))
    return Drawn(_trace(event, {"stream": _packet(*records)}), tokens("o", count), count)


def losses(count: int) -> Drawn:
    """Packets before each of which events were lost."""
    data = b"".join(_packet(_named(n, 10 * n), lost=n) for n in range(count))
    return Drawn(_trace(_ONE, {"stream": data}), tokens("n", count))


DIMENSIONS = [
    Dimension("files", files, "ctf", least=1, most=8193),
    Dimension("packets", packets, "ctf"),
    Dimension("threads of CTF", threads, "ctf", least=1),
    Dimension("classes of CTF", classes, "ctf", least=1),
    Dimension("stream classes", streams, "ctf", least=1, most=4097),
    # The limit ctf.fields counts the structure, too.
    Dimension("fields of CTF", fields, "ctf", least=1, limit=(1 << 14) - 1),
    Dimension("list lengths of CTF", list_lengths, "ctf"),
    Dimension("enumerators", enumerators, "ctf", least=1, most=1 << 14),
    Dimension("options of a variant", options, "ctf", least=1, most=1 << 12),
    Dimension("lost events of CTF", losses, "ctf"),
]
