"""Names of tasks that only events say are names of threads in what any format gets."""

from support.traces.small_traces import event_class, projected, trace_of
from support.traces.target_capabilities import EVERYTHING

from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread
from converter.projection.passes.learned_names import task_name

TID = IntegerClass(32, signed=True)
SWITCH = event_class(
    Kind.SCHED_SWITCH,
    "switch",
    prev=(TID, Role.PREV_TID),
    prev_comm=(StringClass(), Role.PREV_COMM),
    next=(TID, Role.NEXT_TID),
    next_comm=(StringClass(), Role.NEXT_COMM),
)
RENAME = event_class(
    Kind.TASK_RENAME, "rename", pid=(TID, Role.TID), comm=(StringClass(), Role.NEW_COMM)
)
OTHER = event_class(Kind.TYPED, "other", pid=(TID, Role.TID), comm=(StringClass(), Role.COMM))


def names(*batches, known=("", "", "t11"), read=False):
    """The names of threads 0, 10 and 11 of the target, of which the source has these."""
    tids = (0, 10, 11)
    trace = trace_of(
        [SWITCH, RENAME, OTHER],
        *batches,
        processes=[Process(tid) for tid in tids],
        threads=[Thread(tid, i, known[i]) for i, tid in enumerate(tids)],
        strings_as_ids=False,
    )
    trace.names_from_events = read
    target, _ = projected(trace, EVERYTHING)
    assert [thread.name for thread in trace.threads] == list(known)
    return [thread.name for thread in target.threads]


def switched(ts, prev, prev_comm, got, got_comm):
    return (0, ts, 0, -1, (prev, prev_comm, got, got_comm))


def test_threads_without_a_name_get_the_latest_that_events_say():
    first = [switched(5, 10, b"old", 11, b"eleven"), switched(9, 11, b"eleven", 10, b"old")]
    assert names(first) == ["", "old", "t11"]
    assert names(first, [(1, 10, 0, 1, (10, b"new"))]) == ["", "new", "t11"]
    assert names(first, [(1, 8, 0, 1, (10, b"earlier"))]) == ["", "old", "t11"]


def test_all_idle_tasks_are_one():
    assert names([switched(5, 10, b"a", 0, b"swapper/3")]) == ["swapper", "a", "t11"]
    assert task_name(3, b"swapper/3") == "swapper/3"
    assert task_name(0, b"swapper") == "swapper"
    assert task_name(0, b"idle") == "idle"


def test_threads_that_the_source_does_not_have_are_none_of_the_target():
    assert names([switched(5, 99, b"x", 10, b"a")]) == ["", "a", "t11"]


def test_what_nothing_interprets_names_nobody():
    assert names([(2, 5, 0, 1, (10, b"x"))]) == ["", "", "t11"]


def test_a_reader_that_has_looked_is_believed():
    assert names([switched(5, 10, b"x", 11, b"y")], read=True) == ["", "", "t11"]
