"""Dimensions of FXT files: what records number, and tables of slots."""

from __future__ import annotations

from scale.drawn import Dimension, Drawn, token, tokens
from support.fxt.files import (
    argument,
    event,
    initialization,
    kernel_object,
    magic,
    provider,
    string,
    thread,
)

from converter.formats.fxt.record_types import ArgumentType, EventType

_START = magic("little") + initialization("little", 1_000_000_000)
_INSTANT = EventType.INSTANT
_PROCESS, _THREAD = 1, 2


def _file(*records: bytes) -> dict[str, bytes]:
    return {"": _START + b"".join(records)}


def providers(count: int) -> Drawn:
    """Trace providers, each with strings and threads under the same numbers, whose events take turns."""
    records = []
    for number in range(1, count + 1):
        records += [
            provider("little", number, b"p%d" % number),
            string("little", 1, token("n", number - 1).encode()),
            thread("little", 1, 1000 + number, 5000 + number),
        ]
    for turn in range(2):
        for number in range(1, count + 1):
            ts = 10 * (turn * count + number)
            records.append(provider("little", number, None))
            records.append(event("little", _INSTANT, ts, name=1))
    return Drawn(_file(*records), tokens("n", count), 2 * count)


def strings(count: int) -> Drawn:
    """Slots of strings."""
    named = (string("little", n + 1, token("n", n).encode()) for n in range(count))
    used = (event("little", _INSTANT, 10 * n, name=n + 1) for n in range(count))
    return Drawn(_file(thread("little", 1, 10, 11), *named, *used), tokens("n", count), count)


def threads(count: int) -> Drawn:
    """Slots of threads."""
    records = [thread("little", number + 1, 10, 100 + number) for number in range(count)]
    for number in range(count):
        name = token("n", number).encode()
        records.append(event("little", _INSTANT, 10 * number, thread=number + 1, name=name))
    return Drawn(_file(*records), tokens("n", count), count)


def kernel_objects(count: int) -> Drawn:
    """Named processes with a named thread each, whose events refer to them by their numbers."""
    records = []
    for number in range(count):
        pid, tid = 100_000 + number, 500_000 + number
        of = [argument(ArgumentType.KOID, b"process", pid)]
        records.append(kernel_object("little", _PROCESS, pid, token("p", number).encode()))
        records.append(kernel_object("little", _THREAD, tid, token("t", number).encode(), of))
    for number in range(count):
        place = 100_000 + number, 500_000 + number
        name = token("n", number).encode()
        records.append(event("little", _INSTANT, 10 * number, thread=place, name=name))
    named = tokens("n", count) | tokens("p", count) | tokens("t", count)
    return Drawn(_file(*records), named, count)


def reused_slots(count: int) -> Drawn:
    """Strings in one slot, one after the other."""
    records = [thread("little", 1, 10, 11)]
    for number in range(count):
        records.append(string("little", 1, token("n", number).encode()))
        records.append(event("little", _INSTANT, 10 * number, name=1))
    return Drawn(_file(*records), tokens("n", count), count)


DIMENSIONS = [
    # Numbers of providers have 12 bits.
    Dimension("providers", providers, "fxt", most=4095),
    # Slots have 15 bits and 8 bits, 0 is none of them.
    Dimension("string slots", strings, "fxt", most=(1 << 15) - 1),
    Dimension("thread slots", threads, "fxt", most=(1 << 8) - 1),
    Dimension("kernel objects", kernel_objects, "fxt"),
    Dimension("reused slots", reused_slots, "fxt"),
]
