"""A file with a record of every type of FXT."""

from __future__ import annotations

from support.fxt.files import (
    argument,
    event,
    extended,
    initialization,
    large_blob,
    magic,
    provider,
    record,
    string,
    text,
    thread,
    unknown,
)

from converter.formats.fxt.record_types import ArgumentType, ByteOrder, EventType, RecordType


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
