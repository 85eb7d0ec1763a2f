"""What is open on lanes: as much as a model says, in time and memory that no input can blow up."""

import resource
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.projection.passes.slices.open_slices import OpenSlices
from converter.selection.stacks import BEGIN, END, UNMATCHED, VALUE, Stacks

#: Deep enough that walking over all of it for each end would take minutes.
DEPTH = 400_000


def follow(stacks, lane, step, name, number, owner=None):
    return stacks.follow(
        np.array(lane, np.uint64),
        np.array(step, np.int8),
        np.array(name, np.int64),
        np.array(number, np.int64),
        np.ones(len(lane), np.int32) if owner is None else np.array(owner, np.int32),
    )


def model(events):
    """The owner and number of what each event closes, and what is open at the end."""
    lanes, closed = {}, []
    for number, (lane, step, name, owner) in enumerate(events):
        stack = lanes.setdefault(lane, [])
        found = (UNMATCHED, -1)
        if step == BEGIN or (step == VALUE and not stack):
            stack.append((owner, number, name))
        elif step == VALUE:
            stack[-1] = (owner, number, stack[-1][2])
        elif stack:
            matching = [i for i, one in enumerate(stack) if not name or one[2] in (0, name)]
            place = matching[-1] if matching else len(stack) - 1
            found = stack[place][:2]
            del stack[place:]
        closed.append(found)
    left = sorted((number, owner) for stack in lanes.values() for owner, number, _ in stack)
    return closed, [(number, owner) for number, owner in left if owner]


EVENTS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([BEGIN, END, VALUE]),
        st.integers(0, 3),
        st.integers(0, 2),
    ),
    max_size=60,
)


#: How deep a stack is to begin with: from 32 on names are counted.
DEPTHS = st.sampled_from([30, 31, 32, 33, 40])


@given(DEPTHS, st.lists(st.integers(1, 3), min_size=40, max_size=40), EVENTS)
def test_deep_stacks_are_what_a_model_says(depth, names, events):
    events = [(0, BEGIN, name, 1) for name in names[:depth]] + events
    stacks = Stacks()
    lane, step, name, owner = zip(*events, strict=True)
    closed = follow(stacks, lane, step, name, range(len(events)), owner)
    expected, _ = model(events)
    assert list(zip(closed.owner.tolist(), closed.number.tolist(), strict=True)) == expected


@given(EVENTS, st.integers(0, 60))
def test_stacks_are_what_a_model_says(events, cut):
    stacks = Stacks()
    closed = []
    for first, part in ((0, events[:cut]), (len(events[:cut]), events[cut:])):
        if part:
            lane, step, name, owner = zip(*part, strict=True)
            found = follow(stacks, lane, step, name, range(first, first + len(part)), owner)
            closed += zip(found.owner.tolist(), found.number.tolist(), strict=True)
    numbers, owners = stacks.open()
    assert (closed, list(zip(numbers.tolist(), owners.tolist(), strict=True))) == model(events)


@pytest.mark.parametrize("kernel", ["stacks", "open slices"])
def test_names_that_nobody_has_cost_no_walk(kernel):
    names = np.arange(1, DEPTH + 1)
    before = time.process_time()
    if kernel == "stacks":
        stacks, lane, number = Stacks(), np.zeros(DEPTH), np.arange(DEPTH)
        follow(stacks, lane, np.full(DEPTH, BEGIN), names, number)
        closed = follow(stacks, lane, np.full(DEPTH, END), names + DEPTH, number + DEPTH)
        assert np.array_equal(closed.number, number[::-1])
    else:
        slices, place = OpenSlices(), np.zeros(DEPTH, np.int32)
        step = np.ones(DEPTH, np.int32)
        slices.match(step, place, place, names.astype(np.int32), False)
        foreign = slices.match(2 * step, place, place, (names + DEPTH).astype(np.int32), False)
        assert len(foreign) == DEPTH
    assert time.process_time() - before < 5


def test_lanes_with_nothing_open_are_forgotten():
    stacks, count = Stacks(), 50_000
    follow(stacks, [7], [BEGIN], [1], [0])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(60):
        lane = np.repeat(np.arange(count, dtype=np.uint64) + (number + 1) * count, 2)
        step = np.tile(np.array([BEGIN, END], np.int8), count)
        follow(stacks, lane, step, lane.astype(np.int64), np.arange(1, 2 * count + 1))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10
    assert follow(stacks, [7], [END], [1], [1]).number.tolist() == [0]
