"""FXT files built by the declarations of the layout, and what a reader should make of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from converter.formats.fxt.layout import ByteOrder, layout
from converter.formats.fxt.reader import read
from converter.formats.fxt.record_types import (
    INLINE,
    MAGIC,
    ArgumentType,
    EventType,
    MetadataType,
    ProfilerType,
    RecordType,
    SchedulingType,
)
from converter.formats.fxt.writer import write
from converter.ir.columns import value
from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.sink import BufferSink
from converter.source import open_source

ORDERS: tuple[ByteOrder, ByteOrder] = ("little", "big")
VARIANTS: dict[ByteOrder, str] = {"little": "large", "big": "be"}


def text(content: bytes) -> int:
    """The reference to an inline string."""
    return INLINE | len(content) if content else 0


def argument(kind: int, name: int | bytes, content: Any = None) -> dict[str, Any]:
    """An argument; a name, or the content of a string, is a slot or inline."""
    header: dict[str, Any] = {"type": int(kind), "name": name, "value": 0}
    result: dict[str, Any] = {"header": header, "name": None, "value": None}
    if isinstance(name, bytes):
        header["name"], result["name"] = text(name), name
    if kind in (ArgumentType.INT32, ArgumentType.UINT32, ArgumentType.BOOLEAN):
        header["value"] = int(content) & 0xFFFFFFFF
    elif kind == ArgumentType.STRING:
        header["value"] = text(content) if isinstance(content, bytes) else content
        result["value"] = content if isinstance(content, bytes) else None
    elif kind == ArgumentType.BLOB:
        header["value"], result["value"] = len(content), content
    elif kind > ArgumentType.BLOB:
        header["value"], result["value"] = content
    elif kind != ArgumentType.NULL:
        result["value"] = content
    return result


def record(order: ByteOrder, kind: RecordType, header: dict[str, Any], **fields: Any) -> bytes:
    """A record; the number of arguments and the lengths of streams are filled in."""
    fields = {
        "process": None,
        "thread": None,
        "category": None,
        "name": None,
        "tail": None,
        "arguments": [],
        **fields,
    }
    header = {"arguments": len(fields["arguments"]), **header}
    subtype = header.get("scheduling_type", header.get("profiler_type", 0))
    return layout(order).build(kind, {**fields, "header": header}, int(subtype))


def string(order: ByteOrder, slot: int, content: bytes) -> bytes:
    """A string record."""
    header = {"index": slot, "length": len(content)}
    return record(order, RecordType.STRING, header, value=content)


def thread(order: ByteOrder, slot: int, pid: int, tid: int) -> bytes:
    """A thread record."""
    return record(order, RecordType.THREAD, {"index": slot}, process=pid, thread=tid)


def event(
    order: ByteOrder,
    kind: EventType,
    ts: int,
    *,
    thread: int | tuple[int, int] = 1,
    category: int | bytes = 0,
    name: int | bytes = 0,
    arguments: Sequence[dict[str, Any]] = (),
    tail: int | None = None,
) -> bytes:
    """An event record; thread, category and name are slots or inline."""
    inline = isinstance(thread, tuple)
    header = {
        "event_type": int(kind),
        "thread": 0 if inline else thread,
        "category": text(category) if isinstance(category, bytes) else category,
        "name": text(name) if isinstance(name, bytes) else name,
    }
    return record(
        order,
        RecordType.EVENT,
        header,
        timestamp=ts,
        process=thread[0] if inline else None,
        thread=thread[1] if inline else None,
        category=category if isinstance(category, bytes) else None,
        name=name if isinstance(name, bytes) else None,
        arguments=list(arguments),
        tail=tail,
    )


def initialization(order: ByteOrder, rate: int, *more: int) -> bytes:
    """An initialization record, with words that some tracers append."""
    return record(order, RecordType.INITIALIZATION, {}, ticks_per_second=rate, more=list(more))


def provider(order: ByteOrder, id: int, name: bytes | None) -> bytes:
    """Provider info, or a provider section where there is no name."""
    kind = MetadataType.PROVIDER_SECTION if name is None else MetadataType.PROVIDER_INFO
    header = {"metadata_type": int(kind), "id": id, "data": len(name or b"")}
    return record(order, RecordType.METADATA, header, name=name)


def magic(order: ByteOrder) -> bytes:
    """The magic number record."""
    return MAGIC if order == "little" else MAGIC[::-1]


def extended(order: ByteOrder, built: bytes, words: bytes) -> bytes:
    """The record with words behind its declared end."""
    header = int.from_bytes(built[:8], order)
    size = (len(built) + len(words)) // 8
    mask = 0xFFFF_FFFF if header & 15 == RecordType.LARGE else 0xFFF
    header = header & ~(mask << 4) | size << 4
    return header.to_bytes(8, order) + built[8:] + words


def unknown(order: ByteOrder, kind: int, words: bytes, bits: int = 0) -> bytes:
    """A record of a type that the specification does not have."""
    header = kind | (1 + len(words) // 8) << 4 | bits << 16
    return header.to_bytes(8, order) + words


def split(data: bytes, order: ByteOrder) -> Iterator[bytes]:
    """The records of a file."""
    at = 0
    while at < len(data):
        header = int.from_bytes(data[at : at + 8], order)
        mask = 0xFFFF_FFFF if header & 15 == RecordType.LARGE else 0xFFF
        size = (header >> 4 & mask) * 8
        yield data[at : at + size]
        at += size


def opened(data: bytes) -> Trace:
    """The trace in a file."""
    return read(open_source(data))


def written(trace: Trace, variant: str = "") -> bytes:
    """The file that the writer makes of a trace."""
    sink = BufferSink()
    write(trace, sink, variant)
    return sink.getvalue()


def without_records(trace: Trace) -> Trace:
    """The trace without the bytes that it was read from, so that a writer encodes it anew."""

    def batches() -> Iterator[Batch]:
        for batch in trace.batches():
            yield Batch(
                ts=batch.ts,
                class_id=batch.class_id,
                row=batch.row,
                tables=batch.tables,
                thread=batch.thread,
                cpu=batch.cpu,
                track=batch.track,
            )

    return dataclasses.replace(trace, make_batches=batches)


def events(trace: Trace) -> list[dict[str, Any]]:
    """Each event as its kind, ts, cpu, thread (pid, tid) and fields, those that say nothing left out."""
    result = []
    for batch in trace.batches():
        for i in range(len(batch)):
            class_id, row = int(batch.class_id[i]), int(batch.row[i])
            declared = trace.event_classes[class_id]
            shown: dict[str, Any] = {"kind": declared.kind.name}
            if declared.timed:
                shown["ts"] = int(batch.ts[i])
            if batch.cpu[i] >= 0:
                shown["cpu"] = int(batch.cpu[i])
            if batch.thread[i] >= 0:
                one = trace.threads[batch.thread[i]]
                shown["thread"] = (trace.processes[one.process].pid, one.tid)
            table = batch.tables[class_id]
            for j, field in enumerate(declared.fields):
                shown[field.name] = value(table.column(j), field.type, row, trace.strings)
            result.append(shown)
    return result


_words = st.integers(0, (1 << 64) - 1)
_texts = st.sampled_from(
    (b"", b"a", b"process", b"eight by", "größe".encode(), b"\xff\xfe", b"x" * 40)
)
_slots = st.sampled_from((0, 1, 2, 3, 0x7FFF))
_names = st.one_of(_slots, _texts)
_threads = st.one_of(st.integers(0, 3), st.tuples(st.integers(0, 3), _words))
_ticks = st.integers(0, 1 << 40)


@st.composite
def arguments(draw: DrawFn) -> dict[str, Any]:
    """Arguments of every type, those to come included."""
    kind = draw(st.integers(0, 15))
    match kind:
        case ArgumentType.NULL:
            content: Any = None
        case ArgumentType.INT32 | ArgumentType.UINT32:
            content = draw(st.integers(0, 0xFFFFFFFF))
        case ArgumentType.STRING:
            content = draw(_names)
        case ArgumentType.BOOLEAN:
            content = draw(st.integers(0, 1))
        case ArgumentType.BLOB:
            content = draw(st.binary(max_size=20))
        case _ if kind > ArgumentType.BLOB:
            content = (draw(st.integers(0, 0xFFFFFFFF)), draw(st.integers(0, 3)) * b"12345678")
        case _:
            content = draw(_words)
    return argument(kind, draw(_names), content)


@st.composite
def records(draw: DrawFn, order: ByteOrder) -> bytes:
    """Records of every type."""
    held = draw(st.lists(arguments(), max_size=3))
    name, category, one = draw(_names), draw(_names), draw(_threads)
    inline_name = name if isinstance(name, bytes) else None
    name_reference = text(name) if isinstance(name, bytes) else name
    inline = one if isinstance(one, tuple) else (None, None)
    reference = 0 if isinstance(one, tuple) else max(one, 1)
    koids = {"process": inline[0], "thread": inline[1], "timestamp": draw(_ticks)}
    kind = draw(st.sampled_from((*RecordType, 4, 4, 4, 11)))
    match kind:
        case RecordType.METADATA:
            built = draw(
                st.sampled_from(
                    (
                        magic(order),
                        provider(order, 7, b"seven"),
                        provider(order, 7, None),
                        provider(order, 1, None),
                        unknown(order, 0, b"", 3 | 9 << 4),
                        unknown(order, 0, b"", 5),
                    )
                )
            )
        case RecordType.INITIALIZATION:
            built = initialization(order, 1_000_000_000)
        case RecordType.STRING:
            built = string(order, draw(_slots), draw(_texts))
        case RecordType.THREAD:
            built = thread(order, draw(st.integers(0, 3)), draw(st.integers(0, 3)), draw(_words))
        case RecordType.EVENT:
            event_type = EventType(draw(st.integers(0, 10)))
            tailed = event_type in (EventType.COUNTER, *list(EventType)[4:])
            tail = draw(_ticks if event_type is EventType.DURATION_COMPLETE else _words)
            built = event(
                order,
                event_type,
                draw(_ticks),
                thread=one if isinstance(one, tuple) else reference,
                category=category,
                name=name,
                arguments=held,
                tail=tail if tailed else None,
            )
        case RecordType.BLOB:
            payload = draw(st.binary(max_size=20))
            header = {
                "name": name_reference,
                "length": len(payload),
                "blob_type": draw(st.integers(0, 5)),
            }
            built = record(order, kind, header, name=inline_name, payload=payload)
        case RecordType.USERSPACE_OBJECT:
            header = {"thread": reference, "name": name_reference}
            built = record(
                order,
                kind,
                header,
                pointer=draw(_words),
                name=inline_name,
                arguments=held,
                process=inline[0],
            )
        case RecordType.KERNEL_OBJECT:
            object_type = draw(st.integers(1, 3))
            if draw(st.booleans()):
                held = [argument(ArgumentType.KOID, b"process", draw(st.integers(0, 3)))]
            header = {"object_type": object_type, "name": name_reference}
            koid = draw(st.integers(0, 3))
            built = record(order, kind, header, koid=koid, name=inline_name, arguments=held)
        case RecordType.SCHEDULING:
            built = draw(scheduling_records(order, held))
        case RecordType.LOG:
            message = draw(st.binary(max_size=20))
            header = {"length": len(message), "thread": reference}
            built = record(order, kind, header, message=message, **koids)
        case RecordType.PROFILER:
            built = draw(profiler_records(order, reference, koids))
        case RecordType.LARGE:
            built = large_blob(
                order,
                draw(st.integers(0, 1)),
                draw(st.binary(max_size=20)),
                name=name,
                category=category,
                thread=one if isinstance(one, tuple) else reference,
                arguments=held,
                ts=draw(_ticks),
            )
        case _:
            built = unknown(
                order, kind, draw(st.integers(0, 3)) * b"unknown!", draw(st.integers(0, 9))
            )
    if kind not in (0, 1, 2, 3, 11) and draw(st.integers(0, 9)) == 0:
        built = extended(order, built, b"and more" * draw(st.integers(1, 2)))
    return built


@st.composite
def scheduling_records(draw: DrawFn, order: ByteOrder, held: list[dict[str, Any]]) -> bytes:
    """Scheduling records of the three types."""
    state, cpu = draw(st.integers(0, 5)), draw(st.integers(0, 255))
    subtype = draw(st.sampled_from(SchedulingType))
    common = {"scheduling_type": int(subtype), "cpu": cpu}
    if subtype is SchedulingType.THREAD_WAKEUP:
        words = {"waking_thread": draw(_words)}
    elif subtype is SchedulingType.CONTEXT_SWITCH:
        common["outgoing_state"] = state
        words = {"outgoing_thread": draw(_words), "incoming_thread": draw(_words)}
    else:
        outgoing, incoming = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        common |= {"outgoing": outgoing, "incoming": incoming, "outgoing_state": state}
        common |= {"outgoing_priority": draw(st.integers(0, 255)), "incoming_priority": 3}
        words = {
            "outgoing_process": None if outgoing else draw(_words),
            "outgoing_thread": None if outgoing else draw(_words),
            "incoming_process": None if incoming else draw(_words),
            "incoming_thread": None if incoming else draw(_words),
        }
        held = []
    return record(
        order, RecordType.SCHEDULING, common, timestamp=draw(_ticks), arguments=held, **words
    )


@st.composite
def profiler_records(
    draw: DrawFn, order: ByteOrder, reference: int, koids: dict[str, Any]
) -> bytes:
    """Profiler records of the three types."""
    subtype = draw(st.sampled_from(ProfilerType))
    header: dict[str, Any] = {"profiler_type": int(subtype), "thread": reference}
    if subtype is ProfilerType.BACKTRACE:
        frames = draw(st.lists(_words, max_size=4))
        more: dict[str, Any] = {"frames": frames}
        header["frames"] = len(frames)
    elif subtype is ProfilerType.MMAP:
        header |= {"module_id": draw(st.integers(0, 0xFFFF)), "flags": draw(st.integers(0, 7))}
        more = {"start_address": draw(_words), "range": draw(_words), "vaddr": draw(_words)}
    else:
        name, build_id = draw(_texts), draw(st.binary(max_size=20))
        header |= {"module_id": 5, "name_length": len(name), "build_id_length": len(build_id)}
        more = {"name": name, "build_id": build_id}
    return record(order, RecordType.PROFILER, header, **koids, **more)


def large_blob(
    order: ByteOrder,
    blob_format: int,
    payload: bytes,
    *,
    name: int | bytes = 0,
    category: int | bytes = 0,
    thread: int | tuple[int, int] = 1,
    arguments: Sequence[dict[str, Any]] = (),
    ts: int = 0,
) -> bytes:
    """A large BLOB record with metadata (0) or without (1)."""
    timed = blob_format == 0
    inline = timed and isinstance(thread, tuple)
    second = {
        "category": text(category) if isinstance(category, bytes) else category,
        "name": text(name) if isinstance(name, bytes) else name,
        "arguments": len(arguments) if timed else 0,
        "thread": thread if timed and isinstance(thread, int) else 0,
    }
    return record(
        order,
        RecordType.LARGE,
        {"large_type": 0, "blob_format": blob_format},
        format=second,
        category=category if isinstance(category, bytes) else None,
        name=name if isinstance(name, bytes) else None,
        timestamp=ts if timed else None,
        process=thread[0] if inline and isinstance(thread, tuple) else None,
        thread=thread[1] if inline and isinstance(thread, tuple) else None,
        arguments=list(arguments) if timed else [],
        payload_size=len(payload),
        payload=payload,
    )


@st.composite
def files(draw: DrawFn, order: ByteOrder) -> bytes:
    """Whole files, of one clock rate."""
    start = magic(order) + string(order, 1, b"one") + thread(order, 1, 1, 11)
    return start + b"".join(draw(st.lists(records(order), max_size=12)))


def every_record(order: ByteOrder) -> bytes:
    """A file with a record of every type, and every type of argument."""
    held = [
        argument(ArgumentType.NULL, 1),
        argument(ArgumentType.INT32, b"int32", -5),
        argument(ArgumentType.UINT32, b"uint32", 0xFFFFFFFF),
        argument(ArgumentType.INT64, b"int64", 1 << 63),
        argument(ArgumentType.UINT64, b"uint64", (1 << 64) - 1),
        argument(ArgumentType.DOUBLE, b"double", 0x3FF8000000000000),
        argument(ArgumentType.STRING, b"string", 2),
        argument(ArgumentType.STRING, b"inline string", b"inline"),
        argument(ArgumentType.POINTER, b"pointer", 0xFFFF_8000_0000_0000),
        argument(ArgumentType.KOID, b"koid", 11),
        argument(ArgumentType.BOOLEAN, b"boolean", 1),
        argument(ArgumentType.BLOB, b"blob", b"nine byte"),
        argument(14, b"to come", (1, b"8 bytes!")),
    ]
    of_ten = [argument(ArgumentType.KOID, 3, 10)]
    weights = [argument(ArgumentType.INT32, b"incoming_weight", 20)]
    weight = [argument(ArgumentType.INT32, b"weight", 20)]
    inline = {"process": 10, "thread": 11}
    in_slot = {"process": None, "thread": None}
    legacy = {"outgoing_process": None, "outgoing_thread": None}
    legacy |= {"incoming_process": 20, "incoming_thread": 21}
    tails = {
        EventType.COUNTER: 1,
        EventType.DURATION_COMPLETE: 250,
        **dict.fromkeys(list(EventType)[5:], 0xABCD),
    }
    parts = [
        magic(order),
        provider(order, 1, b"example"),
        initialization(order, 24_000_000, 12_000_000, 1_700_000_000_500_000_000),
        *(string(order, i + 1, one) for i, one in enumerate((b"one", b"two", b"process"))),
        thread(order, 1, 10, 11),
        record(
            order,
            RecordType.KERNEL_OBJECT,
            {"object_type": 1, "name": text(b"ten")},
            koid=10,
            name=b"ten",
        ),
        record(
            order,
            RecordType.KERNEL_OBJECT,
            {"object_type": 2, "name": 1},
            koid=11,
            arguments=of_ten,
        ),
        record(
            order,
            RecordType.KERNEL_OBJECT,
            {"object_type": 4, "name": text(b"channel")},
            koid=99,
            name=b"channel",
        ),
        record(
            order,
            RecordType.USERSPACE_OBJECT,
            {"thread": 1, "name": 2},
            pointer=0x1000,
            arguments=held[:2],
        ),
        *(
            event(
                order,
                kind,
                100 + kind,
                category=1,
                name=2,
                arguments=held[:3],
                tail=tails.get(kind),
            )
            for kind in EventType
        ),
        event(
            order,
            EventType.INSTANT,
            120,
            thread=(20, 21),
            category=b"in",
            name=b"line",
            arguments=held,
        ),
        record(
            order,
            RecordType.SCHEDULING,
            {"scheduling_type": 1, "cpu": 3, "outgoing_state": 3},
            timestamp=130,
            outgoing_thread=11,
            incoming_thread=21,
            arguments=weights,
        ),
        record(
            order,
            RecordType.SCHEDULING,
            {"scheduling_type": 2, "cpu": 3},
            timestamp=131,
            waking_thread=11,
            arguments=weight,
        ),
        record(
            order,
            RecordType.SCHEDULING,
            {
                "scheduling_type": 0,
                "cpu": 3,
                "outgoing_state": 5,
                "outgoing": 1,
                "incoming": 0,
                "outgoing_priority": 16,
                "incoming_priority": 0,
            },
            timestamp=132,
            **legacy,
        ),
        record(
            order,
            RecordType.LOG,
            {"length": 5, "thread": 1},
            timestamp=140,
            message=b"hello",
            **in_slot,
        ),
        record(
            order,
            RecordType.PROFILER,
            {
                "profiler_type": 0,
                "thread": 0,
                "module_id": 1,
                "name_length": 7,
                "build_id_length": 2,
            },
            timestamp=150,
            **inline | {"name": b"libc.so"},
            build_id=b"\xbe\xef",
        ),
        record(
            order,
            RecordType.PROFILER,
            {"profiler_type": 1, "thread": 1, "module_id": 1, "flags": 5},
            timestamp=151,
            start_address=0x1000,
            range=0x2000,
            vaddr=0,
            **in_slot,
        ),
        record(
            order,
            RecordType.PROFILER,
            {"profiler_type": 2, "thread": 1, "frames": 2},
            timestamp=152,
            frames=[0x1008, 0x1010],
            **in_slot,
        ),
        record(order, RecordType.BLOB, {"name": 1, "length": 4, "blob_type": 1}, payload=b"data"),
        large_blob(order, 0, b"large", name=1, category=2, arguments=held[:2], ts=160),
        large_blob(order, 1, b"larger", name=b"in", category=b"line"),
        unknown(order, 0, b"", 3 | 1 << 4),
        unknown(order, 12, b"to come!", 7),
        extended(order, event(order, EventType.INSTANT, 170, name=1), b"appended"),
        provider(order, 2, b"other"),
        initialization(order, 1_000_000_000),
        thread(order, 1, 30, 31),
        string(order, 1, b"uno"),
        event(order, EventType.INSTANT, 5_000, name=1),
        provider(order, 1, None),
        event(order, EventType.INSTANT, 180, name=1),
    ]
    return b"".join(parts)
