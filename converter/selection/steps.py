"""Steps: what events do to open slices and current values. Each has a stack and begins, ends or sets something there.

A stack holds slices that nest: the slices of a thread, the interrupts of a CPU, the calls of one id. Slices that
viewers derive from markers in a kernel's trace (Android's atrace) have stacks of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, ListColumn, string_ids, without_optional
from converter.ir.distinct_values import distinct
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.domain.markers import parse_marker_ids, parse_marker_texts
from converter.selection.stacks import BEGIN, END, VALUE, steps_of_classes

_Numbers = NDArray[np.uint64]

#: By the kind that begins: the kind that ends it.
PAIRS: Final = {
    Kind.SLICE_BEGIN: Kind.SLICE_END,
    Kind.ASYNC_BEGIN: Kind.ASYNC_END,
    Kind.OBJECT_NEW: Kind.OBJECT_DELETE,
    Kind.IRQ_ENTRY: Kind.IRQ_EXIT,
    Kind.SOFTIRQ_ENTRY: Kind.SOFTIRQ_EXIT,
    Kind.TIMER_ENTRY: Kind.TIMER_EXIT,
    Kind.IPI_ENTRY: Kind.IPI_EXIT,
    Kind.SYSCALL_ENTRY: Kind.SYSCALL_EXIT,
    Kind.WORK_BEGIN: Kind.WORK_END,
    Kind.FUNCTION_ENTRY: Kind.FUNCTION_EXIT,
}
_BEGIN_OF: Final = {end: begin for begin, end in PAIRS.items()}
#: Pairs that an id ties together, wherever their events are.
_BY_ID: Final = (Kind.ASYNC_BEGIN, Kind.OBJECT_NEW)
#: Pairs of a CPU; all others are of a thread, or on a track.
_OF_CPU: Final = (Kind.IRQ_ENTRY, Kind.SOFTIRQ_ENTRY, Kind.TIMER_ENTRY, Kind.IPI_ENTRY)
#: Pairs whose ends carry no information of their own.
TIMELINE_ENDS: Final = (Kind.SLICE_END, Kind.ASYNC_END, Kind.OBJECT_DELETE)

#: Pairs whose ends may say which begin they mean, and how.
_NAMED: Final = {
    Kind.SLICE_BEGIN: Role.NAME,
    Kind.ASYNC_BEGIN: Role.NAME,
    Kind.FUNCTION_ENTRY: Role.FUNCTION,
}

#: Kinds whose last event sets a value that holds until the next one, and the fields that identify the value.
_VALUES: Final[dict[Kind, tuple[Role, ...]]] = {
    Kind.SCHED_SWITCH: (),
    Kind.COUNTER: (Role.NAME, Role.CATEGORY, Role.ID, Role.SCOPE),
    Kind.STATE: (),
    Kind.CPU_FREQUENCY: (Role.TARGET_CPU,),
    Kind.CPU_IDLE: (Role.TARGET_CPU,),
    Kind.CPU_FREQUENCY_LIMITS: (Role.TARGET_CPU,),
    Kind.CLOCK_RATE: (Role.NAME, Role.TARGET_CPU),
}

#: The actions of the letters of markers; the end of an asynchronous slice may leave its name to the begin.
_LETTERS: Final = {
    "B": BEGIN,
    "E": END,
    "S": BEGIN,
    "F": END,
    "G": BEGIN,
    "H": END,
    "C": VALUE,
}
_BY_COOKIE: Final = {"S": "S", "F": "S", "G": "G", "H": "G"}

#: Families of stacks: that of markers, and the first of all others.
_CALLS: Final = 1
_BY_NAME: Final = 2
_FIRST_FAMILY: Final = 3

#: Words in the names of kernel events of which those of a pair differ in one.
_WORDS: Final = ("entry", "exit", "enter", "begin", "end", "start", "return")


@dataclass(frozen=True, slots=True)
class Steps:
    """The actions of some events of a batch, in order: an entry for each. `keeps` says that an
    unmatched end is kept.
    """

    at: NDArray[np.int32]
    lane: NDArray[np.uint64]
    step: NDArray[np.int8]
    name: NDArray[np.int64]
    keeps: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.at)

    def take(self, which: NDArray[np.bool_]) -> Steps:
        """Return a subset of the steps."""
        if which.all():
            return self
        return Steps(
            self.at[which],
            self.lane[which],
            self.step[which],
            self.name[which],
            self.keeps[which],
        )


class StepsOf:
    """Computes the steps of the events of a trace; unless `named`, only of classes that have no names of their own."""

    def __init__(self, trace: Trace, *, values: bool, named: bool = True) -> None:
        self._trace = trace
        self._with_values = values
        self._with_named = named
        #: By class number: what separates its stacks from those of other classes.
        self._families: dict[int, int] = {}
        self._keys: dict[str, int] = {}

    def __call__(self, batch: Batch) -> Steps | None:
        """Return the steps of a batch, or None if there are none."""
        parts = []
        classes = []
        for number, table in batch.tables.items():
            event_class = self._trace.event_classes[number]
            if not len(table) or not (self._with_named or not event_class.name):
                continue
            if self._action(event_class.kind) and not _has_ids(event_class.kind):
                classes.append(number)
                continue
            part = self._of_class(batch, number, event_class, table)
            if part is not None and len(part):
                parts.append(part)
        if classes:
            parts.append(self._of_plain_classes(batch, classes))
        if len(parts) < 2:
            return parts[0] if parts else None
        at = np.concatenate([part.at for part in parts])
        order = np.argsort(at, kind="stable")
        return Steps(
            at[order],
            np.concatenate([part.lane for part in parts])[order],
            np.concatenate([part.step for part in parts])[order],
            np.concatenate([part.name for part in parts])[order],
            np.concatenate([part.keeps for part in parts])[order],
        )

    def _action(self, kind: Kind) -> int:
        """Return what events of a kind do to a stack: 0 is nothing."""
        if kind in PAIRS:
            return BEGIN
        if kind in _BEGIN_OF:
            return END
        return VALUE if self._with_values and kind in _VALUES else 0

    def _of_plain_classes(self, batch: Batch, classes: Sequence[int]) -> Steps:
        """Return the steps of classes whose stacks are those of threads, tracks and CPUs."""
        count = len(self._trace.event_classes)
        family = np.zeros(count, np.int64)
        step, of_cpu = np.zeros((2, count), np.int8)
        keeps = np.zeros(count, np.bool_)
        names: NDArray[np.int64] | None = None
        for number in classes:
            event_class = self._trace.event_classes[number]
            kind = event_class.kind
            begin = _BEGIN_OF.get(kind, kind)
            family[number] = self._family(number, event_class, begin)
            step[number] = self._action(kind)
            of_cpu[number] = begin in _OF_CPU or begin is Kind.SCHED_SWITCH
            keeps[number] = self._keeps(kind)
            role = _NAMED.get(begin)
            ids = None if role is None else self._ids(event_class, batch.tables[number], role)
            if ids is not None:
                names = np.zeros(len(batch), np.int64) if names is None else names
                names[batch.positions(number)] = ids
        columns = (batch.class_id, batch.thread, batch.track, batch.cpu)
        at, lane = steps_of_classes(*columns, family, step, of_cpu)
        of_step = batch.class_id[at]
        return Steps(
            at,
            lane,
            step[of_step],
            np.zeros(len(at), np.int64) if names is None else names[at],
            keeps[of_step],
        )

    def _of_class(
        self, batch: Batch, number: int, event_class: EventClass, table: Table
    ) -> Steps | None:
        kind = event_class.kind
        if kind is Kind.MARK:
            return self._marker_steps(batch, number, event_class, table)
        step = self._action(kind)
        if not step:
            return None
        at = batch.positions(number)
        begin = _BEGIN_OF.get(kind, kind)
        role = _NAMED.get(begin)
        names = None if role is None else self._ids(event_class, table, role)
        return Steps(
            at,
            self._stacks_of(batch, number, event_class, table, begin),
            np.full(len(at), step, np.int8),
            np.zeros(len(at), np.int64) if names is None else names,
            np.full(len(at), self._keeps(kind)),
        )

    def _keeps(self, kind: Kind) -> bool:
        """Return True if an end of this kind is kept without the begin of what it ends."""
        return kind not in TIMELINE_ENDS or self._keeps_lone(kind)

    def _keeps_lone(self, kind: Kind) -> bool:
        """Return True if ends of this kind are shown even without the begin of what they end."""
        return kind is Kind.SLICE_END and self._trace.semantics.lone_ends

    def _stacks_of(
        self, batch: Batch, number: int, event_class: EventClass, table: Table, begin: Kind
    ) -> _Numbers:
        at = batch.positions(number)
        parts: list[Any] = [self._family(number, event_class, begin)]
        if begin in _BY_ID:
            parts += [
                self._ids(event_class, table, role) for role in (Role.ID, Role.SCOPE, Role.CATEGORY)
            ]
            # An id may be local to a process, or to the track that the event is on.
            parts += [self._processes(batch.thread[at]), batch.track[at]]
        else:
            parts += [self._ids(event_class, table, role) for role in _VALUES[begin]]
            if begin is Kind.COUNTER:
                parts += _default_stack(batch, at)
            elif event_class.index_of(Role.TARGET_CPU) is None:
                parts.append(batch.cpu[at])
        return mixed(len(at), parts)

    def _family(self, number: int, event_class: EventClass, begin: Kind) -> int:
        """Return a number that classes share if their events use the same stacks: that of a pair's kind, system and
        name.
        """
        if number not in self._families:
            words = event_class.name.replace(":", "_").split("_")
            stem = "_".join(word for word in words if word not in _WORDS)
            category = event_class.category
            if begin in _VALUES:
                stem = category = ""
            key = f"{begin.name}:{category}:{stem}"
            self._families[number] = self._keys.setdefault(key, _FIRST_FAMILY + len(self._keys))
        return self._families[number]

    def _ids(self, event_class: EventClass, table: Table, role: Role) -> NDArray[np.int64] | None:
        """Return a number that is the same for equal values of a field, and 0 for no value."""
        index = event_class.index_of(role)
        if index is None:
            return None
        column, held, valid = without_optional(table.column(index), event_class.fields[index].type)
        ids: NDArray[np.int64]
        if isinstance(held, StringClass):
            ids = string_ids(column, self._trace.strings).astype(np.int64)
        elif isinstance(column, np.ndarray) and column.dtype.kind in "iu":
            # Zero means none, so numbers are shifted by one.
            ids = column.astype(np.int64) + 1
        else:
            return None
        return ids if valid is None else np.where(valid, ids, 0)

    def _processes(self, threads: NDArray[np.int32]) -> NDArray[np.int32]:
        owners = np.array([*(thread.process for thread in self._trace.threads), -1], np.int32)
        return owners[threads]

    def _marker_steps(
        self, batch: Batch, number: int, event_class: EventClass, table: Table
    ) -> Steps | None:
        index = event_class.index_of(Role.MESSAGE)
        if index is None or not isinstance(event_class.fields[index].type, StringClass):
            return None
        phase, tgid, name, track, value, _ = self._parsed(table.column(index))
        steps = np.zeros(256, np.int8)
        for letter, step in _LETTERS.items():
            if self._with_values or step != VALUE:
                steps[ord(letter)] = step
        rows = np.flatnonzero(steps[phase])
        if not len(rows):
            return None
        phase, tgid, name, track, value = (
            column[rows] for column in (phase, tgid, name, track, value)
        )
        at = batch.positions(number)[rows]
        is_call = (phase == ord("B")) | (phase == ord("E"))
        is_counter = phase == ord("C")
        groups = np.arange(256, dtype=np.uint8)
        for letter, group in _BY_COOKIE.items():
            groups[ord(letter)] = ord(group)
        tracked = (phase == ord("G")) | (phase == ord("H"))
        lane = np.where(
            is_call,
            mixed(len(rows), [_CALLS, *_default_stack(batch, at)]),
            mixed(
                len(rows),
                [
                    _BY_NAME,
                    groups[phase],
                    tgid,
                    np.where(tracked, track, name),
                    np.where(is_counter, 0, value),
                ],
            ),
        )
        named = np.zeros(len(rows), np.int64)
        return Steps(at, lane, steps[phase], named, np.zeros(len(rows), np.bool_))

    def _parsed(self, column: Column) -> Sequence[NDArray[Any]]:
        strings = self._trace.strings
        if isinstance(column, ListColumn):
            assert isinstance(column.values, np.ndarray)
            return parse_marker_texts(strings, column.values, column.offsets)
        assert isinstance(column, np.ndarray)
        messages, inverse = distinct(column)
        return [part[inverse] for part in parse_marker_ids(strings, messages)]


def _has_ids(kind: Kind) -> bool:
    """Return True if fields of the events of a kind say which stack they use."""
    return _BEGIN_OF.get(kind, kind) in _BY_ID or bool(_VALUES.get(kind))


def _default_stack(batch: Batch, at: NDArray[np.int32]) -> list[NDArray[Any]]:
    """Return the stack of events without an id: thread and track, or the CPU if there is neither."""
    thread, track = batch.thread[at], batch.track[at]
    return [thread, track, np.where((thread < 0) & (track < 0), batch.cpu[at], -1)]


def mixed(count: int, parts: Sequence[NDArray[Any] | int | None]) -> _Numbers:
    """Hash each combination of values to 64 bits; collisions are as good as impossible."""
    result = np.zeros(count, np.uint64)
    for part in parts:
        if isinstance(part, int):
            result ^= np.uint64(part)
        elif part is not None:
            result ^= part.astype(np.int64).view(np.uint64)
        result *= _PRIME
        result ^= result >> np.uint64(29)
        result *= _OTHER_PRIME
        result ^= result >> np.uint64(32)
    return result


_PRIME: Final = np.uint64(0xBF58476D1CE4E5B9)
_OTHER_PRIME: Final = np.uint64(0x94D049BB133111EB)
