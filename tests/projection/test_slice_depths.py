"""What is nested deeper than viewers show is in the report, as often as trace_processor counts it."""

import numpy as np
import pytest
from support.small_traces import event_class, trace_of
from support.trace_processor import errors, needs_trace_processor

import converter
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.losses import LossClass
from converter.projection.open_slices import SliceDepths

NAME = {"name": (StringClass(), Role.NAME)}
CLASSES = (
    event_class(Kind.SLICE_BEGIN, **NAME),
    event_class(Kind.SLICE_END),
    event_class(Kind.INSTANT, **NAME),
    event_class(Kind.SLICE_COMPLETE, **NAME, duration=(IntegerClass(64), Role.DURATION)),
)
BEGIN, END, INSTANT, COMPLETE = range(4)
#: On another thread each: what there is, as (class, time in microseconds, values).
CASES = (
    # Ends are of slices that are shown, also those of others.
    [
        *((BEGIN, ts, ["a"]) for ts in range(520)),
        (INSTANT, 600, ["b"]),
        *((END, ts, []) for ts in range(610, 615)),
        *((BEGIN, ts, ["c"]) for ts in range(700, 706)),
    ],
    # Each takes no time, and is around the next.
    [(INSTANT, 50, ["a"])] * 515,
    [
        *((COMPLETE, ts, ["a", (3000 - 2 * ts) * 1000]) for ts in range(514)),
        *((COMPLETE, ts, ["b", 1000]) for ts in range(4000, 4600)),
    ],
)


@needs_trace_processor
@pytest.mark.parametrize("target", ["perfetto", "fxt", "chrome"])
@pytest.mark.parametrize(("case", "hidden"), [(0, 8 + 1 + 1), (1, 3), (2, 2)])
def test_what_is_inside_of_many_slices_is_not_shown(tmp_path, target, case, hidden):
    events = [(number, 1000 * ts, 0, 1, values) for number, ts, values in CASES[case]]
    path = tmp_path / "a"
    report = converter.write(trace_of(CLASSES, events[:300], events[300:]), path, target)
    named = {loss.what: loss for loss in report if "inside of" in loss.what}
    assert [(loss.count, loss.loss_class) for loss in named.values()] == [(hidden, LossClass.SHOWN)]
    assert errors(path)["slice_max_depth_exceeded"] == hidden


def test_a_batch_of_which_nothing_is_left_has_no_depth(tmp_path):
    """Native records of another format have no place: their batch becomes an empty one."""
    classes = (*CLASSES, event_class(Kind.NATIVE, type=(IntegerClass(64), None)))
    slices = [(BEGIN, 1000, 0, 1, ["a"]), (END, 2000, 0, 1, [])]
    records = [(len(CLASSES), 3000, -1, -1, [5])]
    path = tmp_path / "a"
    report = converter.write(trace_of(classes, slices, records, slices), path, "perfetto")
    assert [(loss.count, loss.first_ts) for loss in report if "native records" in loss.what] == [
        (1, 3000)
    ]
    assert [len(batch) for batch in converter.read(path.read_bytes()).batches()] == [4]


def test_interrupts_are_inside_of_those_of_their_cpu_whatever_the_thread():
    begins, of_cpus = np.array([1, 1, 1], np.int32), np.array([-2, -3, 0], np.int32)
    # Class, CPU, thread and track: the third interrupt of CPU 1 is inside of two others.
    events = np.array(
        [
            *([0, 1, 4, -1], [0, 1, 5, 7], [1, 1, 4, -1], [0, 0, 4, -1], [2, 1, 1, -1]),
            *([1, 1, 6, -1], [2, 0, 1, -1], [0, 1, 6, -1], [1, 0, 4, -1], [2, 0, 4, -1]),
        ],
        np.int32,
    )
    class_id, cpu, thread, track = events.T
    ts = np.arange(len(events))
    found = SliceDepths().beyond(begins, of_cpus, class_id, thread, track, cpu, ts, ts, None, 2)
    assert found == 1
    with pytest.raises(ValueError, match="differ in length"):
        SliceDepths().beyond(begins, of_cpus, class_id, thread, track, cpu[1:], ts, ts, None, 2)
    with pytest.raises(ValueError, match="differ in length"):
        SliceDepths().beyond(begins, of_cpus[1:], class_id, thread, track, cpu, ts, ts, None, 2)
