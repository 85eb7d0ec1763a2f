"""Damaged data directories: the good part is delivered with a warning, or there is a TraceError, and nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from random import Random

import pytest
from support.trace_cmd.files import Kernel
from support.uftrace.files import BASE, ENTRY, EXIT, FOO, MAIN, SID, TID, Directory, calls

from converter.errors import TraceError
from converter.formats.uftrace.layout import Feature
from converter.formats.uftrace.reading import reader
from converter.ir.collect import collect
from converter.ir.invariants import check
from converter.ir.kinds import Kind
from converter.storage.opening import open_source

RICH = Path(__file__).parents[3] / "roundtrip_fixtures" / "uftrace" / "rich"


def whole(*, argspec="foo@arg1/s,arg2/i32", **changes):
    """A directory with every kind of file."""
    directory = Directory(
        argspec=argspec,
        features=Feature.TASK_SESSION | Feature.SYM_REL_ADDR | Feature.DEBUG_INFO,
        **changes,
    )
    directory.tasks[TID] = (
        directory.record(1, ENTRY, 0, MAIN)
        + directory.record(2, ENTRY, 1, FOO, directory.text(b"hello") + directory.pack("i", 5))
        + directory.record(3, EXIT, 1, FOO)
        + directory.event(4, 100_001, directory.pack("QQQ", 1, 2, 3))
        + directory.record(5, EXIT, 0, MAIN)
    )
    directory.files["app.dbg"] = f"# path name: x\nF: {MAIN:x} main\nA: @arg1\n".encode()
    directory.files["events.txt"] = b"EVENT: 1000000 a:b\n"
    directory.files["perf-cpu0.dat"] = directory.perf(14, 0, directory.pack("iiQ", TID, TID, 3)) * 3
    directory.files["extern.dat"] = b"0.000000002 text\n"
    directory.files["kernel-cpu0.dat"] = Kernel().page(
        5, Kernel().record(0, Kernel().slice(TID, 1))
    )
    directory.files["kernel_header"] = b"PAGE_SIZE: 4096\nLONG_SIZE: 8\nENDIAN: LE\n"
    return directory


def opened(directory, tmp_path):
    return reader.read(open_source(str(directory.write(tmp_path / "data"))))


def outcome(path):
    """How many events there are and the warnings, or the error."""
    try:
        trace = reader.read(open_source(str(path)))
        check(trace)
        return sum(map(len, collect(trace).batches())), trace.warnings
    except TraceError as error:
        return error, []


def warnings_of(trace):
    """The warnings once everything was read, without the directory's path."""
    check(trace)
    return [warning.detail for warning in trace.warnings]


def kinds(trace):
    return [
        trace.event_classes[number].kind
        for batch in trace.batches()
        for number in batch.class_id.tolist()
    ]


def test_a_whole_directory(tmp_path):
    count, warnings = outcome(whole().write(tmp_path / "data"))
    assert (count, warnings) == (10, [])


# `info`


def test_without_info(tmp_path):
    path = whole().write(tmp_path / "data")
    (path / "info").unlink()
    error, _ = outcome(path)
    assert isinstance(error, TraceError)
    assert error.format == "uftrace"


@pytest.mark.parametrize(
    ("offset", "value", "field"), [
    (0, b"x", "info.magic"), (8, b"\2", "info.version"), (12, b"\1\0", "info.header_size"),
    (14, b"\3", "info.endian"), (15, b"\0", "info.class"),
])  # fmt: skip
def test_a_header_that_makes_no_sense(tmp_path, offset, value, field):
    path = whole().write(tmp_path / "data")
    data = bytearray((path / "info").read_bytes())
    data[offset : offset + len(value)] = value
    (path / "info").write_bytes(data)
    error, _ = outcome(path)
    assert isinstance(error, TraceError)
    assert error.field == field
    assert error.offset == offset


@pytest.mark.parametrize("size", [0, 7, 39])
def test_a_header_that_is_cut_off(tmp_path, size):
    path = whole().write(tmp_path / "data")
    (path / "info").write_bytes((path / "info").read_bytes()[:size])
    error, _ = outcome(path)
    assert isinstance(error, TraceError)
    assert error.field == "info"


@pytest.mark.parametrize(
    ("line", "message"), [
    ("nonsense", "offset 0x9c: info: expected key:value, found 'nonsense'"),
    ("exit_status:x", "info.exit_status: not a number: 'x'"),
    ("taskinfo:tids=1,x", "info.taskinfo: not a number: 'x'"),
    ("taskinfo:nonsense", "info.taskinfo: a line of a group is name=value"),
    ("utc_offset:99999999999999", "info.utc_offset: not an offset to 1970"),
])  # fmt: skip
def test_a_line_that_makes_no_sense(tmp_path, line, message):
    trace = opened(whole(lines=[line]), tmp_path)
    found = warnings_of(trace)
    assert len(found) == 1
    assert found[0].endswith(message)
    assert kinds(trace).count(Kind.SLICE_BEGIN) == 2


def test_a_task_without_a_file(tmp_path):
    trace = opened(whole(tids=[TID, 101]), tmp_path)
    assert warnings_of(trace) == ["uftrace: 101.dat: the file of a task is missing"]


# task.txt, maps, symbols


def test_without_task_txt(tmp_path):
    trace = opened(whole(task_txt=None, argspec=""), tmp_path)
    assert any("there is no task.txt" in text for text in warnings_of(trace))
    assert Kind.SLICE_BEGIN in kinds(trace)


@pytest.mark.parametrize("line", [
    'SESS timestamp=1.000000000 pid=x sid=0123456789abcdef exename="a"',
    'SESS timestamp=1.000000000 pid=1 sid=../../etc/passwd exename="a"',
    "TASK timestamp=1.000000000 tid=1",
    "FORK timestamp=1 pid=1 ppid=2",
    'DLOP timestamp=1.000000000 tid=1 sid=0123456789abcdef base=xyz libname="a"',
    "nonsense",
])  # fmt: skip
def test_a_line_of_task_txt_that_makes_no_sense(tmp_path, line):
    directory = whole()
    directory.task_txt += line + "\n"
    trace = opened(directory, tmp_path)
    assert len(warnings_of(trace)) == 1
    assert trace.warnings[0].field == "task"
    assert trace.warnings[0].offset == len(directory.task_txt) - len(line) - 1
    assert kinds(trace).count(Kind.SLICE_BEGIN) == 2


def test_forks_in_a_circle(tmp_path):
    directory = whole(argspec="")
    directory.tasks = {TID: calls(directory)}
    directory.task_txt = "".join(
        f"FORK timestamp=0.000000001 pid={pid} ppid={parent}\n"
        for pid, parent in ((TID, 101), (101, TID))
    )
    trace = opened(directory, tmp_path)
    assert kinds(trace).count(Kind.SLICE_BEGIN) == 3


def test_without_a_map(tmp_path):
    directory = whole(maps={})
    directory.tasks = {TID: calls(directory)}
    trace = opened(directory, tmp_path)
    assert warnings_of(trace) == ["uftrace: map: there is no map: functions are addresses"]
    assert trace.strings.intern(b"<%x>" % (BASE + MAIN + 4)) < len(trace.strings) - 1


def test_a_map_that_makes_no_sense(tmp_path):
    directory = whole()
    directory.maps[SID] = "nonsense\n9-1 r-xp 0 0 0 /x\n" + directory.maps[SID]
    trace = opened(directory, tmp_path)
    assert warnings_of(trace) == ["uftrace: map: 2 lines are no mappings"]
    assert kinds(trace).count(Kind.SLICE_BEGIN) == 2


@pytest.mark.parametrize("line", ["nonsense", "T main", "0000000000001000app", "1000 T"])
def test_symbols_that_make_no_sense(tmp_path, line):
    symbols = whole().symbols["app"]
    directory = whole(symbols={"app": f"{line}\n{symbols}{line}\n"})
    directory.tasks = {TID: calls(directory)}
    trace = opened(directory, tmp_path)
    assert warnings_of(trace) == ["uftrace: symbols: 2 lines are no symbols"]
    assert kinds(trace).count(Kind.SLICE_BEGIN) == 3
    assert trace.strings.intern(b"main") < len(trace.strings) - 1


def test_links_that_lead_out_of_the_directory(tmp_path):
    path = whole().write(tmp_path / "data")
    (tmp_path / "secret").write_bytes(b"1000 T secret\n")
    for name in ("app.sym", "perf-cpu0.dat", "events.txt"):
        (path / name).unlink()
        os.symlink(tmp_path / "secret", path / name)
    count, warnings = outcome(path)
    assert isinstance(count, int)
    assert sum("inside the directory" in str(warning) for warning in warnings) == 3


# Specifications


@pytest.mark.parametrize(
    "argspec", ["foo@arg1/q", "(foo@arg1", "foo@arg1/i7;bar@fparg1/16", "f" * 9 + "(" * 9 + "@arg1"]
)
def test_a_specification_that_is_none(tmp_path, argspec):
    directory = whole()
    directory.argspec = argspec
    trace = opened(directory, tmp_path)
    found = warnings_of(trace)
    assert any("info.argspec" in text for text in found)
    # The values that it would have described are of unknown size.
    assert any("without a specification" in text for text in found)
    assert kinds(trace).count(Kind.SLICE_BEGIN) == 1


@pytest.mark.parametrize(
    "argspec", ["foo@arg1/i32", "foo@arg1/s,arg2/i64,arg3/i64", "foo@arg1/t900"]
)
def test_a_specification_that_does_not_match(tmp_path, argspec):
    directory = whole()
    directory.argspec = argspec
    trace = opened(directory, tmp_path)
    assert len(warnings_of(trace)) == 1
    assert trace.warnings[0].path.endswith(f"{TID}.dat")
    assert Kind.SLICE_BEGIN in kinds(trace)
    # Other files are read to their end.
    assert kinds(trace).count(Kind.SCHED_SWITCH) == 3


def test_values_without_a_specification(tmp_path):
    directory = whole()
    directory.argspec = ""
    trace = opened(directory, tmp_path)
    (warning,) = warnings_of(trace)
    assert warning.startswith("uftrace: offset 0x10: values of a function without a specification")
    assert warning.endswith("their size is not known; records go on at 0x30")


# Records


@pytest.mark.parametrize("size", range(1, 128, 6))
def test_a_task_file_that_is_cut_off(tmp_path, size):
    directory = whole()
    data = directory.tasks[TID][:-size]
    directory.tasks[TID] = data
    trace = opened(directory, tmp_path)
    found = warnings_of(trace)
    last = max(start for start in (0, 16, 48, 64, 112) if start <= len(data))
    expected = f"uftrace: offset 0x{last:x}: the file ends within a record"
    assert found == ([] if last == len(data) else [expected])


def test_a_record_without_its_magic_number(tmp_path):
    directory = whole()
    data = bytearray(directory.tasks[TID])
    data[48 + 8] ^= 8
    directory.tasks[TID] = bytes(data)
    trace = opened(directory, tmp_path)
    assert warnings_of(trace) == [
        "uftrace: offset 0x30: record.magic: records go on at 0x40: expected 5, found something else"
    ]
    assert kinds(trace).count(Kind.SLICE_BEGIN) == 2
    assert kinds(trace).count(Kind.SLICE_END) == 2


@pytest.mark.parametrize("size", [8, 40, 1032])
@pytest.mark.parametrize("filling", [b"", b"\0", b"\x97"])
@pytest.mark.parametrize("values", [False, True])
def test_records_behind_a_hole_are_read(tmp_path, size, filling, values):
    directory = whole()
    directory.files = {}
    text = directory.text(b"hello") + directory.pack("i", 5) if values else None
    times = range(10, 400, 2)
    records = [
        directory.record(time, ENTRY, 0, FOO, text) + directory.record(time + 1, EXIT, 0, FOO)
        for time in times
    ]
    data = b"".join(records)
    start = 60 * len(records[0]) + 8
    directory.tasks[TID] = data[:start] + filling * size + data[start + size :]
    trace = opened(directory, tmp_path)
    found = {ts for batch in trace.batches() for ts in batch.ts.tolist()}
    behind = 60 + (8 + size) // len(records[0]) + 1
    expected = {time + one for time in [*times[:60], *times[behind + 1 :]] for one in (0, 1)}
    assert found >= expected
    assert trace.warnings


def test_a_time_beyond_63_bits(tmp_path):
    directory = whole()
    directory.tasks[TID] += directory.record(1 << 63, ENTRY, 0, MAIN)
    trace = opened(directory, tmp_path)
    assert "record.time" in warnings_of(trace)[0]


def test_the_last_time_that_there_is(tmp_path):
    directory = whole()
    directory.task_txt += f'SESS timestamp=0.000000004 pid={TID} sid={"f" * 16} exename="a"\n'
    directory.maps["f" * 16] = directory.maps[SID]
    directory.tasks[TID] += directory.record((1 << 63) - 1, ENTRY, 0, MAIN)
    trace = opened(directory, tmp_path)
    assert max(int(batch.ts.max()) for batch in trace.batches()) == (1 << 63) - 1


def test_nothing_that_is_usable(tmp_path):
    directory = Directory(tasks={TID: b"x" * 64})
    error, _ = outcome(directory.write(tmp_path / "data"))
    assert isinstance(error, TraceError)
    assert error.field == "record.magic"


def test_a_directory_without_records(tmp_path):
    error, _ = outcome(Directory(tids=[]).write(tmp_path / "data"))
    assert isinstance(error, TraceError)
    assert "no records" in str(error)


@pytest.mark.parametrize("depth", [0, 1, 511, 512, 1022, 1023])
def test_an_exit_at_any_depth_in_front_of_all_entries(tmp_path, depth):
    directory = Directory()
    directory.tasks[TID] = directory.record(1, EXIT, depth, MAIN) * 3
    trace = opened(directory, tmp_path)
    assert warnings_of(trace) == []
    assert kinds(trace) == [Kind.SLICE_END] * 3


def test_frames_without_end(tmp_path):
    directory = Directory()
    entry = directory.record(1, ENTRY, 1023, MAIN)
    directory.tasks[TID] = entry * 5000
    trace = opened(directory, tmp_path)
    assert kinds(trace).count(Kind.SLICE_BEGIN) == 5000


@pytest.mark.parametrize(("name", "cut"), [("perf-cpu0.dat", 5), ("perf-cpu0.dat", 20)])
def test_a_perf_file_that_is_cut_off(tmp_path, name, cut):
    directory = whole()
    directory.files[name] = directory.files[name][:-cut]
    trace = opened(directory, tmp_path)
    assert kinds(trace).count(Kind.SCHED_SWITCH) == 2
    assert len(warnings_of(trace)) == 1


def test_a_perf_record_that_is_too_short(tmp_path):
    directory = whole()
    directory.files["perf-cpu0.dat"] += directory.perf(14, 0, b"")
    trace = opened(directory, tmp_path)
    assert kinds(trace).count(Kind.SCHED_SWITCH) == 3
    assert len(warnings_of(trace)) == 1


@pytest.mark.parametrize("header", [
    b"nonsense", b"PAGE_SIZE: x\n", b"PAGE_SIZE: 1\n", b"LONG_SIZE: 5\n", b"TRACEFS: events/header_page: 99\nshort",
])  # fmt: skip
def test_a_kernel_header_that_makes_no_sense(tmp_path, header):
    directory = whole()
    directory.files["kernel_header"] = header
    trace = opened(directory, tmp_path)
    assert kinds(trace).count(Kind.SLICE_BEGIN) == 2
    assert len(warnings_of(trace)) == 1


def test_without_a_kernel_header(tmp_path):
    directory = whole()
    del directory.files["kernel_header"]
    assert len(warnings_of(opened(directory, tmp_path))) == 1


def test_tables_that_make_no_sense(tmp_path):
    directory = whole()
    directory.files["traceconv.json"] = b"{}"
    trace = opened(directory, tmp_path)
    assert kinds(trace).count(Kind.SLICE_BEGIN) == 2
    assert [warning.field for warning in trace.warnings] == ["traceconv.json"]


# Anything


@pytest.mark.parametrize("seed", range(4))
def test_random_damage_ends_in_a_trace_or_an_error(tmp_path, seed):
    random = Random(seed)
    original = tmp_path / "original"
    if seed % 2:
        whole().write(original)
    else:
        shutil.copytree(RICH, original)
    names = sorted(path.name for path in original.iterdir() if path.stat().st_size)
    contents = {name: (original / name).read_bytes() for name in names}
    for _ in range(30):
        name = random.choice(names)
        data = bytearray(contents[name])
        if random.random() < 0.3:
            del data[random.randrange(len(data)) :]
        for _ in range(random.randrange(6)):
            if data:
                data[random.randrange(min(len(data), 4000))] = random.choice(
                    b"\0\1\xff\x7f\n:,;@(*/8" + bytes([random.randrange(256)])
                )
        (original / name).write_bytes(data)
        count, _ = outcome(original)
        assert isinstance(count, int | TraceError)
        (original / name).write_bytes(contents[name])
