"""Reading uftrace's data directories: every part of the format as uftrace writes it."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import uftrace_files as files
import uftrace_oracle as oracle
from trace_cmd_files import FORMATS, FTRACE_FORMATS, Kernel
from uftrace_files import (
    BAR,
    BASE,
    BAZ,
    ENTRY,
    EXIT,
    FOO,
    LOST,
    MAIN,
    SID,
    TID,
    Directory,
    calls,
)

import converter
from converter.errors import TraceError
from converter.formats.uftrace import reader
from converter.formats.uftrace.argument_specs import SpecificationError, parse_specification
from converter.formats.uftrace.demangle import demangled
from converter.formats.uftrace.layout import EventId, Feature, parse_header
from converter.formats.uftrace.mapping import STRUCTURE
from converter.formats.uftrace.patterns import PatternError, compile_extended
from converter.formats.uftrace.task_sessions import parse_binary_tasks
from converter.ir.canonical import canonical, difference
from converter.ir.collect import collect
from converter.ir.columns import value
from converter.ir.field_classes import (
    BytesClass,
    FloatClass,
    IntegerClass,
    Label,
    StringClass,
    Style,
)
from converter.ir.invariants import check
from converter.ir.kinds import Kind, Role
from converter.source import open_source

RICH = Path(__file__).parent.parent / "roundtrip_fixtures" / "uftrace" / "rich"
ORDERS = pytest.mark.parametrize("big_endian", [False, True], ids=["little", "big"])
LONGS = pytest.mark.parametrize("bits", [64, 32])


def opened(directory, tmp_path):
    return reader.read(open_source(str(directory.write(tmp_path / "data"))))


def events(trace):
    """(ts, kind, tid or None, cpu, {field: value}) of each event."""
    found = []
    for batch in trace.batches():
        for i in range(len(batch)):
            number = int(batch.class_id[i])
            event_class = trace.event_classes[number]
            table = batch.tables[number]
            values = {
                item.name: value(table.column(j), item.type, int(batch.row[i]), trace.strings)
                for j, item in enumerate(event_class.fields)
            }
            tid = trace.threads[batch.thread[i]].tid if batch.thread[i] >= 0 else None
            found.append((int(batch.ts[i]), event_class.kind, tid, int(batch.cpu[i]), values))
    return found


def payload(trace):
    """Values of the first event with any beside its name."""
    for _, _, _, _, values in events(trace):
        rest = {key: held for key, held in values.items() if key not in ("name", "category")}
        if rest:
            return rest
    return {}


def names(trace, kind=Kind.SLICE_BEGIN):
    return [values["name"] for _, found, _, _, values in events(trace) if found is kind]


def field_types(trace, name):
    """The types of fields of this name."""
    return [item.type for one in trace.event_classes for item in one.fields if item.name == name]


# The header and the lines of `info`


@ORDERS
@LONGS
@pytest.mark.parametrize("version", [3, 4])
def test_functions_in_every_byte_order_class_and_version(tmp_path, big_endian, bits, version):
    directory = Directory(big_endian=big_endian, bits=bits, version=version)
    directory.tasks[TID] = calls(directory)
    trace = opened(directory, tmp_path)
    app = {"category": b"app"}
    assert events(trace) == [
        (10, Kind.SLICE_BEGIN, TID, -1, {"name": b"main", **app}),
        (11, Kind.SLICE_BEGIN, TID, -1, {"name": b"foo", **app}),
        (12, Kind.SLICE_END, TID, -1, {}),
        (13, Kind.SLICE_BEGIN, TID, -1, {"name": b"baz", **app}),
        (14, Kind.SLICE_END, TID, -1, {}),
        (15, Kind.SLICE_END, TID, -1, {}),
    ]
    assert trace.warnings == []
    assert trace.sidecar["uftrace"]["directory"].header == parse_header(directory.info())
    check(trace)


def test_every_line_of_info(tmp_path):
    directory = Directory(
        lines=[
            "exename:/usr/bin/app",
            "build_id:0123",
            "exit_status:256",
            'cmdline:uftrace record \\"x: y\\"',
            "cpuinfo:lines=2",
            "cpuinfo:nr_cpus=2 / 4 (online/possible)",
            "cpuinfo:desc=A CPU = fast",
            "meminfo:1 / 2 GB (free / total)",
            "osinfo:lines=3",
            "osinfo:kernel=Linux 6.1",
            "osinfo:hostname=host",
            'osinfo:distro="Debian"',
            "usageinfo:lines=6",
            "usageinfo:systime=0.1",
            "usageinfo:usrtime=0.2",
            "usageinfo:ctxsw=1 / 2 (voluntary / involuntary)",
            "usageinfo:maxrss=3",
            "usageinfo:pagefault=4 / 5 (major / minor)",
            "usageinfo:iops=6 / 7 (read / write)",
            "loadinfo:0.1 / 0.2 / 0.3",
            "record_date:Fri Nov 20 10:34:36 2026",
            "elapsed_time:0.5 sec",
            "uftrace_version:v0.19 ( x86_64 )",
            "utc_offset:1700000000",
            "sysctl:perf_event_paranoid=1 kptr_restrict=0",
        ]
    )
    directory.tasks[TID] = calls(directory)
    trace = opened(directory, tmp_path)
    assert trace.clock.epoch_ns == 1_700_000_000_000_000_000
    environment = trace.environment
    assert environment["exit_status"] == 256
    assert environment["cmdline"] == 'uftrace record \\"x: y\\"'
    assert environment["cpu"] == "A CPU = fast"
    assert environment["distro"] == "Debian"
    assert environment["tracer_name"] == "uftrace"
    assert environment["tracer_version"] == "v0.19 ( x86_64 )"
    assert len(environment) == 23
    assert trace.warnings == []


def test_the_path_of_info_opens_its_directory(tmp_path):
    directory = Directory()
    directory.tasks[TID] = calls(directory)
    path = directory.write(tmp_path / "data")
    trace = reader.read(open_source(str(path / "info")))
    assert names(trace) == [b"main", b"foo", b"baz"]
    assert reader.read(open_source(str(path))).sidecar["uftrace"]["directory"].names == sorted(
        directory.contents()
    )
    with pytest.raises(TraceError, match="give its path"):
        reader.read(open_source(directory.info()))


def test_parts_replay_each_file(tmp_path):
    directory = Directory()
    directory.tasks[TID] = calls(directory)
    held = opened(directory, tmp_path).sidecar["uftrace"]["directory"]
    assert {name: b"".join(held.parts(name)) for name in held.names} == directory.contents()


# Tasks, sessions, maps


def test_threads_processes_and_the_order_of_time(tmp_path):
    directory = Directory()
    directory.task_txt += (
        "TASK timestamp=0.000000003 tid=101 pid=100\nFORK timestamp=0.000000020 pid=102 ppid=100\n"
    )
    directory.tasks = {
        TID: calls(directory, 10),
        101: calls(directory, 12),
        102: directory.record(30, EXIT, 1, BAZ) + directory.record(31, EXIT, 0, MAIN),
    }
    trace = opened(directory, tmp_path)
    assert [event[0] for event in events(trace)] == sorted([*range(10, 16), *range(12, 18), 30, 31])
    assert [(thread.tid, thread.process, thread.name) for thread in trace.threads] == [
        (100, 0, "app"),
        (101, 0, "app"),
        (102, 1, "app"),
    ]
    assert [(one.pid, one.name, one.parent_pid) for one in trace.processes] == [
        (100, "app", None),
        (102, "app", 100),
    ]
    # A forked task leaves functions that it never entered.
    assert events(trace)[-2:] == [
        (30, Kind.SLICE_END, 102, -1, {"name": b"baz", "category": b"app"}),
        (31, Kind.SLICE_END, 102, -1, {"name": b"main", "category": b"app"}),
    ]


def test_exec_changes_the_session_of_a_file(tmp_path):
    other = "f" * 16
    directory = Directory()
    directory.task_txt += (
        f'SESS timestamp=0.000000020 pid={TID} sid={other} exename="/bin/other one"\n'
    )
    directory.maps[other] = f"{BASE:x}-{BASE + 0x9000:x} r-xp 0 00:00 0 /bin/other one\n"
    directory.symbols["other one"] = f"{MAIN:x} {0x20:08x} T start\n{FOO:x} {0x20:08x} T inner\n"
    directory.tasks[TID] = (
        directory.record(10, ENTRY, 0, MAIN)
        + directory.record(11, ENTRY, 1, BAZ)
        + directory.record(20, ENTRY, 0, MAIN)
        + directory.record(21, ENTRY, 1, FOO + 0x30)
    )
    trace = opened(directory, tmp_path)
    # What was open is left; the gap behind a sized symbol belongs to none.
    assert [(ts, kind, held.get("name")) for ts, kind, _, _, held in events(trace)] == [
        (10, Kind.SLICE_BEGIN, b"main"),
        (11, Kind.SLICE_BEGIN, b"baz"),
        (20, Kind.SLICE_END, None),
        (20, Kind.SLICE_END, None),
        (20, Kind.SLICE_BEGIN, b"start"),
        (21, Kind.SLICE_BEGIN, b"<%x>" % (BASE + FOO + 0x30)),
    ]
    assert trace.processes[0].name == "other one"


def test_a_forked_process_has_the_session_that_its_parent_had(tmp_path):
    other = "f" * 16
    directory = Directory()
    directory.task_txt += (
        "FORK timestamp=0.000000015 pid=102 ppid=100\n"
        f'SESS timestamp=0.000000020 pid={TID} sid={other} exename="/bin/other"\n'
    )
    directory.maps[other] = ""
    directory.tasks = {TID: b"", 102: directory.record(30, ENTRY, 0, MAIN)}
    assert names(opened(directory, tmp_path)) == [b"main"]


def test_libraries_opened_later_are_found_by_their_name(tmp_path):
    directory = Directory()
    base = 0x7F0000000000
    directory.task_txt += "".join(
        f'DLOP timestamp=0.00000{time:04} tid={TID} sid={SID} base={base:x} libname="{path}"\n'
        for time, path in ((20, "./lib one.so"), (40, "/opt/two.so"))
    )
    directory.symbols["lib one.so"] = f"{MAIN:x} T first\n{FOO:x} ? __sym_end\n"
    directory.symbols["two.so"] = f"{MAIN:x} T second\n{FOO:x} ? __sym_end\n"
    directory.tasks[TID] = b"".join(
        directory.record(time, ENTRY, depth, base + MAIN + 1)
        for depth, time in enumerate((19, 21, 41))
    )
    found = opened(directory, tmp_path)
    # Its constructors run before the record of its opening; what takes its place does so in time.
    assert names(found) == [b"first", b"first", b"second"]
    assert events(found)[0][4]["category"] == b"lib one.so"


def test_files_of_one_name_are_told_apart_by_build_id(tmp_path):
    directory = Directory()
    directory.maps[SID] += "500000-509000 r-xp 00000000 00:00 0 /opt/app build-id:abcdef\n"
    directory.symbols["app-abcd"] = f"{MAIN:x} T other_main\n{FOO:x} ? __sym_end\n"
    directory.tasks[TID] = directory.record(1, ENTRY, 0, MAIN) + directory.record(
        2, ENTRY, 1, 0x500000 + MAIN
    )
    assert names(opened(directory, tmp_path)) == [b"main", b"other_main"]


def test_absolute_symbols(tmp_path):
    directory = Directory(features=Feature.TASK_SESSION)
    directory.symbols["app"] = f"{BASE + MAIN:x} T main\n{BASE + FOO:x} ? __sym_end\n"
    directory.tasks[TID] = directory.record(1, ENTRY, 0, MAIN)
    assert names(opened(directory, tmp_path)) == [b"main"]


def test_binary_task_file_of_old_recordings(tmp_path):
    directory = Directory(task_txt=None)
    task = struct.Struct("<HHIQii")
    name = files.PROGRAM.encode()
    directory.files["task"] = (
        task.pack(0xFACE, 7, 40 + len(name), 1, TID, TID)
        + struct.pack("<16s4xi", SID.encode(), len(name))
        + name
        + bytes(-len(name) % 8)
        + task.pack(0xFACE, 3, 16, 2, TID, TID)
        + task.pack(0xFACE, 6, 16, 3, TID, 102)
    )
    directory.tasks[TID] = calls(directory)
    trace = opened(directory, tmp_path)
    assert names(trace) == [b"main", b"foo", b"baz"]
    assert [process.pid for process in trace.processes] == [TID, 102]
    errors: list[TraceError] = []
    parse_binary_tasks(directory.files["task"][:-1], "<", errors.append)
    assert len(errors) == 1


# Depth


def test_frames_left_by_longjmp_end_where_the_depth_shows_it(tmp_path):
    directory = Directory()
    directory.tasks[TID] = b"".join(
        directory.record(*record)
        for record in (
            (1, ENTRY, 0, MAIN),
            (2, ENTRY, 1, FOO),
            (3, ENTRY, 2, FOO),
            (4, ENTRY, 3, BAZ),
            (5, EXIT, 1, BAR),
            (6, ENTRY, 1, BAR),
            (7, EXIT, 0, MAIN),
        )
    )
    assert [
        (ts, kind, held.get("name")) for ts, kind, _, _, held in events(opened(directory, tmp_path))
    ] == [
        (1, Kind.SLICE_BEGIN, b"main"),
        (2, Kind.SLICE_BEGIN, b"foo"),
        (3, Kind.SLICE_BEGIN, b"foo"),
        (4, Kind.SLICE_BEGIN, b"baz"),
        (5, Kind.SLICE_END, None),
        (5, Kind.SLICE_END, None),
        (5, Kind.SLICE_END, b"ns::bar"),
        (6, Kind.SLICE_BEGIN, b"ns::bar"),
        (7, Kind.SLICE_END, None),
        (7, Kind.SLICE_END, None),
    ]


def test_recursion_beyond_the_bits_of_the_depth(tmp_path):
    directory = Directory()
    depths = range(3000)
    # The recorder adds what does not fit to the address.
    directory.tasks[TID] = b"".join(
        directory.record(depth, ENTRY, depth, FOO + (depth >> 10)) for depth in depths
    ) + b"".join(
        directory.record(6000 - depth, EXIT, depth, FOO + (depth >> 10))
        for depth in reversed(depths)
    )
    found = events(opened(directory, tmp_path))
    assert len(found) == 6000
    assert all(held.get("name", b"foo") == b"foo" for *_, held in found)
    assert [kind for _, kind, *_ in found] == [Kind.SLICE_BEGIN] * 3000 + [Kind.SLICE_END] * 3000


def test_exits_whose_depth_is_one_too_many(tmp_path):
    directory = Directory()
    directory.tasks[TID] = b"".join(
        directory.record(*record)
        for record in (
            (1, ENTRY, 0, MAIN),
            (2, ENTRY, 1, FOO),
            (3, EXIT, 2, FOO),
            (4, EXIT, 1, MAIN),
        )
    )
    assert [(ts, kind, held) for ts, kind, _, _, held in events(opened(directory, tmp_path))][
        2:
    ] == [
        (3, Kind.SLICE_END, {}),
        (4, Kind.SLICE_END, {}),
    ]


def test_lost_records(tmp_path):
    directory = Directory()
    directory.tasks[TID] = (
        directory.record(1, ENTRY, 0, MAIN)
        + directory.record(2, LOST, 0, (1 << 48) - 1)
        + directory.record(3, EXIT, 4, FOO)
        + directory.record(4, EXIT, 0, MAIN)
    )
    found = events(opened(directory, tmp_path))
    assert found[1] == (2, Kind.DISCARDED, TID, -1, {"count": (1 << 48) - 1})
    assert found[2][4] == {"name": b"foo", "category": b"app"}
    assert found[3][4] == {}


# Values


def one_call(directory, tmp_path, entry=None, leave=None, address=FOO):
    directory.tasks[TID] = directory.record(1, ENTRY, 0, address, entry) + directory.record(
        2, EXIT, 0, address, leave
    )
    trace = opened(directory, tmp_path)
    assert trace.warnings == []
    return trace


@ORDERS
@LONGS
def test_values_of_every_kind(tmp_path, big_endian, bits):
    directory = Directory(
        big_endian=big_endian,
        bits=bits,
        argspec="foo@arg1,arg2/i8,arg3/u16,arg4/x32,arg5/o64,arg6/p,arg7/c,arg8/d32,arg9/t6:Point%RDI,"
        "fparg1/32,fparg2/64,fparg3/80,arg10/s,arg11/S,arg12/e:Color,arg13/i64",
        retspec="foo@retval/f32",
        enumauto="enum Color { RED, GREEN = 5, BLUE };",
    )
    long = "q" if bits == 64 else "i"
    ulong = long.upper()
    extended = struct.pack("<QH", 0xC000000000000000, 0x4000)
    if big_endian:
        extended = extended[::-1]
    entry = (
        directory.pack(long, -5)
        + directory.pack("b3xH2xIQ", -3, 65535, 0xFFFFFFFF, 1 << 63)
        + directory.pack(ulong, 0xDEADBEEF)
        + b"A\0\0\0"
        + directory.pack("i", -1)
        + b"\1\2\3\4\5\6\0\0"
        + directory.pack("fd", 1.5, -2.5)
        + extended
        + b"\0\0"
        + directory.text(b"text")
        + directory.text("한글".encode())
        + directory.pack(long, 5)
        + directory.pack("q", -(1 << 63))
    )
    trace = one_call(directory, tmp_path, entry, directory.pack("f", 0.25))
    assert payload(trace) == {
        "arg1": -5,
        "arg2": -3,
        "arg3": 65535,
        "arg4": 0xFFFFFFFF,
        "arg5": 1 << 63,
        "arg6": 0xDEADBEEF,
        "arg7": 65,
        "arg8": -1,
        "arg9": b"\1\2\3\4\5\6",
        "fparg1": 1.5,
        "fparg2": -2.5,
        "fparg3": 3.0,
        "arg10": b"text",
        "arg11": "한글".encode(),
        "arg12": 5,
        "arg13": -(1 << 63),
    }
    assert events(trace)[1][4] == {"retval": 0.25}
    assert field_types(trace, "arg4") == [IntegerClass(32, False, Style.HEXADECIMAL)]
    assert field_types(trace, "arg5") == [IntegerClass(64, False, Style.OCTAL)]
    assert field_types(trace, "arg6") == [IntegerClass(bits, False, Style.POINTER)]
    assert field_types(trace, "arg7") == [IntegerClass(8, True, Style.CHARACTER)]
    assert field_types(trace, "arg9") == [BytesClass(f"{STRUCTURE}Point")]
    assert field_types(trace, "fparg1") == [FloatClass(32)]
    assert field_types(trace, "fparg3") == [FloatClass(64)]
    assert field_types(trace, "arg10") == [StringClass()]
    assert field_types(trace, "arg12") == [
        IntegerClass(
            bits, True, labels=(Label(0, 0, "RED"), Label(5, 5, "GREEN"), Label(6, 6, "BLUE"))
        )
    ]
    roles = {item.name: item.role for one in trace.event_classes for item in one.fields}
    assert roles["retval"] is Role.RETURN
    check(trace)


@pytest.mark.parametrize("recorded", [b"NULL", b"\xff\xff\xff\xff"])
def test_null_texts(tmp_path, recorded):
    directory = Directory(argspec="foo@arg1/s")
    assert payload(one_call(directory, tmp_path, directory.text(recorded))) == {"arg1": b"NULL"}


def test_an_empty_structure_takes_no_bytes(tmp_path):
    directory = Directory(retspec="foo@retval/t0:Empty")
    assert payload(one_call(directory, tmp_path, None, b"")) == {"retval": b""}


@pytest.mark.parametrize(
    ("mantissa", "head", "expected"), [
    (0, 0, 0.0),
    (1 << 63, 0xBFFF, -1.0),
    (1 << 63, 0x7FFF, np.inf),
    (1 << 63, 0x0001, 0.0),
])  # fmt: skip
def test_80_bit_floats(tmp_path, mantissa, head, expected):
    directory = Directory(argspec="foo@fparg1/80")
    entry = struct.pack("<QHxx", mantissa, head)
    assert payload(one_call(directory, tmp_path, entry)) == {"fparg1": expected}


def test_an_80_bit_nan(tmp_path):
    directory = Directory(argspec="foo@fparg1/80")
    entry = struct.pack("<QHxx", 3 << 62, 0x7FFF)
    assert np.isnan(payload(one_call(directory, tmp_path, entry))["fparg1"])


@pytest.mark.parametrize(
    ("mantissa", "head", "rounded"), [
    (3 << 62, 0x4000, False), (1 << 63 | 1 << 11, 0x4000, False), (1 << 63 | 1 << 10, 0x4000, True),
    (1 << 63, 0x43FE, False), (1 << 63, 0x43FF, True), (1 << 63, 0x3C00, True), (0, 0, False),
])  # fmt: skip
@ORDERS
def test_80_bit_floats_that_a_double_does_not_hold(tmp_path, mantissa, head, rounded, big_endian):
    directory = Directory(argspec="foo@fparg1/80", big_endian=big_endian)
    entry = (
        struct.pack(">HQxx", head, mantissa) if big_endian else struct.pack("<QHxx", mantissa, head)
    )
    directory.tasks[TID] = directory.record(10, ENTRY, 0, FOO, entry)
    trace = opened(directory, tmp_path)
    collect(trace)
    expected = ["uftrace: 80-bit floating-point values are rounded to 64 bits"]
    assert [warning.detail for warning in trace.warnings] == (expected if rounded else [])


SOURCES = f"""# path name: /usr/bin/app
F: {MAIN:x} main
L: 7 dir/app.c
F: {FOO:x} foo
L: 3 app.c
A: @arg1/i32,arg2/s
R: @retval
"""


@pytest.mark.parametrize(
    ("srcline", "auto_args", "shown"),
    [("", False, True), ("", True, False), ("yes", True, True), ("no", False, False)],
)
def test_places_in_the_source(tmp_path, srcline, auto_args, shown):
    directory = Directory(auto_args=auto_args, argspec="foo@arg1/i32,arg2/s")
    directory.features |= Feature.DEBUG_INFO
    directory.files["app.dbg"] = SOURCES.encode()
    values = directory.pack("i", 5) + directory.text(b"text")
    directory.tasks[TID] = (
        directory.record(10, ENTRY, 0, MAIN)
        + directory.record(11, ENTRY, 1, FOO, values)
        + directory.record(12, ENTRY, 2, FOO)
        + directory.record(13, ENTRY, 3, BAZ)
        + directory.record(14, EXIT, 3, BAZ)
    )
    path = str(directory.write(tmp_path / "data"))
    trace = reader.read(open_source(path), srcline)
    held = [held for _, kind, _, _, held in events(trace) if kind is Kind.SLICE_BEGIN]
    assert [one.get("srcline") for one in held] == (
        [b"dir/app.c:7", b"app.c:3", b"app.c:3", None] if shown else [None] * 4
    )
    assert (held[1]["arg1"], held[1]["arg2"]) == (5, b"text")
    # The same by name of the option.
    with converter.open_trace(path, options={"srcline": srcline}) as again:
        assert difference(trace, again) is None


def test_an_option_that_is_no_answer(tmp_path):
    directory = Directory()
    directory.tasks[TID] = calls(directory)
    with pytest.raises(TraceError, match="srcline: expected yes or no, found maybe"):
        reader.read(open_source(str(directory.write(tmp_path / "data"))), "maybe")


@pytest.mark.parametrize(
    ("pattern", "argspec", "applies"), [
    ("regex", "^f.o$@arg1/i32", True),
    ("regex", "fo@arg1/i32", False),
    ("regex", "f(a|o)+$@arg1/i32", True),
    ("glob", "f*@arg1/i32", True),
    ("glob", "f?o@arg1/i32", True),
    ("simple", "f*@arg1/i32", False),
    ("simple", "foo@arg1/i32", True),
])  # fmt: skip
def test_patterns_of_functions(tmp_path, pattern, argspec, applies):
    directory = Directory(pattern=pattern, argspec=argspec)
    entry = directory.pack("i4x", 7) if applies else None
    assert payload(one_call(directory, tmp_path, entry)) == ({"arg1": 7} if applies else {})


def test_names_are_matched_without_arguments(tmp_path):
    directory = Directory(argspec="ns::bar@arg1/i32")
    trace = one_call(directory, tmp_path, directory.pack("i4x", 7), address=BAR)
    assert payload(trace) == {"arg1": 7}


@pytest.mark.parametrize(
    ("argspec", "expected"), [
    # An exact name stands against a pattern, of two equals the later one does; values are in the order of
    # their specifications.
    ("foo@arg1/i32;^f@arg1/i64", {"arg1": 1}),
    ("^f@arg1/i64;foo@arg1/i32", {"arg1": 1}),
    ("foo@arg1/i64;foo@arg1/i32", {"arg1": 1}),
    ("foo@arg2/i32,arg1/i32", {"arg2": 1, "arg1": 2}),
])  # fmt: skip
def test_precedence_of_specifications(tmp_path, argspec, expected):
    directory = Directory(argspec=argspec)
    assert payload(one_call(directory, tmp_path, directory.pack("ii", 1, 2))) == expected


DBG = (
    f"# path name: {files.PROGRAM}\nE: enum Kind {{A,B=4}}\nF: {FOO:x} foo\nL: 12 foo.c\n"
    "A: @arg1/i8,arg2/e:Kind\nR: @retval/i8\n"
)


@pytest.mark.parametrize(
    ("user", "debug", "table", "expected"), [
    (True, True, True, {"arg1": 1}),
    (False, True, True, {"arg1": 1, "arg2": 4}),
    (False, False, True, {"arg1": 0x400000001}),
])  # fmt: skip
def test_precedence_of_user_debug_info_and_table(tmp_path, user, debug, table, expected):
    directory = Directory(
        argspec="foo@arg1/i32" if user else "",
        argauto="foo@arg1/u" if table else "",
        auto_args=True,
    )
    directory.features |= Feature.AUTO_ARGS
    if debug:
        directory.features |= Feature.DEBUG_INFO
        directory.files["app.dbg"] = DBG.encode()
    entry = directory.pack("b3xi4x", 1, 4) if debug and not user else directory.pack("ii", 1, 4)
    trace = one_call(directory, tmp_path, entry)
    assert payload(trace) == expected
    if "arg2" in expected:
        # Also of an enumeration the bytes are those of a long.
        assert field_types(trace, "arg2")[0].labels == (Label(0, 0, "A"), Label(4, 4, "B"))


def test_tables_are_by_demangled_name(tmp_path):
    directory = Directory(
        argauto="_ZN2ns3barEi@arg1/i32", retauto="ns::bar@retval/i32", auto_args=True
    )
    trace = one_call(directory, tmp_path, directory.pack("i4x", 7), directory.pack("i4x", 8), BAR)
    assert payload(trace) == {"arg1": 7}
    assert events(trace)[1][4] == {"retval": 8}


@pytest.mark.parametrize(
    "text", ["arg1/q", "arg1/i7", "fparg1/16", "arg/i", "", "retval/e:", "arg1/t"]
)
def test_what_is_no_specification(text):
    with pytest.raises(SpecificationError):
        parse_specification(text, 8)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"), [
    ("^a{2,3}$", "aaa", True), ("^a{2,3}$", "aaaa", False), ("^a{2,}$", "a" * 9, True), ("a{0}b", "b", True),
    ("[[:digit:]_]x", "a7x", True), ("[^a-c]", "abc", False), ("[]x]", "]", True), ("(ab|c)*$", "abc", True),
    (r"\.", "a.b", True), ("^$", "", True), ("x?y+", "y", True), ("[a-]", "-", True),
    ("^(a+)+$", "a" * 99 + "b", False),
])  # fmt: skip
def test_extended_regular_expressions(pattern, text, matches):
    assert compile_extended(pattern)(text) is matches


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "a**",
        "*",
        "[a",
        "a{x}",
        "a{99999}",
        "[[:nope:]]",
        "\\",
        "(" * 999,
        "(((a{60}){60}){60})",
    ],
)
def test_what_is_no_regular_expression(pattern):
    with pytest.raises(PatternError):
        compile_extended(pattern)


@pytest.mark.parametrize(
    ("mangled", "name"), [
    ("main", "main"),
    ("_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE8capacityEv", "std::__cxx11::basic_string::capacity"),
    ("_ZSt17__throw_bad_allocv", "std::__throw_bad_alloc"),
    ("_ZNSaIcED2Ev", "std::allocator::~allocator"),
    ("_ZNSt6thread6_StateD2Ev", "std::thread::_State::~_State"),
    ("_Znwm", "operator new"),
    ("_ZdaPv", "operator delete[]"),
    ("_ZSteqNSt6thread2idES0_", "std::operator=="),
    ("_ZL2jb", "jb"),
    ("_ZNSt15__uniq_ptr_dataINSt6thread6_StateESt14default_deleteIS1_ELb1ELb1EECI1St15__uniq_ptr_implIS1_S3_EEPS1_",
     "std::__uniq_ptr_data::__uniq_ptr_data"),
    ("_ZN3foo3bar17h0123456789abcdefE", "foo::bar"),
    ("_ZN11$LT$foo$GT$4$u7e17h0123456789abcdefE", "<foo>::$u7e"),
    ("_ZN9a$u20$b..4$C$c17h0123456789abcdefE", "a b::::,c"),
    ("_ZN7$ud800$1a17h0123456789abcdefE", "$ud800$::a"),
    ("_ZN2\N{GREEK SMALL LETTER BETA}3bar17h0123456789abcdefE", "\N{GREEK SMALL LETTER BETA}::bar"),
    ("_ZN1\udcff3barEv", "\udcff::bar"),
    ("_ZTV3foo", "_ZTV3foo"),
    ("_ZN3foo", "_ZN3foo"),
    ("_Z" + "N" * 5000, "_Z" + "N" * 5000),
])  # fmt: skip
def test_demangled_names(mangled, name):
    assert demangled(mangled) == name


# Events


@ORDERS
def test_values_read_at_functions(tmp_path, big_endian):
    directory = Directory(big_endian=big_endian)
    directory.tasks[TID] = (
        directory.event(1, EventId.READ_PROC_STATM, directory.pack("QQQ", 1, 2, 3))
        + directory.event(2, EventId.DIFF_PAGE_FAULT, directory.pack("qq", -1, 2))
        + directory.event(3, EventId.WATCH_CPU, directory.pack("i", 5))
        + directory.event(4, EventId.WATCH_VAR, directory.pack("QI", BASE + FOO, 77))
        + directory.event(5, EventId.READ_PMU_CYCLE, directory.pack("QQ", 8, 9))
    )
    trace = opened(directory, tmp_path)
    assert [(kind, tid, held) for _, kind, tid, _, held in events(trace)] == [
        (Kind.COUNTER, TID, {"name": b"proc/statm", "category": b"read", "vmsize": 1, "vmrss": 2, "shared": 3}),
        (Kind.COUNTER, TID, {"name": b"page-fault", "category": b"diff", "major": -1, "minor": 2}),
        (Kind.COUNTER, TID, {"name": b"cpu", "category": b"watch", "cpu": 5}),
        (Kind.COUNTER, TID, {"name": b"foo", "category": b"watch", "value": 77}),
        (Kind.COUNTER, TID, {"name": b"pmu-cycle", "category": b"read", "cycles": 8, "instructions": 9}),
    ]  # fmt: skip
    assert all(
        item.role is Role.VALUE
        for one in trace.event_classes
        if one.kind is Kind.COUNTER
        for item in one.fields[2:]
    )
    check(trace)


def test_user_events_and_events_that_nothing_describes(tmp_path):
    directory = Directory()
    directory.files["events.txt"] = b"EVENT: 1000000 prov:one: two\nnonsense\n"
    unknown = directory.event(3, 777, b"abc")
    directory.tasks[TID] = (
        directory.event(1, 1_000_000)
        + directory.event(2, 1_000_000, b"data")
        + unknown
        + directory.event(4, EventId.READ_PROC_STATM, b"short")
        + directory.event(5, EventId.WATCH_VAR)
    )
    trace = opened(directory, tmp_path)
    found = [(kind, held) for _, kind, _, _, held in events(trace)]
    user = {"name": b"one: two", "category": b"prov"}
    assert found[:3] == [
        (Kind.INSTANT, user),
        (Kind.INSTANT, {**user, "data": b"data"}),
        (Kind.NATIVE, {"payload": unknown}),
    ]
    assert [kind for kind, _ in found[3:]] == [Kind.NATIVE, Kind.NATIVE]
    assert [str(warning) for warning in trace.warnings] == [
        f"{tmp_path / 'data'}/events.txt: uftrace: event: expected EVENT: id provider:name, found b'nonsense'"
    ]


@ORDERS
def test_perf_records(tmp_path, big_endian):
    directory = Directory(big_endian=big_endian)
    directory.tasks[TID] = calls(directory)
    life = directory.pack("iiii", TID, TID, 101, TID)
    directory.files["perf-cpu3.dat"] = (
        directory.perf(14, 0, directory.pack("iiQ", TID, TID, 11))
        + directory.perf(14, 0x2000, directory.pack("iiQ", TID, TID, 12))
        + directory.perf(14, 0x6000, directory.pack("iiQ", TID, TID, 13))
        + directory.perf(7, 0, life + directory.pack("Q", 14) + bytes(16))
        + directory.perf(1, 0, bytes(16))
        + directory.perf(3, 0, directory.pack("ii8siiQ", TID, 101, b"worker", TID, 101, 15))
        + directory.perf(4, 0, life + directory.pack("Q", 16) + bytes(16))
    )
    trace = opened(directory, tmp_path)
    found = [event for event in events(trace) if event[3] == 3]
    common = {"pid": TID, "parent_pid": TID, "tid": 101, "parent_tid": TID}
    assert found == [
        (11, Kind.SCHED_SWITCH, None, 3, {"prev_tid": 0, "next_tid": TID, "prev_state": 0}),
        (12, Kind.SCHED_SWITCH, None, 3, {"prev_tid": TID, "next_tid": 0, "prev_state": 1}),
        (13, Kind.SCHED_SWITCH, None, 3, {"prev_tid": TID, "next_tid": 0, "prev_state": 0}),
        (14, Kind.TASK_NEW, TID, 3, common),
        (15, Kind.TASK_RENAME, 101, 3, {"pid": TID, "tid": 101, "comm": b"worker"}),
        (16, Kind.TASK_EXIT, 101, 3, common),
    ]
    assert [(thread.tid, thread.process, thread.name) for thread in trace.threads] == [
        (TID, 0, "app"),
        (101, 0, "worker"),
    ]
    check(trace)


def test_external_data(tmp_path):
    directory = Directory()
    directory.tasks[TID] = calls(directory, 1_500_000_000)
    directory.files["extern.dat"] = (
        b"# comment\n1.000000001 first message\n\n2.5 second\nnonsense\n3.0 last"
    )
    trace = opened(directory, tmp_path)
    assert [event for event in events(trace) if event[1] is Kind.LOG] == [
        (1_000_000_001, Kind.LOG, None, -1, {"message": b"first message"}),
        (2_500_000_000, Kind.LOG, None, -1, {"message": b"second"}),
        (3_000_000_000, Kind.LOG, None, -1, {"message": b"last"}),
    ]
    assert len(trace.warnings) == 1
    assert trace.warnings[0].offset == 48
    check(trace)


def kernel_header(kernel, formats=FORMATS):
    blocks = [("events/header_page", b"whatever")]
    blocks += [("events/ftrace/x/format", text) for text in FTRACE_FORMATS]
    for system, texts in formats.items():
        blocks += [(f"events/{system}/x/format", text) for text in texts]
    return (
        f"PAGE_SIZE: {kernel.page_size}\nLONG_SIZE: {kernel.long_size}\n".encode()
        + (b"ENDIAN: BE\n" if kernel.big_endian else b"ENDIAN: LE\n")
        + b"".join(f"TRACEFS: {name}: {len(text)}\n".encode() + text for name, text in blocks)
    )


@ORDERS
def test_kernel_records(tmp_path, big_endian):
    kernel = Kernel(big_endian=big_endian)
    directory = Directory(big_endian=big_endian)
    directory.tasks[TID] = calls(directory)
    directory.files["kernel_header"] = kernel_header(kernel)
    directory.files["kallsyms"] = b"ffffffff81000000 T first\nffffffff81001000 T second\n"
    directory.files["kernel-cpu1.dat"] = kernel.page(
        11,
        kernel.record(0, kernel.slice(TID, 5)),
        kernel.record(2, kernel.switch(TID, b"app", 300, b"other")),
    ) + kernel.page(20, kernel.record(1, kernel.marker(TID, b"hello")), missed=4)
    directory.files["kernel-cpu0.dat"] = b""
    trace = opened(directory, tmp_path)
    found = [event for event in events(trace) if event[3] == 1]
    assert [(ts, kind, tid) for ts, kind, tid, _, _ in found] == [
        (11, Kind.TYPED, TID),
        (13, Kind.SCHED_SWITCH, TID),
        (20, Kind.DISCARDED, None),
        (21, Kind.MARK, TID),
    ]
    assert found[0][4]["dur"] == 5
    assert found[1][4]["next_comm"] == b"other"
    assert [event[0] for event in events(trace)] == [10, 11, 11, 12, 13, 13, 14, 15, 20, 21]
    assert trace.symbols is not None
    assert trace.symbols.lookup(0xFFFFFFFF81000010) == (b"first", 16)
    check(trace)


def test_a_recording_of_the_kernel_alone(tmp_path):
    kernel = Kernel()
    directory = Directory(tids=[], task_txt="")
    directory.files["kernel_header"] = kernel_header(kernel)
    directory.files["kernel-cpu0.dat"] = kernel.page(5, kernel.record(0, kernel.slice(7, 1)))
    trace = opened(directory, tmp_path)
    assert [(ts, tid) for ts, _, tid, _, _ in events(trace)] == [(5, 7)]


# Whole recordings


def test_a_recording_is_read_alike_each_time():
    trace = reader.read(open_source(str(RICH)))
    check(trace)
    first = canonical(collect(trace))
    assert canonical(collect(trace)) == first
    assert trace.warnings == []
    assert [(thread.tid, thread.name) for thread in trace.threads] == [
        (718, "rich"),
        (723, "rich"),
        (724, "rich"),
    ]
    assert {b"plug", b"longjmp", b"execv", b"worker"} <= set(names(trace))


def test_files_larger_than_windows_and_batches(tmp_path):
    """Records of two tasks in turn: values are found whatever window they are in."""
    count = 90_000
    directory = Directory(argspec="foo@arg1/s")
    for place, tid in enumerate((TID, 101)):
        entry = int.from_bytes(directory.record(0, ENTRY, 0, FOO, b"")[8:], "little")
        leave = int.from_bytes(directory.record(0, EXIT, 0, FOO)[8:], "little")
        calls_ = np.zeros(
            count,
            "<u8, <u8, <u2, S6, <u8, <u8",
        )
        times = 10 + 4 * np.arange(count) + place
        for name, column in zip(
            calls_.dtype.names,
            (times, entry, 6, [b"%06d" % i for i in range(count)], times + 2, leave),
            strict=True,
        ):
            calls_[name] = column
        directory.tasks[tid] = calls_.tobytes()
    directory.task_txt += f"TASK timestamp=0.000000003 tid=101 pid={TID}\n"
    trace = opened(directory, tmp_path)
    texts = {0: [], 1: []}
    times = []
    for batch in trace.batches():
        times.append(batch.ts)
        for id, table in batch.tables.items():
            if trace.event_classes[id].kind is Kind.SLICE_BEGIN and len(table):
                column = table.column(2)
                held = np.split(column.values, column.offsets[1:-1])
                threads = np.empty(len(table), np.int32)
                chosen = batch.class_id == id
                threads[batch.row[chosen]] = batch.thread[chosen]
                for thread, text in zip(threads.tolist(), held, strict=True):
                    texts[thread].append(text.tobytes())
    assert len(times) > 2
    assert np.array_equal(np.concatenate(times), 10 + np.arange(4 * count))
    expected = [b"%06d" % i for i in range(count)]
    assert texts == {0: expected, 1: expected}


def test_a_recording_is_recognised_and_converted(tmp_path):
    target = tmp_path / "rich.json"
    converter.convert(str(RICH), str(target))
    assert b'"plug"' in target.read_bytes()


@oracle.needs_uftrace
def test_a_recording_has_the_records_that_uftrace_prints():
    assert oracle.compare(reader.read(open_source(str(RICH))), RICH) == 91


PROGRAM = r"""
#include <setjmp.h>
#include <pthread.h>
static jmp_buf env;
long mixed(char c, short s, unsigned u, const char *t, float f, double d, void *p) { return c + s + u; }
void deep(int n) { if (n) deep(n - 1); }
void leave(int v) { longjmp(env, v); }
int jump(void) { if (setjmp(env) == 0) leave(3); return 1; }
void *work(void *p) { mixed('x', -2, 3, "text", 1.5f, 2.5, p); return 0; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, work, &t);
  mixed('\n', 32767, ~0u, "a longer text, with \"quotes\"", -0.0f, 1e300, 0);
  jump(); deep(1500); jump();
  pthread_join(t, 0);
  return 0;
}
"""


@oracle.needs_uftrace
def test_a_program_recorded_now(tmp_path):
    (tmp_path / "app.c").write_text(PROGRAM)
    oracle.run("gcc", "-pg", "-O0", "-o", "app", "app.c", "-lpthread", cwd=tmp_path)
    specification = "mixed@arg2/i16,arg1/c,arg3/u32,arg4/s,fparg1/32,fparg2/64,arg5/p,retval"
    command = (
        "uftrace",
        "record",
        "-d",
        "data",
        "--max-stack=3000",
        "-A",
        specification,
        "-R",
        "mixed@retval",
    )
    oracle.run(*command, "./app", cwd=tmp_path)
    data = tmp_path / "data"
    assert oracle.compare(reader.read(open_source(str(data))), data) > 2000
