"""Switches that name one task: formats whose viewers need both, or the last of a task, get what was left out."""

import dataclasses

from support.traces.small_traces import event_class, events_of, projected, trace_of
from support.traces.target_capabilities import EVERYTHING

from converter.ir.field_classes import IntegerClass, Label
from converter.ir.kinds import Kind, Role
from converter.projection.domain.scheduling.switched_tasks import UNKNOWN_LABEL

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
    assert loss == "switch-task-guessed (3)"


def test_a_task_that_was_not_seen_leaving_is_the_one_that_leaves_on_each_cpu_over_batches():
    found, _ = switched([(0, -1, 10), (1, -1, 11)], [(1, -1, 12), (0, -1, 13), (0, -1, 14)])
    assert found == [(0, 10), (0, 11), (11, 12), (10, 13), (13, 14)]


def test_switches_of_both_tasks_are_as_they_were():
    assert switched([(0, 5, 10), (0, -1, 5)], of=WHOLE) == ([(5, 10), (-1, 5)], [])
    assert switched([(0, 5, 10), (0, 11, 5)]) == ([(5, 10), (11, 5)], [])


def test_a_format_that_has_unknown_tasks_keeps_them():
    assert switched([(0, -1, 10)], capabilities=EVERYTHING) == ([(-1, 10)], [])


EXIT = event_class(Kind.TASK_EXIT, "exit", tid=(IntegerClass(32, True), Role.TID))
STATED = event_class(
    Kind.SCHED_SWITCH,
    "stated",
    prev=(TASK, Role.PREV_TID),
    next=(TASK, Role.NEXT_TID),
    state=(IntegerClass(8, labels=(Label(3, 3, "S"), Label(9, 9, "X"))), Role.PREV_STATE),
)
LEAVING = dataclasses.replace(EVERYTHING, exits_by_switch=True)


def exited(*batches, classes=(SCHEDULE, EXIT, WHOLE, STATED), capabilities=LEAVING):
    """Events as time, place, and values; given are the class, CPU, and values of each."""
    made = [
        [(number, 10 * part + at, cpu, -1, tuple(values)) for at, (number, cpu, *values) in here]
        for part, here in ((part, enumerate(rows)) for part, rows in enumerate(batches))
    ]
    target, losses = projected(trace_of(list(classes), *made), capabilities)
    return [(ts, at, *fields.values()) for ts, _, at, fields in events_of(target)], losses


def test_a_task_that_exits_leaves_its_cpu():
    found, losses = exited([(0, 0, -1, 10), (0, 1, -1, 11), (1, 0, 10), (0, 0, -1, 12)])
    assert found == [
        (0, "cpu 0", -1, 10),
        (1, "cpu 1", -1, 11),
        (2, "cpu 0", 10, -1),
        (2, "cpu 0", 10),
        (3, "cpu 0", -1, 12),
    ]
    (loss,) = losses
    assert loss.startswith("exit-switch-added")


def test_an_exit_closes_what_runs_since_an_earlier_batch():
    found, _ = exited([(0, 0, -1, 10), (0, 1, -1, 11)], [(1, 1, 11)], [(1, 0, 10)])
    assert found[2:] == [
        (10, "cpu 1", 11, -1),
        (10, "cpu 1", 11),
        (20, "cpu 0", 10, -1),
        (20, "cpu 0", 10),
    ]


def test_its_state_is_the_one_that_the_scheduler_has_for_the_dead():
    assert exited([(3, 0, -1, 10, 0), (1, 0, 10)])[0][1] == (1, "cpu 0", 10, -1, 9)


def test_a_task_that_has_left_or_is_elsewhere_does_not_leave_again():
    for rows in (
        [(0, 0, -1, 10), (0, 0, 10, -1), (1, 0, 10)],
        [(0, 0, -1, 10), (0, 0, -1, 11), (1, 0, 10)],
        [(0, 0, -1, 10), (1, 1, 10)],
        [(1, 0, 10)],
        [(2, 0, 0, 10), (1, 0, 10)],
        [(0, 0, -1, 10), (2, 0, 0, 10), (1, 0, 10)],
    ):
        found, losses = exited(rows)
        assert (len(found), losses) == (len(rows), [])
        assert exited(*([row] for row in rows))[0][-1][2:] == (10,)
    again, losses = exited([(0, 0, -1, 10), (1, 0, 10)], capabilities=EVERYTHING)
    assert (len(again), losses) == (2, [])


def test_an_exit_that_does_not_say_whose_it_is_changes_nothing():
    nameless = event_class(Kind.TASK_EXIT, "exit", code=IntegerClass(32, True))
    found, losses = exited([(0, 0, -1, 10), (1, 0, 10)], classes=(SCHEDULE, nameless))
    assert (len(found), losses) == (2, [])


def test_what_is_projected_stays_when_it_is_projected_again():
    once, _ = projected(
        trace_of([SCHEDULE, EXIT], [(0, 0, 0, -1, (-1, 10)), (1, 1, 0, -1, (10,))]), LEAVING
    )
    twice, losses = projected(once, LEAVING)
    assert (events_of(twice), losses) == (events_of(once), [])
