"""FXT files built by the declarations of the layout, and what a reader should make of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Final

from converter.formats.fxt.layout import layout
from converter.formats.fxt.reading.reader import read
from converter.formats.fxt.record_types import (
    INLINE,
    MAGIC,
    ArgumentType,
    ByteOrder,
    EventType,
    MetadataType,
    RecordType,
)
from converter.formats.fxt.writing.writer import write
from converter.ir.columns import value
from converter.ir.events import Batch, EventClass
from converter.ir.trace import Trace
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink

ORDERS: tuple[ByteOrder, ByteOrder] = ("little", "big")
VARIANTS: dict[ByteOrder, str] = {"little": "large", "big": "be"}
MAX: Final = (1 << 64) - 1


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


def kernel_object(
    order: ByteOrder, kind: int, koid: int, name: bytes, arguments: Sequence[dict[str, Any]] = ()
) -> bytes:
    """A kernel object record with an inline name."""
    return record(
        order,
        RecordType.KERNEL_OBJECT,
        {"object_type": kind, "name": text(name)},
        koid=koid,
        name=name or None,
        arguments=list(arguments),
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
            yield batch.with_tables(batch.tables)

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


def start(order: ByteOrder) -> bytes:
    """A file that knows the strings 1 "one", 2 "two", 3 "process" and the threads 1 and 2."""
    return (
        magic(order)
        + string(order, 1, b"one")
        + string(order, 2, b"two")
        + string(order, 3, b"process")
        + thread(order, 1, 10, 11)
        + thread(order, 2, 20, MAX)
    )


def only(data: bytes) -> tuple[dict[str, Any], EventClass]:
    """The only event of a file without warnings, and its class."""
    trace = opened(data)
    (one,) = events(trace)
    assert not trace.warnings
    return one, trace.event_classes[0]
