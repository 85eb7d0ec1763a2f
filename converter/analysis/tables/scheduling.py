"""Scheduling as columns: what ran on each CPU, and the states of each thread."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.analysis.columns.collecting import id_column, masked_column, name_column
from converter.analysis.tables.timeline import UNFINISHED
from converter.ir.display.text import utf8_text
from converter.ir.distinct_values import distinct
from converter.ir.event_columns import EventColumns
from converter.ir.events import Batch, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.capabilities import Capabilities, KindSupport, Projection
from converter.projection.domain.scheduling.sched_conventions import with_linux_state
from converter.projection.domain.scheduling.state_bits import SINCE_4_14, with_state_bits
from converter.projection.engine.partitions import Partition
from converter.projection.project import project

_TID: Final = IntegerClass(64, signed=True)
_PRIORITY: Final = Field("next_prio", IntegerClass(32, signed=True), Role.NEXT_PRIORITY)
_STATE: Final = Field("prev_state", IntegerClass(64, signed=True), Role.PREV_STATE)
_SWITCH: Final = KindSupport(
    (
        Field("prev_tid", _TID, Role.PREV_TID),
        Field("next_tid", _TID, Role.NEXT_TID),
        Field("next_comm", StringClass(), Role.NEXT_COMM),
    ),
    (_PRIORITY, _STATE),
    frozenset({Role.PREV_TID, Role.NEXT_TID}),
    arguments=False,
    cpu=True,
)
_WAKING: Final = KindSupport(
    (Field("tid", _TID, Role.TID),), (), frozenset({Role.TID}), arguments=False, cpu=True
)
#: What makes a thread runnable: a new one begins so.
_NEW: Final = (Kind.SCHED_WAKEUP_NEW, Kind.TASK_NEW, Kind.PROCESS_FORK)
_WAKINGS: Final = (Kind.SCHED_WAKING, Kind.SCHED_WAKEUP, *_NEW)


def _as_switch(partition: Partition, projection: Projection) -> Partition:
    return with_state_bits(with_linux_state(partition), projection, SINCE_4_14)


#: Scheduling alone, with states in the bits of Linux 4.14 and later.
_SCHEDULING: Final = Capabilities(
    kinds={Kind.SCHED_SWITCH: _SWITCH, **dict.fromkeys(_WAKINGS, _WAKING)},
    adapters={Kind.SCHED_SWITCH: _as_switch},
    integers=frozenset({(32, True), (64, True), (64, False)}),
    clock_rates=False,
    negative_times=True,
    utf8_only=False,
    time_order=True,
)
#: Columns of switches and of wakings, as they are gathered.
_SWITCHES: Final = ("ts", "cpu", "prev", "next", "name", "priority", "state")
_WOKEN: Final = ("ts", "tid", "waker")
#: No priority, no state.
_UNKNOWN: Final = np.int64(np.iinfo(np.int64).min)
#: Changes of states: a thread begins to run, leaves its CPU, is woken.
_RUNS, _LEAVES, _IS_WOKEN = range(3)
#: Their order at one time: a thread leaves before it is woken, and is woken before it runs.
_RANKS: Final = np.array([2, 0, 1])
#: The bits of a thread that cannot run.
_SLEEPS: Final = sum(bit for bit, _ in SINCE_4_14.letters)


class _Scheduling:
    """Switches by CPU and time, and wakings by time."""

    def __init__(self, trace: Trace) -> None:
        self.trace, _ = project(trace, _SCHEDULING, "scheduling")
        switches: dict[str, list[NDArray[Any]]] = {name: [] for name in _SWITCHES}
        woken: dict[Kind, dict[str, list[NDArray[Any]]]] = {
            kind: {name: [] for name in _WOKEN} for kind in _WAKINGS
        }
        for batch in self.trace.batches():
            for number, table in batch.tables.items():
                if not len(table):
                    continue
                kind = self.trace.event_classes[number].kind
                if kind is Kind.SCHED_SWITCH:
                    _append(switches, self._switches(batch, number))
                elif kind in woken:
                    _append(woken[kind], self._wakings(batch, number))
        found = _joined(switches)
        order = np.lexsort((found["ts"], found["cpu"]))
        self.switches = {name: column[order] for name, column in found.items()}
        # Where a kernel records when a task is woken, what it records once the task is awake says nothing new.
        first = (Kind.SCHED_WAKING,) if woken[Kind.SCHED_WAKING]["ts"] else (Kind.SCHED_WAKEUP,)
        kept = [_joined(woken[kind]) for kind in (*first, *_NEW)]
        self.wakings = {name: np.concatenate([one[name] for one in kept]) for name in _WOKEN}

    def _switches(self, batch: Batch, number: int) -> dict[str, NDArray[Any]]:
        at = batch.positions(number)
        column = partial(self._column, batch, number)
        return {
            "ts": batch.ts[at],
            "cpu": batch.cpu[at].astype(np.int64),
            "prev": column(Role.PREV_TID),
            "next": column(Role.NEXT_TID),
            "name": column(Role.NEXT_COMM),
            "priority": column(Role.NEXT_PRIORITY),
            "state": column(Role.PREV_STATE),
        }

    def _wakings(self, batch: Batch, number: int) -> dict[str, NDArray[Any]]:
        at = batch.positions(number)
        tids = np.array([_signed(thread.tid) for thread in self.trace.threads] + [-1], np.int64)
        return {
            "ts": batch.ts[at],
            "tid": self._column(batch, number, Role.TID),
            "waker": tids[batch.thread[at]],
        }

    def _column(self, batch: Batch, number: int, role: Role) -> NDArray[np.int64]:
        table = batch.tables[number]
        index = self.trace.event_classes[number].index_of(role)
        if index is None:
            return np.full(len(table), _UNKNOWN)
        column = table.column(index)
        assert isinstance(column, np.ndarray), "numbers, and ids of texts"
        return column.astype(np.int64)


def sched(trace: Trace) -> EventColumns:
    """Return what ran on each CPU: a row for each time that a thread ran, ordered by its begin.

    Columns: ``ts`` and ``dur`` (int64, nanoseconds; -1: until the end of the trace), ``cpu``, ``tid`` (0: the idle
    thread of a CPU), ``pid``, ``thread``, ``process``, ``end_state`` (Linux's letters for how the thread left: ``S``
    asleep, ``D`` uninterruptible, ``R`` still runnable, ``R+`` preempted; None where it is not known), ``priority``.
    Names are those of Perfetto's table `sched_slice`.

    Raises:
        TraceError: as `Trace.batches` does.
    """
    found = _Scheduling(trace)
    one = found.switches
    after, follows = _next(one["ts"], one["cpu"])
    left, _ = _next(one["prev"], one["cpu"])
    state, _ = _next(one["state"], one["cpu"])
    # A switch from another thread than the one that ran says nothing about that.
    state = np.where(follows & (left == one["next"]), state, _UNKNOWN)
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
    columns = _rows(columns, order)
    priority = columns["priority"]
    return EventColumns(
        len(order),
        {
            "ts": columns["ts"],
            "dur": columns["dur"],
            "cpu": masked_column(columns["cpu"].astype(np.int32), columns["cpu"] >= 0),
            **_thread_columns(found.trace, columns["tid"], columns["name"]),
            "end_state": partial(_state_names, columns["state"]),
            "priority": masked_column(
                np.where(priority == _UNKNOWN, 0, priority).astype(np.int32), priority != _UNKNOWN
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
    found = _Scheduling(trace)
    columns = _changes(found)
    columns = _rows(columns, _effective(columns))
    after, follows = _next(columns["ts"], columns["tid"])
    columns["dur"] = np.where(follows, after - columns["ts"], UNFINISHED)
    # A state that lasts no time at all is none, unless a thread ran.
    lasting = (columns["dur"] != 0) | (columns["change"] == _RUNS)
    columns = _rows(columns, lasting)
    columns = _rows(columns, np.argsort(columns["ts"], kind="stable"))
    woken = (columns["waker"] != _UNKNOWN) & (columns["waker"] != -1)
    runs = columns["change"] == _RUNS
    return EventColumns(
        len(columns["ts"]),
        {
            "ts": columns["ts"],
            "dur": columns["dur"],
            "state": partial(_states, columns["state"], columns["change"]),
            "cpu": masked_column(columns["cpu"].astype(np.int32), runs & (columns["cpu"] >= 0)),
            **_thread_columns(found.trace, columns["tid"], columns["name"]),
            "waker_tid": masked_column(columns["waker"], woken),
        },
    )


def _changes(found: _Scheduling) -> dict[str, NDArray[Any]]:
    """Return the changes of the states of all threads but idle ones, by thread and time."""
    one, woken = found.switches, found.wakings
    # A thread that ran leaves with the next switch of its CPU, even if that names another.
    left, follows = _next(one["prev"], one["cpu"])
    misnamed = np.flatnonzero(follows & (left != one["next"]))
    counts = (len(one["ts"]), len(one["ts"]), len(misnamed), len(woken["ts"]))

    def column(*parts: NDArray[np.int64] | None) -> NDArray[np.int64]:
        return np.concatenate(
            [
                np.full(count, _UNKNOWN) if part is None else part
                for part, count in zip(parts, counts, strict=True)
            ]
        )

    columns = {
        "ts": column(one["ts"], one["ts"], one["ts"][misnamed + 1], woken["ts"]),
        "tid": column(one["next"], one["prev"], one["next"][misnamed], woken["tid"]),
        "cpu": column(one["cpu"], None, None, None),
        "state": column(None, one["state"], None, None),
        "waker": column(None, None, None, woken["waker"]),
        "name": column(one["name"], None, None, None),
        "change": np.repeat((_RUNS, _LEAVES, _LEAVES, _IS_WOKEN), counts),
    }
    columns = _rows(columns, columns["tid"] > 0)
    order = np.lexsort((_RANKS[columns["change"]], columns["ts"], columns["tid"]))
    return _rows(columns, order)


def _next(
    column: NDArray[np.int64], group: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the value after each, and whether that is of the same group."""
    count = len(column)
    after, follows = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    after[:-1] = column[1:]
    follows[:-1] = group[1:] == group[:-1]
    return after, follows


def _rows(columns: dict[str, NDArray[Any]], which: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {name: column[which] for name, column in columns.items()}


def _effective(columns: dict[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Return which changes are some: a thread is woken if it sleeps, or if nothing was known of it before."""
    count = len(columns["ts"])
    first = np.ones(count, np.bool_)
    first[1:] = columns["tid"][1:] != columns["tid"][:-1]
    sleeps = (columns["change"] == _LEAVES) & ~_is_runnable(columns["state"])
    asleep = np.zeros(count, np.bool_)
    asleep[1:] = sleeps[:-1]
    effective: NDArray[np.bool_] = (columns["change"] != _IS_WOKEN) | first | asleep
    return effective


def _is_runnable(state: NDArray[np.int64]) -> NDArray[np.bool_]:
    runnable: NDArray[np.bool_] = (state != _UNKNOWN) & (state & _SLEEPS == 0)
    return runnable


def _states(state: NDArray[np.int64], change: NDArray[np.int64]) -> NDArray[Any]:
    names = _state_names(state)
    names[change == _RUNS] = "Running"
    names[change == _IS_WOKEN] = "R"
    return names


def _state_names(state: NDArray[np.int64]) -> NDArray[Any]:
    """Return Linux's letters for states; None where there is no state."""
    values, inverse = distinct(state)
    names = np.empty(len(values), object)
    for number, value in enumerate(values.tolist()):
        if value != _UNKNOWN:
            letters = "".join(letter for bit, letter in SINCE_4_14.letters if value & bit)
            preempted = "+" if any(value & bit for bit in SINCE_4_14.preempted) else ""
            names[number] = (letters or "R") + preempted
    return names[inverse]


def _thread_columns(
    trace: Trace, tids: NDArray[np.int64], names: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the columns of the threads of these numbers; `names` are ids of texts, for threads without a name."""
    values, inverse = distinct(tids)
    numbers = {_signed(thread.tid): number for number, thread in enumerate(trace.threads)}
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


def _signed(tid: int) -> int:
    return tid - (1 << 64) if tid >= 1 << 63 else tid


def _append(columns: dict[str, list[NDArray[Any]]], part: dict[str, NDArray[Any]]) -> None:
    for name, column in part.items():
        columns[name].append(column)


def _joined(columns: dict[str, list[NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    return {
        name: np.concatenate([np.zeros(0, np.int64), *parts]) for name, parts in columns.items()
    }
