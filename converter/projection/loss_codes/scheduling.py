"""Losses of scheduling, of markers in kernel traces, and of gaps in a recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from converter.projection.loss_codes.entry import Extent, LossClass, LossCode, LossKind

SCHEDULING: Final[Mapping[str, LossCode]] = {
    "state-shown-as": LossCode(
        LossKind.CHANGED,
        "{count} {switch shows|switches show} another task state: {items}",
        "{was} as {shown}",
        keeps="task_states",
    ),
    "state-bits-unknown": LossCode(
        LossKind.CHANGED,
        "{count} {switch|switches} may show another task state, as the recording is of a kernel before "
        "4.14 and does not say of which",
    ),
    "state-bits-converted": LossCode(
        LossKind.CHANGED,
        "{count} {switch has|switches have} the same task state in the bits of another kernel: {items}",
        "{event}",
        LossClass.DETAIL,
    ),
    "state-bits-without-letter": LossCode(
        LossKind.CHANGED,
        "{count} {switch lacks|switches lack} bits of the task state that have no letter",
        loss_class=LossClass.DETAIL,
    ),
    "state-of-other-kernel": LossCode(
        LossKind.CHANGED,
        "{count} {switch has a task state|switches have task states} that the kernel of the output "
        "does not have: {items}",
        "{was} as {shown}",
    ),
    "state-unknown-shown-runnable": LossCode(
        LossKind.CHANGED,
        "{count} {switch has a task state|switches have task states} that the format does not know, "
        "shown as runnable",
    ),
    "waiting-shown-runnable": LossCode(
        LossKind.CHANGED,
        "{count} {thread is|threads are} shown as runnable, not as waking, after a wakeup",
    ),
    "waiting-shown-waking": LossCode(
        LossKind.CHANGED,
        "{count} {thread is|threads are} shown as waking, not as runnable, after a wakeup",
    ),
    "new-task-wait-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} new {task is|tasks are} not shown as runnable until {it first runs|they first run}",
    ),
    "wakeup-again": LossCode(
        LossKind.CHANGED,
        "{count} {wakeup|wakeups} of {a thread that runs or waits|threads that run or wait} already "
        "{is|are} shown as another wait",
    ),
    "switch-of-other-thread": LossCode(
        LossKind.CHANGED,
        "{count} {switch takes|switches take} a thread from a CPU that it was not on: the state before, its time on "
        "another CPU, or the time of the thread that was there is shown without an end",
    ),
    "thread-moved-at-once": LossCode(
        LossKind.CHANGED,
        "{count} {thread leaves|threads leave} a CPU and {runs|run} on another at one time: viewers take the switches "
        "in the order of CPUs, and show {it|them} as waiting",
    ),
    "idle-thread-as-task-0": LossCode(
        LossKind.CHANGED,
        "{count} {switch names|switches name} the idle thread as task 0, not by its own id",
        loss_class=LossClass.KEPT,
    ),
    "idle-thread-renamed": LossCode(
        LossKind.CHANGED,
        "{count} {event|events} of thread 0 of process 0 {is|are} on a thread that viewers call swapper, "
        "not {items}",
        "'{name}'",
    ),
    "switch-task-guessed": LossCode(
        LossKind.CHANGED,
        "{count} {switch names|switches name} only one task; the other is the last one of the CPU, or "
        "the idle task",
    ),
    "first-switch-task-guessed": LossCode(
        LossKind.CHANGED,
        "The first switch of {count} {CPU|CPUs} does not name the task before; it is that of the event "
        "before, or the idle task",
    ),
    "compact-switch-unhidden": LossCode(
        LossKind.CHANGED,
        "{count} {switch|switches} from an unknown task {is|are} shown, which viewers of the input hide",
    ),
    "switch-without-cpu-unshown": LossCode(
        LossKind.UNSHOWN,
        "{count} {switch|switches} on no CPU, or above CPU {limit}, {is|are} not shown",
    ),
    "waker-as-argument": LossCode(
        LossKind.LOWERED,
        "{count} {wakeup has|wakeups have} the waking thread as an argument: {items}",
        "{event}",
    ),
    "exit-switch-added": LossCode(
        LossKind.CHANGED,
        "{count} {task that exits while it runs has|tasks that exit while they run have} a switch from "
        "{its CPU|their CPUs}",
        loss_class=LossClass.KEPT,
    ),
    "thread-state-slices": LossCode(
        LossKind.CHANGED,
        "{count} {state or brand|states and brands} of threads from the tracer's state dump {is|are} "
        'slices on tracks "State" and "Brand" in addition',
        loss_class=LossClass.KEPT,
    ),
    "state-end-and-arguments": LossCode(
        LossKind.CHANGED,
        "{count} {state of a thread lacks|states of threads lack} arguments, and the end if no other "
        "follows",
    ),
    "state-of-no-thread": LossCode(
        LossKind.UNSHOWN,
        "{count} {state|states} of no thread {is|are} not shown",
        extent=Extent.EVENTS,
    ),
    # Markers
    "separator-in-marker": LossCode(
        LossKind.CHANGED,
        "{count} {name of a marker has|names of markers have} other characters for | and line ends",
    ),
    "mark-further-fields": LossCode(
        LossKind.DROPPED,
        "{count} {mark has|marks have} further fields, which viewers do not show either",
        loss_class=LossClass.DETAIL,
    ),
    "marker-process-id": LossCode(
        LossKind.DROPPED,
        "{count} {marker does|markers do} not say the process id in {its|their} text, which is not that "
        "of the thread",
    ),
    # Gaps
    "gap-size-guessed": LossCode(
        LossKind.CHANGED,
        "{count} {gap|gaps} of unknown size {is|are} written as 1 lost event",
    ),
    "gap-size-capped": LossCode(
        LossKind.CHANGED,
        "{count} {gap has|gaps have} more than {limit:,} lost events, and {says|say} {limit:,}",
    ),
    "gap-size-negative": LossCode(
        LossKind.CHANGED,
        "{count} {gap|gaps} with a negative number of lost events {is|are} of unknown size",
        loss_class=LossClass.DETAIL,
    ),
    "gap-empty": LossCode(
        LossKind.DROPPED,
        "{count} {record|records} of 0 lost events {is|are} missing",
        loss_class=LossClass.DETAIL,
    ),
    "gap-moved": LossCode(
        LossKind.CHANGED,
        "{count} {gap is|gaps are} shortly before the next event of {its CPU|their CPUs}",
        loss_class=LossClass.KEPT,
    ),
    "gap-unfollowed": LossCode(
        LossKind.UNSHOWN,
        "{count} {gap is|gaps are} not shown, as no event follows on {its CPU|their CPUs} before the next gap",
    ),
    "gap-as-lost-packet": LossCode(
        LossKind.LOWERED,
        "{count} {gap|gaps} of unknown size {is written as a lost packet|are written as lost packets}",
    ),
    "gap-as-corrupt-buffer": LossCode(
        LossKind.LOWERED,
        "{count} {gap|gaps} of unknown size {is written as a corrupt sub-buffer|are written as corrupt "
        "sub-buffers}",
    ),
    "gap-packets-dropped": LossCode(
        LossKind.DROPPED,
        "{count} {gap does|gaps do} not say how many packets were lost, only how many events",
    ),
    "gap-packets-capped": LossCode(
        LossKind.CHANGED,
        "{count} {gap has|gaps have} a number of lost packets outside 1 to {limit:,}, and "
        "{says|say} the nearest",
    ),
}
