"""Traces of other formats as recordings: what perf prints of them, and what is read again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.profiles.perf_script import opened, printed, written
from support.traces.losses import codes_of
from support.traces.small_traces import events_of, trace_of
from support.viewers import trace_processor

from converter.errors import TraceError, UnsupportedError
from converter.formats.lossless.residual import extract
from converter.formats.perf.data import FORMAT
from converter.formats.perf.data.capabilities import MAX_FRAMES, capabilities
from converter.formats.perf.data.side_table import (
    FRAME_TYPE,
    parse_own_feature,
    print_frames,
    print_tables,
)
from converter.formats.perf.data.writing import write
from converter.formats.perf.data.writing.frame_addresses import FrameAddresses
from converter.ir.collect import collect
from converter.ir.columns import column_from_values
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.symbols import SymbolTable
from converter.ir.trace import ClockDomain
from converter.kernels.tables.strings import StringTable
from converter.projection.project import project
from converter.projection.timeline_fields import ADDRESSES, FRAMES, FUNCTIONS, weight
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink
from converter.testing import assert_same


def frame(function="", mapping="", rel_pc=0, source="", line=0):
    values = (function, mapping, rel_pc, source, line)
    texts = (
        text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        for text in values
    )
    return list(zip(("function", "mapping", "rel_pc", "source", "line"), texts, strict=True))


NAMES = EventClass(Kind.SAMPLE, "alloc space", fields=(FUNCTIONS, weight("bytes")))
WHOLE = EventClass(Kind.SAMPLE, "cycles", fields=(FRAMES, weight("")))
PLAIN = EventClass(Kind.SAMPLE, fields=(ADDRESSES,))
LOST = EventClass(
    Kind.DISCARDED, "lost", fields=(Field("count", IntegerClass(64, signed=True), Role.COUNT),)
)
SWITCH = EventClass(
    Kind.SCHED_SWITCH,
    "sched_switch",
    "sched",
    (
        Field("prev_comm", StringClass(), Role.PREV_COMM),
        Field("prev_pid", IntegerClass(32, signed=True), Role.PREV_TID),
        Field("prev_prio", IntegerClass(32, signed=True), Role.PREV_PRIORITY),
        Field("prev_state", IntegerClass(64, signed=True), Role.PREV_STATE),
        Field("next_comm", StringClass(), Role.NEXT_COMM),
        Field("next_pid", IntegerClass(32, signed=True), Role.NEXT_TID),
        Field("next_prio", IntegerClass(32, signed=True), Role.NEXT_PRIORITY),
    ),
)


def survives(trace):
    """The recording of a trace, which is read as the trace was projected."""
    data, _ = written(trace)
    again = opened(data)
    assert_same(collect(project(trace, capabilities(""), "perf")[0]), again)
    assert not again.warnings
    return data


def test_functions_without_addresses_are_named(tmp_path):
    trace = trace_of(
        [NAMES],
        [
            (0, 1_000_000, 1, 1, [["leaf", "operator new", "main"], 42]),
            (0, 2_000_000, -1, 2, [["main"], 1]),
        ],
    )
    lines = printed(survives(trace), tmp_path)
    assert [line for line in lines if "+0x0" not in line] == [
        "t10    10 [001]     0.001000:         42 alloc space:",
        "t11    11 [-01]     0.002000:          1 alloc space:",
    ]
    assert [line.partition(" ")[2] for line in lines if "+0x0" in line] == [
        "leaf+0x0 (leaf)",
        "operator new+0x0 (operator new)",
        "main+0x0 (main)",
        "main+0x0 (main)",
    ]


def test_perfetto_shows_the_names_of_functions(tmp_path):
    if trace_processor.engine() is None:
        pytest.skip("trace_processor is not installed")
    stack = [frame("leaf"), frame("main"), frame(mapping="/bin/none", rel_pc=0x1234)]
    trace = trace_of([WHOLE], [(0, 1_000_000, 1, 1, [stack, 42])])
    path = tmp_path / "out.perf.data"
    path.write_bytes(written(trace)[0])
    query = (
        "select s.ts, t.tid, f.name as frame, m.name as file from perf_sample s join thread t using (utid)"
        " join stack_profile_callsite c join stack_profile_frame f on f.id = c.frame_id"
        " join stack_profile_mapping m on m.id = f.mapping order by c.depth"
    )
    found = [
        list(row.values()) if isinstance(row, dict) else list(row)
        for row in trace_processor.answer(path, query)
    ]
    assert [tuple(map(str, row)) for row in found] == [
        ("1000000", "10", "", "/bin/none"),
        ("1000000", "10", "main", ""),
        ("1000000", "10", "leaf", ""),
    ]


def test_parents_cost_perfetto_a_record_that_it_skips(tmp_path):
    trace = trace_of([WHOLE], [(0, 10, 0, 1, [[frame("f")], 6]), (0, 11, 0, 2, [[frame("f")], 6])])
    processes = [
        replace(process, parent_pid=parent)
        for process, parent in zip(trace.processes, (None, None, 10), strict=True)
    ]
    data = written(replace(trace, processes=processes))[0]
    lines = printed(data, tmp_path, "--tasks", command="report")
    assert [line.split() for line in lines[1:]] == [
        ["0", "0", "-1", "|swapper"],
        ["10", "10", "-1", "|t10"],
        ["11", "11", "10", "|", "t11"],
    ]
    if trace_processor.engine() is None:
        pytest.skip("trace_processor is not installed")
    query = "select idx, value from stats where value > 0 and name = 'perf_record_skipped'"
    rows = trace_processor.answer(tmp_path / "perf.data", query)
    # A FORK and a KSYMBOL.
    found = [list(row.values()) if isinstance(row, dict) else list(row) for row in rows]
    assert [list(map(int, row)) for row in found] == [[7, 1], [17, 1]]


def test_perf_counts_a_function_once_whatever_its_lines(tmp_path):
    trace = trace_of(
        [WHOLE],
        [
            (0, 10, 0, 1, [[frame("f", "/bin/x", 0x10, "x.c", 3)], 6]),
            (0, 11, 0, 1, [[frame("f", "/bin/x", 0x14, "x.c", 4)], 2]),
        ],
    )
    lines = printed(
        survives(trace), tmp_path, "--stdio", "--no-children", "-g", "none", command="report"
    )
    (line,) = [line for line in lines if not line.startswith("#")]
    assert line.split() == ["100.00%", "t10", "/bin/x", "[k]", "f"]


def test_perf_shows_functions_with_their_files(tmp_path):
    innermost = [
        *(frame("f", "/bin/x"), frame("g", "/bin/x"), frame("f", "/lib/y"), frame("f")),
        *(frame("main", "x"), frame("x"), frame("k", "[kernel.kallsyms]"), frame("v", "[vdso]")),
    ]
    trace = trace_of(
        [WHOLE],
        [(0, 10 + i, 0, 1, [[one, frame("main", "/bin/x")], 1]) for i, one in enumerate(innermost)],
    )
    data = survives(trace)
    lines = [line.split(" ", 1)[1] for line in printed(data, tmp_path, "-F", "ip,sym,dso")]
    files = ["/bin/x", "/bin/x", "/lib/y", "f", "x", "x", "[kernel.kallsyms]", "[vdso]"]
    named = list(zip(["f", "g", "f", "f", "main", "x", "k", "v"], files, strict=True))
    assert lines[::2] == [f"{name} ({file})" for name, file in named]
    assert set(lines[1::2]) == {"main (/bin/x)"}
    report = printed(data, tmp_path, "--stdio", "--no-children", "-g", "none", command="report")
    shown = [line.split() for line in report if not line.startswith("#")]
    assert {(line[0], line[4], line[2]) for line in shown} == {("12.50%", *one) for one in named}
    _, report = written(trace)
    # All have a caller in a file.
    assert [loss.count for loss in report if loss.code == "frame-binary-unshown"] == [8]


@pytest.mark.parametrize(
    ("shown", "code"),
    [
        (frame("f"), None),
        (frame(mapping="/x", rel_pc=1), None),
        (frame("f", "/x"), "frame-binary-unshown"),
        (frame("f", source="x.c"), "frame-source-unshown"),
        (frame("f", line=1), "frame-source-unshown"),
    ],
)
def test_what_viewers_do_not_show_of_frames_is_a_loss(shown, code):
    _, report = written(trace_of([WHOLE], [(0, 10, 0, 1, [[shown, frame("g")], 1])]))
    assert {one for one in codes_of(report) if one.startswith("frame")} == ({code} - {None})


def test_places_in_files_are_in_their_mappings(tmp_path):
    trace = trace_of(
        [WHOLE], [(0, 1_000, 0, 1, [[frame(mapping="/bin/none", rel_pc=0x1234), frame("g")], 1])]
    )
    lines = printed(survives(trace), tmp_path, "-F", "ip,sym,dso")
    assert lines[0].split(" ", 1)[1] == "[unknown] (/bin/none)"
    assert lines[1].split(" ", 1)[1] == "g (g)"


def test_addresses_stay_and_the_kernel_has_its_names(tmp_path):
    trace = trace_of([PLAIN], [(0, 5_000, 0, 1, [[0xFFFFFFFF81000010, 0x401000]])])
    starts = np.array([0xFFFFFFFF81000000, 0xFFFFFFFF81000100], np.uint64)
    trace = replace(trace, symbols=SymbolTable(lambda: (starts, [b"do_idle", b"rest"])))
    lines = printed(survives(trace), tmp_path)
    assert lines[1:] == [
        "ffffffff81000010 do_idle+0x10 ([kernel.kallsyms])",
        "401000 [unknown] ([unknown])",
    ]


def test_functions_of_the_kernel_and_of_modules_are_told_apart(tmp_path):
    start = 0xFFFFFFFF81000000
    starts = np.array([start, start + 0x100, start + 0x200, start + 0x300], np.uint64)
    symbols = SymbolTable(lambda: (starts, [b"one", b"two", b"three", b"end"]))
    # Ranges of 6 and 5 bytes: their number added, they would be equally large.
    stacks = [
        [frame(rel_pc=start + 5)],
        [frame(rel_pc=start + 0x104)],
        [frame("three", "[module]", start + 0x203)],
        [frame("one", "[kernel.kallsyms]", 7)],
    ]
    trace = trace_of([WHOLE], [(0, 10 + i, 0, 1, [one, 1]) for i, one in enumerate(stacks)])
    data = survives(replace(trace, symbols=symbols))
    report = printed(data, tmp_path, "--stdio", "--no-children", "-g", "none", command="report")
    shown = sorted(line.split() for line in report if not line.startswith("#"))
    assert shown == [
        ["25.00%", "t10", "[kernel.kallsyms]", "[k]", "one"],
        ["25.00%", "t10", "[kernel.kallsyms]", "[k]", "one"],
        ["25.00%", "t10", "[kernel.kallsyms]", "[k]", "two"],
        ["25.00%", "t10", "[module]", "[k]", "three"],
    ]


@pytest.mark.parametrize(
    "stack",
    [
        [],
        [frame()],
        [frame(rel_pc=0x1234), frame()],
        [frame("f"), frame("f", line=1), frame("f", source="a.c"), frame(line=2)],
        # Where the addresses of others, and marks, are.
        [frame(rel_pc=(1 << 64) - 128), frame(rel_pc=0xFFFFE00000000000), frame("f")],
        [frame(rel_pc=0x1000_0000_1234), frame(mapping="/x", rel_pc=0x1234)],
        [frame(mapping="/x", rel_pc=1), frame(mapping="/x", rel_pc=1, source="x.c")],
        [frame(mapping="/x", rel_pc=1 << 32), frame(mapping="/x", rel_pc=(1 << 32) - 1)],
        [frame("\udce4", "\udcff"), frame("a\x01b")],
        [frame(f"f{i}") for i in range(300)],
    ],
    ids=range(10),
)
def test_frames_survive(stack):
    survives(trace_of([WHOLE], [(0, 10, 0, 1, [stack, 1]), (0, 11, -1, -1, [stack[::-1], 2])]))


def test_time_0_is_a_time():
    survives(trace_of([WHOLE, LOST], [(0, 0, 0, 1, [[frame("f")], 1]), (1, 0, 0, -1, [3])]))


@pytest.mark.parametrize("depth", [MAX_FRAMES - 1, MAX_FRAMES, MAX_FRAMES + 1])
def test_deep_stacks_are_cut(depth):
    stack = [frame("k") if i % 2 else frame(rel_pc=16 + i) for i in range(depth)]
    trace = trace_of([WHOLE], [(0, 10, 0, 1, [stack, 1])])
    survives(trace)
    _, report = written(trace)
    assert ("list-cut" in codes_of(report)) is (depth > MAX_FRAMES)


def test_a_function_with_many_frames_has_several_ranges():
    strings = StringTable()
    count = (1 << 16) + 1
    column = column_from_values(
        FRAMES.type, [[frame("f", line=i + 1) for i in range(count)]], strings
    )
    addresses = FrameAddresses(strings, None)
    found = addresses.of(column, np.zeros(1, np.int64))
    assert len(np.unique(found)) == count
    symbols, _ = addresses.take_new()
    assert [symbol.name for symbol in symbols] == [b"f", b"f"]
    assert int(found[-1]) == symbols[1].address


def test_kernel_events_are_tracepoints(tmp_path):
    values = ["t10", 10, 120, 1, "t11", 11, 100]
    trace = trace_of([SWITCH, LOST], [(0, 1_500_000, 1, 1, values), (1, 2_000_000, 0, -1, [7])])
    lines = printed(survives(trace), tmp_path, "--show-lost-events")
    assert [" ".join(line.split()) for line in lines] == [
        (
            "t10 10 [001] 0.001500: sched:sched_switch: prev_comm=t10 prev_pid=10 prev_prio=120 "
            "prev_state=S ==> next_comm=t11 next_pid=11 next_prio=100"
        ),
        ":-1 -1 [000] 0.002000: PERF_RECORD_LOST lost 7",
    ]


def test_slices_become_markers(tmp_path):
    begin = EventClass(Kind.SLICE_BEGIN, fields=(Field("name", StringClass(), Role.NAME),))
    trace = trace_of(
        [begin, EventClass(Kind.SLICE_END)], [(0, 10_000, 0, 1, ["work"]), (1, 20_000, 0, 1, [])]
    )
    lines = printed(written(trace)[0], tmp_path)
    assert [line.rpartition(": ")[2] for line in lines] == ["B|10|work", "E|10"]


def test_the_wall_clock_is_known(tmp_path):
    trace = trace_of([NAMES], [(0, 5_000_000_000, 0, 1, [["f"], 1])])
    trace = replace(trace, clock=ClockDomain("mono", epoch_ns=1_600_000_000_000_000_000))
    lines = printed(survives(trace), tmp_path, "-F", "tod", "--ns")
    assert lines[0].startswith("2020-09-13 12:26:45.000000000")


def test_nothing_is_a_recording(tmp_path):
    assert printed(survives(trace_of([])), tmp_path) == []


def test_an_event_that_no_record_holds_is_refused():
    text = EventClass(Kind.TYPED, "e", "s", tuple(Field(f"f{i}", StringClass()) for i in range(30)))
    trace = trace_of([text], [(0, 1, 0, 1, ["x" * 2560] * 30)])
    # The projection leaves so little of it that it fits.
    survives(trace)
    deep = trace_of([WHOLE], [(0, 1, 0, 1, [[frame("f")] * 9000, 1])])
    with pytest.raises(UnsupportedError, match="larger than a record"):
        write(deep, BufferSink(), "")


def test_an_embedded_trace_is_restored(tmp_path):
    trace = trace_of([NAMES], [(0, 7, 0, 1, [["f", "g"], 5])], environment={"hostname": "h"})
    data, _ = written(trace, lossless=True)
    assert_same(trace, extract(open_source(data), FORMAT.embedding)[0])
    assert printed(data, tmp_path)[0].endswith("5 alloc space:")
    # Without the payload, the file is what it was.
    assert [one["frames"] for *_, one in events_of(opened(data))] == [[frame("f"), frame("g")]]


def test_damaged_tables_cost_only_the_tables():
    data, _ = written(trace_of([NAMES], [(0, 7, 0, 1, [["f"], 5])]))
    at = data.index(b'{"version"')
    again = collect(opened(data[: at + 1] + b"!" + data[at + 2 :]))
    assert "feature 240" in str(again.warnings[0])
    assert sum(map(len, again.batches())) >= 1


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda frames: frames["function"].__iadd__(9), "a text that there is not"),
        (lambda frames: frames["address"].__setitem__(1, frames["address"][0]), "order"),
    ],
)
def test_frames_are_checked(change, found):
    frames = np.zeros(2, FRAME_TYPE)
    frames["address"] = [1, 2]
    tables = print_tables(trace_of([NAMES]), [0, 1, 2], {})
    assert len(parse_own_feature(tables + print_frames(frames, [b"f"])).frames) == 2
    change(frames)
    with pytest.raises(TraceError, match=found):
        parse_own_feature(tables + print_frames(frames, [b"f"]))
