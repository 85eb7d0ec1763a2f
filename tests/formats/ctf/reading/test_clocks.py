"""Headers of CTF's records and packets, and the times that their bits stand for."""

from __future__ import annotations

import json
import re
import struct
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.ctf.files import Bits, Stream, compact_header, events_of, open_trace, single

from converter.errors import TraceError


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


@given(
    st.sampled_from(["le", "be"]),
    st.sampled_from([5, 8, 13, 16]),
    st.sampled_from([27, 32, 56]),
    st.sampled_from([1, 8]),
    st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=12),
)
@settings(max_examples=30)
def test_headers_of_any_widths(
    order: str, id_bits: int, time_bits: int, align: int, records: list[tuple[bool, int]]
) -> None:
    """Whether they are as almost all are, or the other option, whichever came before."""
    last = (1 << id_bits) - 1
    header = compact_header(id_bits, time_bits, align)
    fields = {"a": "", "b": "uint8_t x;", "c": "string x;"}
    stream = Stream(fields, order=order, header=header)
    payloads = (b"", b"\x07", b"text\0")
    parts, expected = [], []
    for ts, (extended, id) in enumerate(records, 1):
        bits = stream.bits().integer(last if extended else id, id_bits, align)
        if extended:
            bits.number(id, 4).number(ts, 8)
        else:
            bits.integer(ts, time_bits, align)
        parts.append(bits.raw(payloads[id]) if id else bits)
        value: dict[str, Any] = {} if id == 0 else {"x": 7 if id == 1 else b"text"}
        expected.append((ts, "abc"[id], value))
    for part in parts[:-1]:
        part.align(8)
    with TemporaryDirectory() as folder:
        assert single(Path(folder), stream, stream.packet(parts)) == expected


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


UUID = 'uuid = "{0}{0}{0}{0}-{0}{0}-{0}{0}-{0}{0}-{0}{0}{0}{0}{0}{0}";'
ORIGINS = {
    "both count from 1970": ("absolute = true;", "absolute = true;", True),
    "both are one clock": (UUID.format("0a"), UUID.format("0a"), True),
    "each is another clock": (UUID.format("0a"), UUID.format("0b"), False),
    "one counts from 1970": ("absolute = true;", "", False),
    "nothing is said": ("", "", False),
}


@pytest.mark.parametrize("name", ORIGINS)
def test_clocks_of_one_tree_that_nothing_relates(name: str, tmp_path: Path) -> None:
    """Babeltrace refuses these."""
    *attributes, related = ORIGINS[name]
    for number, added in enumerate(attributes):
        stream = Stream({"a": ""}, offset=5 * number)
        path = stream.write(tmp_path / str(number), stream.packet(stream.record(0, 10), begin=10))
        text = re.sub("absolute = [a-zA-Z]+;", "", (path / "metadata").read_text())
        assert "clock {" in text
        (path / "metadata").write_text(text.replace("clock {", f"clock {{ {added}"))
    trace = open_trace(tmp_path)
    assert [ts for ts, _, _ in events_of(trace)] == [10, 15]
    assert ["nothing relates" in str(warning) for warning in trace.warnings] == [True] * (
        not related
    )


def write_ctf2(path: Path, clock: dict[str, Any]) -> None:
    """A trace of one event at the time 5 of a clock of ten ticks a second."""
    time = {
        "type": "fixed-length-unsigned-integer",
        "length": 8,
        "alignment": 8,
        "byte-order": "little-endian",
        "roles": ["default-clock-timestamp"],
    }
    header = {"type": "structure", "member-classes": [{"name": "t", "field-class": time}]}
    fragments: list[dict[str, Any]] = [
        {"type": "preamble", "version": 2},
        {"type": "clock-class", "id": "c", "frequency": 10, **clock},
        {
            "type": "data-stream-class",
            "default-clock-class-id": "c",
            "event-record-header-field-class": header,
        },
        {"type": "event-record-class"},
    ]
    path.mkdir(parents=True)
    text = "".join(f"\x1e{json.dumps(fragment)}\n" for fragment in fragments)
    (path / "metadata").write_text(text)
    (path / "data").write_bytes(b"\x05")


_BOOT = {"origin": {"name": "boot", "uid": ""}}
_CLOCK = {"namespace": "n", "name": "steady", "uid": "1"}
#: Two clocks, the second of which is a second late, and whether anything relates them.
PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "one origin": (_BOOT, _BOOT, True),
    "two origins": (_BOOT, {"origin": {"name": "start", "uid": ""}}, False),
    "one origin of two namespaces": (
        _BOOT,
        {"origin": {"namespace": "n", "name": "boot", "uid": ""}},
        False,
    ),
    "the epoch": ({"origin": "unix-epoch"}, {"origin": "unix-epoch"}, True),
    "the epoch and an origin": ({"origin": "unix-epoch"}, _BOOT, False),
    "one identity": (_CLOCK, _CLOCK, True),
    "one UID of two names": (_CLOCK, {**_CLOCK, "name": "other"}, False),
    "one UID of two namespaces": (_CLOCK, {**_CLOCK, "namespace": "m"}, False),
    "two UIDs": (_CLOCK, {**_CLOCK, "uid": "2"}, False),
    "no origin": ({}, {}, False),
}


@pytest.mark.parametrize("name", PAIRS)
def test_clocks_of_several_traces(name: str, tmp_path: Path) -> None:
    first, second, related = PAIRS[name]
    write_ctf2(tmp_path / "a", first)
    write_ctf2(tmp_path / "b", second | {"offset-from-origin": {"seconds": 1}})
    trace = open_trace(tmp_path)
    assert [ts for ts, _, _ in events_of(trace)] == [5, 15]
    assert ["nothing relates" in str(warning) for warning in trace.warnings] == [True] * (
        not related
    )


@pytest.mark.parametrize("bits", [8, 13, 16, 27, 32, 48, 63, 64])
@pytest.mark.parametrize("order", ["le", "be"])
def test_clocks_of_any_size_wrap_around(bits: int, order: str, tmp_path: Path) -> None:
    """Once between two records; one of 64 bits goes back, as nothing tells that from a wrap."""
    header = f"struct {{ integer {{ size = {bits}; align = 8; map = clock.c.value; }} timestamp; }}"
    stream = Stream({"a": "uint8_t x;"}, order=order, header=header)
    whole = (1 << bits) - 1
    begin = 5 if bits == 64 else whole - 3
    times = [begin, begin + 1, begin + 3 + whole // 2, begin + whole, begin + 2 * whole]
    if bits >= 63:
        times = [begin, begin + 1, begin + 3]
    records = [stream.bits().integer(ts & whole, bits).align(8).u8(0) for ts in times]
    assert [ts for ts, _, _ in single(tmp_path, stream, stream.packet(records, begin=begin))] == (
        times
    )


def test_records_before_the_beginning_of_their_packet(tmp_path: Path) -> None:
    """barectf writes them; times of 64 bits are what they say."""
    stream = Stream({"a": ""}, header="struct { uint64_t timestamp; }")
    packet = stream.packet([stream.bits().number(ts, 8) for ts in (90, 95, 120)], begin=100)
    assert [ts for ts, _, _ in single(tmp_path, stream, packet)] == [90, 95, 120]


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


_MOST_SECONDS = (1 << 63) // 1_000_000_000


@pytest.mark.parametrize(
    ("seconds", "is_placed"),
    [(_MOST_SECONDS, True), (_MOST_SECONDS + 1, False), (1351530929945824323, False)],
)
def test_offsets_that_are_out_of_bounds(tmp_path: Path, seconds: int, is_placed: bool) -> None:
    """Alone such a clock counts from its zero, with a warning; beside another it has no place."""
    for name, offset in (("a", 0), ("b", seconds)):
        stream = Stream({"e": ""})
        folder = stream.write(tmp_path / name, stream.packet([stream.record(0, 5)], begin=5))
        text = (folder / "metadata").read_text()
        (folder / "metadata").write_text(text.replace("offset = 0", f"offset_s = {offset}"))
    trace = open_trace(tmp_path / "b")
    assert [len(batch) for batch in trace.batches()] == [1]
    assert (trace.clock.epoch_ns is not None) == is_placed
    said = [str(warning) for warning in trace.warnings]
    assert len(said) == (not is_placed)
    assert all("the offset of clock 'c' is ignored" in one for one in said)
    if is_placed:
        assert sum(map(len, open_trace(tmp_path).batches())) == 2
        return
    with pytest.raises(TraceError, match="too far from the others' for 64 bits"):
        open_trace(tmp_path)
