"""Reading uftrace's directories: `info`, the kernel's records, and recordings as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from support.trace_cmd.files import Kernel
from support.uftrace import oracle
from support.uftrace.files import (
    ENTRY,
    EXIT,
    FOO,
    LONGS,
    ORDERS,
    RICH,
    TID,
    Directory,
    calls,
    events,
    kernel_header,
    names,
    opened,
)

import converter
from converter.errors import TraceError
from converter.formats.uftrace.layout import parse_header
from converter.formats.uftrace.reading import reader
from converter.ir.canonical import canonical
from converter.ir.collect import collect
from converter.ir.invariants import check
from converter.ir.kinds import Kind
from converter.storage.opening import open_source

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


# The kernel's records


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
