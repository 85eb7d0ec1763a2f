"""Files of FXT that no fixture is like."""

from __future__ import annotations

from collections.abc import Iterator

from support.fuzzing.corpus import Files
from support.fxt.example import every_record
from support.fxt.files import (
    MAX,
    argument,
    event,
    extended,
    initialization,
    kernel_object,
    large_blob,
    magic,
    provider,
    split,
    start,
    string,
    thread,
    unknown,
)

from converter.formats.fxt.record_types import ArgumentType, ByteOrder, EventType

_INSTANT = EventType.INSTANT


def inputs() -> list[Files]:
    """Every record, whole and cut short, and one feature each."""
    found: list[bytes] = []
    for order in ("little", "big"):
        found += [every_record(order), _cut_short(order), *_tables(order)]
    return [{"": data} for data in (*found, _changed("little"), *_clocks(), *_damaged())]


def _header(record: bytes, order: ByteOrder) -> int:
    return int.from_bytes(record[:8], order)


def _cut_short(order: ByteOrder) -> bytes:
    """Every record with fewer words than it needs, of which its header says the right number."""
    found = [start(order)]
    for record in list(split(every_record(order), order))[1:]:
        mask = 0xFFFF_FFFF if _header(record, order) & 15 == 15 else 0xFFF
        for size in range(8, min(len(record), 80), 8):
            header = _header(record, order) & ~(mask << 4) | (size // 8) << 4
            found.append(header.to_bytes(8, order) + record[8:size])
    return b"".join(found)


def _changed(order: ByteOrder) -> bytes:
    """Every record with other bits in its header: types that there are not, and lengths beyond its end."""
    found = [start(order)]
    for record in list(split(every_record(order), order))[1:]:
        for bits in (
            0xF << 16,
            0xFF << 16,
            0xF << 60,
            0xFFF << 32,
            0xFF << 24,
            0x7FFF << 48,
            0xF << 36,
        ):
            header = _header(record, order) | bits
            if header & 15 != 15 or not bits & 0xFFFF_FFFF << 4:
                found.append(header.to_bytes(8, order) + record[8:])
        words = range(8, min(len(record), 48), 8)
        found += [record[:word] + b"\xff" * 8 + record[word + 8 :] for word in words]
    return b"".join(found)


def _tables(order: ByteOrder) -> Iterator[bytes]:
    """Slots that are registered anew, that are not, and more of them than there are; tables of several providers."""
    head = start(order)
    held = [argument(ArgumentType.STRING, 2, 1), argument(ArgumentType.KOID, b"process", 10)]
    yield (
        head
        + event(order, _INSTANT, 1, name=1, arguments=held)
        + string(order, 1, b"new")
        + thread(order, 1, 30, 31)
        + event(order, _INSTANT, 2, name=1, arguments=held)
        + string(order, 0, b"zero")
        + thread(order, 0, 1, 1)
        + event(order, _INSTANT, 1, thread=9, name=77, category=78)
        + event(order, _INSTANT, 7, thread=(5, MAX), category=b"", name=b"12345678")
        + event(order, _INSTANT, 8, thread=(5, MAX), category=b"long " * 9, name=b"\xff\xc3")
        + event(order, EventType.DURATION_COMPLETE, 100, tail=40)
        + extended(order, event(order, _INSTANT, 9, arguments=held), b"8 bytes!" * 2)
        + kernel_object(order, 1, 10, b"named")
        + kernel_object(order, 2, 11, b"thread", [argument(ArgumentType.KOID, b"process", 10)])
        + kernel_object(order, 2, 12, b"without")
        + kernel_object(order, 9, 13, b"port")
        + kernel_object(order, 1, 10, b"renamed")
        + unknown(order, 13, b"8 bytes!", 5)
    )
    instant = event(order, _INSTANT, 1, name=1)
    yield b"".join(
        (
            *(magic(order), provider(order, 1, b"first"), string(order, 1, b"one")),
            *(thread(order, 1, 10, 11), provider(order, 2, b"second"), string(order, 1, b"uno")),
            *(thread(order, 1, 20, 21), instant, provider(order, 1, None), instant),
            *(provider(order, 9, None), instant, magic(order), instant),
        )
    )
    # More threads than slots, some of which come again.
    yield head + b"".join(
        event(
            order, _INSTANT, number, thread=(number % 3, 1000 + number % 290), name=b"x", category=1
        )
        for number in range(320)
    )
    blobs = [large_blob(order, 0, b"payload", name=b"inline", category=1, thread=(7, 8), ts=5)]
    blobs += [large_blob(order, 0, bytes(100), name=1, category=b"text", arguments=held, ts=6)]
    blobs += [large_blob(order, 1, b"", name=b"", category=0), large_blob(order, 0, b"x", thread=9)]
    yield head + b"".join((*blobs, *(extended(order, one, b"8 bytes!") for one in blobs)))


def _clocks() -> Iterator[bytes]:
    """Clocks of several rates, that have no common one, and times that 63 bits do not hold."""
    order: ByteOrder = "little"
    for rates in ((1000, 3000), (0, 5), (MAX, 3), ((1 << 61) - 1, (1 << 59) - 55), range(1, 300)):
        found = [magic(order)]
        for number, rate in enumerate(rates):
            found += [provider(order, number + 1, b"p"), initialization(order, rate)]
            found += [event(order, _INSTANT, 5 + number)]
        found += [
            event(order, _INSTANT, MAX),
            event(order, EventType.DURATION_COMPLETE, 5, tail=MAX),
        ]
        yield b"".join(found)
    for more in ((5,), (5, 1_700_000_000_000_000_000), (MAX, MAX), (1, 2, 3)):
        yield magic(order) + initialization(order, 24_000_000, *more) + event(order, _INSTANT, 9)


def _damaged() -> Iterator[bytes]:
    """Holes, records that are none and have others inside, and what ends early."""
    order: ByteOrder = "little"
    known = event(order, _INSTANT, 1)
    head = start(order)
    for hole in (
        bytes(8),
        b"\xff" * 8,
        bytes(40),
        b"\xf4\xff" + bytes(6),
        (2 << 4).to_bytes(8, "little") * 3,
    ):
        yield head + known * 3 + hole + known * 3
    # It has taken others for its own, and is longer than the file.
    for words in (4, 30, 4000):
        yield head + known * 2 + (4 | words << 4).to_bytes(8, "little") + known * 9
        yield head + known * 2 + (15 | words << 4).to_bytes(8, "little") + known * 9
    yield head + known + known[:12]
    yield head + known + b"\0\0\0"
    yield head
    yield magic(order) + provider(order, 1, b"name")[:16]
    broken = bytearray(provider(order, 1, b"example of a name"))
    broken[0] = 2 << 4
    yield magic(order) + bytes(broken)[:16] + known
    yield bytes(8)
    yield b""
