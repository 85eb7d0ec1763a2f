"""Writing CTF: packets, streams and metadata of other formats' traces, and the files of CTF's own written again."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from support.ctf.files import events_of, open_trace
from support.traces import small_traces

import converter
from converter.errors import UnsupportedError
from converter.formats.ctf.capabilities import capabilities
from converter.formats.ctf.layout import IndexEntry, parse_index
from converter.formats.ctf.metadata.files import parse_metadata
from converter.formats.ctf.side_table import read_side_table
from converter.formats.ctf.writing.emit import (
    DONE,
    OP_THREAD,
    Emitter,
)
from converter.formats.ctf.writing.writer import write
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    IntegerClass,
    Member,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    VariantClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Process, Thread, Trace
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable
from converter.limits import limited
from converter.projection.project import project
from converter.storage.outputs import open_sink

trace_of: Callable[..., Trace] = small_traces.trace_of
event_class: Callable[..., EventClass] = small_traces.event_class

FIXTURES = Path(__file__).parents[4] / "roundtrip_fixtures"
U64 = IntegerClass(64)
TEXT = StringClass()
NUMBERED = EventClass(Kind.TYPED, "numbered", "test", (Field("n", U64),))
LOST = EventClass(
    Kind.DISCARDED, "discarded", fields=(Field("count", IntegerClass(64, True), Role.COUNT),)
)


needs_babeltrace = pytest.mark.skipif(
    shutil.which("babeltrace2") is None, reason="babeltrace2 is not installed"
)


def written(trace: Trace, path: Path, variant: str = "1.8") -> Path:
    """The trace as CTF holds it, written to a new directory."""
    projected, _ = project(trace, capabilities(variant), "ctf")
    with open_sink(path, directory=True) as sink:
        write(projected, sink, variant)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a directory by relative name."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def metadata_of(path: Path) -> Any:
    return parse_metadata((path / "metadata").read_bytes())


# Packets and streams

_HEADER = struct.Struct("<I16sIQ6QI")


def packets_of(data: bytes) -> list[tuple[int, ...]]:
    """(offset, stream class, instance, begin, end, content, size, number, discarded, cpu) of each packet."""
    found = []
    offset = 0
    while offset < len(data):
        magic, _, class_id, instance, *rest = _HEADER.unpack_from(data, offset)
        assert magic == 0xC1FC1FC1
        found.append((offset, class_id, instance, *rest))
        offset += rest[3] // 8
    assert offset == len(data)
    return found


def test_packets_are_pages_and_indexed(tmp_path: Path) -> None:
    events = [(0, 10 * i, i % 2, 1, (i,)) for i in range(20_000)]
    events[15_000:15_000] = [(1, 149_995, 1, -1, (7,))]
    path = written(trace_of([NUMBERED, LOST], events[:9000], events[9000:]), tmp_path / "out")
    names = {f"channel0_{cpu}" for cpu in (0, 1)}
    assert set(contents(path)) == {
        "metadata",
        *names,
        *(f"index/{name}.idx" for name in names),
    }
    for cpu, name in enumerate(sorted(names)):
        packets = packets_of((path / name).read_bytes())
        assert len(packets) > 1
        index = parse_index((path / f"index/{name}.idx").read_bytes())
        assert index == [
            IndexEntry(offset, size, content, begin, end, discarded, class_id, instance, number)
            for (
                offset,
                class_id,
                instance,
                begin,
                end,
                content,
                size,
                number,
                discarded,
                _,
            ) in packets
        ]
        assert [packet[7] for packet in packets] == list(range(len(packets)))
        assert all(packet[6] % (8 * 4096) == 0 and packet[5] <= packet[6] for packet in packets)
        assert all(packet[9] == cpu for packet in packets)
        times = [time for packet in packets for time in packet[3:5]]
        assert times == sorted(times)
        assert [packet[8] for packet in packets][-1] == (7 if cpu else 0)
    found = events_of(open_trace(path))
    assert [values["n"] for _, name, values in found if name == "numbered"] == list(range(20_000))
    assert (149_995, "discarded", {"count": 7}) in found


def test_late_events_go_to_a_stream_of_their_own(tmp_path: Path) -> None:
    batches = [[(0, ts, 0, 1, (ts,))] for ts in (10, 30, 20, 40, 5, 25)]
    trace = trace_of([NUMBERED], *batches)
    path = written(trace, tmp_path / "out")
    streams = {name for name in contents(path) if name.startswith("channel")}
    assert streams == {"channel0_0", "channel0_0_late1", "channel0_0_late2"}
    assert [values["n"] for _, _, values in events_of(open_trace(path))] == [5, 10, 20, 25, 30, 40]


def test_a_batch_out_of_order_needs_no_other_stream(tmp_path: Path) -> None:
    trace = trace_of([NUMBERED], [(0, ts, 0, 1, (ts,)) for ts in (10, 30, 20, 40, 5, 25)])
    path = written(trace, tmp_path / "out")
    assert {name for name in contents(path) if name.startswith("channel")} == {"channel0_0"}
    assert [time for time, *_ in events_of(open_trace(path))] == [5, 10, 20, 25, 30, 40]


def test_more_classes_than_the_short_header_counts(tmp_path: Path) -> None:
    """From id 65535 on, and where more than 32 bits of time have passed, headers are extended."""
    emitter = Emitter(StringTable(), bytes(16), 1 << 12)
    stream = emitter.add_stream(0, 0, -1, False, True)
    sizes = []
    for number, ts in ((0, 0), (65534, 1), (65535, 2), (0, 1 << 33)):
        program = emitter.add_program(number, [(OP_THREAD, 7, 0)], False, 1)
        emitter.bind(program, 1, [None])
        before = emitter.pending(stream)
        whole, narrow = np.array([ts]), np.zeros(1, np.int32)
        columns = {"class_id": narrow + program, "row": narrow, "stream": narrow + stream}
        events = EventArrays(ts=whole, **columns, thread=narrow - 1, track=narrow)
        status, _ = emitter.emit(events, 0)
        assert status == DONE
        sizes.append(emitter.pending(stream) - before)
    context = 8 + 8 + 1
    assert sizes == [32 + 48 + 6 + context, 6 + context, 14 + context, 14 + context]


# What cannot be written


@pytest.mark.parametrize(
    "rate", [Fraction(1 << 63), Fraction(1 << 80, 3), Fraction(10**50, 10**45 + 1)]
)
def test_clocks_that_are_too_fast(rate: Fraction, tmp_path: Path) -> None:
    trace = trace_of([NUMBERED], [(0, 1, 0, 1, (1,))], clock=ClockDomain("fast", rate))
    with pytest.raises(UnsupportedError, match="rate does not fit 63 bits"):
        written(trace, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("times", [(0, -1), (-(1 << 60), (1 << 63) - 1), (-1, -(1 << 62))])
def test_times_too_far_apart(times: tuple[int, int], tmp_path: Path) -> None:
    trace = trace_of([NUMBERED], *([(0, ts, 0, 1, (1,))] for ts in times))
    with pytest.raises(UnsupportedError, match="too far from those before"):
        written(trace, tmp_path / "out")


def test_metadata_that_no_reader_would_take(tmp_path: Path) -> None:
    too_much = pytest.raises(UnsupportedError, match="at most 1,000 bytes")
    with too_much, limited({"ctf.metadata": 1000}):
        written(trace_of([NUMBERED], [(0, 1, 0, 1, (1,))]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@needs_babeltrace
@pytest.mark.parametrize("rate", [1, 1000, 1_000_000_000])
@pytest.mark.parametrize("epoch", [None, 10**18])
def test_times_before_zero(rate: int, epoch: int | None, tmp_path: Path) -> None:
    times = (-5, 3, -7)
    trace = trace_of(
        [NUMBERED],
        *([(0, ts, 0, 1, (1,))] for ts in times),
        clock=ClockDomain("slow", Fraction(rate), epoch),
    )
    path = written(trace, tmp_path / "out")
    assert [ts for ts, *_ in events_of(open_trace(path))] == sorted(times)
    command = ["babeltrace2", "--clock-seconds", "--clock-gmt", str(path)]
    result = subprocess.run(command, capture_output=True, check=True, text=True)
    nanoseconds = [ts * 1_000_000_000 // rate + (epoch or 0) for ts in sorted(times)]
    found = re.findall(r"^\[(-?)(\d+)\.(\d{9})\]", result.stdout, re.MULTILINE)
    assert [int(f"{sign}{seconds}{rest}") for sign, seconds, rest in found] == nanoseconds, (
        result.stdout
    )


# Kernel events


def kernel_trace() -> Trace:
    """Some events of a kernel by their meaning, under names and in types of no kernel."""
    i32, i64 = IntegerClass(32, True), IntegerClass(64, True)
    switch = event_class(
        Kind.SCHED_SWITCH,
        "context-switch",
        "zircon",
        outgoing=(i64, Role.PREV_TID),
        incoming=(i64, Role.NEXT_TID),
        weight=(i32, Role.NONE),
    )
    call = event_class(
        Kind.SYSCALL_ENTRY, "sys_enter", "raw_syscalls", id=(i64, Role.SYSCALL_NUMBER)
    )
    timer = event_class(Kind.TIMER_ENTRY, "timer_expire_entry", "timer", timer=(U64, Role.TIMER))
    other = event_class(Kind.TYPED, "mm_page_alloc", "kmem", pfn=U64)
    return trace_of(
        [switch, call, timer, other],
        [
            (0, 1, 0, 1, (10, 11, 3)),
            (1, 2, 0, 2, (1,)),
            (1, 3, 0, 2, (0,)),
            (1, 4, 0, 2, (100_000,)),
            (2, 5, 0, 2, (77,)),
            (3, 6, 0, 2, (9,)),
        ],
        environment={"machine": "x86_64", "hostname": "host", "release": "6.18"},
    )


def test_kernel_events_are_named_and_laid_out_as_lttng_does(tmp_path: Path) -> None:
    path = written(kernel_trace(), tmp_path / "out")
    declared = metadata_of(path)
    environment = declared.environment
    assert {name: environment[name] for name in ("domain", "tracer_name", "sysname")} == {
        "domain": "kernel",
        "tracer_name": "lttng-modules",
        "sysname": "Linux",
    }
    assert (environment["tracer_major"], environment["kernel_release"]) == (2, "6.18")
    events = {event.name: event for event in declared.streams[0].events.values()}
    assert list(events) == [
        "sched_switch",
        "syscall_entry_write",
        "syscall_entry_read",
        "syscall_entry_unknown",
        "timer_expire_entry",
        "kmem_mm_page_alloc",
    ]
    assert [
        (member.name, getattr(member.type, "length", None))
        for member in events["sched_switch"].payload.members
    ] == [
        ("prev_comm", None),
        ("prev_tid", 32),
        ("prev_prio", 32),
        ("prev_state", 64),
        ("next_comm", None),
        ("next_tid", 32),
        ("next_prio", 32),
        ("weight", 32),
    ]
    assert declared.streams[0].packet_context.members[-1].name == "cpu_id"
    context = [member.name for member in declared.streams[0].common_context.members]
    assert context == ["pid", "tid", "procname"]


def test_kernel_events_are_read_as_they_were(tmp_path: Path) -> None:
    projected = collect(project(kernel_trace(), capabilities(""), "ctf")[0])
    again = open_trace(written(kernel_trace(), tmp_path / "out"))
    assert difference(projected, again) is None
    assert {one.category for one in again.event_classes} == {"", "raw_syscalls", "timer", "kmem"}


def test_threads_and_processes_of_any_64_bits(tmp_path: Path) -> None:
    trace = trace_of(
        [NUMBERED],
        [(0, 1, 0, 0, (1,)), (0, 2, 0, 1, (2,)), (0, 3, 0, -1, (3,))],
        processes=[Process((1 << 63) - 1, "far", 7, ("a", "b")), Process(0, "")],
        threads=[Thread((1 << 62) + 5, 0, "deep"), Thread(0, 1, "idle\0x")],
    )
    again = open_trace(written(trace, tmp_path / "out"))
    assert difference(trace, again) is None


# Names and types

ODD = [
    "string",
    "event",
    "1st",
    "a b",
    "a:b",
    "é",
    "",
    "_x",
    "x",
    "_x_length",
    "a_b",
    "a\0b",
    "Bool",
]


def odd_trace() -> Trace:
    """Names that CTF 1.8 does not have, and every way in which fields can be nested."""
    inner = StructureClass((Member("struct", U64), Member("struct", TEXT)))
    fields = [Field(name, IntegerClass(8)) for name in ODD]
    fields += [
        Field("variant", VariantClass((Member("a b", U64), Member("a:b", inner)))),
        Field("optional", OptionalClass(ArrayClass(OptionalClass(inner)))),
        Field("nothing", NullClass()),
        Field("truths", ArrayClass(BooleanClass(), 2)),
        Field("blob", BytesClass("image/png")),
    ]
    declared = EventClass(Kind.TYPED, "a\0:b", "c d", tuple(fields))
    pair = [("struct", 5), ("struct", b"five")]
    numbers = tuple(range(len(ODD)))
    return trace_of(
        [declared],
        [
            (0, 1, -1, 0, (*numbers, ("a b", 1), None, None, [True, False], b"\0\xff")),
            (0, 2, -1, -1, (*numbers, ("a:b", pair), [pair, None], None, [False, True], b"")),
        ],
    )


@pytest.mark.parametrize("variant", ["1.8", "2"])
def test_any_name_and_nesting_survives(variant: str, tmp_path: Path) -> None:
    projected, report = project(odd_trace(), capabilities(variant), "ctf")
    projected = collect(projected)
    assert not list(report)
    again = open_trace(written(odd_trace(), tmp_path / "out", variant))
    assert difference(projected, again) is None


@needs_babeltrace
def test_babeltrace_takes_any_name(tmp_path: Path) -> None:
    path = written(odd_trace(), tmp_path / "out")
    result = subprocess.run(["babeltrace2", str(path)], capture_output=True, check=True, text=True)
    assert not result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 2
    assert "string = 0, event = 1, 1st = 2, a_b = 3, a_b_ = 4" in lines[0]
    assert 'struct = 5, struct_ = "five"' in lines[1]


SCHEMA = Path(__file__).parents[4] / "schemas/ctf/metadata-2.schema.json"


def assert_fragments_are_valid(metadata: Path) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_bytes()))
    fragments = metadata.read_text().split("\x1e")
    assert not fragments[0]
    for fragment in fragments[1:]:
        validator.validate(json.loads(fragment))


def test_metadata_of_ctf_2_follow_the_schema(tmp_path: Path) -> None:
    """What LTTng writes, what is made of CTF 1.8, and what other formats become."""
    assert_fragments_are_valid(next((FIXTURES / "ctf/ctf2_small").rglob("metadata")))
    converter.convert(FIXTURES / "ctf/ctf_small", tmp_path / "two", target_format="ctf+2")
    assert_fragments_are_valid(next((tmp_path / "two").rglob("metadata")))
    for number, trace in enumerate((odd_trace(), kernel_trace())):
        path = written(trace, tmp_path / str(number), "2")
        assert_fragments_are_valid(path / "metadata")


# Statements


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('\\"version\\":1', '\\"version\\":2'),
        ('\\"shift\\":0', '\\"shift\\":null'),
        ('\\"threads\\":[[10', '\\"threads\\":[[\\"x\\"'),
        ('\\"kind\\":\\"TYPED\\"', '\\"kind\\":\\"NO_KIND\\"'),
        ("traceconv_0", "traceconv_9"),
    ],
)
def test_a_statement_that_makes_no_sense_is_left_aside(old: str, new: str, tmp_path: Path) -> None:
    """The trace is then what its metadata alone say."""
    trace = trace_of([NUMBERED], [(0, 5, 0, 1, (3,))], tids=(10, 11))
    path = written(trace, tmp_path / "out")
    text = (path / "metadata").read_text()
    assert old in text
    (path / "metadata").write_text(text.replace(old, new))
    again = open_trace(path)
    assert events_of(again) == [(5, "numbered", {"n": 3})]
    assert len(again.threads) == (2 if "kind" in old else 1)


def test_a_statement_about_other_fields_is_left_aside(tmp_path: Path) -> None:
    path = written(trace_of([NUMBERED], [(0, 5, 0, 1, (3,))]), tmp_path / "out")
    side_table = read_side_table(metadata_of(path).environment)
    assert side_table is not None
    stated = EventClass(Kind.TYPED, "derived", fields=(Field("n", U64),))
    recorded = side_table.recorded_class(0, stated)
    assert recorded is not None and recorded.event_class == NUMBERED
    for fields in ((), (Field("n", TEXT),), (Field("n", IntegerClass(64, True)),)):
        assert side_table.recorded_class(0, replace(stated, fields=fields)) is None
    assert side_table.recorded_class(1, stated) is None
