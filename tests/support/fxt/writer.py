"""FXT as a recorder writes it, record by record: words of a document in a test."""

from __future__ import annotations

import struct
from typing import Any

from support.fxt import files as fxt

from converter.formats.fxt.record_types import (
    ArgumentType,
    ByteOrder,
    EventType,
    MetadataType,
    ProfilerType,
    RecordType,
    SchedulingType,
)

ORDER: ByteOrder = "little"
#: The weight of an idle thread.
IDLE = -(1 << 31)
HIGH = 1 << 32

Slot = int | tuple[int, int]


class Writer:
    """A file of one writer, record by record."""

    def __init__(self, rate: int = 10**9) -> None:
        self.parts = [fxt.magic(ORDER)]
        self.rate = rate

    def add(self, *records: bytes) -> None:
        self.parts += records

    def provider(self, id: int, name: bytes = b"provider", rate: int | None = None) -> None:
        self.add(fxt.provider(ORDER, id, name), fxt.provider(ORDER, id, None))
        self.add(fxt.initialization(ORDER, rate or self.rate))

    def section(self, id: int) -> None:
        self.add(fxt.provider(ORDER, id, None))

    def string(self, slot: int, text: bytes) -> None:
        self.add(fxt.string(ORDER, slot, text))

    def thread(self, slot: int, pid: int, tid: int) -> None:
        self.add(fxt.thread(ORDER, slot, pid, tid))

    def process(self, koid: int, name: bytes) -> None:
        self.add(fxt.kernel_object(ORDER, 1, koid, name))

    def named(self, pid: int, tid: int, name: bytes) -> None:
        process = [fxt.argument(ArgumentType.KOID, b"process", pid)]
        self.add(fxt.kernel_object(ORDER, 2, tid, name, process))

    def event(self, kind: EventType, ts: int, thread: Slot, name: bytes | int, **more: Any) -> None:
        self.add(fxt.event(ORDER, kind, ts, thread=thread, name=name, category=b"c", **more))

    def slice(self, ts: int, end: int, thread: Slot, name: bytes | int, **more: Any) -> None:
        self.event(EventType.DURATION_COMPLETE, ts, thread, name, tail=end, **more)

    def begin(self, ts: int, thread: Slot, name: bytes | int, **more: Any) -> None:
        self.event(EventType.DURATION_BEGIN, ts, thread, name, **more)

    def end(self, ts: int, thread: Slot, name: bytes | int, **more: Any) -> None:
        self.event(EventType.DURATION_END, ts, thread, name, **more)

    def instant(self, ts: int, thread: Slot, name: bytes | int, **more: Any) -> None:
        self.event(EventType.INSTANT, ts, thread, name, **more)

    def counter(self, ts: int, thread: Slot, name: bytes, id: int, *arguments: Any) -> None:
        self.event(EventType.COUNTER, ts, thread, name, tail=id, arguments=list(arguments))

    def flow(self, kind: EventType, ts: int, thread: Slot, id: int) -> None:
        self.event(kind, ts, thread, b"flow", tail=id)

    def switch(
        self,
        ts: int,
        cpu: int,
        out: tuple[int, int | None],
        into: tuple[int, int | None],
        state: int,
    ) -> None:
        """A switch between threads with weights; a weight of None is left out."""
        header = {
            "scheduling_type": int(SchedulingType.CONTEXT_SWITCH),
            "cpu": cpu,
            "outgoing_state": state,
        }
        weights = [
            fxt.argument(ArgumentType.INT32, name, weight)
            for name, weight in ((b"incoming_weight", into[1]), (b"outgoing_weight", out[1]))
            if weight is not None
        ]
        self.add(
            fxt.record(
                ORDER,
                RecordType.SCHEDULING,
                header,
                timestamp=ts,
                outgoing_thread=out[0],
                incoming_thread=into[0],
                arguments=weights,
            )
        )

    def wakeup(
        self, ts: int, cpu: int, tid: int, weight: int | None = 16, waker: int | None = None
    ) -> None:
        header = {"scheduling_type": int(SchedulingType.THREAD_WAKEUP), "cpu": cpu}
        arguments = []
        if weight is not None:
            arguments.append(fxt.argument(ArgumentType.INT32, b"weight", weight))
        if waker is not None:
            arguments.append(fxt.argument(ArgumentType.KOID, b"waker", waker))
        self.add(
            fxt.record(
                ORDER,
                RecordType.SCHEDULING,
                header,
                timestamp=ts,
                waking_thread=tid,
                arguments=arguments,
            )
        )

    def legacy(
        self, ts: int, cpu: int, out: tuple[Slot, int], into: tuple[Slot, int], state: int
    ) -> None:
        """A switch of the first type: threads by slot, or process and thread, with their priorities."""
        header: dict[str, Any] = {
            "scheduling_type": int(SchedulingType.LEGACY_CONTEXT_SWITCH),
            "cpu": cpu,
            "outgoing_state": state,
            "outgoing_priority": out[1],
            "incoming_priority": into[1],
        }
        fields: dict[str, Any] = {}
        for side, (place, _) in (("outgoing", out), ("incoming", into)):
            inline = isinstance(place, tuple)
            header[side] = 0 if inline else place
            fields[f"{side}_process"] = place[0] if isinstance(place, tuple) else None
            fields[f"{side}_thread"] = place[1] if isinstance(place, tuple) else None
        self.add(fxt.record(ORDER, RecordType.SCHEDULING, header, timestamp=ts, **fields))

    def log(self, ts: int, thread: int, message: bytes) -> None:
        header = {"length": len(message), "thread": thread}
        self.add(fxt.record(ORDER, RecordType.LOG, header, timestamp=ts, message=message))

    def object(self, kind: int, koid: int, name: bytes | int, *arguments: Any) -> None:
        """A kernel object."""
        header = {"object_type": kind, "name": _reference(name)}
        inline = (name if isinstance(name, bytes) else None) or None
        self._named_record(RecordType.KERNEL_OBJECT, header, inline, arguments, koid=koid)

    def userspace(self, pointer: int, thread: Slot, name: bytes | int, *arguments: Any) -> None:
        """An object of a program; of a thread inline, its process."""
        inline = (name if isinstance(name, bytes) else None) or None
        header = {"thread": thread if isinstance(thread, int) else 0, "name": _reference(name)}
        process = thread[0] if isinstance(thread, tuple) else None
        more = {"pointer": pointer, "process": process}
        self._named_record(RecordType.USERSPACE_OBJECT, header, inline, arguments, **more)

    def _named_record(
        self,
        kind: RecordType,
        header: dict[str, Any],
        name: bytes | None,
        arguments: tuple[Any, ...],
        **more: Any,
    ) -> None:
        self.add(fxt.record(ORDER, kind, header, name=name, arguments=list(arguments), **more))

    def blob(self, kind: int, name: bytes | int, payload: bytes) -> None:
        """A BLOB record."""
        header = {"name": _reference(name), "length": len(payload), "blob_type": kind}
        inline = (name if isinstance(name, bytes) else None) or None
        self.add(fxt.record(ORDER, RecordType.BLOB, header, name=inline, payload=payload))

    def backtrace(self, ts: int, thread: int, *frames: int) -> None:
        """A sample of a stack."""
        header = {
            "profiler_type": int(ProfilerType.BACKTRACE),
            "thread": thread,
            "frames": len(frames),
        }
        self.add(fxt.record(ORDER, RecordType.PROFILER, header, timestamp=ts, frames=list(frames)))

    def full_buffer(self, id: int) -> None:
        """The notice of a provider that records were dropped."""
        header = {"metadata_type": int(MetadataType.PROVIDER_EVENT), "id": id, "data": 0}
        self.add(fxt.record(ORDER, RecordType.METADATA, header))

    def extend(self, words: bytes) -> None:
        """Words after the declared end of the last record."""
        self.parts[-1] = fxt.extended(ORDER, self.parts[-1], words)

    def bytes(self) -> bytes:
        return b"".join(self.parts)


def _reference(name: bytes | int) -> int:
    return fxt.text(name) if isinstance(name, bytes) else name


def number(name: bytes, value: float) -> dict[str, Any]:
    """An argument that is an Int64, or a double."""
    if isinstance(value, int):
        return fxt.argument(ArgumentType.INT64, name, value % (1 << 64))
    return fxt.argument(
        ArgumentType.DOUBLE, name, int.from_bytes(struct.pack("<d", value), "little")
    )


def system(writer: Writer, base: int = 0) -> None:
    """The kernel's threads and those of one program, each said by a kernel object."""
    writer.provider(1, b"ktrace_provider")
    writer.process(base + 100, b"app")
    for tid, name in ((101, b"main"), (102, b"work")):
        writer.named(base + 100, base + tid, name)
    for tid in (7, 8):
        writer.named(0, base + tid, b"idle-%d" % (tid - 7))


def legacy_system(w: Writer) -> None:
    """The same threads, in slots."""
    system(w)
    for slot, place in enumerate([(100, 101), (100, 102), (0, 7), (0, 8)], 1):
        w.thread(slot, *place)
