"""Reading CTF's packets and files: in any order, cut anywhere, indexed, lost and of another trace."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from support.ctf.files import FIXTURES, Stream, events_of, open_trace, single

from converter.formats.ctf.layout import IndexEntry, build_index, parse_index
from converter.formats.ctf.reading import packets, windows
from converter.ir.columns import ListColumn
from converter.ir.field_classes import (
    ArrayClass,
    FloatClass,
    IntegerClass,
)
from converter.ir.kinds import Kind


def test_lost_events_and_packets_are_where_they_were_lost(tmp_path: Path) -> None:
    stream = Stream({"a": ""})
    packets = [
        stream.packet(stream.record(0, 10), begin=10, sequence=0, discarded=2),
        stream.packet(stream.record(0, 20), begin=20, sequence=1, discarded=2),
        stream.packet(stream.record(0, 30), begin=30, sequence=5, discarded=9),
    ]
    assert single(tmp_path, stream, *packets) == [
        (10, "discarded", {"count": 2}),
        (10, "a", {}),
        (20, "a", {}),
        (30, "discarded_packets", {"count": -1, "packets": 3}),
        (30, "discarded", {"count": 7}),
        (30, "a", {}),
    ]


def test_streams_are_merged_by_time_each_on_its_cpu(tmp_path: Path) -> None:
    stream = Stream({"a": "uint8_t x;"})
    first = [stream.record(0, ts, bytes([ts])) for ts in (1, 4, 6)]
    second = [stream.record(0, ts, bytes([ts])) for ts in (2, 3, 5)]
    path = stream.write(
        tmp_path / "t", stream.packet(first, cpu=0), other=stream.packet(second, cpu=7)
    )
    trace = open_trace(path)
    assert [event[2]["x"] for event in events_of(trace)] == [1, 2, 3, 4, 5, 6]
    (batch,) = trace.batches()
    assert batch.cpu.tolist() == [0, 7, 7, 0, 7, 0]


def test_packets_of_one_file_on_several_cpus(tmp_path: Path) -> None:
    stream = Stream({"a": ""})
    packets = [
        stream.packet(stream.record(0, ts), begin=ts, cpu=ts % 3, sequence=ts) for ts in range(6)
    ]
    trace = open_trace(stream.write(tmp_path / "t", *packets))
    (batch,) = trace.batches()
    assert batch.cpu.tolist() == [0, 1, 2, 0, 1, 2]
    assert not trace.warnings


def test_rotated_files_are_one_stream(tmp_path: Path) -> None:
    small = (FIXTURES / "ctf_lost").rglob("ch0_0")
    (path,) = (file for file in small)
    entries = parse_index((path.parent / "index" / "ch0_0.idx").read_bytes())
    data = path.read_bytes()
    rotated = tmp_path / "t"
    rotated.mkdir()
    shutil.copy(path.parent / "metadata", rotated)
    for number, entry in enumerate(entries):
        # The later packets in the files that come first by name.
        part = data[entry.offset : entry.offset + entry.length // 8]
        (rotated / f"ch0_0_{9 - number}").write_bytes(part)
    shutil.copy(path.parent / "ch0_1", rotated)
    trace = open_trace(rotated)
    # Texts, since some floats are no numbers.
    assert str(events_of(trace)) == str(events_of(open_trace(FIXTURES / "ctf_lost")))
    assert not trace.warnings


@pytest.mark.parametrize("overlap", [0, 1, 2])
@pytest.mark.parametrize("names", [("snapshot-1", "snapshot-2"), ("ust/uid", "archives/1/ust/uid")])
def test_chunks_and_snapshots_of_a_session_are_one_trace(
    names: tuple[str, str], overlap: int, tmp_path: Path
) -> None:
    """Each has metadata of its own; snapshots have packets again that were in the one before."""
    source = next((FIXTURES / "ctf_lost").rglob("metadata")).parent
    first, second = (tmp_path / name for name in names)
    for folder in (first, second):
        folder.mkdir(parents=True)
        shutil.copy(source / "metadata", folder)
    for number in range(2):
        name = f"ch0_{number}"
        data = (source / name).read_bytes()
        entries = parse_index((source / "index" / f"{name}.idx").read_bytes())
        cut = [*(entry.offset for entry in entries), len(data)]
        split = min(2, len(entries))
        (first / name).write_bytes(data[: cut[split]])
        (second / name).write_bytes(data[cut[max(split - overlap, 0)] :])
    trace = open_trace(tmp_path)
    assert str(events_of(trace)) == str(events_of(open_trace(source)))
    assert not trace.warnings


def test_what_needs_no_packet(tmp_path: Path) -> None:
    # No packet header, no sizes: the file is one packet.
    metadata = (
        "/* CTF 1.8 */ typealias integer { size = 8; align = 8; } := u8;"
        " trace { major = 1; minor = 8; byte_order = le; };"
        " stream { event.header := struct { u8 id; }; };"
        ' event { name = "a"; id = 0; fields := struct { u8 x; }; };'
        ' event { name = "b"; id = 1; fields := struct { string s; }; };'
    )
    (tmp_path / "metadata").write_text(metadata)
    (tmp_path / "data").write_bytes(b"\0\x05\x01text\0\0\x06")
    (tmp_path / "empty").write_bytes(b"")
    trace = open_trace(tmp_path)
    assert [event[1:] for event in events_of(trace)] == [
        ("a", {"x": 5}), ("b", {"s": b"text"}), ("a", {"x": 6})
    ]  # fmt: skip
    assert not trace.warnings and not trace.event_classes[0].timed


def test_windows_cut_records_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream({"a": "string s; uint8_t n; uint32_t x[n];"})
    records = [
        stream.record(0, n, stream.bits().text(b"s" * (n % 50)).u8(n % 9).raw(bytes(4 * (n % 9))))
        for n in range(300)
    ]
    packets = [
        stream.packet(records[at : at + 60], begin=at, sequence=at // 60, padding=at % 7)
        for at in range(0, 300, 60)
    ]
    path = stream.write(tmp_path / "t", *packets)
    expected = events_of(open_trace(path))
    assert len(expected) == 300
    for window in (64, 100, 1000, 4096):
        monkeypatch.setattr("converter.formats.ctf.reading.packets.WINDOW", window)
        trace = open_trace(path)
        assert events_of(trace) == expected
        assert not trace.warnings
    monkeypatch.setattr("converter.formats.ctf.reading.packets.ROOM", 7)
    assert events_of(open_trace(path)) == expected


def test_contexts_are_those_of_each_event_whatever_came_before(tmp_path: Path) -> None:
    """Also where the one before was cut within its payload, and where lengths are read of a context seen before."""
    stream = Stream(
        {"app:listed": "uint8_t _items[stream.event.context._count];", "app:plain": "uint32_t _n;"},
        context="int32_t _vtid; string _procname; uint8_t _count;",
    )

    def listed(ts: int, tid: int, name: bytes, items: bytes) -> bytes:
        head = stream.record(0, ts).number(tid, 4).text(name).u8(len(items))
        return head.raw(items).tobytes()

    def plain(ts: int, tid: int, name: bytes) -> bytes:
        return stream.record(1, ts).number(tid, 4).text(name).u8(2).number(ts, 4).tobytes()

    first = stream.packet(
        [
            listed(1, 7, b"one", b"ab"),
            listed(2, 7, b"one", b"cd"),
            plain(3, 7, b"one"),
            plain(4, 7, b"on"),
            listed(5, 8, b"two", b"efg"),
            listed(6, 7, b"one", b""),
            plain(7, 7, b"one"),
            listed(8, 9, b"three", b"cut")[:-1],
        ]
    )
    second = stream.packet([plain(11, 7, b"one"), listed(12, 7, b"one", b"hi")], sequence=1)
    trace = open_trace(stream.write(tmp_path, first, second))
    threads = [
        (trace.threads[thread].tid, trace.threads[thread].name)
        for batch in trace.batches()
        for thread in batch.thread.tolist()
    ]
    assert [(ts, fields.get("items", fields.get("n"))) for ts, _, fields in events_of(trace)] == [
        (1, [*b"ab"]), (2, [*b"cd"]), (3, 3), (4, 4), (5, [*b"efg"]), (6, []), (7, 7),
        (11, 11), (12, [*b"hi"]),
    ]  # fmt: skip
    assert [tid for tid, _ in threads] == [7, 7, 7, 7, 8, 7, 7, 7, 7]
    assert [str(warning) for warning in trace.warnings] != []


def test_batches_are_bounded_and_can_be_iterated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("converter.streaming.stream_merge.BATCH_SIZE", 100)
    trace = open_trace(FIXTURES / "ctf_small")
    first = [len(batch) for batch in trace.batches()]
    assert first == [100] * 5 + [64]
    classes = len(trace.event_classes)
    assert [len(batch) for batch in trace.batches()] == first
    assert len(trace.event_classes) == classes


def test_columns_of_batches_that_outlive_their_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("converter.streaming.stream_merge.BATCH_SIZE", 50)
    trace = open_trace(FIXTURES / "ctf_small")
    expected = [str(event) for event in events_of(trace)]
    # Windows' memory is used again only when no batch has a part of it.
    monkeypatch.setattr("converter.formats.ctf.reading.packets.WINDOW", 4096)
    assert [str(event) for event in events_of(trace)] == expected
    kept = list(trace.batches())
    trace.make_batches = lambda: iter(kept)
    assert [str(event) for event in events_of(trace)] == expected


def test_indexes_are_checked(tmp_path: Path) -> None:
    entries = [IndexEntry(0, 800, 700, 1, 2, 0, 0, 3, 4)]
    assert parse_index(build_index(entries)) == entries
    stream = Stream({"a": ""})
    path = stream.write(tmp_path / "t", stream.packet(stream.record(0, 1)))
    (path / "index").mkdir()
    (path / "index" / "stream_0.idx").write_bytes(build_index([IndexEntry(9999, *entries[0][1:])]))
    trace = open_trace(path)
    assert len(events_of(trace)) == 1
    assert any("index.0" in str(warning) for warning in trace.warnings)


def test_the_sidecar_has_every_file() -> None:
    trace = open_trace(FIXTURES / "ctf_small")
    sidecar = trace.sidecar["ctf"]
    root = FIXTURES / "ctf_small"
    files = {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()}
    assert set(sidecar["files"]) == files
    for name, contents in sidecar["files"].items():
        assert bytes(contents) == (root / name).read_bytes()
    assert trace.is_as_read


def test_columns_are_arrays_of_the_declared_type() -> None:
    trace = open_trace(FIXTURES / "ctf_small")
    for batch in trace.batches():
        for id, table in batch.tables.items():
            for number, field in enumerate(trace.event_classes[id].fields):
                column = table.column(number)
                assert len(column) == len(table)
                if isinstance(field.type, IntegerClass | FloatClass):
                    assert isinstance(column, np.ndarray)
                    assert column.dtype == field.type.dtype
                if isinstance(field.type, ArrayClass):
                    assert isinstance(column, ListColumn)


def test_kinds_of_lost_events() -> None:
    trace = open_trace(FIXTURES / "ctf_lost")
    found = events_of(trace)
    lost = [fields["count"] for _, name, fields in found if name == "discarded"]
    assert lost == [17_778, 17_777] and len(found) == 445 + len(lost)
    kinds = {declared.name: declared.kind for declared in trace.event_classes}
    assert kinds["discarded"] is Kind.DISCARDED


def test_hidden_files_are_no_streams(tmp_path: Path) -> None:
    stream = Stream({"a": ""})
    path = stream.write(tmp_path, stream.packet(stream.record(0, 1)))
    (path / ".traceconv").write_bytes(b"not of this trace")
    stream.write(path / ".old", stream.packet(stream.record(0, 2)))
    trace = open_trace(path)
    assert [ts for ts, _, _ in events_of(trace)] == [1]
    assert not trace.warnings
    assert set(trace.sidecar["ctf"]["files"]) == {"metadata", "stream_0"}


def test_packets_of_another_trace(tmp_path: Path) -> None:
    stream = Stream({"a": ""})
    data = bytearray(stream.packet(stream.record(0, 1)))
    data[5] ^= 1
    trace = open_trace(stream.write(tmp_path, bytes(data)))
    assert len(events_of(trace)) == 1
    (warning,) = trace.warnings
    assert warning.field == "packet.uuid" and warning.offset == 4


def test_small_files_need_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace can have a file for each of thousands of CPUs; columns grow with what a file holds."""
    rooms: list[int] = []
    begin = windows.Events.__init__

    def noted(events: windows.Events, capacity: int) -> None:
        rooms.append(capacity)
        begin(events, capacity)

    stream = Stream({"a": ""})
    packet = stream.packet([stream.record(0, ts) for ts in range(1000)])
    expected = single(tmp_path / "whole", stream, packet)
    monkeypatch.setattr(windows.Events, "__init__", noted)
    assert single(tmp_path / "small", stream, packet) == expected
    assert max(rooms) <= len(packet)
    # Fewer columns than records are filled several times.
    monkeypatch.setattr(packets, "_LEAST_ROOM", 16)
    monkeypatch.setattr(packets, "_USUAL_BYTES", 1 << 20)
    assert single(tmp_path / "few", stream, packet) == expected
    assert rooms[-1] == 16
