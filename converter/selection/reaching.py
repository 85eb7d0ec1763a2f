"""Complete slices that extend past a given time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.selection.clipping import I64, durations


def reaching(trace: Trace, batch: Batch, start: int) -> NDArray[np.intp]:
    """Return the positions in a batch of complete slices that extend to a time, or whose duration is unknown."""
    positions = []
    for number, table in batch.tables.items():
        known = durations(trace.event_classes[number], table)
        if known is None or not len(table):
            continue
        at = batch.positions(number)
        # The difference from an earlier time fits 64 unsigned bits; a sum may not.
        left = (np.int64(start) - batch.ts[at]).view(np.uint64)
        lasting = (known >= 0) & (known.view(np.uint64) >= left)
        positions.append(at[lasting | (known == I64.max)])
    return np.sort(np.concatenate(positions)) if positions else np.zeros(0, np.intp)
