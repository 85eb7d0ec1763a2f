"""Flows after the ends of slices are found as by walking whole stacks."""

import random

import numpy as np

from converter.kernels.batches.event_arrays import EventArrays
from converter.projection.passes.flows.late_flows import LateFlows

NEVER = (1 << 63) - 1
BEGIN, END, FLOW, SPLIT = 1, 2, 4, 5


def expected(events):
    """The flows of (time, step, end): position, begin of the slice, first end of a split one."""
    stack, found = [], []
    for position, (ts, step, end) in enumerate(events):
        if step == FLOW:
            first = min((one[1] for one in stack if one[2]), default=NEVER)
            if stack and stack[-1][1] <= ts and first <= ts:
                found.append((position, stack[-1][0], first))
        elif step == END:
            take_off(stack, ts, takes_no_time=False)
            opened = [i for i, one in enumerate(stack) if one[1] == NEVER]
            if opened:
                begin, _, is_split = stack[opened[-1]]
                stack[opened[-1]] = (begin, ts, is_split)
                if opened[-1] == len(stack) - 1:
                    stack.pop()
        elif step:
            take_off(stack, ts, takes_no_time=step != BEGIN and end == ts)
            stack.append((ts, NEVER if step == BEGIN else end, step == SPLIT))
    return found


def take_off(stack, ts, *, takes_no_time):
    """Take off what has ended, and what is inside."""
    inner_is_open = False
    for i in reversed(range(len(stack))):
        begin, end, _ = stack[i]
        now = end == ts and not inner_is_open and not (takes_no_time and begin == ts)
        if end == NEVER:
            inner_is_open = True
        elif end < ts or now:
            del stack[i:]
            inner_is_open = False


def test_stacks_are_walked_as_far_as_something_has_ended():
    chance = random.Random(5)
    for _ in range(1500):
        ts, events = 0, []
        for _ in range(chance.randint(1, 40)):
            ts += chance.choice((0, 0, 1, 1, 3))
            step = chance.choice((0, BEGIN, END, 3, 3, FLOW, FLOW, SPLIT))
            events.append((ts, step, ts + chance.choice((0, 1, 2, 5, 30))))
        times, steps, ends = (np.array(column, np.int64) for column in zip(*events, strict=True))
        nowhere = np.full(len(events), -1, np.int32)
        columns = EventArrays(
            ts=times, class_id=steps.astype(np.int32), thread=nowhere + 1, track=nowhere, end=ends
        )
        flows, begins, firsts = LateFlows().find(columns, np.arange(len(events)))
        found = list(zip(flows.tolist(), begins.tolist(), firsts.tolist(), strict=True))
        assert found == expected(events), events
