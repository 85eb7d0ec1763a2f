"""The threads, processes and tracks of events, by name and number."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from converter.analysis.arrow.arrays import TEXT, named_array
from converter.analysis.arrow.buffers import array_of
from converter.ir.distinct_values import distinct
from converter.ir.trace import Trace

TASK_COLUMNS = {
    "tid": pa.uint64(),
    "pid": pa.uint64(),
    "thread": TEXT,
    "process": TEXT,
    "track": TEXT,
}

_BITS: Final = (1 << 64) - 1


def task_arrays(
    trace: Trace, thread: NDArray[np.int32], track: NDArray[np.int32]
) -> dict[str, pa.Array]:
    """Return the columns about the threads and tracks of events (indices of the trace's tables, -1: none),
    as known now.
    """
    threads, thread_rows = distinct(thread)
    tracks, track_rows = distinct(track)
    tasks = [trace.threads[index] if index >= 0 else None for index in threads.tolist()]
    processes = [trace.processes[task.process] if task else None for task in tasks]
    return {
        "tid": _numbers(thread_rows, [task and task.tid for task in tasks]),
        "pid": _numbers(thread_rows, [process and process.pid for process in processes]),
        "thread": named_array(thread_rows, [task.name or None if task else None for task in tasks]),
        "process": named_array(
            thread_rows, [one.name or None if one else None for one in processes]
        ),
        "track": named_array(
            track_rows,
            [trace.tracks[index].name if index >= 0 else None for index in tracks.tolist()],
        ),
    }


def _numbers(rows: NDArray[np.integer[Any]], numbers: list[int | None]) -> pa.Array:
    # Negative ones, which only some formats have, by their 64 bits.
    unsigned = np.array([0 if number is None else number & _BITS for number in numbers], np.uint64)
    valid = np.array([number is not None for number in numbers], np.bool_)
    return array_of(unsigned[rows], valid=valid[rows])
