"""The task, program, symbol and depth that uftrace's records of functions belong to."""

from __future__ import annotations

import pytest
from support.uftrace.files import (
    BAR,
    BASE,
    BAZ,
    ENTRY,
    EXIT,
    FOO,
    MAIN,
    SID,
    TID,
    Directory,
    calls,
    events,
    names,
    opened,
    with_binary_task_file,
)

from converter.errors import TraceError
from converter.formats.uftrace.layout import Feature
from converter.formats.uftrace.task_sessions import parse_binary_tasks
from converter.ir.kinds import Kind

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


def test_a_library_at_the_end_of_memory(tmp_path):
    directory = Directory()
    directory.task_txt += (
        f'DLOP timestamp=0.000000020 tid={TID} sid={SID} base=ffffffffffffffff libname="none.so"\n'
    )
    directory.tasks[TID] = directory.record(30, ENTRY, 0, MAIN)
    assert names(opened(directory, tmp_path)) == [b"main"]


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
    directory = with_binary_task_file()
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


@pytest.mark.parametrize("room", [None, 1, 2])
def test_a_task_that_exits_leaves_the_functions_that_it_is_in(tmp_path, room, monkeypatch):
    directory = Directory()
    directory.tasks[TID] = b"".join(
        directory.record(*record) for record in ((1, ENTRY, 0, MAIN), (9, EXIT, 0, MAIN))
    )
    directory.tasks[101] = b"".join(
        directory.record(*record)
        for record in ((2, ENTRY, 0, MAIN), (3, ENTRY, 1, FOO), (4, EXIT, 1, FOO))
    )
    directory.tasks[102] = directory.record(2, ENTRY, 0, MAIN) + directory.record(8, ENTRY, 1, FOO)
    directory.files["perf-cpu0.dat"] = b"".join(
        directory.perf(4, 0, directory.pack("iiiiQ", tid, TID, tid, TID, 6) + bytes(16))
        for tid in (101, 102, 101)
    )
    trace = opened(directory, tmp_path)
    if room is not None:
        monkeypatch.setattr("converter.ir.trace._LEAST_BATCH", room)
        trace.readers = 1 << 20
    assert [
        (ts, kind, tid) for ts, kind, tid, _, _ in events(trace) if kind is not Kind.SLICE_BEGIN
    ] == [
        (4, Kind.SLICE_END, 101),
        (6, Kind.SLICE_END, 101),
        (6, Kind.TASK_EXIT, 101),
        (6, Kind.TASK_EXIT, 102),
        (6, Kind.TASK_EXIT, 101),
        (9, Kind.SLICE_END, TID),
    ]


# Python programs: the addresses of functions are numbers, which no map names.


def python_recording(count=3, **more):
    directory = Directory(**more)
    lines = [f"{number:016x} T f{number}\n" for number in range(1, count + 1)]
    directory.symbols["python.fake"] = (
        f"# symbols: {count}\n# path name: python.fake\n#      \n"
        + "".join(lines).replace("f1\n", "__main__.<module>\n", 1)
        + f"{count + 1:016x} ? __sym_end\n"
    )
    calls = [(1, ENTRY, 0, 1), (2, ENTRY, 1, count), (3, EXIT, 1, count), (4, ENTRY, 1, count + 1)]
    directory.tasks[TID] = b"".join(
        directory.pack("QQ", ts, kind | 5 << 3 | depth << 6 | address << 16)
        for ts, kind, depth, address in calls
    )
    return directory


@pytest.mark.parametrize("count", [2, 4095, 4096, 4097])
@pytest.mark.parametrize("sessions", [0, 1, 2])
def test_functions_of_python_programs_have_names(tmp_path, count, sessions):
    directory = python_recording(count)
    if not sessions:
        directory.maps = {}
    if sessions == 2:
        directory.task_txt += f'SESS timestamp=0.000000001 pid={TID} sid={"f" * 16} exename="/x"\n'
        directory.maps["f" * 16] = directory.maps[SID]
    trace = opened(directory, tmp_path)
    assert names(trace) == [b"__main__.<module>", b"f%d" % count, b"<%x>" % (count + 1)]
    assert [held["category"] for *_, held in events(trace)[:2]] == [b"python.fake"] * 2


def test_functions_of_python_come_before_what_is_mapped_at_the_same_addresses(tmp_path):
    directory = python_recording()
    directory.maps[SID] += "0-9000 r-xp 00000000 00:00 0   /usr/bin/low\n"
    directory.symbols["low"] = f"{0:016x} T low\n{0x9000:016x} ? __sym_end\n"
    assert names(opened(directory, tmp_path))[:2] == [b"__main__.<module>", b"f3"]


@pytest.mark.parametrize("text", [b"", b"# symbols: 0\n", b"nonsense\n", b"ffffffffffffffff T f\n"])
def test_a_python_program_without_symbols(tmp_path, text):
    directory = python_recording()
    directory.symbols.pop("python.fake")
    directory.files["python.fake.sym"] = text
    assert names(opened(directory, tmp_path)) == [b"<1>", b"<3>", b"<4>"]


def test_functions_of_python_have_places_in_the_source(tmp_path):
    directory = python_recording()
    directory.files["python.fake.dbg"] = (
        b"F: 1 __main__.<module>\nL: 1 /a.py\nF: 3 f3\nL: 7 /a.py\n"
    )
    assert not directory.features & Feature.DEBUG_INFO
    trace = opened(directory, tmp_path)
    placed = [
        held.get("srcline") for _, kind, _, _, held in events(trace) if kind is Kind.SLICE_BEGIN
    ]
    assert placed == [b"/a.py:1", b"/a.py:7", None]
