"""The states of threads on a page: running, runnable, asleep."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from converter.ir.kinds import Kind
from converter.ir.trace import Trace


def _none() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class ThreadStates:
    """The states of threads, one thread after the other, each by time; a state lasts until the next of its thread."""

    #: The id of each thread, and the number of its states.
    tids: NDArray[np.int64] = field(default_factory=_none)
    counts: NDArray[np.int64] = field(default_factory=_none)
    ts: NDArray[np.int64] = field(default_factory=_none)
    #: Indexes of `names`, which are those of `Trace.thread_states`.
    state: NDArray[np.int64] = field(default_factory=_none)
    #: The id of the thread that made it runnable, -1 if none is known.
    waker: NDArray[np.int64] = field(default_factory=_none)
    names: tuple[str, ...] = ()


def states_of(trace: Trace) -> ThreadStates:
    """Return the states of a trace's threads, whose batches are read again if it has context switches.

    Raises:
        TraceError: as `Trace.batches` does.

    """
    if all(one.kind is not Kind.SCHED_SWITCH for one in trace.event_classes):
        return ThreadStates()
    from converter.analysis.scheduling.states import states_by_thread

    found = states_by_thread(trace)
    tids, counts = np.unique(found.tid, return_counts=True)
    return ThreadStates(tids, counts, found.ts, found.state, found.waker, tuple(found.names))
