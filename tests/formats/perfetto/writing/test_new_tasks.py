"""Tasks that begin in a recording: what is said of them is said of the task that begins, not of one before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from support.perfetto.files import File, kernel_event
from support.traces.losses import line_of
from support.viewers.trace_processor import answer, needs_trace_processor
from support.viewers.trace_processor_versions import Feature, shows

import converter

TASKS = """select t.tid, t.name, p.pid, p.name from thread t left join process p using (upid)
    where t.tid > 0 order by t.tid, t.name"""
#: Flags of a new thread of the task that makes it (include/uapi/linux/sched.h).
CLONE_THREAD = 0x10000


def tree(file: File, ts: int, pid: int, *command_line: str, **threads: int) -> None:
    """A process tree of a process and the threads of it."""
    packet = file.packet(ts)
    packet.process_tree.processes.add(pid=pid, ppid=1, cmdline=command_line)
    for name, tid in threads.items():
        packet.process_tree.threads.add(tid=tid, tgid=pid, name=name)


def new_task(bundle: Any, ts: int, parent: int, tid: int, flags: int = 0) -> None:
    kernel_event(bundle, ts, parent, "task_newtask", pid=tid, comm="child", clone_flags=flags)
    tasks = {"prev_pid": parent, "prev_comm": "parent", "next_pid": tid, "next_comm": "child"}
    kernel_event(bundle, ts + 1, parent, "sched_switch", **tasks)


def recorded() -> File:
    file = File()
    tree(file, 1, 10, "/bin/parent")
    bundle = file.bundle(0)
    new_task(bundle, 15, 10, 11)
    new_task(bundle, 20, 11, 12, CLONE_THREAD)
    tree(file, 30, 11, "/bin/child", "-x", worker=12)
    return file


def by_way_of_trace_dat(source: Path) -> tuple[Path, list[str]]:
    losses = converter.convert(source, source.with_suffix(".dat"))
    result = source.with_suffix(".b.pftrace")
    return result, [
        line_of(one) for one in (*losses, *converter.convert(source.with_suffix(".dat"), result))
    ]


@needs_trace_processor
def test_a_task_that_begins_has_the_names_that_it_had(tmp_path: Path) -> None:
    source = tmp_path / "a.pftrace"
    source.write_bytes(recorded().bytes())
    after, losses = by_way_of_trace_dat(source)
    named = ["12", "worker", "11", "/bin/child"]
    assert named in answer(after, TASKS)
    assert named in answer(source, TASKS)
    if shows(Feature.NAMES_OF_NEW_TASKS):
        assert answer(after, TASKS) == answer(source, TASKS)
    assert not any("names that processes had" in loss for loss in losses)


def test_names_that_a_process_had_before_are_a_loss(tmp_path: Path) -> None:
    file = recorded()
    tree(file, 40, 11, "/bin/other")
    source = tmp_path / "a.pftrace"
    source.write_bytes(file.bytes())
    name = "process_tree: names that processes had before"
    what = f"native-data-shown format=perfetto name={name} (1)"
    assert what in by_way_of_trace_dat(source)[1]
    assert not converter.convert(source, tmp_path / "c.pftrace")


@pytest.mark.parametrize("earlier", [False, True])
def test_what_is_said_of_a_task_has_the_time_from_which_it_is_true(
    earlier: bool, tmp_path: Path
) -> None:
    """Where the number was another task's before, one of both is told from the beginning."""
    file = recorded()
    if earlier:
        kernel_event(file.bundle(1), 5, 11, "sched_waking", pid=10)
    source = tmp_path / "a.pftrace"
    source.write_bytes(file.bytes())
    trace = pb.Trace()
    trace.ParseFromString(by_way_of_trace_dat(source)[0].read_bytes())
    told = {
        process.pid: packet.timestamp
        for packet in trace.packet
        for process in packet.process_tree.processes
    }
    assert told == {10: 0, 11: 0 if earlier else 16}
