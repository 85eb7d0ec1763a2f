"""The trace.dat reader against trace-cmd itself, and against files whose every byte is known."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.trace_cmd.files import (
    BPRINT,
    BPUTS,
    DYNAMIC,
    EXEC,
    FORK,
    NEWTASK,
    RENAME,
    File,
    Kernel,
    format_text,
)
from support.trace_cmd.oracle import compare
from support.trace_cmd.reading import events, opened
from support.traces.losses import line_of

import converter
from converter.errors import TraceError, UnsupportedError
from converter.ir.field_classes import ArrayClass, BytesClass, IntegerClass, StringClass, Style
from converter.ir.invariants import check
from converter.ir.kinds import REQUIRED_ROLES, Kind, Role
from converter.ir.trace import TrackScope

FIXTURES = Path(__file__).parents[4] / "roundtrip_fixtures" / "trace_cmd"
needs_trace_cmd = pytest.mark.skipif(
    shutil.which("trace-cmd") is None, reason="trace-cmd is not installed"
)

#: Recordings, and how many events and lost counts trace-cmd reports of them.
RECORDINGS = {
    "small.dat": (338, 0),
    "instances.dat": (1197, 0),
    "lost.dat": (2715, 2),
    "markers.dat": (2193, 0),
    "uprobes.dat": (4, 0),
    "scratch_v7_be32.dat": (2, 0),
    "scratch_v7_be64.dat": (2, 0),
    "scratch_v6_min.dat": (4, 0),
}
CLOCK = b"[local] global counter x86-tsc\0"


def test_every_recording_is_listed():
    assert {path.name for path in FIXTURES.glob("*.dat")} >= set(RECORDINGS)


@needs_trace_cmd
@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_reads_as_trace_cmd_reports_it(name):
    result = compare(str(FIXTURES / name))
    assert result.differences == []
    assert (result.events, result.lost) == RECORDINGS[name]
    assert not result.unverified


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_reads_the_same_again_without_warnings(name):
    trace = opened(FIXTURES / name)
    first = events(trace)
    assert len(first) == sum(RECORDINGS[name])
    assert events(trace) == first
    assert trace.warnings == []
    counts = trace.sidecar["trace_cmd"]["counts"]
    assert sum(counts.values()) == len(first)
    for event_class in trace.event_classes:
        roles = {item.role for item in event_class.fields}
        assert REQUIRED_ROLES.get(event_class.kind, frozenset()) <= roles


def kinds_of_records(kernel):
    """Two CPUs with every kind of record that a ring buffer has."""
    k = kernel
    return {
        0: k.page(
            10**9,
            k.record(0, k.slice(42, 1 << 63, -3)),
            k.extend(1 << 30),
            k.record(5, k.marker(43, b"B|40|hi")),
            k.discarded(7, 20),
            k.record(1, k.switch(43, b"one", 44, b"two")),
            k.stamp(5 * 10**9),
            k.record(0, k.marker(1, b"x" * 300)),
        )
        + k.page(6 * 10**9, k.record(3, k.slice(42, 1)), missed=77)
        + k.page(6 * 10**9)
        + k.page(7 * 10**9, k.record(3, k.slice(42, 2)), missed=-1),
        3: k.page(2 * 10**9, k.record(0, k.slice(0, 9))),
    }  # fmt: skip


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("page_size", [4096, 16384])
@pytest.mark.parametrize("version", ["6", "none", "zlib", "zstd"])
def test_all_kinds_of_records(version, page_size, big_endian):
    kernel = Kernel(big_endian=big_endian, page_size=page_size)
    file = File(kernel, kinds_of_records(kernel), options=[(4, CLOCK)])
    data = file.version_6() if version == "6" else file.version_7(version)
    trace = opened(data)
    late = 10**9 + (1 << 30)
    found = events(trace)
    assert [event[:4] for event in found] == [
        (10**9, 0, 42, "my_slice"),
        (2 * 10**9, 3, 0, "my_slice"),
        (late + 5, 0, 43, "print"),
        (late + 13, 0, 43, "sched_switch"),
        (5 * 10**9, 0, 1, "print"),
        (6 * 10**9, 0, -1, "discarded"),
        (6 * 10**9 + 3, 0, 42, "my_slice"),
        (7 * 10**9, 0, -1, "discarded"),
        (7 * 10**9 + 3, 0, 42, "my_slice"),
    ]
    context = {"common_flags": 0, "common_preempt_count": 0}
    assert found[0][4] == {"dur": 1 << 63, "change": -3, "small": 7, **context}
    assert found[2][4] == {"ip": 0xFFFFFFFF81000010, "buf": b"B|40|hi\n", **context}
    assert found[3][4]["next_comm"] == b"two"
    assert found[4][4]["buf"] == b"x" * 300 + b"\n"
    assert [event[4]["count"] for event in found if event[3] == "discarded"] == [77, -1]
    assert trace.warnings == []
    names = [event_class.name for event_class in trace.event_classes]
    counts = trace.sidecar["trace_cmd"]["counts"]
    assert {names[id]: count for id, count in counts.items()} == {
        "print": 2,
        "sched_switch": 1,
        "my_slice": 4,
        "discarded": 2,
    }


@needs_trace_cmd
@pytest.mark.parametrize(
    "options",
    [
        [],
        [(4, CLOCK)],
        [(4, CLOCK), (7, b"-12345\0")],
        [(4, CLOCK), (1, b"0x10\0"), (7, b"010\0")],
        [(4, b"local [x86-tsc]\0"), (14, Kernel().pack("IIQ", 3000, 10, 55))],
        [
            (4, CLOCK),
            (7, b"99\0"),
            (12, Kernel().pack("QIII2q2q2q2q", 9, 1, 1, 2, 10**9, 2 * 10**9, 5, 700, 3, 3, 1, 2)),
        ],
        [(4, CLOCK), (12, Kernel().pack("QIIIqqq", 9, 0, 1, 1, 10**9, -500, 1))],
    ],
)
@pytest.mark.parametrize("version", ["6", "none", "zstd"])
def test_times_agree_with_trace_cmd(tmp_path, options, version):
    kernel = Kernel()
    instance = {1: kernel.page(2 * 10**9, kernel.record(0, kernel.slice(42, 5)))}
    file = File(kernel, kinds_of_records(kernel), {"foo": instance}, options)
    path = tmp_path / "trace.dat"
    path.write_bytes(file.version_6() if version == "6" else file.version_7(version))
    result = compare(str(path))
    assert result.differences == []
    assert (result.events, result.lost) == (8, 2)


def test_instances_are_tracks():
    trace = opened(FIXTURES / "instances.dat")
    assert [(track.name, track.scope) for track in trace.tracks] == [("foo", TrackScope.GLOBAL)]
    tracks = np.concatenate([batch.track for batch in trace.batches()])
    assert set(tracks.tolist()) == {-1, 0}
    assert [buffer.page_size for buffer in trace.sidecar["trace_cmd"]["buffers"]] == [4096, 8192]


@pytest.mark.parametrize(
    ("name", "events"), [("uprobes.dat", {"uprobes:upmain", "uprobes:upret"}), ("small.dat", set())]
)
def test_how_a_recording_prints_events_in_a_way_of_its_own_is_in_the_sidecar(
    name, events, tmp_path
):
    trace = opened(FIXTURES / name)
    for _ in trace.batches():
        pass
    own = trace.sidecar["trace_cmd"].get("print_formats", {})
    assert own.keys() == events
    assert all(b"REC->" in text for text in own.values())
    report = converter.convert(FIXTURES / name, tmp_path / "other.pftrace")
    assert any("print_formats" in line_of(loss) for loss in report) == bool(events)


def test_sizes_that_are_four_bytes_short_do_not_matter():
    trace = opened(FIXTURES / "small.dat")
    for buffer in trace.sidecar["trace_cmd"]["buffers"]:
        for data in buffer.cpus:
            raw = trace.sidecar["trace_cmd"]["sections"][0].file.source.read(data.offset, 12)
            count, compressed = np.frombuffer(raw, "<u4")[:2].tolist()
            assert count == 1
            assert compressed + 12 == data.size + 4


@pytest.mark.parametrize("big_endian", [False, True])
def test_arrays_that_records_are_too_short_for_are_filled_up(big_endian):
    k = Kernel(big_endian=big_endian)
    text = format_text("many", 900, "u32 values[3] 8 12 0\nu16 last 20 2 0", '"%d", REC->last')
    records = [
        k.common(900, 1) + k.pack("IIIH", 1, 2, 3, 4),
        k.common(900, 1) + k.pack("II", 5, 6),
        k.common(900, 1),
    ]
    pages = k.page(100, *(k.record(1, record) for record in records))
    trace = opened(File(k, {0: pages}, formats={"test": [text]}).version_7())
    check(trace)
    found = [(fields["values"], fields["last"]) for *_, fields in events(trace)]
    assert found == [([1, 2, 3], 4), ([5, 6, 0], 0), ([0, 0, 0], 0)]


def test_names_and_processes_are_inferred():
    k = Kernel()
    records = [
        # 50 is a thread of 42's process, 60 a process of its own, of which 61 is a thread.
        k.common(NEWTASK, 42) + k.pack("i16s4xQh", 50, b"worker", 0x10000, 0),
        k.common(FORK, 42) + k.pack("16si16si", b"main", 42, b"worker", 50),
        k.common(NEWTASK, 42) + k.pack("i16s4xQh", 60, b"main", 0, 0),
        k.common(NEWTASK, 60) + k.pack("i16s4xQh", 61, b"sub", 0x10000, 0),
        k.common(FORK, 60) + k.pack("16si16si", b"main", 60, b"child", 70),
        k.common(RENAME, 60) + k.pack("i16s16sh", 60, b"main", b"renamed", 0),
        k.common(EXEC, 60) + k.pack("Iii", 20 | 6 << 16, 60, 60) + b"/bin/a\0",
        k.switch(61, b"last name", 80, b"next"),
        k.marker(90, b"B|85|slice"),
        k.marker(91, b"not|12|a marker"),
        k.slice(0, 1),
    ]
    pages = k.page(100, *(k.record(1, record) for record in records))
    trace = opened(
        File(k, {0: pages}, cmdlines=b"0 <idle>\n42 saved\n61 old\n91 a b\n").version_7()
    )
    found = events(trace)
    assert found[6][4]["filename"] == b"/bin/a"
    threads = {
        thread.tid: (trace.processes[thread.process].pid, thread.name) for thread in trace.threads
    }
    assert threads == {
        0: (0, "swapper"),
        # The saved names are those that trace-cmd shows.
        42: (42, "saved"),
        50: (42, "worker"),
        60: (60, "renamed"),
        61: (60, "old"),
        70: (70, "child"),
        80: (80, "next"),
        90: (85, ""),
        91: (91, "a b"),
    }
    parents = {process.pid: process.parent_pid for process in trace.processes}
    assert parents == {0: None, 42: None, 60: 42, 70: 60, 80: None, 85: None, 91: None}


def test_creators_in_a_circle_end():
    k = Kernel()
    records = [
        k.common(NEWTASK, a) + k.pack("i16s4xQh", b, b"x", 0x10000, 0)
        for a, b in ((1, 2), (2, 3), (3, 1))
    ]
    trace = opened(File(k, {0: k.page(1, *(k.record(0, r) for r in records))}).version_7())
    assert len(events(trace)) == 3
    assert len({thread.process for thread in trace.threads}) == 1


def test_dynamic_fields_and_their_classes():
    k = Kernel()
    payload = k.common(DYNAMIC, 1) + k.pack("III", 20 | 4 << 16, 24 | 6 << 16, 10 | 3 << 16)
    payload += b"abc\0" + k.pack("3H", 1, 2, 0xFFFF) + b"zy\0"
    trace = opened(File(k, {0: k.page(1, k.record(0, payload))}).version_7())
    fields = events(trace)[0][4]
    assert fields["text"] == b"abc"
    assert fields["words"] == [1, 2, 0xFFFF]
    assert fields["other"] == b"zy"
    types = {item.name: item.type for item in trace.event_classes[0].fields}
    assert types["text"] == StringClass()
    assert types["words"] == ArrayClass(IntegerClass(16))


def test_data_locations_outside_the_record_are_empty():
    k = Kernel()
    payload = k.common(DYNAMIC, 1) + k.pack("III", 0xFFFFFFFF, 16 | 6 << 16, 0xFFFF)
    fields = events(opened(File(k, {0: k.page(1, k.record(0, payload))}).version_7()))[0][4]
    assert fields["text"] == b""
    assert fields["words"] == [0xFFFF, 0]
    assert fields["other"] == b""


def test_messages_of_trace_printk():
    k = Kernel()
    ip = 0xFFFFFFFF81000010
    records = [
        k.common(BPRINT, 1) + k.pack("QQi", ip, 0xFFFFFFFF82000000, -5) + b"text\0",
        k.common(BPRINT, 1) + k.pack("QQ", ip, 0x123),
        k.common(BPUTS, 1) + k.pack("QQ", ip, 0xFFFFFFFF82000040),
    ]
    trace = opened(File(k, {0: k.page(1, *(k.record(1, r) for r in records))}).version_7("zstd"))
    assert [event[4]["message"] for event in events(trace)] == [
        b"value -5 of text",
        b"(NO FORMAT FOUND at 123)",
        b"only text",
    ]
    assert {event_class.kind for event_class in trace.event_classes} == {Kind.MARK}
    assert trace.symbols is not None
    assert trace.symbols.lookup(ip) == (b"first", 0x10)
    assert trace.symbols.lookup(0xFFFFFFFF81001000) == (b"second", 0)
    assert trace.symbols.lookup(5) is None


def test_types_without_a_format_keep_their_bytes():
    k = Kernel()
    payload = k.common(4321, 7) + b"12345678"
    trace = opened(File(k, {0: k.page(1, k.record(0, payload))}).version_7())
    assert events(trace) == [(1, 0, 7, "unknown:4321", {"payload": payload})]
    assert trace.event_classes[0].kind is Kind.NATIVE


TEXT = b"""# tracer: irqsoff
#
            bash-42      [001] d..2.  1234.567890: sched_waking: comm=x y pid=7
   with space-43-44      [000] .....  1234.567891: tracing_mark_write: B|44|slice
          <idle>-0         3d..1    25us+: trace_hardirqs_off <-do_thing
 0)   1.234 us    |  }
"""


@pytest.mark.parametrize("version", ["6", "none", "zstd"])
def test_text_buffers(version):
    file = File(text=TEXT)
    trace = opened(file.version_6() if version == "6" else file.version_7(version))
    found = [
        (ts, cpu, tid, name, fields["message"]) for ts, cpu, tid, name, fields in events(trace)
    ]
    assert sorted(found) == [
        (25_000, 3, -1, "", b" 0)   1.234 us    |  }"),
        (25_000, 3, 0, "", b"trace_hardirqs_off <-do_thing"),
        (1234567890000, 1, 42, "sched_waking", b"comm=x y pid=7"),
        (1234567891000, 0, 44, "tracing_mark_write", b"B|44|slice"),
    ]
    kinds = {event_class.name: event_class.kind for event_class in trace.event_classes}
    assert kinds == {"sched_waking": Kind.TYPED, "tracing_mark_write": Kind.MARK, "": Kind.LOG}
    assert {thread.tid: thread.name for thread in trace.threads} == {
        0: "swapper",
        42: "saved name",
        44: "with space-43",
    }


def test_roles_and_styles_of_known_tracepoints():
    trace = opened(FIXTURES / "lost.dat")
    events(trace)
    classes = {event_class.name: event_class for event_class in trace.event_classes}
    enter = classes["sys_enter"]
    assert (enter.kind, enter.category) == (Kind.SYSCALL_ENTRY, "raw_syscalls")
    assert [(item.name, item.role) for item in enter.fields] == [
        ("id", Role.SYSCALL_NUMBER),
        ("args", Role.SYSCALL_ARGUMENTS),
        ("common_flags", Role.CONTEXT_FLAGS),
        ("common_preempt_count", Role.CONTEXT_PREEMPT_COUNT),
    ]
    assert enter.fields[1].type == ArrayClass(IntegerClass(64), 6)
    assert enter.native.startswith(b"name: sys_enter\n")
    switch = classes["sched_switch"]
    assert switch.kind is Kind.SCHED_SWITCH
    marks = opened(FIXTURES / "markers.dat")
    events(marks)
    classes = {event_class.name: event_class for event_class in marks.event_classes}
    assert classes["print"].fields[0].type == IntegerClass(64, style=Style.SYMBOL)
    assert classes["raw_data"].fields[1].type == BytesClass()


@needs_trace_cmd
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_numbers_of_the_converting_machine(tmp_path, compression):
    k = Kernel(big_endian=True)
    cpus = {cpu: k.page(cpu * 9, k.record(0, k.slice(7, 5))) for cpu in range(2)}
    made = tmp_path / "made.dat"
    made.write_bytes(File(k, cpus, options=[(4, CLOCK), (8, k.pack("I", 2))]).version_6())
    converted = tmp_path / "converted.dat"
    arguments = ["--file-version", "7", "--compression", compression, "-i", made, "-o", converted]
    subprocess.run(["trace-cmd", "convert", *arguments], check=True, capture_output=True)
    trace = opened(converted)
    assert [event[:2] for event in events(trace)] == [(0, 0), (9, 1)]
    assert trace.environment["cpu_count"] == 2


def test_unknown_compression_is_named():
    with pytest.raises(UnsupportedError, match="lzma"):
        opened(File(cpus={0: Kernel().page(1)}).version_7("lzma"))


@pytest.mark.parametrize(
    "data",
    [b"", b"\x17\x08\x44tracing", b"\x17\x08\x44tracing9\0\0\x08", b"something else entirely"],
)
def test_what_is_no_trace_is_refused(data):
    with pytest.raises(TraceError):
        opened(data)


def test_the_sidecar_has_what_a_writer_needs():
    trace = opened(FIXTURES / "small.dat")
    native = trace.sidecar["trace_cmd"]
    assert (native["version"], native["compression"], native["page_size"]) == (7, b"zstd", 4096)
    assert [section.id for section in native["sections"]] == [16, 17, 18, 19, 20, 21, 0, 3, 0, 15]
    assert [section.file.string(section.string_id) for section in native["sections"]][:2] == [
        b"headers",
        b"ftrace events",
    ]
    assert bytes(native["sections"][0]).startswith(b"header_page\0")
    assert [id for id, _ in native["options"]] == [16, 17, 18, 19, 20, 4, 5, 9, 11, 2, 2, 21, 8, 3]


def test_recordings_of_one_kernel_share_its_symbols():
    traces = [opened(FIXTURES / "small.dat") for _ in range(2)]
    first, second = (trace.symbols.entries() for trace in traces)
    assert len(first[0]) > 1000
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_formats_of_types_that_do_not_occur_are_let_go_of():
    trace = opened(FIXTURES / "small.dat")
    for _ in trace.batches():
        pass
    kept = trace.make_batches.__self__._decoding.formats
    assert 0 < len(kept) < 50
    assert all(kept.get(id).name for id in kept._texts)
