"""Flows after the end of a complete slice, as the kernel finds them."""

import numpy as np

from converter.ir.events import Batch
from converter.kernels.batches.event_arrays import EventArrays
from converter.projection.passes.flows.late_flows import LateFlows

LAST = np.iinfo(np.int64).max
BEGIN, END, COMPLETE, FLOW, SPLIT = 1, 2, 3, 4, 5


def columns_of(steps, times, ends):
    """Events of one thread."""
    count = len(steps)
    zeros = np.zeros(count, np.int32)
    batch = Batch(
        ts=np.array(times, np.int64),
        class_id=zeros,
        row=zeros,
        thread=zeros,
        cpu=zeros,
        track=zeros - 1,
        tables={},
    )
    return EventArrays(batch, class_id=np.array(steps, np.int32), end=np.array(ends, np.int64))


def found(steps, times, ends):
    """The positions of flows whose slice has ended."""
    at, _, _ = LateFlows().find(columns_of(steps, times, ends), np.arange(len(steps)))
    return at.tolist()


def outside(steps, times, ends):
    """The positions of flows in no slice."""
    return LateFlows().outside(columns_of(steps, times, ends), np.arange(len(steps))).tolist()


def test_a_flow_at_the_last_time_without_a_slice_is_of_none():
    assert found([FLOW], [LAST], [0]) == []
    assert found([FLOW, FLOW], [LAST - 1, LAST], [0, 0]) == []


def test_a_flow_at_the_end_of_a_slice_is_found():
    assert found([SPLIT, FLOW], [10, 20], [20, 0]) == [1]
    assert found([SPLIT, FLOW], [10, 19], [20, 0]) == []
    assert found([SPLIT, FLOW], [10, LAST], [LAST - 1, 0]) == [1]
    assert found([SPLIT, FLOW], [10, LAST], [LAST, 0]) == []


def test_a_flow_is_outside_before_a_begin_and_after_an_end_event():
    assert outside([FLOW, BEGIN, FLOW, END, FLOW], [5, 5, 5, 9, 9], [0] * 5) == [0, 4]
    # A complete slice takes what comes after it, until the next event of slices.
    assert outside([FLOW, COMPLETE, FLOW], [5, 5, 90], [5, 9, 90]) == [0]
    assert outside([COMPLETE, END, FLOW], [5, 20, 20], [9, 20, 20]) == [2]
    assert outside([BEGIN, COMPLETE, FLOW, END, FLOW], [1, 2, 4, 5, 6], [0, 3, 4, 5, 6]) == [4]
