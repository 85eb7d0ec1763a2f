"""Threads that only kernel events name: they have these names, in every format."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from support.perfetto.files import File, kernel_event
from support.viewers.trace_processor import answer, needs_trace_processor

import converter

THREADS = "select tid, name, upid is null from thread where tid > 0 order by tid, name"


def switch(bundle, ts, prev, prev_comm, got, got_comm):
    tasks = {"prev_pid": prev, "prev_comm": prev_comm, "next_pid": got, "next_comm": got_comm}
    return kernel_event(bundle, ts, prev, "sched_switch", **tasks)


def switches() -> File:
    file = File()
    bundle = file.bundle(0)
    switch(bundle, 1000, 0, "swapper/0", 77, "alpha")
    switch(bundle, 5000, 77, "alpha", 88, "beta")
    switch(bundle, 9000, 88, "beta", 0, "swapper/0")
    return file


def named(data: bytes | Path, format: str = "perfetto") -> dict[int, str]:
    """The names of threads, by tid: as known when the trace is opened, then with all threads."""
    with converter.open_trace(data, format) as trace:
        first = {thread.tid: thread.name for thread in trace.threads}
        for _ in trace.batches():
            pass
        names = {thread.tid: thread.name for thread in trace.threads}
    assert first.items() <= names.items()
    return names


def names_of(file: File) -> dict[int, str]:
    return named(file.bytes())


def test_both_tasks_of_a_switch_are_named():
    assert names_of(switches()) == {0: "swapper", 77: "alpha", 88: "beta"}


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("sched_waking", {"pid": 7, "comm": "it"}),
        ("sched_wakeup", {"pid": 7, "comm": "it"}),
        ("sched_wakeup_new", {"pid": 7, "comm": "it"}),
        ("task_newtask", {"pid": 7, "comm": "it"}),
        ("task_rename", {"pid": 7, "oldcomm": "was", "newcomm": "it"}),
        ("sched_process_exit", {"pid": 7, "comm": "it"}),
        ("sched_process_fork", {"child_pid": 7, "child_comm": "it", "parent_comm": "other"}),
        ("sched_process_fork", {"parent_pid": 7, "parent_comm": "it", "child_comm": "other"}),
    ],
)
def test_each_event_that_names_a_task_is_believed(event, fields):
    file = File()
    bundle = file.bundle(0)
    kernel_event(bundle, 5, 7, "irq_handler_entry", irq=1)
    kernel_event(bundle, 6, 9, event, **fields)
    assert names_of(file)[7] == "it"


def test_the_latest_name_counts_wherever_it_stands():
    file = File()
    late = file.bundle(0)
    switch(late, 50, 7, "new", 0, "swapper/0")
    early = file.bundle(1)
    switch(early, 10, 0, "swapper/1", 7, "old")
    assert names_of(file)[7] == "new"


def test_what_metadata_says_is_believed_rather_than_events():
    file = switches()
    tree = file.packet().process_tree
    tree.threads.add(tid=77, tgid=70, name="explicit")
    tree.threads.add(tid=88, tgid=70)
    assert names_of(file) == {0: "swapper", 77: "explicit", 88: "beta"}


def test_compact_switches_and_wakings_name_tasks():
    file = File()
    compact = file.bundle(0).compact_sched
    compact.intern_table.extend(["one", "two", "three"])
    compact.switch_timestamp.extend([100, 10, 10])
    compact.switch_next_pid.extend([7, 8, 7])
    compact.switch_next_prio.extend([120, 120, 120])
    compact.switch_next_comm_index.extend([0, 1, 2])
    compact.switch_prev_state.extend([0, 0, 0])
    compact.waking_timestamp.append(95)
    compact.waking_pid.append(8)
    compact.waking_target_cpu.append(0)
    compact.waking_prio.append(1)
    compact.waking_comm_index.append(2)
    assert names_of(file) == {7: "three", 8: "two"}


#: Numbers of one byte more each as varints.
EDGES = [n for bits in range(7, 64, 7) for n in (2**bits - 1, 2**bits)]


@pytest.mark.parametrize("ts", [0, 1, *EDGES[:-2], 2**63 - 1])
@pytest.mark.parametrize("pid", [0, *EDGES[:8], 2**31 - 1])
def test_times_and_tids_of_any_length_stand_in_front_of_a_name(ts, pid):
    file = File()
    bundle = file.bundle(0)
    kernel_event(bundle, ts, pid, "irq_handler_entry", irq=1)
    kernel_event(bundle, ts, pid, "task_rename", pid=7, newcomm="it")
    kernel_event(bundle, ts, 7, "irq_handler_exit", irq=1)
    assert names_of(file)[7] == "it"


def test_the_fields_of_an_event_may_stand_in_any_order():
    message = pb.FtraceEvent()
    message.timestamp, message.pid = 50, 7
    head = message.SerializeToString()
    message.Clear()
    message.task_rename.pid, message.task_rename.newcomm = 7, "it"
    body = message.SerializeToString()
    for event in (head + body, body + head, body, head[-2:] + body + head[:-2]):
        bundle = b"\x08\x00\x12" + bytes([len(event)]) + event
        other = File()
        kernel_event(other.bundle(0), 60, 7, "irq_handler_entry", irq=1)
        data = b"\x0a" + bytes([len(bundle) + 4]) + b"\x0a" + bytes([len(bundle)]) + bundle
        assert named(data + b"\x50\x03" + other.bytes())[7] == "it"


@pytest.mark.parametrize("size", [1, 15, 16, 17, 300])
def test_names_of_any_length_are_whole(size):
    file = File()
    bundle = file.bundle(0)
    for ts, end in enumerate("aab"):
        kernel_event(bundle, ts, 7, "task_rename", pid=7, newcomm="x" * (size - 1) + end)
    assert names_of(file)[7] == "x" * (size - 1) + "b"


@pytest.mark.parametrize("suffix", ["json", "fxt", "ctf", "tcir", "dat", "aix", "lttng", "parquet"])
def test_every_format_has_the_names(tmp_path: Path, suffix: str):
    source, target = tmp_path / "a.pftrace", tmp_path / f"a.{suffix}"
    source.write_bytes(switches().bytes())
    converter.convert(source, target)
    with converter.open_trace(target) as trace:
        for _ in trace.batches():
            pass
        names = {thread.tid: thread.name for thread in trace.threads}
    assert {77: "alpha", 88: "beta"}.items() <= names.items()


def trees(path: Path) -> set[int]:
    """The tids that process trees of a file name."""
    trace = pb.Trace()
    trace.ParseFromString(path.read_bytes())
    return {one.tid for packet in trace.packet for one in packet.process_tree.threads}


@needs_trace_processor
def test_a_thread_that_events_name_stays_one_of_no_known_process(tmp_path: Path):
    source = tmp_path / "a.pftrace"
    source.write_bytes(switches().bytes())
    before = answer(source, THREADS)
    target = tmp_path / "b.pftrace"
    converter.convert(source, target, selection=converter.Selection(events=("*",)))
    assert trees(target) == set()
    assert answer(target, THREADS) == before == [["77", "alpha", "1"], ["88", "beta", "1"]]


@needs_trace_processor
def test_a_name_stays_where_the_events_that_said_it_are_left_out(tmp_path: Path):
    file = switches()
    kernel_event(file.bundle(0), 9500, 77, "irq_handler_entry", irq=1, name="disk")
    source, target = tmp_path / "a.pftrace", tmp_path / "b.pftrace"
    source.write_bytes(file.bytes())
    converter.convert(source, target, selection=converter.Selection(events=("irq:*",)))
    assert 77 in trees(target)
    assert ["77", "alpha", "0"] in answer(target, THREADS)


@needs_trace_processor
@pytest.mark.parametrize("suffix", ["json", "fxt"])
def test_viewers_show_the_names(tmp_path: Path, suffix: str):
    source, target = tmp_path / "a.pftrace", tmp_path / f"a.{suffix}"
    source.write_bytes(switches().bytes())
    converter.convert(source, target)
    shown = {(tid, name) for tid, name, _ in answer(target, THREADS)}
    assert {("77", "alpha"), ("88", "beta")} <= shown
