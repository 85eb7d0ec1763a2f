"""Every record and argument type of FXT, in both byte orders: what the reader makes of it."""

from __future__ import annotations

import math
import struct

import pytest
from support.fxt.files import (
    MAX,
    ORDERS,
    argument,
    event,
    events,
    extended,
    kernel_object,
    large_blob,
    magic,
    only,
    opened,
    record,
    start,
    unknown,
)

from converter.errors import TraceError
from converter.formats.fxt import FORMAT, sniff
from converter.formats.fxt.record_types import ArgumentType, EventType, RecordType
from converter.ir.columns import ListColumn
from converter.ir.field_classes import BytesClass, IntegerClass, Style
from converter.ir.kinds import Kind, Role

each_order = pytest.mark.parametrize("order", ORDERS)


def test_magic_number_record():
    # The example of the specification, "Magic number record".
    assert magic("little") == bytes.fromhex("10 00 04 46 78 54 16 00")
    assert magic("big") == bytes.fromhex("00 16 54 78 46 04 00 10")
    assert sniff(magic("little"))
    assert sniff(magic("big") + b"more")
    assert not sniff(b"\x10\x00\x04\x46")
    assert FORMAT.variants[0] == ""


@pytest.mark.parametrize("data", [b"", b"\x10\x00\x04", bytes(8), b"TRACE of something else"])
def test_a_file_without_magic_number_is_refused(data):
    with pytest.raises(TraceError, match="magic number record"):
        opened(data)


def test_records_written_by_magic_trace():
    # Bytes of a recording: a string, a process and a thread object, a thread, an event that ends a slice.
    data = magic("little") + bytes.fromhex(
        "2200010007000000 70726f6365737300"
        "220066000f000000 6161616161616161"
        "3200670004000000 6d61696e00000000 0000000000000000"
        "2700016600000000 0100000000000000"
        "4700026700010000 0200000000000000 2800010000000000 0100000000000000"
        "3300010000000000 0100000000000000 0200000000000000"
        "2400030167006600 d100000000000000"
    ).replace(bytes.fromhex("220066000f000000"), bytes.fromhex("2200660008000000"))
    trace = opened(data)
    assert events(trace) == [
        {
            "kind": "SLICE_END",
            "ts": 0xD1,
            "thread": (1, 2),
            "name": b"aaaaaaaa",
            "category": b"main",
        }
    ]
    assert [process.name for process in trace.processes] == ["aaaaaaaa"]
    assert [thread.name for thread in trace.threads] == ["main"]


@each_order
@pytest.mark.parametrize(
    ("event_type", "kind", "tail"),
    [
        (EventType.INSTANT, "INSTANT", None),
        (EventType.COUNTER, "COUNTER", ("id", MAX)),
        (EventType.DURATION_BEGIN, "SLICE_BEGIN", None),
        (EventType.DURATION_END, "SLICE_END", None),
        (EventType.DURATION_COMPLETE, "SLICE_COMPLETE", ("duration", 23)),
        (EventType.ASYNC_BEGIN, "ASYNC_BEGIN", ("id", MAX)),
        (EventType.ASYNC_INSTANT, "ASYNC_INSTANT", ("id", 1)),
        (EventType.ASYNC_END, "ASYNC_END", ("id", 2)),
        (EventType.FLOW_BEGIN, "FLOW_BEGIN", ("id", 3)),
        (EventType.FLOW_STEP, "FLOW_STEP", ("id", 4)),
        (EventType.FLOW_END, "FLOW_END", ("id", 5)),
    ],
)
def test_event(order, event_type, kind, tail):
    value = None if tail is None else tail[1] + (100 if tail[0] == "duration" else 0)
    built = event(order, event_type, 100, category=1, name=2, tail=value)
    one, _ = only(start(order) + built)
    expected = {"kind": kind, "ts": 100, "thread": (10, 11), "name": b"two", "category": b"one"}
    assert one == (expected if tail is None else expected | dict([tail]))


@each_order
def test_inline_strings_and_threads(order):
    built = event(order, EventType.INSTANT, 7, thread=(5, MAX), category=b"", name=b"12345678")
    assert only(start(order) + built)[0] == {
        "kind": "INSTANT",
        "ts": 7,
        "thread": (5, MAX),
        "name": b"12345678",
        "category": b"",
    }


def test_a_duration_may_be_negative():
    built = event("little", EventType.DURATION_COMPLETE, 100, tail=40)
    assert only(start("little") + built)[0]["duration"] == -60


@each_order
@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (ArgumentType.NULL, None, None),
        (ArgumentType.INT32, -1, -1),
        (ArgumentType.UINT32, 0xFFFFFFFF, 0xFFFFFFFF),
        (ArgumentType.INT64, MAX, -1),
        (ArgumentType.UINT64, MAX, MAX),
        (ArgumentType.DOUBLE, struct.unpack("<Q", struct.pack("<d", -0.5))[0], -0.5),
        (ArgumentType.STRING, 1, b"one"),
        (ArgumentType.STRING, 0, b""),
        (ArgumentType.STRING, b"inline text", b"inline text"),
        (ArgumentType.POINTER, MAX, MAX),
        (ArgumentType.KOID, 5, 5),
        (ArgumentType.BOOLEAN, 1, True),
        (ArgumentType.BOOLEAN, 0, False),
        (ArgumentType.BLOB, b"nine byte", b"nine byte"),
        (ArgumentType.BLOB, b"", b""),
        (12, (0x01020304, b"abcdefgh"), b"\x04\x03\x02\x01abcdefgh"),
        (15, (7, b""), b"\x07\0\0\0"),
    ],
)
@pytest.mark.parametrize("name", [2, b"two"])
def test_argument(order, kind, given, expected, name):
    held = [argument(kind, name, given), argument(ArgumentType.INT32, 1, 5)]
    one, _ = only(start(order) + event(order, EventType.INSTANT, 1, arguments=held))
    assert one["two"] == expected
    assert type(one["two"]) is type(expected)
    assert one["one"] == 5


def test_arguments_keep_their_types():
    held = [
        argument(ArgumentType.POINTER, b"pointer", 1),
        argument(ArgumentType.KOID, b"koid", 1),
        argument(13, b"new", (0, b"")),
    ]
    _, declared = only(
        start("little") + event("little", EventType.COUNTER, 1, arguments=held, tail=0)
    )
    assert [(field.type, field.role) for field in declared.fields[3:]] == [
        (IntegerClass(64, False, Style.POINTER), Role.VALUE),
        (IntegerClass(64, False, Style.OBJECT_ID), Role.VALUE),
        (BytesClass("application/x-fxt-argument; type=13"), Role.NONE),
    ]


def test_nan_keeps_its_bits():
    bits = 0x7FF8000000001234
    trace = opened(
        start("little")
        + event("little", EventType.INSTANT, 1, arguments=[argument(ArgumentType.DOUBLE, 1, bits)])
    )
    (batch,) = trace.batches()
    column = batch.tables[0].column(2)
    assert math.isnan(column[0])
    assert column.view("u8").tolist() == [bits]


@each_order
def test_context_switch(order):
    held = [argument(ArgumentType.INT32, b"incoming_weight", -(2**31))]
    header = {"scheduling_type": 1, "cpu": 300, "outgoing_state": 3}
    words = {"timestamp": 9, "outgoing_thread": MAX, "incoming_thread": 2}
    built = record(order, RecordType.SCHEDULING, header, arguments=held, **words)
    assert only(start(order) + built)[0] == {
        "kind": "SCHED_SWITCH",
        "ts": 9,
        "cpu": 300,
        "prev_tid": MAX,
        "next_tid": 2,
        "prev_state": 3,
        "incoming_weight": -(2**31),
    }


@each_order
def test_thread_wakeup(order):
    held = [argument(ArgumentType.INT32, b"weight", 5), argument(ArgumentType.KOID, b"waker", 3)]
    header = {"scheduling_type": 2, "cpu": 0xFFFF}
    built = record(
        order, RecordType.SCHEDULING, header, timestamp=9, waking_thread=MAX, arguments=held
    )
    expected = {"kind": "SCHED_WAKEUP", "ts": 9, "tid": MAX, "weight": 5, "waker": 3}
    assert only(start(order) + built)[0] == expected


@each_order
@pytest.mark.parametrize("inline", [None, "outgoing", "incoming"])
def test_legacy_context_switch(order, inline):
    header = {
        "scheduling_type": 0,
        "cpu": 255,
        "outgoing_state": 5,
        "outgoing": 0 if inline == "outgoing" else 1,
        "incoming": 0 if inline == "incoming" else 2,
        "outgoing_priority": 200,
        "incoming_priority": 100,
    }
    words = {
        "timestamp": 9,
        "outgoing_process": 10 if inline == "outgoing" else None,
        "outgoing_thread": 11 if inline == "outgoing" else None,
        "incoming_process": 20 if inline == "incoming" else None,
        "incoming_thread": MAX if inline == "incoming" else None,
    }
    built = record(order, RecordType.SCHEDULING, header, **words)
    assert only(start(order) + built)[0] == {
        "kind": "SCHED_SWITCH",
        "ts": 9,
        "cpu": 255,
        "prev_tid": 11,
        "next_tid": MAX,
        "prev_state": 5,
        "prev_pid": 10,
        "next_pid": 20,
        "prev_priority": 200,
        "next_priority": 100,
    }


@each_order
@pytest.mark.parametrize("slot", [0, 2])
def test_log(order, slot):
    inline = {"process": None, "thread": None} if slot else {"process": 20, "thread": MAX}
    header = {"length": 9, "thread": slot}
    built = record(order, RecordType.LOG, header, timestamp=5, message=b"nine byte", **inline)
    trace = opened(start(order) + built)
    assert events(trace) == [{"kind": "LOG", "ts": 5, "thread": (20, MAX), "message": b"nine byte"}]
    (batch,) = trace.batches()
    assert isinstance(batch.tables[0].column(0), ListColumn)


@each_order
def test_profiler_module(order):
    header = {"profiler_type": 0, "thread": 1, "module_id": 0xFFFF}
    header |= {"name_length": 7, "build_id_length": 9}
    built = record(
        order, RecordType.PROFILER, header, timestamp=5, name=b"libc.so", build_id=b"\0" * 9
    )
    assert only(start(order) + built)[0] == {
        "kind": "MODULE",
        "ts": 5,
        "thread": (10, 11),
        "module_id": 0xFFFF,
        "name": b"libc.so",
        "build_id": b"\0" * 9,
    }


@each_order
def test_profiler_mmap(order):
    header = {"profiler_type": 1, "thread": 0, "module_id": 3, "flags": 5}
    words = {"timestamp": 5, "process": 1, "start_address": MAX, "range": 4096, "vaddr": 16}
    built = record(order, RecordType.PROFILER, header, **words | {"thread": 2})
    assert only(start(order) + built)[0] == {
        "kind": "MAPPING",
        "ts": 5,
        "thread": (1, 2),
        "module_id": 3,
        "flags": 5,
        "start": MAX,
        "range": 4096,
        "vaddr": 16,
    }


@each_order
def test_profiler_backtrace(order):
    header = {"profiler_type": 2, "thread": 1, "frames": 3}
    built = record(order, RecordType.PROFILER, header, timestamp=5, frames=[1, MAX, 3])
    expected = {"kind": "SAMPLE", "ts": 5, "thread": (10, 11), "frames": [1, MAX, 3]}
    assert only(start(order) + built)[0] == expected


@each_order
def test_blob(order):
    header = {"name": 1, "length": 9, "blob_type": 3}
    built = record(order, RecordType.BLOB, header, payload=b"nine byte")
    expected = {"kind": "BLOB", "name": b"one", "type": 3, "payload": b"nine byte"}
    one, declared = only(start(order) + built)
    assert one == expected
    assert not declared.timed


@each_order
def test_large_blob_with_metadata(order):
    payload = bytes(range(256)) * 400
    held = [argument(ArgumentType.INT32, 1, 5)]
    built = large_blob(order, 0, payload, name=2, category=b"in", arguments=held, ts=77)
    assert len(built) > 32_760
    after = event(order, EventType.INSTANT, 78)
    one, last = events(opened(start(order) + built + after))
    assert last["ts"] == 78
    assert one == {
        "kind": "BLOB",
        "ts": 77,
        "thread": (10, 11),
        "name": b"two",
        "category": b"in",
        "payload": payload,
        "one": 5,
    }


@each_order
def test_large_blob_without_metadata(order):
    built = large_blob(order, 1, b"payload", name=b"name", category=1)
    one, declared = only(start(order) + built)
    assert one == {"kind": "BLOB", "name": b"name", "category": b"one", "payload": b"payload"}
    assert not declared.timed


@each_order
@pytest.mark.parametrize("slot", [0, 1])
def test_userspace_object(order, slot):
    held = [argument(ArgumentType.INT32, 1, 5)]
    built = record(
        order,
        RecordType.USERSPACE_OBJECT,
        {"thread": slot, "name": 2},
        pointer=MAX,
        process=None if slot else 10,
        arguments=held,
    )
    assert only(start(order) + built)[0] == {
        "kind": "OBJECT_INFO",
        "pointer": MAX,
        "name": b"two",
        "process": 10,
        "one": 5,
    }


@each_order
def test_kernel_object(order):
    held = [argument(ArgumentType.INT32, 1, 5)]
    built = kernel_object(order, 4, MAX, b"channel", held)
    expected = {"kind": "OBJECT_INFO", "type": 4, "koid": MAX, "name": b"channel", "one": 5}
    assert only(start(order) + built)[0] == expected


@each_order
def test_provider_event(order):
    built = unknown(order, 0, b"", 3 | 0xFFFFFFFF << 4)
    assert only(start(order) + built)[0] == {"kind": "DISCARDED", "provider": 0xFFFFFFFF}


@each_order
@pytest.mark.parametrize(
    ("kind", "bits"),
    [
        (11, 5),
        (14, 0),
        (0, 3 | 1 << 36),  # a provider event other than 0
        (0, 4 | 1 << 4),  # trace info other than the magic number
        (0, 9),
        (4, 11),  # event types
        (8, 3 << 44),  # scheduling types
        (10, 3),  # profiler types
        (15, 1 << 20),  # large types
        (15, 2 << 24),  # blob formats
    ],
)
def test_records_to_come_are_kept(order, kind, bits):
    built = unknown(order, kind, b"opaque!!", bits)
    trace = opened(start(order) + event(order, EventType.INSTANT, 5) + built)
    one = events(trace)[1]
    payload = built[:8] if order == "little" else built[7::-1]
    assert one == {"kind": "NATIVE", "type": kind, "payload": payload + b"opaque!!"}
    assert not trace.warnings
    (batch,) = trace.batches()
    assert batch.ts.tolist() == [5, 5]


@each_order
def test_words_behind_a_record_are_kept(order):
    built = extended(order, event(order, EventType.INSTANT, 5, name=1), b"and more" * 2)
    one, declared = only(start(order) + built)
    assert one["extension"] == b"and more" * 2
    assert declared.fields[-1].type == BytesClass("application/x-fxt-words")


@pytest.mark.parametrize(
    "built",
    [
        # An argument longer than its record, and one of no words; an event without a time.
        event("little", EventType.INSTANT, 5, arguments=[argument(1, 1, 1)])[:16]
        + bytes.fromhex("5100010001000000"),
        event("little", EventType.INSTANT, 5, arguments=[argument(1, 1, 1)])[:16]
        + bytes.fromhex("0100010001000000"),
        unknown("little", 4, b""),
        unknown("little", 9, b"timetime", 0x7FFF | 1 << 16),
        unknown("little", 5, b"", 9 << 16),
    ],
)
def test_malformed_records_are_kept_and_counted(built):
    data = start("little") + built + event("little", EventType.INSTANT, 6)
    trace = opened(data)
    first, last = events(trace)
    assert first["kind"] == "NATIVE"
    assert first["payload"] == built
    assert last["ts"] == 6
    (warning,) = trace.warnings
    assert warning.offset == len(start("little"))
    assert "1 malformed record" in str(warning)


def test_kinds_have_their_required_roles():
    for kind, support in FORMAT.capabilities("").kinds.items():
        assert support.required <= {field.role for field in support.fields}, Kind(kind)
