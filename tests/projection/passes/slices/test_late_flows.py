"""Flows after the end of a complete slice, as the kernel finds them."""

import numpy as np

from converter.ir.events import Batch
from converter.kernels.batches.event_arrays import EventArrays
from converter.projection.passes.flows.late_flows import LateFlows

LAST = np.iinfo(np.int64).max
FLOW, SPLIT = 4, 5


def found(steps, times, ends):
    """The positions of flows whose slice has ended, of events of one thread."""
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
    arrays = EventArrays(batch, class_id=np.array(steps, np.int32), end=np.array(ends, np.int64))
    at, _, _ = LateFlows().find(arrays, np.arange(count))
    return at.tolist()


def test_a_flow_at_the_last_time_without_a_slice_is_of_none():
    assert found([FLOW], [LAST], [0]) == []
    assert found([FLOW, FLOW], [LAST - 1, LAST], [0, 0]) == []


def test_a_flow_at_the_end_of_a_slice_is_found():
    assert found([SPLIT, FLOW], [10, 20], [20, 0]) == [1]
    assert found([SPLIT, FLOW], [10, 19], [20, 0]) == []
    assert found([SPLIT, FLOW], [10, LAST], [LAST - 1, 0]) == [1]
    assert found([SPLIT, FLOW], [10, LAST], [LAST, 0]) == []
