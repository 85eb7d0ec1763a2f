"""Events without a time of their own that come before all others: they get the time of the first that has one.

Their place in a batch says 0 until then. In a format whose records all have a time, the trace would begin there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.ir.trace import Trace

#: The number of batches without any time that are held back; after that, their events stay at 0.
_MOST_HELD: Final = 64


def since_first_time(trace: Trace) -> Trace:
    """Return the trace whose events without a time of their own are not before the first one with a time."""
    result = dataclasses.replace(trace)
    result.make_batches = lambda: _batches(trace)
    return result


def _batches(trace: Trace) -> Iterator[Batch]:
    batches = trace.batches()
    held: list[Batch] = []
    for batch in batches:
        timed = np.flatnonzero(_timed(trace, batch))
        if len(timed):
            first = int(timed[0])
            start = batch.ts[first]
            yield from (one.at_times(np.full(len(one), start)) for one in held)
            held.clear()
            ts = batch.ts.copy()
            ts[:first] = start
            yield batch.at_times(ts) if first else batch
            break
        held.append(batch)
        if len(held) == _MOST_HELD:
            break
    yield from held
    yield from batches


def _timed(trace: Trace, batch: Batch) -> NDArray[np.bool_]:
    """Return True for each event of a batch with a time of its own."""
    timed = np.ones(len(batch), np.bool_)
    for number in batch.tables:
        if not trace.event_classes[number].timed:
            timed[batch.positions(number)] = False
    return timed
