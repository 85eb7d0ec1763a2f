"""The scheduling of a trace: switches and wakings, and the states of threads that follow from them."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.ir.distinct_values import distinct
from converter.ir.events import Batch, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.capabilities import Capabilities, KindSupport, Projection
from converter.projection.domain.scheduling.sched_conventions import with_linux_state
from converter.projection.domain.scheduling.state_bits import SINCE_4_14, with_state_bits
from converter.projection.engine.partitions import Partition
from converter.projection.project import project

#: The duration of what has not ended when the trace ends.
UNFINISHED: Final = -1
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
UNKNOWN: Final = np.int64(np.iinfo(np.int64).min)
#: Changes of states: a thread begins to run, leaves its CPU, is woken.
RUNS, _LEAVES, _IS_WOKEN = range(3)
#: Their order at one time: a thread leaves before it is woken, and is woken before it runs.
_RANKS: Final = np.array([2, 0, 1])
#: The bits of a thread that cannot run.
_SLEEPS: Final = sum(bit for bit, _ in SINCE_4_14.letters)


class Scheduling:
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
        tids = np.array([signed_id(thread.tid) for thread in self.trace.threads] + [-1], np.int64)
        return {
            "ts": batch.ts[at],
            "tid": self._column(batch, number, Role.TID),
            "waker": tids[batch.thread[at]],
        }

    def _column(self, batch: Batch, number: int, role: Role) -> NDArray[np.int64]:
        table = batch.tables[number]
        index = self.trace.event_classes[number].index_of(role)
        if index is None:
            return np.full(len(table), UNKNOWN)
        column = table.column(index)
        assert isinstance(column, np.ndarray), "numbers, and ids of texts"
        return column.astype(np.int64)


class States(NamedTuple):
    """The states of threads, by thread and time; each lasts until the next of its thread, or the end of the trace."""

    ts: NDArray[np.int64]
    tid: NDArray[np.int64]
    #: The number of the state in `names`.
    state: NDArray[np.int64]
    #: The number of the thread that made it runnable, -1 if none is known.
    waker: NDArray[np.int64]
    #: As `thread_states` names them; empty for one that is not known.
    names: list[str]


def states_by_thread(trace: Trace) -> States:
    """Return the states of all threads but idle ones.

    Raises:
        TraceError: as `Trace.batches` does.

    """
    columns = states_of_threads(Scheduling(trace))
    texts = state_texts(columns["state"], columns["change"])
    names = [*dict.fromkeys(texts.tolist())]
    numbers = {name: number for number, name in enumerate(names)}
    return States(
        columns["ts"],
        columns["tid"],
        np.array([numbers[text] for text in texts.tolist()], np.int64),
        np.where(has_waker(columns), columns["waker"], -1),
        [name or "" for name in names],
    )


def states_of_threads(found: Scheduling) -> dict[str, NDArray[Any]]:
    """Return the states of all threads but idle ones, by thread and time, with their durations."""
    columns = _changes(found)
    columns = rows_at(columns, _effective(columns))
    after, follows = next_of(columns["ts"], columns["tid"])
    columns["dur"] = np.where(follows, after - columns["ts"], UNFINISHED)
    # A state that lasts no time at all is none, unless a thread ran.
    lasting = (columns["dur"] != 0) | (columns["change"] == RUNS)
    return rows_at(columns, lasting)


def has_waker(columns: dict[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Return which states a known thread has caused."""
    woken: NDArray[np.bool_] = (columns["waker"] != UNKNOWN) & (columns["waker"] != -1)
    return woken


def _changes(found: Scheduling) -> dict[str, NDArray[Any]]:
    """Return the changes of the states of all threads but idle ones, by thread and time."""
    one, woken = found.switches, found.wakings
    # A thread that ran leaves with the next switch of its CPU, even if that names another.
    left, follows = next_of(one["prev"], one["cpu"])
    misnamed = np.flatnonzero(follows & (left != one["next"]))
    counts = (len(one["ts"]), len(one["ts"]), len(misnamed), len(woken["ts"]))

    def column(*parts: NDArray[np.int64] | None) -> NDArray[np.int64]:
        return np.concatenate(
            [
                np.full(count, UNKNOWN) if part is None else part
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
        "change": np.repeat((RUNS, _LEAVES, _LEAVES, _IS_WOKEN), counts),
    }
    columns = rows_at(columns, columns["tid"] > 0)
    order = np.lexsort((_RANKS[columns["change"]], columns["ts"], columns["tid"]))
    return rows_at(columns, order)


def next_of(
    column: NDArray[np.int64], group: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the value after each, and whether that is of the same group."""
    count = len(column)
    after, follows = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    after[:-1] = column[1:]
    follows[:-1] = group[1:] == group[:-1]
    return after, follows


def rows_at(columns: dict[str, NDArray[Any]], which: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return some rows of all columns."""
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
    runnable: NDArray[np.bool_] = (state != UNKNOWN) & (state & _SLEEPS == 0)
    return runnable


def state_texts(state: NDArray[np.int64], change: NDArray[np.int64]) -> NDArray[Any]:
    """Return the names of states, as `thread_states` has them."""
    names = state_names(state)
    names[change == RUNS] = "Running"
    names[change == _IS_WOKEN] = "R"
    return names


def state_names(state: NDArray[np.int64]) -> NDArray[Any]:
    """Return Linux's letters for states; None where there is no state."""
    values, inverse = distinct(state)
    names = np.empty(len(values), object)
    for number, value in enumerate(values.tolist()):
        if value != UNKNOWN:
            letters = "".join(letter for bit, letter in SINCE_4_14.letters if value & bit)
            preempted = "+" if any(value & bit for bit in SINCE_4_14.preempted) else ""
            names[number] = (letters or "R") + preempted
    return names[inverse]


def signed_id(tid: int) -> int:
    """Return a number of 64 bits as a signed one."""
    return tid - (1 << 64) if tid >= 1 << 63 else tid


def _append(columns: dict[str, list[NDArray[Any]]], part: dict[str, NDArray[Any]]) -> None:
    for name, column in part.items():
        columns[name].append(column)


def _joined(columns: dict[str, list[NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    return {
        name: np.concatenate([np.zeros(0, np.int64), *parts]) for name, parts in columns.items()
    }
