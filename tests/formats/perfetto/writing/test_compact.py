"""Switches and wakings that were compact are compact again, wherever readers then know the same of them."""

from __future__ import annotations

import pytest
from support.perfetto.files import File, kernel_compact, kernel_event, kernel_lost
from support.perfetto.writing import opened, parsed, written
from support.viewers.trace_processor import answer, needs_trace_processor

from converter.ir.canonical import difference
from converter.ir.collect import collect, with_batches

EVENTS = """
    select ts, f.name, cpu, tid, common_flags, key, display_value
    from ftrace_event f left join thread using (utid) left join args using (arg_set_id) order by 1, 2, 3, 6
"""
STATES = "select ts, dur, cpu, tid, state from thread_state join thread using (utid) order by 1, 4"


def changed(data: bytes) -> bytes:
    """A file whose events are written anew."""
    trace = opened(data)
    return written(with_batches(trace, [one.with_tables(one.tables) for one in trace.batches()]))


def compact_of(data: bytes) -> list[tuple[int, list[int], list[int], list[str]]]:
    """The CPU, the times of switches and wakings, and the names of each bundle with compact events."""
    found = []
    for packet in parsed(data).packet:
        bundle = packet.ftrace_events
        compact = bundle.compact_sched
        if compact.switch_timestamp or compact.waking_timestamp:
            times = list(compact.switch_timestamp), list(compact.waking_timestamp)
            found.append((bundle.cpu, *times, list(compact.intern_table)))
    return found


def others(data: bytes) -> list[int]:
    """The times of switches and wakings that are events of their own."""
    bundles = (packet.ftrace_events for packet in parsed(data).packet)
    events = (event for bundle in bundles for event in bundle.event)
    return [
        one.timestamp
        for one in events
        if one.HasField("sched_switch") or one.HasField("sched_waking")
    ]


def switches(*tasks: tuple[int, str], times: tuple[int, ...] = ()) -> File:
    """A file with a switch to each task, on one CPU."""
    file = File()
    compact = file.bundle(0).compact_sched
    for number, (pid, name) in enumerate(tasks):
        compact.switch_timestamp.append(times[number] if times else 10)
        compact.switch_prev_state.append(1)
        compact.switch_next_pid.append(pid)
        compact.switch_next_prio.append(120)
        compact.intern_table.append(name)
        compact.switch_next_comm_index.append(number)
    return file


@pytest.mark.parametrize("data", [kernel_compact(), kernel_lost()], ids=["compact", "lost"])
def test_they_come_back(data):
    again = changed(data)
    assert difference(opened(data), opened(again)) is None
    assert difference(opened(again), opened(changed(again))) is None


def test_names_of_a_bundle_are_there_once():
    file = switches((1, "a"), (2, "b"), (1, "a"), (2, "b"))
    assert compact_of(changed(file.bytes())) == [(0, [10, 10, 10, 10], [], ["a", "b"])]


def test_a_task_that_had_another_name_is_said_in_full():
    file = switches((1, "a"), (2, "b"), (1, "c"), (2, "b"))
    again = changed(file.bytes())
    # The thread is called "c" at the end: importers would show that of the switch that leaves "a".
    assert others(again) == [20]
    assert difference(opened(file.bytes()), opened(again)) is None


@pytest.mark.parametrize(("time", "whole"), [(19, []), (20, [20]), (21, [])])
def test_at_the_time_of_another_event_they_are_said_in_full(time, whole):
    file = switches((1, "a"), (2, "b"), (1, "a"))
    kernel_event(file.trace.packet[0].ftrace_events, time, 1, "softirq_entry", vec=1)
    again = changed(file.bytes())
    assert others(again) == whole
    assert difference(opened(file.bytes()), opened(again)) is None


def test_after_a_switch_in_full_the_task_is_known():
    file = File()
    kernel_event(
        file.bundle(0), 5, 7, "sched_switch", prev_pid=7, next_pid=9, next_prio=3, next_comm="nine"
    )
    later = switches((1, "a"), (2, "b")).trace.packet[0].ftrace_events
    file.bundle(0).CopyFrom(later)
    trace = collect(opened(file.bytes()))
    (batch,) = trace.batches()
    threads = [trace.threads[index].tid for index in batch.thread.tolist()]
    assert threads == [7, 9, 1]
    assert difference(trace, opened(changed(file.bytes()))) is None
    assert others(changed(file.bytes())) == [5]


@needs_trace_processor
def test_importers_show_the_same(tmp_path):
    data = kernel_compact()
    before, after = tmp_path / "before.pftrace", tmp_path / "after.pftrace"
    before.write_bytes(data)
    after.write_bytes(changed(data))
    assert answer(before, EVENTS) == answer(after, EVENTS) != []
    assert answer(before, STATES) == answer(after, STATES)
