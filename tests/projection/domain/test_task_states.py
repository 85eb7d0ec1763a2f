"""What a state dump says of tasks, as slices on their tracks until switches, wakeups and exits say more."""

import dataclasses

from support.traces.small_traces import event_class, events_of, projected, trace_of
from support.traces.target_capabilities import EVERYTHING

from converter.ir.field_classes import IntegerClass, Label, StringClass
from converter.ir.kinds import Kind, Role

TASK = IntegerClass(32, True)
STATUS = IntegerClass(
    8, labels=tuple(Label(n, n, text) for n, text in enumerate(("unnamed", "run", "wait")))
)
DUMP = event_class(Kind.TYPED, "process_state", "task_state", pid=TASK, status=STATUS)
LATER = event_class(Kind.TYPED, "lttng_statedump_process_state", tid=TASK, pid=TASK, status=STATUS)
SWITCH = event_class(
    Kind.SCHED_SWITCH, "switch", prev=(TASK, Role.PREV_TID), next=(TASK, Role.NEXT_TID)
)
EXIT = event_class(Kind.TASK_EXIT, "exit", tid=(TASK, Role.TID))
BRAND = event_class(Kind.TYPED, "user_generic_thread_brand", name=StringClass())
SHOWN = dataclasses.replace(EVERYTHING, task_tracks=True)


def shown(classes, *batches, capabilities=SHOWN):
    """(ts, begin or end, thread, name) of the slices on tracks of threads, and the losses."""
    made, ts = [], 0
    for rows in batches:
        made.append([])
        for number, thread, values in rows:
            ts += 1
            made[-1].append((number, ts, 0, thread, values))
    target, losses = projected(trace_of(classes, *made), capabilities)
    names = {track.name for track in target.tracks}
    assert names <= {"State", "Brand"}
    owners = {}
    found = []
    for batch in target.batches():
        for at, track in enumerate(batch.track.tolist()):
            if track >= 0:
                owners[len(found)] = target.threads[target.tracks[track].owner].tid
                found.append(at)
    slices = [
        (ts, kind.name.removeprefix("SLICE_"), fields.get("name"))
        for ts, kind, place, fields in events_of(target)
        if place in names
    ]
    return [(*one[:2], owners[n], one[2]) for n, one in enumerate(slices)], losses


def test_a_state_lasts_from_the_dump_until_a_switch_names_the_task():
    found, losses = shown(
        [DUMP, SWITCH],
        [(0, -1, (10, 2)), (0, -1, (11, 1)), (1, -1, (0, 0)), (1, -1, (0, 10))],
        [(1, -1, (10, 0)), (1, -1, (11, 0))],
    )
    assert found == [
        (1, "BEGIN", 10, "wait"),
        (2, "BEGIN", 11, "run"),
        (4, "END", 10, None),
        (6, "END", 11, None),
    ]
    (loss,) = losses
    assert loss == "thread-state-slices (2)"


def test_what_other_events_have_said_is_later_than_the_dump():
    """Also of tasks that have exited, and of those that the dump names twice."""
    dumped = [(0, -1, (10, 2)), (0, -1, (11, 2)), (0, -1, (11, 1)), (0, -1, (11, 2))]
    assert shown([DUMP, EXIT], [(1, -1, (10,))], dumped)[0] == [(3, "BEGIN", 11, "wait")]
    assert shown([DUMP, EXIT], [(1, -1, (10,)), *dumped])[0] == [(3, "BEGIN", 11, "wait")]
    again = shown([DUMP, EXIT], dumped[1:2], dumped[2:], [(1, -1, (11,))])[0]
    assert again == [(1, "BEGIN", 11, "wait"), (4, "END", 11, None)]


def test_states_that_are_none_and_tasks_that_nobody_knows_are_left_out():
    unknown = [(0, -1, (10, 0)), (0, -1, (11, 77)), (0, -1, (12, 2)), (0, -1, (0, 2))]
    assert shown([DUMP], unknown) == ([], [])


def test_dumps_of_later_tracers_name_threads():
    assert shown([LATER], [(0, -1, (11, 10, 2))])[0] == [(1, "BEGIN", 11, "wait")]


def test_a_brand_lasts_until_the_next_of_its_thread():
    found, _ = shown(
        [BRAND], [(0, 1, (b"a",)), (0, 2, (b"b",)), (0, 1, (b"c",))], [(0, 2, (b"d",))]
    )
    assert found == [
        (1, "BEGIN", 10, "a"),
        (2, "BEGIN", 11, "b"),
        (3, "END", 10, None),
        (3, "BEGIN", 10, "c"),
        (4, "END", 11, None),
        (4, "BEGIN", 11, "d"),
    ]


def test_formats_without_such_tracks_have_the_events_alone():
    rows = [(0, -1, (10, 2)), (1, 1, (b"a",))]
    assert shown([DUMP, BRAND], rows, capabilities=EVERYTHING) == ([], [])
