"""What is nested deeper than viewers show is in the report, as often as trace_processor counts it."""

import numpy as np
import pytest
from support.traces.small_traces import event_class, trace_of
from support.viewers.trace_processor import answer, errors, needs_trace_processor
from support.viewers.trace_processor_versions import Feature, shows

import converter
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.kernels.batches.event_arrays import EventArrays
from converter.projection.losses import LossClass
from converter.projection.passes.slices.slice_nesting import SliceDepths

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
@pytest.mark.parametrize(
    ("case", "hidden", "outermost"), [(0, 8 + 1 + 1, 1), (1, 3, 1), (2, 2, 1 + 600)]
)
def test_what_is_inside_of_many_slices_is_not_shown(tmp_path, target, case, hidden, outermost):
    events = [(event, 1000 * ts, 0, 1, values) for event, ts, values in CASES[case]]
    path = tmp_path / "a"
    report = converter.write(trace_of(CLASSES, events[:300], events[300:]), path, target)
    named = {loss.code: loss for loss in report if loss.code == "nested-too-deep"}
    assert [(loss.count, loss.loss_class) for loss in named.values()] == [(hidden, LossClass.SHOWN)]
    counts = answer(path, "select count(*), sum(parent_id is null) from slice")
    started = sum(event != END for event, *_ in CASES[case])
    if shows(Feature.DEPTH_LIMIT):
        assert errors(path)["slice_max_depth_exceeded"] == hidden
        assert counts == [[str(started - hidden), str(outermost)]]
    else:
        # They are drawn over the outermost ones.
        assert counts == [[str(started), str(outermost + hidden)]]


def test_a_batch_of_which_nothing_is_left_has_no_depth(tmp_path):
    """Native records of another format have no place: their batch becomes an empty one."""
    classes = (*CLASSES, event_class(Kind.NATIVE, type=(IntegerClass(64), None)))
    slices = [(BEGIN, 1000, 0, 1, ["a"]), (END, 2000, 0, 1, [])]
    records = [(len(CLASSES), 3000, -1, -1, [5])]
    path = tmp_path / "a"
    report = converter.write(trace_of(classes, slices, records, slices), path, "perfetto")
    assert [(loss.count, loss.first_ts) for loss in report if loss.code == "native-dropped"] == [
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
    columns = {"class_id": class_id, "thread": thread, "track": track, "cpu": cpu}
    given = EventArrays(ts=ts, end=ts, **columns)
    assert SliceDepths().beyond(begins, of_cpus, given, None, 2) == 1
    with pytest.raises(ValueError, match="differ in length"):
        SliceDepths().beyond(begins, of_cpus, given, ts[1:], 2)
    with pytest.raises(ValueError, match="differ in length"):
        SliceDepths().beyond(begins, of_cpus[1:], given, None, 2)


class OneByOne:
    """What `SliceDepths` says, of a list of spans by lane."""

    def __init__(self):
        self.open = {}

    def beyond(self, steps, lanes, ts, end, most):
        """How many of these events are inside of `most` others."""
        found = 0
        for step, lane, at, until in zip(steps, lanes, ts, end, strict=True):
            nest = self.open.setdefault(lane, [])
            if step == 2:
                while nest and nest[-1][1] < at:
                    nest.pop()
                del nest[-1:]
            elif step:
                while nest and (
                    nest[-1][0] > at or nest[-1][1] < at or nest[-1][0] < nest[-1][1] == at
                ):
                    nest.pop()
                if len(nest) >= most:
                    found += 1
                else:
                    last = LAST if step == 1 else until
                    nest.append((at, min(last, nest[-1][1]) if nest else last))
        return found


LAST = 2**63 - 1
#: Of batches: begins and ends alone, with much else, with little that takes up depth; how far times go.
MIXTURES = {
    "even": ([5, 5, 0, 1], 40),
    "deep": ([6, 2, 0, 1], 40),
    "shallow": ([4, 6, 0, 1], 40),
    "at once": ([5, 5, 2, 1], 10),
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mixture", MIXTURES)
def test_batches_go_on_with_what_is_open_however_they_are_gone_through(mixture, seed):
    random = np.random.default_rng(seed)
    weights, span = MIXTURES[mixture]
    steps = np.array([1, 2, 3, 0], np.int32)
    of_cpus = np.zeros(4, np.int32)
    depths, one_by_one = SliceDepths(), OneByOne()
    expected, found, begun = [], [], 0
    for number in range(40):
        count = int(random.integers(0, 30))
        # Some batches have what lasts, all others have begins and ends alone.
        of = weights if mixture != "at once" or number % 5 == 0 else MIXTURES["even"][0]
        class_id = random.choice(4, count, p=np.array(of) / sum(of)).astype(np.int32)
        thread = random.integers(0, 3, count).astype(np.int32)
        track = np.where(random.random(count) < 0.2, 7, -1).astype(np.int32)
        # Now and then one begins before what is open began, and one at the end of time.
        begun = max(begun + int(random.choice([0, 1, 5, -20], p=[0.3, 0.3, 0.3, 0.1])), 0)
        ts = begun + np.sort(random.integers(0, span, count))
        if number == 35 and seed % 2 and count:
            ts[-1] = LAST
        end = np.minimum(ts, LAST - 50) + random.integers(0, 20, count)
        begun = int(ts[-1]) if count and ts[-1] < LAST else begun
        order = random.permutation(count) if seed % 3 == 0 else None
        columns = [class_id, thread, track, class_id, ts, end]
        lanes = np.where(track < 0, thread, track + 10)
        expected.append(
            one_by_one.beyond(steps[class_id], lanes.tolist(), ts.tolist(), end.tolist(), 6)
        )
        if order is not None:
            # They stand in any order, and are brought into that of time.
            places = np.empty(count, np.int64)
            places[order] = np.arange(count)
            columns = [column[order] for column in columns]
            order = places
        names = ("class_id", "thread", "track", "cpu", "ts", "end")
        given = EventArrays(**dict(zip(names, columns, strict=True)))
        found.append(depths.beyond(steps, of_cpus, given, order, 6))
    assert found == expected
    # Both those that are gone through in either way.
    assert 0 in expected
    assert any(expected) or mixture != "deep"
