"""Dimensions of Perfetto traces, packet by packet."""

from __future__ import annotations

from scale.drawn import Dimension, Drawn, token, tokens
from support.inputs.protobuf_fields import numeric, sized, varint

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
_THREAD = 1000
#: Fields of TracePacket.
_TS, _SEQUENCE, _EVENT, _INTERNED, _FLAGS, _DEFAULTS, _TRACK, _CLOCKS = 8, 10, 11, 12, 13, 59, 60, 6
#: A sequence begins: its state is cleared.
_CLEARED = 1 | 2


def packet(*fields: bytes) -> bytes:
    """A packet of these fields."""
    return sized(1, b"".join(fields))


def thread_track(uuid: int = _THREAD, tid: int = 51, name: str = "thread") -> bytes:
    """A field that describes the track of a thread."""
    thread = numeric(1, 50) + numeric(2, tid) + sized(5, name.encode())
    return sized(_TRACK, numeric(1, uuid) + sized(4, thread))


def track_event(kind: int, *fields: bytes, name: str = "", track: int = _THREAD) -> bytes:
    """A field with a track event."""
    named = sized(23, name.encode()) if name else b""
    return sized(_EVENT, numeric(9, kind) + numeric(11, track) + named + b"".join(fields))


def later(ts: int, *fields: bytes, sequence: int = 1) -> bytes:
    """A packet of a sequence that has begun."""
    return packet(numeric(_TS, ts), numeric(_SEQUENCE, sequence), numeric(_FLAGS, 2), *fields)


_START = packet(numeric(_SEQUENCE, 1), numeric(_FLAGS, _CLEARED), numeric(41, 1), thread_track())


def sequences(count: int) -> Drawn:
    """Sequences whose packets take turns, each with its own names and its own track by default."""
    packets = [
        packet(
            numeric(_SEQUENCE, number + 1),
            numeric(_FLAGS, _CLEARED),
            numeric(41, 1),
            sized(_DEFAULTS, sized(11, numeric(11, _THREAD + number)) + numeric(58, 6)),
            thread_track(_THREAD + number, 5000 + number, token("t", number)),
        )
        for number in range(count)
    ]
    for turn in range(2):
        for number in range(count):
            name = numeric(1, 1) + sized(2, token("n", number).encode())
            interned = b"" if turn else sized(_INTERNED, sized(2, name))
            event = sized(_EVENT, numeric(9, INSTANT) + numeric(10, 1))
            ts = 1000 * (turn * count + number) + 5
            packets.append(later(ts, interned, event, sequence=number + 1))
    named = tokens("n", count) | tokens("t", count)
    return Drawn({"": b"".join(packets)}, named, 2 * count)


def interned(count: int) -> Drawn:
    """Interned names, each used where it is declared and after all others."""
    packets = [_START]
    for turn in range(2):
        for number in range(count):
            name = numeric(1, number + 1) + sized(2, token("n", number).encode())
            declared = b"" if turn else sized(_INTERNED, sized(2, name))
            event = track_event(INSTANT, numeric(10, number + 1))
            packets.append(later(1000 * (turn * count + number) + 5, declared, event))
    return Drawn({"": b"".join(packets)}, tokens("n", count), 2 * count)


def annotation_names(count: int) -> Drawn:
    """Interned names of annotations, one on each event: as many shapes of arguments."""
    packets = [_START]
    for number in range(count):
        name = numeric(1, number + 1) + sized(2, token("k", number).encode())
        annotation = sized(4, numeric(1, number + 1) + numeric(4, number))
        event = track_event(INSTANT, annotation, name="n")
        packets.append(later(1000 * number + 5, sized(_INTERNED, sized(3, name)), event))
    return Drawn({"": b"".join(packets)}, tokens("k", count), count)


def annotations(count: int) -> Drawn:
    """Annotations of an event."""
    packets = [_START]
    for turn in range(2):
        held = (
            sized(4, sized(10, token("k", number).encode()) + numeric(4, number + turn))
            for number in range(count)
        )
        packets.append(later(1000 * turn + 5, track_event(INSTANT, *held, name="n")))
    return Drawn({"": b"".join(packets)}, tokens("k", count), 2)


def nested_annotations(count: int) -> Drawn:
    """Annotations in each other."""
    inside = sized(10, b"leaf") + numeric(4, 5)
    for number in range(count):
        inside = sized(10, token("k", number).encode()) + sized(11, inside)
    event = track_event(INSTANT, sized(4, inside), name="n")
    return Drawn({"": _START + later(5, event)}, tokens("k", count), 1)


def incremental_counters(count: int) -> Drawn:
    """Counter tracks of differences, whose events take turns."""
    packets = [_START]
    for number in range(count):
        declared = numeric(1, 2000 + number) + sized(2, token("k", number).encode())
        counter = numeric(3, 1) + numeric(4, 1) + numeric(5, 1)
        packets.append(packet(numeric(_SEQUENCE, 1), sized(_TRACK, declared + sized(8, counter))))
    for turn in range(2):
        for number in range(count):
            event = track_event(COUNTER, numeric(30, 7), track=2000 + number)
            packets.append(later(1000 * (turn * count + number) + 5, event))
    return Drawn({"": b"".join(packets)}, tokens("k", count), 2 * count)


def extra_counters(count: int) -> Drawn:
    """Values of other counters beside an event: each is an event of its own."""
    packets = [_START]
    for number in range(count):
        declared = numeric(1, 2000 + number) + sized(2, token("k", number).encode())
        packets.append(
            packet(numeric(_SEQUENCE, 1), sized(_TRACK, declared + sized(8, numeric(4, 1))))
        )
    for turn in range(2):
        held = [numeric(31, 2000 + number) for number in range(count)]
        held += [numeric(12, number + turn) for number in range(count)]
        packets.append(later(1000 * turn + 5, track_event(INSTANT, *held, name="n")))
    return Drawn({"": b"".join(packets)}, tokens("k", count))


def clocks(count: int) -> Drawn:
    """Clocks of sequences, each incremental and related by a snapshot of its own."""
    packets = []
    for number in range(count):
        boot = sized(1, numeric(1, 6) + numeric(2, 1_000_000))
        own = sized(1, numeric(1, 64) + numeric(2, 400) + numeric(3, 1) + numeric(4, 1000))
        head = numeric(_SEQUENCE, number + 1)
        begun = numeric(_FLAGS, _CLEARED) + numeric(41, 1)
        track = thread_track(_THREAD + number, 5000 + number, token("t", number))
        packets.append(packet(head, begun, sized(_CLOCKS, boot + own)))
        packets.append(packet(head, sized(_DEFAULTS, numeric(58, 64)), track))
    for number in range(count):
        event = track_event(INSTANT, name=token("n", number), track=_THREAD + number)
        packets.append(later(number + 1, event, sequence=number + 1))
    return Drawn({"": b"".join(packets)}, tokens("n", count) | tokens("t", count), count)


def flow_ids(count: int) -> Drawn:
    """Flows that begin at one slice and end at another."""
    ids = b"".join(
        varint(47 << 3 | 1) + (70_000 + number).to_bytes(8, "little") for number in range(count)
    )
    packets = [_START]
    for turn in range(2):
        begin = track_event(BEGIN, ids, name=token("n", turn))
        packets.append(later(1000 * turn + 5, begin))
        packets.append(later(1000 * turn + 500, track_event(END)))
    return Drawn({"": b"".join(packets)}, tokens("n", 2), 4)


def kernel_tasks(count: int) -> Drawn:
    """Tasks that are switched to in bundles of four CPUs, and named by a process tree."""
    packets = []
    for cpu in range(4):
        events = []
        for number in range(cpu, count, 4):
            following = (number + 1) % count
            switch = sized(1, token("t", number).encode()) + numeric(2, 100 + number)
            switch += numeric(3, 120) + numeric(4, 0) + sized(5, token("t", following).encode())
            switch += numeric(6, 100 + following) + numeric(7, 120)
            head = numeric(1, 1000 * number + 5) + numeric(2, 100 + number)
            events.append(sized(2, head + sized(4, switch)))
        packets.append(packet(numeric(_SEQUENCE, 1), sized(1, numeric(1, cpu) + b"".join(events))))
    tree = b"".join(
        sized(1, numeric(1, 100 + number) + numeric(2, 1) + sized(3, token("p", number).encode()))
        for number in range(count)
    )
    packets.append(packet(numeric(_SEQUENCE, 1), sized(2, tree)))
    named = tokens("t", count) | tokens("p", count)
    return Drawn({"": b"".join(packets)}, named, count)


def track_parents(count: int) -> Drawn:
    """Tracks that are each the parent of the next, with an instant each."""
    packets = [_START]
    for number in range(count):
        declared = numeric(1, 2000 + number) + sized(2, token("k", number).encode())
        declared += numeric(5, 1999 + number if number else _THREAD)
        packets.append(packet(numeric(_SEQUENCE, 1), sized(_TRACK, declared)))
    for number in range(count):
        event = track_event(INSTANT, name=token("n", number), track=2000 + number)
        packets.append(later(1000 * number + 5, event))
    named = tokens("n", count) | tokens("k", count)
    return Drawn({"": b"".join(packets)}, named, count)


def losses(count: int) -> Drawn:
    """Packets of a sequence before each of which others were lost."""
    packets = [_START]
    for number in range(count):
        event = track_event(INSTANT, name=token("n", number))
        head = numeric(_TS, 1000 * number + 5) + numeric(_SEQUENCE, 1) + numeric(_FLAGS, _CLEARED)
        packets.append(packet(head, numeric(42, 1), event))
    return Drawn({"": b"".join(packets)}, tokens("n", count), count)


DIMENSIONS = [
    Dimension("sequences", sequences, "perfetto", least=1),
    Dimension("interned names", interned, "perfetto"),
    Dimension("annotation names", annotation_names, "perfetto"),
    Dimension("annotations", annotations, "perfetto"),
    Dimension("annotations in each other", nested_annotations, "perfetto", most=31),
    Dimension("incremental counters", incremental_counters, "perfetto"),
    Dimension("extra counters", extra_counters, "perfetto"),
    Dimension("clocks", clocks, "perfetto", least=1),
    Dimension("flows of a slice", flow_ids, "perfetto"),
    Dimension("kernel tasks", kernel_tasks, "perfetto"),
    Dimension("tracks in each other", track_parents, "perfetto", most=63),
    Dimension("lost packets", losses, "perfetto"),
]
