"""Switches that name one task: formats whose viewers need both get the last of the CPU, or the idle one."""

import dataclasses

from support.small_traces import event_class, events_of, projected, trace_of
from support.target_capabilities import EVERYTHING

from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.projection.switched_tasks import UNKNOWN_LABEL

TASK = IntegerClass(32, True, labels=(UNKNOWN_LABEL,))
SCHEDULE = event_class(
    Kind.SCHED_SWITCH, "schedule", prev=(TASK, Role.PREV_TID), next=(TASK, Role.NEXT_TID)
)
WHOLE = event_class(
    Kind.SCHED_SWITCH,
    "switch",
    prev=(IntegerClass(32, True), Role.PREV_TID),
    next=(IntegerClass(32, True), Role.NEXT_TID),
)
NAMING_BOTH = dataclasses.replace(EVERYTHING, unknown_tasks=False)


def switched(*batches, capabilities=NAMING_BOTH, of=SCHEDULE):
    """The tasks of switches, which are given as CPU and tasks, and the losses."""
    made = [[(0, at, cpu, -1, tasks) for at, (cpu, *tasks) in enumerate(rows)] for rows in batches]
    target, losses = projected(trace_of([of], *made), capabilities)
    return [tuple(fields.values()) for *_, fields in events_of(target)], losses


def test_a_task_leaves_to_the_idle_one_and_comes_from_it():
    found, losses = switched([(0, -1, 10), (0, 10, -1), (0, -1, 11)])
    assert found == [(0, 10), (10, 0), (0, 11)]
    (loss,) = losses
    assert loss.startswith("changed: tasks that switches do not name")
    assert loss.endswith("(3)")


def test_a_task_that_was_not_seen_leaving_is_the_one_that_leaves_on_each_cpu_over_batches():
    found, _ = switched([(0, -1, 10), (1, -1, 11)], [(1, -1, 12), (0, -1, 13), (0, -1, 14)])
    assert found == [(0, 10), (0, 11), (11, 12), (10, 13), (13, 14)]


def test_switches_of_both_tasks_are_as_they_were():
    assert switched([(0, 5, 10), (0, -1, 5)], of=WHOLE) == ([(5, 10), (-1, 5)], [])
    assert switched([(0, 5, 10), (0, 11, 5)]) == ([(5, 10), (11, 5)], [])


def test_a_format_that_has_unknown_tasks_keeps_them():
    assert switched([(0, -1, 10)], capabilities=EVERYTHING) == ([(-1, 10)], [])
