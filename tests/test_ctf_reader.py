"""Reading CTF: every field class, header, counter and file layout, and recordings as Babeltrace reads them."""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import shutil
import struct
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ctf_files import Bits, Stream, events_of, open_trace
from ctf_oracle import babeltrace_events, comparable, reader_events, with_thread_contexts

from converter.formats.ctf.layout import IndexEntry, build_index, parse_index
from converter.formats.ctf.mapping import joined_name
from converter.ir.columns import ListColumn, value
from converter.ir.field_classes import (
    ArrayClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace

FIXTURES = Path(__file__).parent.parent / "roundtrip_fixtures" / "ctf"

#: A directory with more recordings, which are too large to be kept here: basic-kernel-analysis of lttng-ref-traces,
#: mpi_gather, flipping-endianness and ctf-sequence-empty of tracecompass-test-traces.
MORE = os.environ.get("TRACECONV_CTF_TRACES", "")

USER = ("vpid", "vtid", "procname")


def single(tmp_path: Path, stream: Stream, *packets: bytes) -> list[Any]:
    trace = open_trace(stream.write(tmp_path / "trace", *packets))
    found = events_of(trace)
    assert not trace.warnings
    return found


# Recordings


def assert_as_babeltrace(path: Path, contexts: tuple[str, ...]) -> None:
    theirs = babeltrace_events(*sorted(file.parent for file in path.rglob("metadata")))
    trace = open_trace(path)
    mine = reader_events(trace)
    lost = [event["lost"] for event in theirs if "lost" in event]
    assert [event["lost"] for event in mine if "lost" in event] == lost
    epoch = trace.clock.epoch_ns or 0
    rate = trace.clock.ticks_per_second
    assert rate is not None
    theirs = [event for event in theirs if "lost" not in event]
    mine = [event for event in mine if "lost" not in event]
    # Ticks are compared from the first on, and with their origin where Babeltrace does not round times.
    first, own_first = min(event["ts"] for event in theirs), min(event["ts"] for event in mine)
    if rate == 1_000_000_000:
        assert min(event["ns"] for event in theirs) == epoch + own_first
    for event in theirs:
        del event["ns"]
        event["ts"] -= first
        event["context"].sort()
        if event["name"].startswith("sched_"):
            # Priorities are delivered as ftrace counts them.
            event["payload"] = [
                [name, item + 100 if name in ("prio", "prev_prio", "next_prio") else item]
                for name, item in event["payload"]
            ]
    for event in mine:
        event["ts"] -= own_first
    expected = comparable(theirs)
    found = comparable(with_thread_contexts(trace, mine, contexts))
    assert len(found) == len(expected)
    # Babeltrace 2.0.4 leaves the value of the record before in a text whose length is 0.
    different = [
        (one, other)
        for one, other in zip(found, expected, strict=True)
        if one != other and not re.fullmatch(_with_any_text(one), other)
    ]
    assert not different


def _with_any_text(event: str) -> str:
    return re.escape(event).replace('""', '"[^"]*"')


@pytest.mark.parametrize(
    ("name", "contexts"),
    [("ctf_small", USER), ("ctf_lost", ("", "vtid", "")), ("ctf_cyg", USER), ("perf_ctf", ())],
)
def test_recordings_read_as_by_babeltrace(name: str, contexts: tuple[str, ...]) -> None:
    assert_as_babeltrace(FIXTURES / name, contexts)


@pytest.mark.parametrize(
    "name", ["mpi_gather", "basic-kernel-analysis", "flipping-endianness", "ctf-sequence-empty"]
)
def test_further_recordings_read_as_by_babeltrace(name: str) -> None:
    path = Path(MORE) / name
    if not MORE or not path.is_dir():
        pytest.skip("TRACECONV_CTF_TRACES names no directory with this recording")
    assert_as_babeltrace(path, ())


def _shown(declared: FieldClass, item: Any) -> str:
    """A value as Babeltrace 2.1 prints it."""
    match declared:
        case IntegerClass(_, _, style, labels, False):
            text = f"0x{item:X}" if style is Style.HEXADECIMAL else str(item)
            if not labels:
                return text
            names = [f'"{label.text}"' for label in labels if label.low <= item <= label.high]
            return f"( {', '.join(names) or '<unknown>'} : container = {text} )"
        case FloatClass():
            return f"{'-' * (math.isnan(item) and math.copysign(1, item) < 0)}{item:g}"
        case StringClass():
            return f'"{item.decode()}"'
        case ArrayClass(element):
            parts = ", ".join(f"[{i}] = {_shown(element, each)}" for i, each in enumerate(item))
            return f"[ {parts} ]" if parts else "[ ]"
    raise AssertionError(declared)


def test_ctf_2_reads_as_babeltrace_2_1_prints_it() -> None:
    golden = gzip.decompress((FIXTURES / "ctf2_small.babeltrace.txt.gz").read_bytes()).decode()
    trace = open_trace(FIXTURES / "ctf2_small")
    assert trace.variant == "2"
    lines = []
    for batch in trace.batches():
        for i in range(len(batch)):
            declared = trace.event_classes[int(batch.class_id[i])]
            table = batch.tables[int(batch.class_id[i])]
            thread = trace.threads[int(batch.thread[i])]
            pid = trace.processes[thread.process].pid
            payload: list[str] = []
            context = [f"vpid = {pid}", f"vtid = {thread.tid}", f'procname = "{thread.name}"']
            for number, field in enumerate(declared.fields):
                item = value(table.column(number), field.type, int(batch.row[i]), trace.strings)
                shown = f"{field.name} = {_shown(field.type, item)}"
                (context if field.role is Role.CONTEXT else payload).append(shown)
            lines.append(
                f"[{batch.ts[i]:020}] {joined_name(declared.category, declared.name)}: "
                f"{{ cpu_id = {batch.cpu[i]} }}, {{ {', '.join(context)} }}, "
                + (f"{{ {', '.join(payload)} }}" if payload else "{ }")
            )
    expected = []
    for line in golden.splitlines():
        time, _, rest = line.partition(" ")
        name = re.search(r"\(\d+\) (\S+:\S+: .*)", rest)
        assert name is not None
        expected.append(f"{time} " + re.sub(r"_\w+_length = \d+, ", "", name[1]))
    assert lines == expected


def test_perf_data_converted_by_perf(tmp_path: Path) -> None:
    perf = shutil.which("perf")
    if perf is None:
        pytest.skip("perf is not installed")
    data, target = tmp_path / "perf.data", tmp_path / "ctf"
    record = [perf, "record", "-q", "-e", "cpu-clock", "-o", str(data), "--", "true"]
    if subprocess.run(record, capture_output=True, check=False).returncode:
        pytest.skip("perf cannot record here")
    convert = [perf, "data", "-i", str(data), "convert", "--all", "--to-ctf", str(target)]
    if subprocess.run(convert, capture_output=True, check=False).returncode:
        pytest.skip("perf is built without CTF")
    assert_as_babeltrace(target, ())


# Headers and clocks


@pytest.mark.parametrize("order", ["le", "be"])
def test_compact_and_extended_headers_update_the_clock(tmp_path: Path, order: str) -> None:
    header = (
        "struct { enum : integer { size = 5; align = 1; } { compact = 0 ... 30, extended = 31 } id;"
        " variant <id> {"
        " struct { integer { size = 27; align = 1; map = clock.c.value; } timestamp; } compact;"
        " struct { uint32_t id; integer { size = 64; align = 8; map = clock.c.value; } timestamp; }"
        " extended; } v; } align(8)"
    )
    stream = Stream({"a": "", "b": "uint8_t x;"}, order=order, header=header)
    begin = (1 << 27) - 2

    def compact(id: int, ts: int) -> Bits:
        bits = stream.bits().integer(id, 5).integer(ts & (1 << 27) - 1, 27)
        return bits.u8(7) if id == 1 else bits

    extended = stream.bits().integer(31, 5).align(8).number(1, 4).number(1 << 40, 8).u8(9)
    packet = stream.packet(
        [compact(0, begin), compact(0, begin + 1), compact(1, begin + 5), extended,
         compact(0, (1 << 40) + 3)],
        begin=begin,
    )  # fmt: skip
    assert single(tmp_path, stream, packet) == [
        (begin, "a", {}),
        (begin + 1, "a", {}),
        (begin + 5, "b", {"x": 7}),
        (1 << 40, "b", {"x": 9}),
        ((1 << 40) + 3, "a", {}),
    ]


def test_clocks_are_exact(tmp_path: Path) -> None:
    # 10 ticks at 3 Hz are no whole number of nanoseconds: whole seconds are in the epoch, the rest in the ticks.
    stream = Stream({"a": ""}, frequency=3, offset=10)
    path = stream.write(tmp_path / "t", stream.packet(stream.record(0, 5), begin=5))
    trace = open_trace(path)
    assert trace.clock.ticks_per_second == Fraction(3)
    assert trace.clock.epoch_ns == 3_000_000_000
    assert [event[0] for event in events_of(trace)] == [6]


def test_traces_of_one_tree_share_a_clock(tmp_path: Path) -> None:
    one = Stream({"a": ""}, offset=1000)
    other = Stream({"b": ""}, offset=5000)
    one.write(tmp_path / "t" / "one", one.packet(one.record(0, 10), begin=10))
    other.write(tmp_path / "t" / "two", other.packet(other.record(0, 1), begin=1))
    trace = open_trace(tmp_path / "t")
    assert trace.clock.epoch_ns == 1000
    assert [event[:2] for event in events_of(trace)] == [(10, "a"), (4001, "b")]


def test_clocks_of_several_rates_become_nanoseconds(tmp_path: Path) -> None:
    one = Stream({"a": ""}, frequency=1000)
    other = Stream({"b": ""}, frequency=3)
    one.write(tmp_path / "t" / "one", one.packet(one.record(0, 10), begin=10))
    other.write(tmp_path / "t" / "two", other.packet(other.record(0, 1), begin=1))
    trace = open_trace(tmp_path / "t")
    assert [event[:2] for event in events_of(trace)] == [(10_000_000, "a"), (333_333_333, "b")]
    assert any("several rates" in str(warning) for warning in trace.warnings)


# Field classes


@pytest.mark.parametrize("order", ["le", "be"])
@pytest.mark.parametrize("lead", range(8))
def test_integers_lie_at_any_bit(tmp_path: Path, order: str, lead: int) -> None:
    widths = [1, 3, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64]
    fields = f"integer {{ size = {lead or 8}; align = 1; }} lead;" + "".join(
        f"integer {{ size = {width}; align = 1; signed = {signed}; }} {name}{width};"
        for width in widths
        for name, signed in (("u", "false"), ("s", "true"))
    )
    stream = Stream({"bits": fields}, order=order)
    payload = stream.bits().integer(0, lead or 8)
    expected: dict[str, int] = {"lead": 0}
    for width in widths:
        pattern = 0xA5C3_96F0_1E2D_4B87 & (1 << width) - 1 | 1 << width - 1
        payload.integer(pattern, width).integer(pattern, width)
        expected[f"u{width}"] = pattern
        expected[f"s{width}"] = pattern - (1 << width)
    packet = stream.packet([stream.record(0, 1, payload)])
    assert single(tmp_path, stream, packet) == [(1, "bits", expected)]


@pytest.mark.parametrize("order", ["le", "be"])
def test_alignment_counts_from_the_packet(tmp_path: Path, order: str) -> None:
    stream = Stream(
        {"wide": "integer { size = 32; align = 64; } x; struct { uint8_t y; } align(32) s;"},
        order=order,
    )

    def packet(start: int) -> bytes:
        # The header has 76 bytes, the record's 5: x is at 88, y at 92.
        payload = stream.bits().raw(bytes(7)).number(start, 4).u8(3)
        return stream.packet([stream.record(0, 1, payload)], sequence=start, padding=1)

    # Packets of 94 bytes, so that those behind the first start at no multiple of 8 bytes in the file.
    assert single(tmp_path, stream, packet(0), packet(1), packet(2)) == [
        (1, "wide", {"x": number, "s": [("y", 3)]}) for number in range(3)
    ]


@pytest.mark.parametrize("order", ["le", "be"])
def test_texts_lists_and_structures(tmp_path: Path, order: str) -> None:
    fields = (
        "string s; integer { size = 8; align = 8; encoding = UTF8; } name[4];"
        " uint8_t _t_length; integer { size = 8; align = 8; encoding = UTF8; } t[_t_length];"
        " uint16_t n; struct { uint8_t m; int8_t inner[m]; string z; } items[n];"
        " uint8_t matrix[2][3]; integer { size = 3; align = 1; } odd[5]; uint8_t none[0];"
    )
    stream = Stream({"e": fields}, order=order)
    payload = stream.bits().text(b"h\xc3\xa9").raw(b"ab\0c").u8(3).raw(b"x\0y").number(2, 2)
    payload.u8(2).u8(0xFF).u8(1).text(b"one").u8(0).text(b"")
    payload.raw(bytes(range(6)))
    for number in (1, 2, 3, 4, 7):
        payload.integer(number, 3)
    payload.align(8)
    (event,) = single(tmp_path, stream, stream.packet([stream.record(0, 1, payload)]))
    assert event[2] == {
        "s": b"h\xc3\xa9",
        "name": b"ab",
        "t_length": 3,
        "t": b"x",
        "n": 2,
        "items": [
            [("m", 2), ("inner", [-1, 1]), ("z", b"one")],
            [("m", 0), ("inner", []), ("z", b"")],
        ],
        "matrix": [[0, 1, 2], [3, 4, 5]],
        "odd": [1, 2, 3, 4, 7],
        "none": [],
    }


def test_a_length_under_its_usual_name_is_left_out(tmp_path: Path) -> None:
    stream = Stream({"e": "uint8_t __x_length; uint8_t _x[__x_length];"})
    payload = stream.bits().u8(2).u8(5).u8(6)
    assert single(tmp_path, stream, stream.packet([stream.record(0, 1, payload)])) == [
        (1, "e", {"x": [5, 6]})
    ]


def test_variants(tmp_path: Path) -> None:
    fields = (
        "enum : int8_t { A = -1, B = 0 ... 5, C = 9 } tag;"
        " variant <tag> { uint8_t A; string B; struct { uint16_t p; uint8_t q[2]; } C; } v;"
        " uint8_t after;"
    )
    stream = Stream({"e": fields})
    records = [
        stream.record(0, 1, stream.bits().u8(0xFF).u8(7).u8(1)),
        stream.record(0, 2, stream.bits().u8(4).text(b"four").u8(2)),
        stream.record(0, 3, stream.bits().u8(9).number(300, 2).u8(1).u8(2).u8(3)),
    ]
    assert [event[2] for event in single(tmp_path, stream, stream.packet(records))] == [
        {"tag": -1, "v": ("A", 7), "after": 1},
        {"tag": 4, "v": ("B", b"four"), "after": 2},
        {"tag": 9, "v": ("C", [("p", 300), ("q", [1, 2])]), "after": 3},
    ]


def test_lengths_and_selectors_in_outer_scopes(tmp_path: Path) -> None:
    stream = Stream(
        {"e": "uint8_t a[stream.packet.context.n]; uint8_t b[stream.event.context.m];"},
        context="uint8_t m;",
        packet_extra="uint8_t n;",
    )
    packets = [
        stream.packet(
            [stream.record(0, n, stream.bits().u8(1).raw(bytes(n)).u8(9))],
            sequence=n,
            extra=bytes([n]),
        )
        for n in range(3)
    ]
    assert [event[2] for event in single(tmp_path, stream, *packets)] == [
        {"a": [0] * n, "b": [9], "m": 1, "n": n} for n in range(3)
    ]


CTF2_FIELDS = """
{"type": "preamble", "version": 2}
{"type": "trace-class", "packet-header-field-class": {"type": "structure", "member-classes": [
  {"name": "magic", "field-class": {"type": "fixed-length-unsigned-integer", "length": 32, "alignment": 8,
   "byte-order": "little-endian", "roles": ["packet-magic-number"]}}]}}
{"type": "data-stream-class", "id": 0}
{"type": "event-record-class", "name": "e", "id": 0, "data-stream-class-id": 0,
 "payload-field-class": {"type": "structure", "member-classes": [
  {"name": "u", "field-class": {"type": "variable-length-unsigned-integer"}},
  {"name": "s", "field-class": {"type": "variable-length-signed-integer"}},
  {"name": "n", "field-class": {"type": "fixed-length-unsigned-integer", "length": 8, "alignment": 8,
   "byte-order": "little-endian"}},
  {"name": "blob", "field-class": {"type": "dynamic-length-blob", "media-type": "image/png",
   "length-field-location": {"path": ["n"]}}},
  {"name": "fixed", "field-class": {"type": "static-length-blob", "length": 2}},
  {"name": "there", "field-class": {"type": "fixed-length-boolean", "length": 8, "alignment": 8,
   "byte-order": "little-endian"}},
  {"name": "maybe", "field-class": {"type": "optional", "selector-field-location": {"path": ["there"]},
   "field-class": {"type": "null-terminated-string"}}},
  {"name": "wide", "field-class": {"type": "null-terminated-string", "encoding": "utf-16le"}},
  {"name": "flags", "field-class": {"type": "fixed-length-bit-map", "length": 8, "alignment": 8,
   "byte-order": "little-endian", "flags": {"low": [[0, 0]], "high": [[6, 7]]}}},
  {"name": "half", "field-class": {"type": "fixed-length-floating-point-number", "length": 16,
   "alignment": 8, "byte-order": "little-endian"}},
  {"name": "mirrored", "field-class": {"type": "fixed-length-unsigned-integer", "length": 8,
   "alignment": 8, "byte-order": "little-endian", "bit-order": "last-to-first"}}
 ]}}
"""


def ctf2_trace(path: Path, metadata: str, data: bytes) -> Trace:
    path.mkdir()
    fragments = re.split(r"\n(?=\{\"type\": \"(?:pre|trace|data|event))", metadata)
    (path / "metadata").write_text("".join(f"\x1e{text}\n" for text in fragments if text.strip()))
    (path / "stream").write_bytes(data)
    return open_trace(path)


def test_field_classes_of_ctf_2(tmp_path: Path) -> None:
    leb_unsigned = bytes([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01])
    leb_signed = bytes([0x80, 0x7F])
    common = bytes.fromhex("c11ffcc1") + leb_unsigned + leb_signed + b"\x03png" + b"ab"
    tail = "h\u20ac".encode("utf-16le") + b"\0\0" + b"\xc1" + b"\x00\x3e" + b"\x03"
    for number, (flag, held) in enumerate([(b"\x01text\0", b"text"), (b"\x00", None)]):
        trace = ctf2_trace(tmp_path / str(number), CTF2_FIELDS, common + flag + tail)
        (event,) = events_of(trace)
        assert event[2] == {
            "u": 1 << 63,
            "s": -128,
            "n": 3,
            "blob": b"png",
            "fixed": b"ab",
            "there": held is not None,
            "maybe": held,
            "wide": "h\u20ac".encode(),
            "flags": 0xC1,
            "half": 1.5,
            "mirrored": 0xC0,
        }
        fields = {field.name: field for field in trace.event_classes[0].fields}
        flags = fields["flags"].type
        assert isinstance(flags, IntegerClass) and flags.flags
        assert {(label.text, label.low) for label in flags.labels} == {("low", 1), ("high", 0xC0)}
        assert not trace.event_classes[0].timed


# Packets and files


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
        monkeypatch.setattr("converter.formats.ctf.packets.WINDOW", window)
        trace = open_trace(path)
        assert events_of(trace) == expected
        assert not trace.warnings
    monkeypatch.setattr("converter.formats.ctf.packets.ROOM", 7)
    assert events_of(open_trace(path)) == expected


def test_batches_are_bounded_and_can_be_iterated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("converter.formats.ctf.decode.BATCH_SIZE", 100)
    trace = open_trace(FIXTURES / "ctf_small")
    first = [len(batch) for batch in trace.batches()]
    assert first == [100] * 5 + [64]
    classes = len(trace.event_classes)
    assert [len(batch) for batch in trace.batches()] == first
    assert len(trace.event_classes) == classes


def test_columns_of_batches_that_outlive_their_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("converter.formats.ctf.decode.BATCH_SIZE", 50)
    trace = open_trace(FIXTURES / "ctf_small")
    expected = [str(event) for event in events_of(trace)]
    # Windows' memory is used again only when no batch has a part of it.
    monkeypatch.setattr("converter.formats.ctf.packets.WINDOW", 4096)
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


def test_packets_that_say_the_clock_in_few_bits(tmp_path: Path) -> None:
    """barectf writes `timestamp_begin` of any size; the clock goes on where it wraps around."""
    metadata = """/* CTF 1.8 */
        typealias integer { size = 16; align = 8; map = clock.c.value; } := time;
        trace { major = 1; minor = 8; byte_order = le; };
        clock { name = c; freq = 1000; };
        stream {
            packet.context := struct {
                time timestamp_begin; integer { size = 16; align = 8; } packet_size;
            };
            event.header := struct { integer { size = 8; map = clock.c.value; } timestamp; };
        };
        event { name = "e"; fields := struct { integer { size = 8; } x; }; };"""
    (tmp_path / "metadata").write_text(metadata)

    def packet(*times: int) -> bytes:
        records = b"".join(bytes([ts & 0xFF, 0]) for ts in times[1:])
        begin = times[0] & 0xFFFF
        return struct.pack("<HH", begin, 8 * (4 + len(records))) + records

    times = [[0xFF00, 0xFFF0, 0x10010], [0x10005, 0x10020], [0x1FFFF, 0x20000], [0x20001, 0x20002]]
    (tmp_path / "data").write_bytes(b"".join(packet(*each) for each in times))
    found = [ts for ts, _, _ in events_of(open_trace(tmp_path))]
    assert found == [ts for each in times for ts in each[1:]]


def test_times_in_leb128_have_seven_bits_a_byte(tmp_path: Path) -> None:
    """CTF2-SPEC-2.0, 6.3: where the lower bits fall, they have wrapped around."""
    integer = {"type": "variable-length-unsigned-integer", "roles": ["default-clock-timestamp"]}
    header = {"type": "structure", "member-classes": [{"name": "t", "field-class": integer}]}
    fragments: list[dict[str, Any]] = [
        {"type": "preamble", "version": 2},
        {"type": "clock-class", "id": "c", "frequency": 1000},
        {
            "type": "data-stream-class",
            "default-clock-class-id": "c",
            "event-record-header-field-class": header,
        },
        {"type": "event-record-class"},
    ]
    text = "".join(f"\x1e{json.dumps(fragment)}\n" for fragment in fragments)
    (tmp_path / "metadata").write_text(text)
    (tmp_path / "data").write_bytes(b"\x05\x7f\x01\x82\x02\x03\x80\x01")
    trace = open_trace(tmp_path)
    found = [ts for ts, _, _ in events_of(trace)]
    assert found == [5, 127, 129, 258, 259, 16512]
    assert not trace.warnings and trace.clock.ticks_per_second == 1000


def test_packets_of_another_trace(tmp_path: Path) -> None:
    stream = Stream({"a": ""})
    data = bytearray(stream.packet(stream.record(0, 1)))
    data[5] ^= 1
    trace = open_trace(stream.write(tmp_path, bytes(data)))
    assert len(events_of(trace)) == 1
    (warning,) = trace.warnings
    assert warning.field == "packet.uuid" and warning.offset == 4
