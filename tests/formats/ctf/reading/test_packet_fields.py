"""Fields of packets: all events of a packet get them, or are on the thread and CPU that they name."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from support.ctf.ctf2_fragments import STREAM, TEXT, U8, Json, at, event, sequence, structure
from support.ctf.files import Event, Stream, events_of, open_trace

from converter.formats.ctf.reading.reader import read
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.storage.opening import open_source

LIST: Json = {
    "type": "dynamic-length-array",
    "element-field-class": U8,
    "length-field-location": at("n", origin="packet-context"),
}
CHOICE: Json = {
    "type": "variant",
    "selector-field-location": at("n", origin="packet-context"),
    "options": [
        {"name": "few", "field-class": U8, "selector-field-ranges": [[0, 1]]},
        {"name": "many", "field-class": TEXT, "selector-field-ranges": [[2, 9]]},
    ],
}
#: By name: a member of the packet context behind `n`, and its value where `n` is 2 and bytes are "ab\0\3...".
CLASSES: dict[str, tuple[Json, bytes, Any]] = {
    "number": (U8, b"\7", 7),
    "boolean": ({**U8, "type": "fixed-length-boolean"}, b"\1", True),
    "bits": ({**U8, "type": "fixed-length-bit-array"}, b"\7", 7),
    "wide": ({**U8, "type": "fixed-length-bit-array", "length": 72}, b"123456789", b"123456789"),
    "float": (
        {**U8, "type": "fixed-length-floating-point-number", "length": 32},
        struct.pack("<f", 1.5),
        1.5,
    ),
    "leb128": ({"type": "variable-length-unsigned-integer"}, b"\x81\1", 129),
    "text": (TEXT, b"ab\0", b"ab"),
    "text of a fixed length": ({"type": "static-length-string", "length": 4}, b"ab\0\0", b"ab"),
    "blob": ({"type": "static-length-blob", "length": 2}, b"ab", b"ab"),
    "list": (LIST, b"ab", [97, 98]),
    "structure": (structure(a=U8, t=TEXT), b"\5ab\0", [("a", 5), ("t", b"ab")]),
    "variant": (CHOICE, b"ab\0", ("many", b"ab")),
    "optional": (
        {
            "type": "optional",
            "selector-field-location": at("n", origin="packet-context"),
            "selector-field-ranges": [[2, 2]],
            "field-class": TEXT,
        },
        b"ab\0",
        b"ab",
    ),
}


@pytest.mark.parametrize("name", CLASSES)
def test_members_of_packets_of_every_class(tmp_path: Path, name: str) -> None:
    declared, data, value = CLASSES[name]
    context = structure(
        size={**U8, "roles": ["packet-total-length"]}, n=U8, y=declared, cpu_id=U8, z=U8
    )
    stream = {**STREAM, "packet-context-field-class": context}
    (tmp_path / "metadata").write_bytes(sequence(stream, event(x=U8)))
    size = 8 * (5 + len(data) + 1)
    packet = bytes([size, 2]) + data
    (tmp_path / "stream").write_bytes(packet + b"\4\5\1\2" + packet + b"\6\5\3\4")
    trace = open_trace(tmp_path)
    found = [fields for _, _, fields in events_of(trace)]
    assert [fields["x"] for fields in found] == [1, 2, 3, 4]
    assert [fields["y"] for fields in found] == [value] * 4
    assert [fields["n"] for fields in found] == [2] * 4
    assert [fields["z"] for fields in found] == [5] * 4
    assert "cpu_id" not in found[0] and "size" not in found[0]
    cpus = [cpu for batch in trace.batches() for cpu in batch.cpu.tolist()]
    assert cpus == [4, 4, 6, 6]
    assert not trace.warnings


@pytest.mark.parametrize("window", [1 << 20, 64])
def test_events_of_many_packets_and_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    monkeypatch.setattr("converter.formats.ctf.reading.packets.WINDOW", window)
    header = {
        "type": "trace-class",
        "packet-header-field-class": structure(board=TEXT, magic_like=U8),
    }
    length = {**U8, "length": 16, "roles": ["packet-total-length"]}
    stream = {**STREAM, "packet-context-field-class": structure(size=length, regs=structure(a=U8))}
    (tmp_path / "metadata").write_bytes(sequence(header, stream, event(x=U8)))
    packets, expected = b"", []
    for number in range(40):
        board = b"b" * (number % 5)
        head = len(board) + 1 + 1 + 2 + 1
        records = bytes(range(number * 5 % 100))
        size = 8 * (head + len(records))
        packets += board + b"\0\1" + struct.pack("<H", size) + bytes([number]) + records
        expected += [(x, board, [("a", number)]) for x in records]
    (tmp_path / "stream").write_bytes(packets)
    trace = open_trace(tmp_path)
    found = [(one["x"], one["board"], one["regs"]) for _, _, one in events_of(trace)]
    assert found == expected


def _threads(trace: Trace) -> list[tuple[int, str] | None]:
    return [
        (trace.threads[thread].tid, trace.threads[thread].name) if thread >= 0 else None
        for batch in trace.batches()
        for thread in batch.thread.tolist()
    ]


@pytest.mark.parametrize(
    ("names", "environment"),
    [
        (("thread_id", "thread_name"), 'tracer_name = "qtctf";'),
        (("vtid", "procname"), ""),
        (("tid", "thread_name"), ""),
    ],
)
def test_packets_name_the_thread(tmp_path: Path, names: tuple[str, str], environment: str) -> None:
    stream = Stream(
        {"p:work_entry": "uint8_t v;", "p:work_exit": "", "p:lone_entry": ""},
        packet_extra=f"uint32_t {names[0]}; string {names[1]};",
        environment=environment,
    )

    def packet(number: int, tid: int, name: str, *records: tuple[int, int]) -> bytes:
        held = [stream.record(id, ts, b"\1" if id == 0 else b"") for id, ts in records]
        extra = struct.pack("<I", tid) + name.encode() + b"\0"
        return stream.packet(held, begin=records[0][1], extra=extra, sequence=number)

    data = packet(0, 17, "alpha", (0, 10), (1, 30))
    data += packet(1, 42, "beta é", (0, 40), (1, 50), (2, 55))
    data += packet(2, 17, "renamed", (0, 60))
    trace = open_trace(stream.write(tmp_path, data))
    assert _threads(trace) == [(17, "alpha")] * 2 + [(42, "beta é")] * 3 + [(17, "alpha")]
    found = events_of(trace)
    assert not trace.warnings
    # Only events whose packet names the thread otherwise have the name.
    assert [fields.get(names[1]) for _, _, fields in found] == [None] * 5 + [b"renamed"]
    assert all(names[0] not in fields for _, _, fields in found)
    kinds = {declared.name: declared.kind for declared in trace.event_classes}
    is_qt = bool(environment)
    assert kinds["work_entry"] is (Kind.SLICE_BEGIN if is_qt else Kind.TYPED)
    assert kinds["work_exit"] is (Kind.SLICE_END if is_qt else Kind.TYPED)
    assert kinds["lone_entry"] is Kind.TYPED
    if is_qt:
        assert found[0][2] == {"v": 1, "name": b"p:work"}


def _written(tmp_path: Path, metadata: str, **files: bytes) -> Trace:
    (tmp_path / "metadata").write_text("/* CTF 1.8 */\n" + metadata)
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    return read(open_source(str(tmp_path)))


BYTES = """
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 16; align = 8; signed = false; } := u16;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := i32;
typealias integer { size = 8; align = 8; encoding = ASCII; } := character;
"""


def test_threads_of_dpdk_have_only_names(tmp_path: Path) -> None:
    trace = _written(
        tmp_path,
        BYTES
        + """trace { major = 1; minor = 8; byte_order = le; };
        env { tracer_name = "dpdk"; };
        stream { packet.context := struct { u32 cpu_id; character name[32]; }; };
        event { name = e; fields := struct { u8 x; }; };""",
        a=struct.pack("<I32s", 0, b"main") + b"\1",
        b=struct.pack("<I32s", 3, b"worker") + b"\2",
        c=struct.pack("<I32s", (1 << 32) - 1, b"main") + b"\3",
    )
    assert _threads(trace) == [(1, "main"), (2, "worker"), (1, "main")]
    assert [cpu for batch in trace.batches() for cpu in batch.cpu.tolist()] == [0, 3, -1]


@pytest.mark.parametrize(
    "where",
    ["event.context := struct { %s %s; };", "event.header := struct { %s %s; };", "event"],
)
@pytest.mark.parametrize("integer", ["u32", "i32"])
def test_the_cpu_that_events_name(tmp_path: Path, where: str, integer: str) -> None:
    name = "perf_cpu" if where == "event" else "cpu_id"
    stream = "" if where == "event" else where % (integer, name)
    payload = f"{integer} {name}; u8 x;" if where == "event" else "u8 x;"
    trace = _written(
        tmp_path,
        BYTES
        + f"trace {{ major = 1; minor = 8; byte_order = le; }}; stream {{ {stream} }};"
        + f"event {{ name = e; fields := struct {{ {payload} }}; }};",
        s=b"".join(
            struct.pack("<IB", cpu, 7) for cpu in (3, 0, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1)
        ),
    )
    cpus = [cpu for batch in trace.batches() for cpu in batch.cpu.tolist()]
    assert cpus == [3, 0, (1 << 31) - 1, -1, -1, 1]
    assert events_of(trace)[0][2][name] == 3


def test_the_cpu_of_packets_goes_first(tmp_path: Path) -> None:
    stream = Stream({"e": ""}, context="uint32_t cpu_id;")
    record = stream.record(0, 1, struct.pack("<I", 5))
    trace = open_trace(stream.write(tmp_path, stream.packet(record, cpu=2)))
    assert [cpu for batch in trace.batches() for cpu in batch.cpu.tolist()] == [2]


def _packets(stream: Stream, first: int, *sizes: int, base: int = 0) -> bytes:
    return b"".join(
        stream.packet(
            [stream.record(0, begin + i, bytes([base])) for i in range(size)],
            begin=begin,
            end=begin + size,
            sequence=first + number,
        )
        for number, size in enumerate(sizes)
        for begin in [100 * (first + number)]
    )


def _in_files(tmp_path: Path, **files: bytes) -> list[Event]:
    stream = Stream({"e": "uint8_t x;"})
    text = stream.metadata().replace(
        "uint32_t stream_id;", "uint32_t stream_id; uint64_t stream_instance_id;"
    )
    (tmp_path / "metadata").write_text(text)
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    trace = open_trace(tmp_path)
    found = events_of(trace)
    assert not trace.warnings
    ts = [time for time, _, _ in found]
    assert ts == sorted(ts)
    return found


class Instances(Stream):
    """Streams whose packets have an instance id."""

    def packet(self, *arguments: Any, **named: Any) -> bytes:
        data = super().packet(*arguments, **named)
        extra = 8
        parts = bytearray(data[:24] + struct.pack("<Q", 0) + data[24:])
        for at_size in (24 + 8 + 16, 24 + 8 + 24):
            (bits,) = struct.unpack_from("<Q", parts, at_size)
            struct.pack_into("<Q", parts, at_size, bits + 8 * extra)
        return bytes(parts)


def test_packets_are_copies_only_if_they_are_equal(tmp_path: Path) -> None:
    stream = Instances({"e": "uint8_t x;"})
    whole = _packets(stream, 0, 2, 3, 2)
    later = _packets(stream, 1, 3, 2, 4)
    # A snapshot that overlaps the one before, and one that continues it.
    (tmp_path / "a").mkdir()
    found = _in_files(tmp_path / "a", one=whole, two=later, three=_packets(stream, 4, 1))
    assert len(found) == 2 + 3 + 2 + 4 + 1
    # Another stream that says the same of itself: other contents, or other times.
    (tmp_path / "b").mkdir()
    found = _in_files(tmp_path / "b", one=whole, two=_packets(stream, 0, 2, 3, 2, base=9))
    assert len(found) == 14
    (tmp_path / "c").mkdir()
    found = _in_files(tmp_path / "c", one=whole, two=_packets(stream, 0, 1, 1, 1, 1))
    assert len(found) == 7 + 4
