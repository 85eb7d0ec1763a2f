"""Scheduling as columns: what ran on each CPU, and the states of each thread."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.analysis.columns.collecting import id_column, masked_column, name_column
from converter.analysis.scheduling.states import (
    RUNS,
    UNFINISHED,
    UNKNOWN,
    Scheduling,
    has_waker,
    next_of,
    rows_at,
    signed_id,
    state_names,
    state_texts,
    states_of_threads,
)
from converter.ir.display.text import utf8_text
from converter.ir.distinct_values import distinct
from converter.ir.event_columns import EventColumns
from converter.ir.trace import Trace


def sched(trace: Trace) -> EventColumns:
    """Return what ran on each CPU: a row for each time that a thread ran, ordered by its begin.

    Columns: ``ts`` and ``dur`` (int64, nanoseconds; -1: until the end of the trace), ``cpu``, ``tid`` (0: the idle
    thread of a CPU), ``pid``, ``thread``, ``process``, ``end_state`` (Linux's letters for how the thread left: ``S``
    asleep, ``D`` uninterruptible, ``R`` still runnable, ``R+`` preempted; None where it is not known), ``priority``.
    Names are those of Perfetto's table `sched_slice`.

    Raises:
        TraceError: as `Trace.batches` does.
    """
    found = Scheduling(trace)
    one = found.switches
    after, follows = next_of(one["ts"], one["cpu"])
    left, _ = next_of(one["prev"], one["cpu"])
    state, _ = next_of(one["state"], one["cpu"])
    # A switch from another thread than the one that ran says nothing about that.
    state = np.where(follows & (left == one["next"]), state, UNKNOWN)
    order = np.lexsort((one["cpu"], one["ts"]))
    columns = {
        "ts": one["ts"],
        "dur": np.where(follows, after - one["ts"], UNFINISHED),
        "cpu": one["cpu"],
        "tid": one["next"],
        "name": one["name"],
        "state": state,
        "priority": one["priority"],
    }
    columns = rows_at(columns, order)
    priority = columns["priority"]
    return EventColumns(
        len(order),
        {
            "ts": columns["ts"],
            "dur": columns["dur"],
            "cpu": masked_column(columns["cpu"].astype(np.int32), columns["cpu"] >= 0),
            **_thread_columns(found.trace, columns["tid"], columns["name"]),
            "end_state": partial(state_names, columns["state"]),
            "priority": masked_column(
                np.where(priority == UNKNOWN, 0, priority).astype(np.int32), priority != UNKNOWN
            ),
        },
    )


def thread_states(trace: Trace) -> EventColumns:
    """Return the states of each thread: a row for each time that a thread is in one, ordered by its begin.

    Columns: ``ts`` and ``dur`` (int64, nanoseconds; -1: until the end of the trace), ``state`` (``Running``, or
    Linux's letters: ``R`` and ``R+`` wait for a CPU, ``S`` sleeps, ``D`` sleeps uninterruptibly; None: not known),
    ``cpu`` (of a running thread), ``tid``, ``pid``, ``thread``, ``process``, ``waker_tid`` (the thread that made it
    runnable). The idle threads of CPUs are left out. Names are those of Perfetto's table `thread_state`.

    Raises:
        TraceError: as `Trace.batches` does.
    """
    found = Scheduling(trace)
    columns = states_of_threads(found)
    columns = rows_at(columns, np.argsort(columns["ts"], kind="stable"))
    woken = has_waker(columns)
    runs = columns["change"] == RUNS
    return EventColumns(
        len(columns["ts"]),
        {
            "ts": columns["ts"],
            "dur": columns["dur"],
            "state": partial(state_texts, columns["state"], columns["change"]),
            "cpu": masked_column(columns["cpu"].astype(np.int32), runs & (columns["cpu"] >= 0)),
            **_thread_columns(found.trace, columns["tid"], columns["name"]),
            "waker_tid": masked_column(columns["waker"], woken),
        },
    )


def _thread_columns(
    trace: Trace, tids: NDArray[np.int64], names: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the columns of the threads of these numbers; `names` are ids of texts, for threads without a name."""
    values, inverse = distinct(tids)
    numbers = {signed_id(thread.tid): number for number, thread in enumerate(trace.threads)}
    thread = np.array([numbers.get(tid, -1) for tid in values.tolist()], np.int32)[inverse]
    process_of = np.array([one.process for one in trace.threads] + [-1], np.int32)
    processes = trace.processes
    return {
        "tid": tids,
        "pid": partial(id_column, [one.pid for one in processes], process_of[thread]),
        "thread": partial(_names, trace, thread, names),
        "process": partial(
            name_column, [one.name or None for one in processes], process_of[thread]
        ),
    }


def _names(trace: Trace, thread: NDArray[np.int32], names: NDArray[np.int64]) -> NDArray[Any]:
    result = name_column([one.name or None for one in trace.threads], thread)
    is_nameless = np.array([name is None for name in result], np.bool_)
    nameless = np.flatnonzero(is_nameless & (names >= 0))
    texts = [trace.strings[id] for id in names[nameless].tolist()]
    result[nameless] = np.array([utf8_text(text) or None for text in texts], object)
    return result
