"""Damaged and hostile CTF: a defect costs its packet from there on, and any bytes end in a trace or a TraceError."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.ctf.files import Bits, Stream, events_of, open_trace
from support.ctf.metadata_cases import GIGANTIC, HOSTILE

from converter.errors import TraceError
from converter.formats.ctf.streams.scan import Scanner
from converter.formats.ctf.streams.scan_columns import decode
from converter.formats.ctf.streams.scan_programs import OPERATIONS, Program
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import OutputArrays
from converter.kernels.tables.strings import StringTable

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures" / "ctf"

KINDS = {
    "integer": "uint32_t x;",
    "odd integer": "integer { size = 21; align = 1; } x;",
    "float": "floating_point { exp_dig = 11; mant_dig = 53; align = 8; } x;",
    "string": "string x;",
    "array": "uint16_t x[4];",
    "text": "integer { size = 8; align = 8; encoding = UTF8; } x[6];",
    "length": "uint32_t n; uint8_t x[n];",
    "sequence": "uint8_t n; uint16_t x[n];",
    "structure": "struct { uint8_t a; uint32_t b; } x;",
    "aligned structure": "struct { uint8_t a; } align(64) x;",
    "loop": "uint8_t n; struct { string s; uint8_t m; uint8_t y[m]; } x[n];",
    "variant": "enum : uint8_t { A = 0, B = 1 } t; variant <t> { uint32_t A; string B; } x;",
}

GOOD = {
    "integer": b"\1\0\0\0",
    "odd integer": b"\1\0\0",
    "float": bytes(8),
    "string": b"text\0",
    "array": bytes(8),
    "text": b"abcdef",
    "length": b"\2\0\0\0ab",
    "sequence": b"\2abcd",
    "structure": bytes(5),
    "loop": b"\2a\0\1xb\0\0",
    "variant": b"\1text\0",
}


def read_all(trace: Trace) -> int:
    """Decode everything; the number of events."""
    count = 0
    for batch in trace.batches():
        for table in batch.tables.values():
            for number in range(table.width):
                assert len(table.column(number)) == len(table)
        count += len(batch)
    return count


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["le", "be"])
def test_a_record_that_crosses_its_packet_ends_the_packet_there(
    tmp_path: Path, kind: str, order: str
) -> None:
    if order == "be" and kind in ("length", "odd integer"):
        pytest.skip("the payload is little-endian")
    stream = Stream({"mark": "", "e": KINDS[kind]}, order=order)
    if kind == "aligned structure":
        # Records start at byte 76 and 81; the header of the second ends at 86, its payload at 89.
        payload = bytes(2) + b"\7"
    else:
        payload = GOOD[kind]
    # The integer of 21 bits leaves 3 of the last byte, which are no record.
    content = 8 * (76 + 5 + 5 + len(payload)) - 3 * (kind == "odd integer")
    whole = stream.packet([stream.record(0, 1), stream.record(1, 2, payload)], content=content)
    for missing in (1, 8, content - 8 * (76 + 5 + 5)):
        good = stream.packet([stream.record(0, 7)], sequence=1)
        cut = stream.packet(
            [stream.record(0, 1), stream.record(1, 2, payload)], content=content - missing
        )
        path = stream.write(tmp_path / f"{missing}", cut, good)
        trace = open_trace(path)
        assert [event[:2] for event in events_of(trace)] == [(1, "mark"), (7, "mark")]
        (warning,) = trace.warnings
        assert "crosses the end of the packet's content" in str(warning)
        assert warning.offset == 76 + 5 and warning.path is not None
    trace = open_trace(stream.write(tmp_path / "whole", whole))
    assert len(events_of(trace)) == 2 and not trace.warnings


def one_warning(tmp_path: Path, stream: Stream, *packets: bytes) -> tuple[list[str], str]:
    """The names of the events, and the only warning."""
    trace = open_trace(stream.write(tmp_path / "t", *packets))
    names = [name for _, name, _ in events_of(trace)]
    (warning,) = trace.warnings
    return names, str(warning)


@pytest.mark.parametrize("length", [0xFFFF_FFFF, 0x7FFF_FFFF, 100])
def test_lengths_out_of_bounds(tmp_path: Path, length: int) -> None:
    stream = Stream({"mark": "", "e": "uint32_t n; uint64_t x[n];"})
    bad = stream.packet([stream.record(0, 1), stream.record(1, 2, stream.bits().number(length, 4))])
    names, warning = one_warning(
        tmp_path, stream, bad, stream.packet(stream.record(0, 3), sequence=1)
    )
    assert names == ["mark", "mark"] and "crosses the end" in warning


def test_unknown_selectors_and_records(tmp_path: Path) -> None:
    stream = Stream({"mark": "", "e": KINDS["variant"]})
    good = stream.packet(stream.record(0, 3), sequence=1)
    bad = stream.packet([stream.record(0, 1), stream.record(1, 2, b"\7rest\0")])
    names, warning = one_warning(tmp_path / "1", stream, bad, good)
    assert names == ["mark", "mark"] and "selects no option" in warning
    bad = stream.packet([stream.record(0, 1), stream.record(9, 2)])
    names, warning = one_warning(tmp_path / "2", stream, bad, good)
    assert names == ["mark", "mark"] and "found 9" in warning


@pytest.mark.parametrize("start", [0, 3], ids=["at a record", "in a record"])
def test_zeros_are_no_records(tmp_path: Path, start: int) -> None:
    """A page that was lost would else be records of id 0, and later ones would be late."""
    stream = Stream({"mark": "uint32_t x;", "e": "uint32_t x;"})
    records = [stream.record(number % 2, 10 + number, b"\1\2\3\4") for number in range(60)]
    bad = bytearray(stream.packet(records, begin=5))
    hole = 76 + 20 * 9 + start
    bad[hole : hole + 200] = bytes(200)
    good = stream.packet(stream.record(0, 99, bytes(4)), begin=90, sequence=1)
    trace = open_trace(stream.write(tmp_path, bytes(bad), good))
    times = [ts for ts, _, _ in events_of(trace)]
    assert times[:20] == list(range(10, 30)) and times[-1] == 99
    assert len(times) == (21 if start == 0 else 22)
    (warning,) = trace.warnings
    assert "zeros where an event record should be" in str(warning)
    assert warning.offset is not None and 0 <= warning.offset - hole < 9


def test_sizes_that_contradict_each_other(tmp_path: Path) -> None:
    stream = Stream({"mark": ""})
    first = stream.packet(stream.record(0, 1), begin=1)
    last = stream.packet(stream.record(0, 9), begin=9, sequence=2)
    long = stream.packet(stream.record(0, 2), begin=2, sequence=1, content=10_000)
    names, warning = one_warning(tmp_path / "1", stream, first, long, last)
    assert names == ["mark", "mark"] and "content_size" in warning
    short = stream.packet(stream.record(0, 2), begin=2, sequence=1, content=8)
    names, warning = one_warning(tmp_path / "2", stream, first, short, last)
    assert names == ["mark", "mark"] and "content_size" in warning
    # Where the next packet is its magic number tells.
    for number, size in enumerate((0, 8, 700, (1 << 64) - 8)):
        lost = stream.packet(stream.record(0, 2), begin=2, sequence=1, size=size)
        names, warning = one_warning(tmp_path / f"3{number}", stream, first, lost, last)
        assert names == ["mark", "discarded_packets", "mark"] and "packet_size" in warning


@pytest.mark.parametrize("lost", [(76 + 400, 100), (20, 30), (76 + 400, 4000), (0, 4)])
@pytest.mark.parametrize("filling", [b"", b"\0", b"\x9d"])
def test_packets_behind_a_hole_are_read(
    tmp_path: Path, lost: tuple[int, int], filling: bytes
) -> None:
    stream = Stream({"mark": "uint32_t x;"})
    packets = [
        stream.packet(
            [stream.record(0, 1000 * number + one, bytes(4)) for one in range(100)],
            begin=1000 * number,
            sequence=number,
        )
        for number in range(6)
    ]
    data = b"".join(packets)
    start = len(packets[0]) + len(packets[1]) + lost[0]
    end = start + lost[1]
    damaged = data[:start] + filling * lost[1] + data[end:]
    trace = open_trace(stream.write(tmp_path, damaged))
    found = {ts for ts, name, _ in events_of(trace) if name == "mark"}
    last = (end - 1) // len(packets[0])
    outside = [number for number in range(6) if number < 2 or number > last]
    assert found >= {1000 * number + one for number in outside for one in range(100)}
    assert trace.warnings


def test_packets_that_a_crash_left_open(tmp_path: Path) -> None:
    """lttng-ust's ring buffer has the end 0 and sizes of all ones in a packet that is being written."""
    stream = Stream({"mark": ""})
    first = stream.packet(stream.record(0, 1), begin=1, end=0)
    ones = (1 << 64) - 1
    last = stream.packet(
        stream.record(0, 2), begin=2, end=0, sequence=1, size=ones, content=ones, padding=999
    )
    names, warning = one_warning(tmp_path, stream, first, last)
    assert names == ["mark"] and "packet_size" in warning


def test_foreign_packets_and_files(tmp_path: Path) -> None:
    stream = Stream({"mark": ""})
    first = stream.packet(stream.record(0, 1))
    names, warning = one_warning(
        tmp_path / "1", stream, first, stream.packet(stream.record(0, 2), magic=7)
    )
    assert names == ["mark"] and "packet.magic" in warning
    other = stream.packet(stream.record(0, 2), sequence=1, stream=3)
    names, warning = one_warning(tmp_path / "2", stream, first, other)
    assert names == ["mark"] and "stream_id" in warning
    trace = open_trace(
        stream.write(tmp_path / "3", first, README=b"This is a trace of mine.\n" * 9)
    )
    assert len(events_of(trace)) == 1
    assert [str(warning) for warning in trace.warnings if "README" in str(warning)]


def test_counters_that_fall(tmp_path: Path) -> None:
    stream = Stream({"mark": ""})
    packets = [
        stream.packet(stream.record(0, 1), sequence=5, discarded=3),
        stream.packet(stream.record(0, 2), sequence=4, discarded=3),
        stream.packet(stream.record(0, 3), sequence=5, discarded=1),
    ]
    trace = open_trace(stream.write(tmp_path / "t", *packets))
    assert len(events_of(trace)) == 4
    texts = " ".join(map(str, trace.warnings))
    assert "packet_seq_num" in texts and "events_discarded" in texts


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_counters_of_few_bits_wrap_around(tmp_path: Path, bits: int) -> None:
    last = (1 << bits) - 1
    stream = Stream({"mark": ""})
    numbers = [(last - 1, 0), (last, last - 1), (0, last), (3, 1), (last // 2 + 3, 1)]
    packets = []
    for time, (sequence, discarded) in enumerate(numbers, 1):
        data = stream.packet(stream.record(0, time), begin=time)
        head, rest = data[: 24 + 32], data[24 + 48 :]
        counters = b"".join(value.to_bytes(bits // 8, "little") for value in (sequence, discarded))
        less = 8 * (16 - len(counters))
        sizes = [int.from_bytes(head[at : at + 8], "little") - less for at in (40, 48)]
        head = head[:40] + b"".join(size.to_bytes(8, "little") for size in sizes)
        packets.append(head + counters + rest)
    path = stream.write(tmp_path / "t", *packets)
    metadata = (path / "metadata").read_text()
    for name in ("packet_seq_num", "events_discarded"):
        metadata = metadata.replace(f"uint64_t {name}", f"uint{bits}_t {name}")
    (path / "metadata").write_text(metadata)
    trace = open_trace(path)
    found = events_of(trace)
    lost = [(name, fields) for _, name, fields in found if name != "mark"]
    assert [fields.get("packets", fields["count"]) for _, fields in lost] == [
        last - 1, 1, 2, 2, last // 2 - 1,
    ]  # fmt: skip
    assert len(found) == 5 + len(lost) and not trace.warnings
    # Half of the numbers back is no wrap.
    back = packets[3].replace(packets[3][56 : 56 + bits // 8], packets[0][56 : 56 + bits // 8], 1)
    trace = open_trace(stream.write(tmp_path / "u", packets[3], packets[1], back))
    (tmp_path / "u" / "metadata").write_text(metadata)
    trace = open_trace(tmp_path / "u")
    assert len([name for _, name, _ in events_of(trace) if name == "mark"]) == 3
    assert any("packet_seq_num" in str(warning) for warning in trace.warnings)


def test_numbers_of_packets_that_stay_0_count_nothing(tmp_path: Path) -> None:
    stream = Stream({"mark": ""})
    packets = [stream.packet(stream.record(0, time), begin=time) for time in (1, 2, 3)]
    trace = open_trace(stream.write(tmp_path / "t", *packets))
    assert len(events_of(trace)) == 3 and not trace.warnings


def test_options_that_no_label_selects(tmp_path: Path) -> None:
    """Section 4.2.2: a tag need not be a label. No record can then have the variant."""
    stream = Stream({"e": "enum : uint8_t { c } tag; variant <tag> { uint8_t a; } v;", "f": ""})
    packet = stream.packet([stream.record(1, 1), stream.record(0, 2, b"\0\1")], begin=1)
    trace = open_trace(stream.write(tmp_path / "t", packet))
    assert [name for _, name, _ in events_of(trace)] == ["f"]
    assert any("selects no option" in str(warning) for warning in trace.warnings)


def test_a_record_without_bits_is_no_endless_loop(tmp_path: Path) -> None:
    metadata = (
        "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; }; stream { };"
        ' event { name = "a"; id = 0; fields := struct { }; };'
    )
    (tmp_path / "metadata").write_text(metadata)
    (tmp_path / "data").write_bytes(bytes(100))
    with pytest.raises(TraceError, match="without any bits"):
        list(open_trace(tmp_path).batches())


def test_elements_without_bits_cost_nothing(tmp_path: Path) -> None:
    stream = Stream({"e": "uint32_t n; struct { } x[n];"})
    few = stream.record(0, 1, stream.bits().number(5, 4))
    many = stream.record(0, 2, stream.bits().number(0xFFFF_FFFF, 4))
    trace = open_trace(stream.write(tmp_path / "t", stream.packet([few, many])))
    (event,) = events_of(trace)
    assert event[2] == {"n": 5, "x": [[]] * 5}
    assert "too many elements" in str(trace.warnings[0])


def test_times_that_do_not_fit(tmp_path: Path) -> None:
    header = (
        "struct { uint8_t id; integer { size = 64; align = 8; map = clock.c.value; } timestamp; }"
    )
    stream = Stream({"a": ""}, header=header)

    def record(ts: int) -> Bits:
        return stream.bits().u8(0).number(ts, 8)

    names, warning = one_warning(
        tmp_path, stream, stream.packet([record(1), record((1 << 64) - 1), record(2)])
    )
    assert names == ["a"] and "63 bits" in warning


def test_integers_wider_than_64_bits(tmp_path: Path) -> None:
    metadata = [
        '{"type": "preamble", "version": 2}',
        '{"type": "data-stream-class", "id": 0}',
        (
            '{"type": "event-record-class", "name": "e", "id": 0, "data-stream-class-id": 0,'
            ' "payload-field-class": {"type": "structure", "member-classes": [{"name": "u",'
            ' "field-class": {"type": "variable-length-unsigned-integer"}}]}}'
        ),
    ]
    (tmp_path / "metadata").write_text("".join(f"\x1e{text}\n" for text in metadata))
    (tmp_path / "data").write_bytes(b"\x05" + b"\xff" * 9 + b"\x02" + b"\x01")
    trace = open_trace(tmp_path)
    assert [fields for _, _, fields in events_of(trace)] == [{"u": 5}]
    assert "more than 64 bits" in str(trace.warnings[0])


def test_what_is_not_there_at_all(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="metadata"):
        open_trace(tmp_path)
    (tmp_path / "metadata").write_text("/* CTF 1.8 */ trace {")
    with pytest.raises(TraceError):
        open_trace(tmp_path)
    stream = Stream({"a": ""})
    stream.write(tmp_path)
    trace = open_trace(tmp_path)
    assert list(trace.batches()) == []


def test_one_trace_of_a_tree_may_be_damaged(tmp_path: Path) -> None:
    stream = Stream({"a": ""})
    stream.write(tmp_path / "good", stream.packet(stream.record(0, 1)))
    stream.write(tmp_path / "bad", stream.packet(stream.record(0, 1)))
    (tmp_path / "bad" / "metadata").write_text("/* CTF 1.8 */ nonsense")
    trace = open_trace(tmp_path)
    assert len(events_of(trace)) == 1 and len(trace.warnings) == 1


def test_truncated_anywhere(tmp_path: Path) -> None:
    source = next((FIXTURES / "ctf_small").rglob("ch0_1"))
    data = source.read_bytes()
    shutil.copy(source.parent / "metadata", tmp_path)
    whole = None
    used = max(np.flatnonzero(np.frombuffer(data, np.uint8)))
    for size in [0, 1, 3, 4, 40, 99, 100, *range(101, used, 1997), used, len(data)][::-1]:
        (tmp_path / "ch0_1").write_bytes(data[:size])
        trace = open_trace(tmp_path)
        try:
            found = [str(event) for event in events_of(trace)]
        except TraceError:
            assert size < 400
            continue
        whole = whole if whole is not None else found
        assert found == whole[: len(found)]
        assert bool(trace.warnings) == (0 < size < len(data))


def test_flipped_anywhere(tmp_path: Path) -> None:
    for name in ("ctf_small", "ctf2_small", "perf_ctf"):
        source = next(file for file in (FIXTURES / name).rglob("*_0") if file.is_file())
        data = source.read_bytes()
        target = tmp_path / name
        target.mkdir()
        shutil.copy(source.parent / "metadata", target)
        random.seed(name)
        for _ in range(15):
            mutated = bytearray(data)
            for _ in range(random.choice([1, 1, 3, 30])):
                place = int(random.random() ** 2 * min(len(data), 3000))
                mutated[place] = random.choice([0, 0xFF, mutated[place] ^ 1 << random.randrange(8)])
            (target / source.name).write_bytes(mutated)
            trace = open_trace(target)
            with contextlib.suppress(TraceError):
                read_all(trace)


def test_flipped_metadata(tmp_path: Path) -> None:
    source = FIXTURES / "perf_ctf"
    data = (source / "metadata").read_bytes()
    shutil.copy(source / "perf_stream_0", tmp_path)
    random.seed(3)
    for _ in range(40):
        mutated = bytearray(data)
        for _ in range(random.choice([1, 2, 4])):
            place = random.randrange(len(data))
            mutated[place] = random.choice(b"0123456789 ;{}[]=")
        (tmp_path / "metadata").write_bytes(mutated)
        with contextlib.suppress(TraceError):
            read_all(open_trace(tmp_path))


MEASURE = """
import json, sys, time
from pathlib import Path
from support.ctf.files import open_trace
from support.ctf.metadata_cases import GIGANTIC, HOSTILE
from converter.errors import TraceError

path = Path(sys.argv[1])
(path / "data").write_bytes(b"\\xff" * 100_000)
found = {}
for name, text in {**HOSTILE, **GIGANTIC}.items():
    (path / "metadata").write_text(text)
    start, read = time.process_time(), 0
    try:
        for batch in open_trace(path).batches():
            for table in batch.tables.values():
                read += sum(len(table.column(index)) for index in range(table.width))
        outcome = "read"
    except TraceError as error:
        outcome = "refused"
    found[name] = time.process_time() - start, outcome, read
# Of this program alone (proc(5)): ru_maxrss counts what the parent had when it forked.
with open("/proc/self/status") as file:
    most = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
print(json.dumps([found, most >> 10]))
"""


def test_hostile_metadata_and_lengths_cost_little(tmp_path: Path) -> None:
    """Deep nesting, recursion, huge arrays and lengths of gigabytes: each ends within a second and 200 MiB."""
    paths = (Path(__file__).parents[2], Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        check=True,
    )
    found, megabytes = json.loads(done.stdout)
    slow = {name: seconds for name, (seconds, _, _) in found.items() if seconds >= 1}
    assert not slow
    assert megabytes < 200
    assert {name: outcome for name, (_, outcome, _) in found.items()} == dict.fromkeys(
        [*HOSTILE, *GIGANTIC], "refused"
    )


# The kernels check by themselves what they are given.


def words(*operations: list[int]) -> NDArray[np.int64]:
    filled = [[*each, *[1, 0, 0, -1, -1, 0, -1, 0][len(each) - 1 :]] for each in operations]
    return np.array(filled, np.int64)


NO_RANGES = np.zeros((0, 4), np.int64)
END = [OPERATIONS["END"]]


@pytest.mark.parametrize(
    "operation",
    [
        [OPERATIONS["INTEGER"], 3, 8],
        [OPERATIONS["INTEGER"], 1, 65],
        [OPERATIONS["INTEGER"], 1, 0],
        [OPERATIONS["INTEGER"], 1, 8, 0, 5],
        [OPERATIONS["INTEGER"], 1, 8, 0, -1, 99],
        [OPERATIONS["SKIP"], 1, -1],
        [OPERATIONS["ENDED"], 1, 8],
        [OPERATIONS["BYTES"], 8, 8, 0, -1, -1, -1],
        [OPERATIONS["JUMP"], 1, 0, 0, -1, -1, 0],
        [OPERATIONS["JUMP"], 1, 0, 0, -1, -1, 9],
        [OPERATIONS["SELECT"], 1, 1, 0, -1, -1, 0, 0],
        [OPERATIONS["LOOP"], 1, 0, 0, -1, -1, 2, -1, 1],
        [OPERATIONS["LOOP_END"]],
        [OPERATIONS["COPY"], 1, 0, 0, -1, 1, 0, -1],
        [99],
    ],
)
def test_programs_are_checked(operation: list[int]) -> None:
    with pytest.raises(ValueError, match=r"operation|loop"):
        Program(words(operation, END), NO_RANGES, 20, 2)
    with pytest.raises(ValueError, match="END"):
        Program(words([OPERATIONS["SKIP"], 1, 8]), NO_RANGES, 20, 2)


def test_scanning_and_decoding_check_their_columns() -> None:
    nothing = Program(words(END), NO_RANGES, 20, 0)
    with pytest.raises(ValueError, match="alignment"):
        Scanner(nothing, nothing, nothing, 12, False)
    scanner = Scanner(nothing, nothing, nothing, 8, False)
    columns = OutputArrays(ts=np.zeros(4, np.int64), class_id=np.zeros(4, np.int32))
    with pytest.raises(ValueError, match="the column place is missing"):
        scanner.scan(np.zeros(8, np.uint8), 0, True, columns, 0)
    with pytest.raises(ValueError, match="longer than the packet"):
        scanner.enter(9, 8)
    program = Program(words([OPERATIONS["INTEGER"], 1, 8, 0, 0], END), NO_RANGES, 20, 1)
    one = np.array([1], np.int64)
    none = np.zeros((1, 0), np.uint64)
    for location, size in ((0, 80), (1 << 32, 8), (57, 8), (-1, 8), (0, 4)):
        with pytest.raises(ValueError, match="outside its window"):
            decode(
                program,
                [np.zeros(8, np.uint8)],
                none,
                np.array([location], np.int64),
                np.array([size], np.uint32),
                one,
                one,
                StringTable(),
            )
