"""Decides which events of a batch are wanted, regardless of their time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, string_ids
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import StringClass
from converter.ir.kinds import TRACEPOINT_KINDS, Kind, Role
from converter.ir.trace import Trace
from converter.selection.evaluation import Evaluation, Rows
from converter.selection.expressions import (
    Clause,
    Comparison,
    Condition,
    Junction,
    Membership,
    Name,
    Negation,
)
from converter.selection.patterns import NamePatterns, as_text
from converter.selection.selection import Selection
from converter.selection.steps import PAIRS
from converter.selection.tasks import WantedTasks
from converter.selection.unmatched import (
    EventName,
    unmatched_cpus,
    unmatched_events,
    unmatched_fields,
    unmatched_tasks,
)

Mask = NDArray[np.bool_]
_BITS: Final = 32
#: Kinds of events that are kept or dropped together with others.
_PAIRED: Final = frozenset({Kind.MARK, *PAIRS, *PAIRS.values()})


class Conditions:
    """The conditions of a selection on events, except for their time."""

    def __init__(self, trace: Trace, selection: Selection) -> None:
        self._trace = trace
        self._selection = selection
        self._cpus = np.array(sorted(selection.cpus), np.int64)
        #: Those of the CPUs that have events, and the last CPU that has any.
        self._cpus_seen: set[int] = set()
        of_tasks = selection.pids or selection.tids or selection.comms
        self._tasks = WantedTasks(trace, selection) if of_tasks else None
        self._names = _Named(trace, NamePatterns(selection.events)) if selection.events else None
        self._clauses = [
            (_Named(trace, NamePatterns(clause.patterns)) if clause.patterns else None, clause)
            for clause in selection.clauses
        ]
        self._evaluation = Evaluation(trace)

    def mask(self, batch: Batch) -> Mask:
        """Return the mask of the events of a batch that are wanted."""
        result = np.ones(len(batch), np.bool_)
        if len(self._cpus):
            result &= np.isin(batch.cpu, self._cpus)
            self._follow_cpus(batch, result)
        if self._tasks is not None:
            result &= self._tasks.mask(batch)
        if self._names is not None:
            result &= self._names.mask(batch)
        if self._clauses:
            result &= self._any_clause(batch)
        return result

    def unmatched(self) -> list[str]:
        """Return a sentence for each name, id and CPU of the selection that no event has had."""
        selection = self._selection
        where = " in this part" if selection.is_timed else ""
        found: list[str] = []
        if self._names is not None:
            found += self._names.unmatched(selection.events, where)
        found += unmatched_cpus(selection.cpus, self._cpus_seen, where) if selection.cpus else ()
        found += unmatched_tasks(self._trace, selection)
        fields: set[str] = set()
        for named, clause in self._clauses:
            if named is not None:
                wrong = named.unmatched(clause.patterns, where)
                found += wrong
                if wrong:
                    continue
            fields.update(_names_in(clause.condition))
        found += unmatched_fields(sorted(fields - self._evaluation.found), self._trace)
        return [*dict.fromkeys(found)]

    def _follow_cpus(self, batch: Batch, on_wanted: Mask) -> None:
        if len(batch):
            self._cpus_seen.add(int(batch.cpu.max()))
        if not self._cpus_seen.issuperset(self._selection.cpus):
            self._cpus_seen.update(np.unique(batch.cpu[on_wanted]).tolist())

    def _any_clause(self, batch: Batch) -> Mask:
        result = np.zeros(len(batch), np.bool_)
        for named, clause in self._clauses:
            of_name = None if named is None else named.mask(batch)
            result |= self._one_clause(clause, batch, of_name)
        return result

    def _one_clause(self, clause: Clause, batch: Batch, of_name: Mask | None) -> Mask:
        result = np.zeros(len(batch), np.bool_)
        for number, table in batch.tables.items():
            if not len(table):
                continue
            positions = batch.positions(number)
            if of_name is not None and not of_name[positions].any():
                continue
            rows = Rows(self._trace, batch, self._trace.event_classes[number], table, positions)
            result[positions] = self._evaluation.holds(clause.condition, rows)
        return result if of_name is None else result & of_name


def classes_wanted(
    selection: Selection, classes: Iterable[EventClass]
) -> Callable[[EventClass], bool] | None:
    """Return which of a trace's classes have events that a selection wants, or that these depend on; None if any may.

    An end is kept if its begin is, whatever its name, and the state at a time depends on more than names.
    """
    if not selection.events or replace(selection, events=(), cpus=frozenset(), read_all=False):
        return None
    patterns = NamePatterns(selection.events)

    def matches(event_class: EventClass) -> bool:
        kind = event_class.kind
        return patterns.match(event_class.category, event_class.name, kind.name.lower())

    wants_pairs = any(one.kind in _PAIRED and matches(one) for one in classes)

    def wanted(event_class: EventClass) -> bool:
        kind = event_class.kind
        if not event_class.name or kind not in TRACEPOINT_KINDS:
            return True
        return (wants_pairs and kind in _PAIRED) or matches(event_class)

    return wanted


class _Named:
    """Selects events by the names of their classes, or by their own names where each event has one."""

    def __init__(self, trace: Trace, patterns: NamePatterns) -> None:
        self._trace = trace
        self._patterns = patterns
        self._classes: dict[int, bool] = {}
        self._pairs: dict[tuple[int, str, int], bool] = {}

    def unmatched(self, patterns: Iterable[str], where: str) -> list[str]:
        """Return a sentence for each of the patterns that no event has matched."""
        return [*unmatched_events(patterns, self._seen(), self._declared(), where)]

    def _seen(self) -> Iterator[EventName]:
        """Return the names of the events that were read, the wanted ones first."""
        strings = self._trace.strings
        for is_wanted in (True, False):
            for number, verdict in self._classes.items():
                if verdict is is_wanted:
                    yield _name_of(self._trace.event_classes[number])
            for (kind, category, pair), verdict in self._pairs.items():
                if verdict is is_wanted:
                    own = as_text(strings[pair >> _BITS]) or category
                    name = as_text(strings[pair & (1 << _BITS) - 1])
                    yield EventName(own, name, Kind(kind).name.lower())

    def _declared(self) -> Iterator[EventName]:
        return (_name_of(one) for one in self._trace.event_classes)

    def mask(self, batch: Batch) -> Mask:
        result = np.zeros(len(batch), np.bool_)
        for number, table in batch.tables.items():
            if not len(table):
                continue
            event_class = self._trace.event_classes[number]
            if event_class.name or _column(event_class, table, Role.NAME) is None:
                if self._of_class(number, event_class):
                    result[batch.positions(number)] = True
            else:
                result[batch.positions(number)] = self._of_rows(event_class, table)
        return result

    def _of_class(self, number: int, event_class: EventClass) -> bool:
        if number not in self._classes:
            self._classes[number] = self._patterns.match(
                event_class.category, event_class.name, event_class.kind.name.lower()
            )
        return self._classes[number]

    def _of_rows(self, event_class: EventClass, table: Table) -> Mask:
        strings = self._trace.strings
        names = _column(event_class, table, Role.NAME)
        assert names is not None
        ids = string_ids(names, strings).astype(np.int64)
        categories = _column(event_class, table, Role.CATEGORY)
        if categories is not None:
            ids |= string_ids(categories, strings).astype(np.int64) << _BITS
        pairs, inverse = np.unique(ids, return_inverse=True)
        kind, category = event_class.kind, event_class.category
        verdicts = []
        for pair in pairs.tolist():
            # A slice and a counter may have the same name.
            key = (int(kind), category, pair)
            if key not in self._pairs:
                own = as_text(strings[pair >> _BITS]) or category
                name = as_text(strings[pair & (1 << _BITS) - 1])
                self._pairs[key] = self._patterns.match(own, name, kind.name.lower())
            verdicts.append(self._pairs[key])
        return np.array(verdicts, np.bool_)[inverse]


def _name_of(event_class: EventClass) -> EventName:
    return EventName(event_class.category, event_class.name, event_class.kind.name.lower())


def _column(event_class: EventClass, table: Table, role: Role) -> Column | None:
    index = event_class.index_of(role)
    if index is None or not isinstance(event_class.fields[index].type, StringClass):
        return None
    return table.column(index)


def _names_in(condition: Condition) -> list[str]:
    match condition:
        case Junction(parts, _):
            return [name for part in parts for name in _names_in(part)]
        case Negation(inner):
            return _names_in(inner)
        case Membership(left, _):
            return [left.path] if isinstance(left, Name) else []
        case Comparison(left, _, right):
            return [one.path for one in (left, right) if isinstance(one, Name)]
