"""The columns that say where something is: CPU, thread, process, track."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.analysis.columns.collecting import id_column, masked_column, name_column
from converter.analysis.viewing.gather import split_locations
from converter.ir.trace import Trace, TrackScope


def location_columns(
    trace: Trace, location: NDArray[np.int64]
) -> dict[str, Callable[[], NDArray[Any]]]:
    """Return the functions that make the columns ``cpu``, ``tid``, ``pid``, ``thread``, ``process`` and ``track`` of
    locations (`viewing.gather.locations`); each is absent, or None, where a location has no such thing.

    What is on a track is on the thread, in the process, or on the CPU, that the track belongs to.
    """
    cpu, thread, track = split_locations(location)
    owners = np.array([one.owner for one in trace.tracks] + [-1], np.int64)
    scopes = np.array([one.scope for one in trace.tracks] + [-1], np.int64)
    owner, scope = owners[track], scopes[track]
    cpu = np.where(scope == TrackScope.CPU, owner, cpu)
    thread = np.where(scope == TrackScope.THREAD, owner, thread)
    process_of = np.array([one.process for one in trace.threads] + [-1], np.int64)
    process = np.where(scope == TrackScope.PROCESS, owner, process_of[thread])
    of_thread, of_process, on_track = (one.astype(np.int32) for one in (thread, process, track))
    threads, processes = trace.threads, trace.processes
    return {
        "cpu": partial(masked_column, cpu.astype(np.int32), cpu >= 0),
        "tid": partial(id_column, [one.tid for one in threads], of_thread),
        "pid": partial(id_column, [one.pid for one in processes], of_process),
        "thread": partial(name_column, [one.name or None for one in threads], of_thread),
        "process": partial(name_column, [one.name or None for one in processes], of_process),
        "track": partial(name_column, [one.name or None for one in trace.tracks], on_track),
    }
