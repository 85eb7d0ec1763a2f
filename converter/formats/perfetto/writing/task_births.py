"""The start of tasks in a recording: earlier descriptions apply to another task that had the same number."""

from __future__ import annotations

import numpy as np

from converter.ir.distinct_values import values_of
from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace

#: The delay after the event with which a task begins, in ns.
_DELAY = 1
_NEVER = -(1 << 63)


def births(trace: Trace, batch: Batch) -> dict[int, int]:
    """Return the tasks that begin in a batch without earlier events in it: by tid, the time from which they exist."""
    found: dict[int, int] = {}
    for class_id, table in batch.tables.items():
        event_class = trace.event_classes[class_id]
        tid_index = event_class.index_of(Role.TID)
        if event_class.kind is not Kind.TASK_NEW or tid_index is None or not len(table):
            continue
        column = table.column(tid_index)
        assert isinstance(column, np.ndarray)
        positions = np.flatnonzero(batch.class_id == class_id)
        tids = column[batch.row[positions]].tolist()
        for tid, ts in zip(tids, batch.ts[positions].tolist(), strict=True):
            found[tid] = min(ts, found.get(tid, ts))
    if not found:
        return {}
    numbers = [one.tid for one in trace.threads]
    # The last entry is for events without a thread.
    since = np.array([*(found.get(tid, _NEVER) for tid in numbers), _NEVER], np.int64)
    before = batch.ts < np.take(since, batch.thread, mode="wrap")
    for index in values_of(batch.thread[before]).tolist():
        found.pop(numbers[index], None)
    return {tid: ts + _DELAY for tid, ts in found.items()}
