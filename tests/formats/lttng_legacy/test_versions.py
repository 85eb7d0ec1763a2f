"""What is read of every version of the format, and of every form of its headers and blocks."""

from __future__ import annotations

import pytest
from support.ctf.lttng_legacy_files import (
    RATE,
    START,
    VARIANTS_1,
    VARIANTS_2,
    Trace,
    events,
    opened,
    sample,
    save,
    spelled,
    with_heartbeats,
)

from converter.errors import UnsupportedError
from converter.ir.invariants import check


@pytest.mark.parametrize("options", [*VARIANTS_1, *VARIANTS_2], ids=spelled)
def test_every_version_and_header(tmp_path, options):
    trace = opened(save(sample(**options).build(), tmp_path))
    check(trace)
    found = events(trace)
    switch, call, other, rich, leave = [(one[0], one[1], *one[3:]) for one in found]
    assert switch == (START + 10, "SCHED_SWITCH", 0, 7, [7, 9, 1])
    assert call == (START + 20, "SYSCALL_ENTRY", 0, 9, [0x1000, 3])
    assert other == (START + 25, "SYSCALL_ENTRY", 1, None, [0x1000, 3])
    values = [200, "text", -5, 1 << 63, 0x1234, 0xABCD, "", -1]
    assert rich == (START + 30, "TYPED", 0, 9, values)
    assert leave == (START + 40, "SYSCALL_EXIT", 0, 9, [-2, 3])
    assert trace.warnings == []
    assert trace.clock.ticks_per_second == RATE
    assert trace.clock.epoch_ns == 1500 * 10**9 + 250_000_000 - START


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("byte_ids", [False, True])
def test_headers_and_ids_of_version_1_0_are_told_apart_each_for_itself(tmp_path, literal, byte_ids):
    trace = opened(save(sample(literal=literal, byte_ids=byte_ids).build(), tmp_path))
    assert [one[5] for one in events(trace) if one[1] == "SCHED_SWITCH"] == [[7, 9, 1]]
    assert len(events(trace)) == 5
    assert trace.warnings == []
    assert trace.clock.epoch_ns == 1500 * 10**9 + 250_000_000 - START


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("literal", [False, True])
def test_headers_of_times_that_are_times_either_way_are_told_apart(tmp_path, literal, big_endian):
    """Small cycle counters right behind a start_time of whole seconds look like the tracer's microseconds."""
    options = {"literal": literal, "big_endian": big_endian, "heartbeat": False, "nanoseconds": 0}
    trace = opened(save(sample(**options).build(), tmp_path))
    assert [one[5] for one in events(trace) if one[1] == "SCHED_SWITCH"] == [[7, 9, 1]]
    assert len(events(trace)) == 5
    assert trace.warnings == []
    assert trace.clock.epoch_ns == 1500 * 10**9 - START


def test_compact_channels(tmp_path):
    """Times lack their lowest bits, the first field may be in the header, and wraps are found."""
    trace = Trace(tscbits=8, data_shift=14, truncate=4)
    trace.declare("cpu", "small", 8, "value #b1u%u rest %d")
    trace.declare("cpu", "plain", 9, " ")
    trace.event("compact", 0, START, 9)
    trace.event("compact", 0, START + 4000, 8, trace.payload(("i", -3)), data=77)
    trace.event("compact", 0, START + 8000, 9)
    found = events(opened(save(trace.build(), tmp_path)))
    cut = [ts >> 4 << 4 for ts in (START, START + 4000, START + 8000)]
    assert [(one[0], one[2], one[5]) for one in found] == [
        (cut[0], "plain", []), (cut[1], "small", [77, -3]), (cut[2], "plain", []),
    ]  # fmt: skip


def test_heartbeats_keep_the_time(tmp_path):
    """They are no events; one at least is in each wrap of 32 bits, and one of 64 bits tells all of the time."""
    trace, *times = with_heartbeats()
    found = events(opened(save(trace.build(), tmp_path)))
    wrap = 1 << 32
    assert times == [START, 4 * wrap - 30, 77 * wrap + 14]
    assert [one[0] for one in found] == times


def test_time_of_27_bits_wraps(tmp_path):
    trace = Trace(version=(2, 6))
    trace.declare("kernel", "plain", 0, " ")
    trace.declare("kernel", "far", 400, "n %d")
    step = (1 << 27) - 1
    times = [START + i * step for i in range(4)]
    for ts in times:
        trace.event("kernel", 0, ts, 0)
    trace.event("kernel", 0, times[-1] + 3, 400, trace.payload(("i", 1)))
    trace.event("kernel", 0, 1 << 50, 400, trace.payload(("i", 2)), full=True)
    found = events(opened(save(trace.build(), tmp_path)))
    assert [one[0] for one in found] == [*times, times[-1] + 3, 1 << 50]


def test_events_of_more_than_65534_bytes(tmp_path):
    long = b"x" * 70_000
    trace = Trace(version=(2, 6), block_size=1 << 20)
    trace.declare("kernel", "text", 0, "text %s")
    trace.event("kernel", 0, START, 0, long + b"\0", full=True)
    trace.event("kernel", 0, START + 1, 0, b"short\0")
    found = events(opened(save(trace.build(), tmp_path)))
    assert [one[5] for one in found] == [[long.decode()], ["short"]]


@pytest.mark.parametrize("payload", [b"", b"abc", b"x" * 70_000], ids=len)
def test_headers_that_say_the_size(tmp_path, payload):
    """Id 30: as 29 without the time. The record may end where its block does."""
    trace = Trace(version=(2, 6), block_size=1 << 20)
    trace.declare("kernel", "plain", 0, " ")
    trace.event("kernel", 0, START, 0)
    trace.event("kernel", 0, START + 9, 77, payload, full="size")
    read = opened(save(trace.build(), tmp_path))
    check(read)
    assert [(one[0], one[1]) for one in events(read)] == [(START, "TYPED"), (START + 9, "NATIVE")]
    assert read.warnings == []


def test_sizes_that_did_not_fit_are_those_of_the_format(tmp_path):
    trace = Trace()
    trace.declare("cpu", "text", 128, "text %s")
    trace.event("cpu", 0, START, 128, b"some\0", full=True)
    trace.event("cpu", 0, START + 1, 128, b"more\0")
    read = opened(save(trace.build(), tmp_path))
    assert [one[5] for one in events(read)] == [["some"], ["more"]]
    assert read.warnings == []


def test_lost_events_are_counted_before_their_block(tmp_path):
    trace = Trace(version=(2, 6))
    trace.declare("kernel", "plain", 0, " ")
    trace.event("kernel", 0, START, 0)
    trace.new_block("kernel", 0, START + 50, (7, 0))
    trace.event("kernel", 0, START + 60, 0)
    trace.new_block("kernel", 0, START + 70, (7, 0))
    trace.new_block("kernel", 0, START + 90, (9, 2))
    read = opened(save(trace.build(), tmp_path))
    check(read)
    lost = [(one[0], one[5]) for one in events(read) if one[1] == "DISCARDED"]
    assert lost == [(START + 50, [7, 0]), (START + 90, [2, 2])]


def test_flight_recorders(tmp_path):
    """The prefix is of the file; a block that was never closed ends where its events do."""
    trace = Trace(block_size=512)
    trace.declare("cpu", "plain", 128, "n %d")
    trace.event("flight-cpu", 0, START + 5, 128, trace.payload(("i", 6)))
    trace.new_block("flight-cpu", 0, START + 9)
    trace.event("flight-cpu", 0, START + 10, 128, trace.payload(("i", 7)))
    files = trace.build()
    data = bytearray(files["flight-cpu_0"])
    data[512 + 32 : 512 + 36] = b"\xff" * 4
    files["flight-cpu_0"] = bytes(data)
    read = opened(save(files, tmp_path))
    assert [one[5] for one in events(read)] == [[6], [7]]
    assert ["never closed" in warning.message for warning in read.warnings] == [True]


@pytest.mark.parametrize("minor", [2, 6])
def test_blocks_of_version_2_that_were_never_closed(tmp_path, minor):
    trace = Trace(version=(2, minor), block_size=512)
    trace.declare("kernel", "plain", 0, "n %d")
    trace.event("kernel", 0, START + 5, 0, trace.payload(("i", 6)))
    trace.event("kernel", 0, START + 9, 0, trace.payload(("i", 7)))
    files = trace.build()
    data = bytearray(files["kernel_0"])
    data += bytes(512 - len(data))
    data[52:60] = b"\xff" * 4 + (512).to_bytes(4, "little")
    files["kernel_0"] = bytes(data)
    read = opened(save(files, tmp_path))
    assert [one[5] for one in events(read)] == [[6], [7]]
    assert ["never closed" in warning.message for warning in read.warnings] == [True]


def test_undeclared_markers_are_kept_as_they_are(tmp_path):
    trace = Trace()
    trace.declare("cpu", "plain", 128, " ")
    trace.event("cpu", 0, START, 555, b"payload")
    trace.event("cpu", 0, START + 1, 128)
    read = opened(save(trace.build(), tmp_path))
    check(read)
    assert [(one[1], one[5]) for one in events(read)] == [
        ("NATIVE", [555, {"bytes": "cGF5bG9hZA=="}]), ("TYPED", []),
    ]  # fmt: skip


def test_ids_of_one_name_have_types_of_their_own(tmp_path):
    """Programs of 32 bits on a kernel of 64."""
    trace = Trace(arch_size=8)
    trace.declare("cpu", "both", 128, "n %ld")
    trace.arch_size = 4
    trace.declare("cpu", "both", 129, "n %ld")
    trace.arch_size = 8
    trace.event("cpu", 0, START, 128, trace.payload(("q", -1)))
    trace.event("cpu", 0, START + 1, 129, trace.payload(("i", -2)))
    assert [one[5] for one in events(opened(save(trace.build(), tmp_path)))] == [[-1], [-2]]


@pytest.mark.parametrize(("major", "minor"), [(0, 3), (0, 8), (1, 1)])
def test_versions_before_1_0_are_named(tmp_path, major, minor):
    files = sample().build()
    for name, data in files.items():
        files[name] = data[:57] + bytes((major, minor)) + data[59:]
    with pytest.raises(UnsupportedError, match=rf"version {major}\.{minor} of"):
        opened(save(files, tmp_path))


def test_the_format_of_1999_is_named(tmp_path):
    save({"cpu_0": b"\0\0" + 0x00D6B7ED.to_bytes(4, "little") + bytes(200)}, tmp_path)
    with pytest.raises(UnsupportedError, match="1999"):
        opened(tmp_path)
