"""Dimensions of LTTng 0.x traces: markers, files, blocks, threads."""

from __future__ import annotations

from scale.drawn import Dimension, Drawn, token, tokens
from support.ctf.lttng_legacy_files import START, Trace

_VERSION = {"version": (2, 6), "arch_size": 8}


def _blocks(trace: Trace, channel: str, cpu: int = 0, each: int = 32) -> None:
    """Put the events of a channel into blocks of so many."""
    file = trace.files.get((channel, cpu))
    if file is None:
        return
    held = [record for _, records, _ in file.blocks for record in records]
    file.blocks = [(held[at][0], held[at : at + each], None) for at in range(0, len(held), each)]


def markers(count: int) -> Drawn:
    """Markers with an event each."""
    trace = Trace(**_VERSION)
    for number in range(count):
        trace.declare("kernel", token("e", number), number, "value %u")
        trace.event("kernel", 0, START + 10 * number, number, trace.payload(("I", number)))
    _blocks(trace, "kernel")
    _blocks(trace, "metadata")
    return Drawn(trace.build(), tokens("e", count))


def events_of_a_marker(count: int) -> Drawn:
    """Events of a marker, with a text each."""
    trace = Trace(**_VERSION)
    trace.declare("kernel", "named", 0, "text %s")
    for number in range(count):
        payload = trace.payload(token("n", number))
        trace.event("kernel", 0, START + 10 * number, 0, payload)
    _blocks(trace, "kernel")
    return Drawn(trace.build(), tokens("n", count))


def blocks(count: int) -> Drawn:
    """Blocks of an event each."""
    trace = Trace(**_VERSION)
    trace.declare("kernel", "named", 0, "text %s")
    for number in range(count):
        trace.event("kernel", 0, START + 10 * number, 0, trace.payload(token("n", number)))
    _blocks(trace, "kernel", each=1)
    return Drawn(trace.build(), tokens("n", count))


def files(count: int) -> Drawn:
    """CPUs with a file each."""
    trace = Trace(**_VERSION)
    trace.declare("kernel", "named", 0, "text %s")
    for number in range(count):
        trace.event("kernel", number, START + 10 * number, 0, trace.payload(token("n", number)))
    return Drawn(trace.build(), tokens("n", count))


def fields(count: int) -> Drawn:
    """Fields of a marker."""
    trace = Trace(**_VERSION)
    listed = " ".join(f"{token('f', number)} %u" for number in range(count))
    trace.block_size = 4096 + 32 * count
    trace.declare("kernel", "wide", 0, listed)
    values = [("I", number) for number in range(count)]
    trace.event("kernel", 0, START, 0, trace.payload(*values))
    return Drawn(trace.build(), tokens("f", count))


DIMENSIONS = [
    Dimension("markers of LTTng 0.x", markers, "lttng_legacy", least=1, most=1 << 14),
    Dimension("events of a marker", events_of_a_marker, "lttng_legacy"),
    Dimension("blocks", blocks, "lttng_legacy", most=(1 << 14) + 1),
    Dimension("files of LTTng 0.x", files, "lttng_legacy", least=1, most=4097),
    # The reader's own bound.
    Dimension("fields of a marker", fields, "lttng_legacy", 1 << 12, 1, 1024, "warnings"),
]
