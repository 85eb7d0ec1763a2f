"""Scheduling records with weights as those of a kernel: idle tasks are 0, weights priorities, wakeups have wakers."""

from __future__ import annotations

from typing import Any

import pytest
from support.fxt import files as fxt
from support.fxt import writer as fxt_writer

from converter.formats.ctf.capabilities import capabilities as of_ctf
from converter.formats.ftrace.capabilities import capabilities as of_ftrace
from converter.formats.fxt.capabilities import capabilities as of_fxt
from converter.ir.collect import collect
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.losses import LossClass
from converter.projection.project import project

IDLE = fxt_writer.IDLE


def shown(writer: fxt_writer.Writer) -> list[dict[str, Any]]:
    """The events of trace.dat."""
    target, _ = project(fxt.opened(writer.bytes()), of_ftrace(""), "trace_cmd")
    return fxt.events(collect(target))


@pytest.mark.parametrize(
    ("weight", "task"),
    [(IDLE, (0, 120)), (IDLE + 1, (7, IDLE + 1)), (-1, (7, -1)), (0, (7, 0)), (None, (7, 0))],
)
def test_the_lowest_weight_is_the_idle_thread(weight: int | None, task: tuple[int, int]) -> None:
    writer = fxt_writer.Writer()
    writer.switch(5, 1, (7, weight), (101, 20), 1)
    writer.switch(6, 1, (101, 20), (7, weight), 3)
    one, other = shown(writer)
    assert (one["prev_pid"], one["prev_prio"], one["next_pid"], one["next_prio"]) == (
        *task,
        101,
        20,
    )
    assert (other["prev_pid"], other["next_pid"], other["next_prio"]) == (101, *task)


@pytest.mark.parametrize(
    ("place", "named", "priority", "is_idle"),
    [
        ((0, 7), True, 0, True),
        ((0, 7), False, 0, True),
        ((100, 7), False, 0, True),
        ((100, 7), True, 0, False),
        ((0, 7), True, 1, False),
    ],
)
def test_priority_0_of_no_process_is_the_idle_thread(
    place: tuple[int, int], named: bool, priority: int, is_idle: bool
) -> None:
    writer = fxt_writer.Writer()
    if named:
        writer.named(*place, b"idle")
    writer.legacy(5, 0, (place, priority), ((100, 101), 20), 1)
    (one,) = shown(writer)
    assert one["prev_pid"] == (0 if is_idle else 7)
    # Encoded anew it is the weight that says so.
    target, _ = project(fxt.opened(writer.bytes()), of_fxt(""), "fxt")
    (event,) = fxt.events(collect(target))
    assert (event["prev_tid"], event["outgoing_weight"]) == (7, IDLE if is_idle else priority)


def test_wakeups_are_wakings_by_their_wakers() -> None:
    writer = fxt_writer.Writer()
    writer.named(100, 101, b"main")
    writer.named(100, 102, b"work")
    writer.wakeup(5, 3, 102, 24, waker=101)
    writer.wakeup(6, 0, 102, None)
    writer.wakeup(7, 1, 102, 24, waker=555)
    found = shown(writer)
    assert {event["kind"] for event in found} == {Kind.SCHED_WAKING.name}
    # Of one whose waker nothing names, trace.dat has a task.
    assert [(one["thread"][1], one["cpu"], one["target_cpu"], one["prio"]) for one in found] == [
        (101, 3, 3, 24),
        (102, 0, 0, 0),
        (555, 1, 1, 24),
    ]


def test_fxt_keeps_what_it_has() -> None:
    writer = fxt_writer.Writer()
    writer.switch(5, 0, (7, IDLE), (101, 20), 1)
    writer.wakeup(6, 0, 102, 24)
    trace = collect(fxt.opened(writer.bytes()))
    target, report = project(trace, of_fxt(""), "fxt")
    assert fxt.events(collect(target)) == fxt.events(trace)
    assert not report


def test_formats_without_scheduling_keep_what_it_has() -> None:
    writer = fxt_writer.Writer()
    writer.switch(5, 0, (7, IDLE), (101, 20), 1)
    writer.wakeup(6, 0, 102, 24)
    target, report = project(fxt.opened(writer.bytes()), of_ctf(""), "ctf")
    one, other = fxt.events(collect(target))
    assert (one["prev_tid"], one["outgoing_weight"]) == (7, IDLE)
    assert other["kind"] == Kind.SCHED_WAKEUP.name
    assert not report.of_class(LossClass.SHOWN)


def test_idle_threads_of_their_own_are_reported() -> None:
    writer = fxt_writer.Writer()
    writer.switch(5, 0, (7, IDLE), (101, 20), 1)
    writer.switch(6, 0, (101, 20), (0, IDLE), 1)
    target, report = project(fxt.opened(writer.bytes()), of_ftrace(""), "trace_cmd")
    collect(target)
    what = "idle-thread-as-task-0"
    assert [(one.count, one.loss_class) for one in report if one.code == what] == [
        (1, LossClass.KEPT)
    ]


def test_kernels_that_have_no_weights() -> None:
    """Nothing is rewritten, not even the classes."""
    trace = Trace(format="none")
    target, _ = project(trace, of_ftrace(""), "trace_cmd")
    assert collect(target).event_classes == []


def test_wakeups_that_change_nothing_are_reported() -> None:
    writer = fxt_writer.Writer()
    writer.switch(5, 0, (7, IDLE), (101, 20), 1)
    writer.wakeup(6, 0, 101, 24)
    writer.switch(7, 0, (101, 20), (7, IDLE), 3)
    for ts in (8, 9):
        writer.wakeup(ts, 0, 101, 24)
    code = "wakeup-again"
    target, report = project(fxt.opened(writer.bytes()), of_ftrace(""), "trace_cmd")
    collect(target)
    assert [(one.count, one.first_ts) for one in report if one.code == code] == [(2, 6)]
    assert next(one for one in report if one.code == code).loss_class is LossClass.SHOWN
