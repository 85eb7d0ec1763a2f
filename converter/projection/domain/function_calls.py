"""Depths and times of function calls, for formats whose viewers take them from the events themselves.

The function graph tracer of Linux records with each call how deep it is, and with its end when it began: `trace-cmd`
shows durations and nesting by these alone. Other recorders have entries and exits, whose order on a thread says the
same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.passes.renumbering import in_classes

_FUNCTION: Final = Field("func", IntegerClass(64), Role.FUNCTION)
_DEPTH: Final = Field("depth", IntegerClass(32), Role.DEPTH)
_BEGIN: Final = Field("calltime", IntegerClass(64))
_END: Final = Field("rettime", IntegerClass(64))
_KINDS: Final = (Kind.FUNCTION_ENTRY, Kind.FUNCTION_EXIT)
#: Calls of a thread that are open at once; deeper ones are not remembered from batch to batch.
_DEEPEST: Final = 1 << 16


class _Calls(NamedTuple):
    """Entries and exits: their threads, times, functions, and True for entries."""

    thread: NDArray[np.int32]
    ts: NDArray[np.int64]
    function: NDArray[np.uint64]
    enters: NDArray[np.bool_]

    def at(self, rows: NDArray[Any]) -> _Calls:
        """Return those at the given rows."""
        return _Calls(self.thread[rows], self.ts[rows], self.function[rows], self.enters[rows])

    def before(self, others: _Calls) -> _Calls:
        """Return these and others after them."""
        return _Calls(
            np.concatenate([self.thread, others.thread]),
            np.concatenate([self.ts, others.ts]),
            np.concatenate([self.function, others.function]),
            np.concatenate([self.enters, others.enters]),
        )


_NONE: Final = _Calls(
    np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.bool_)
)


def with_depths(trace: Trace) -> Trace:
    """Return the trace whose calls say their depth, and whose ends of calls their function and both times."""
    result = dataclasses.replace(trace, event_classes=[])

    def batches() -> Iterator[Batch]:
        open_calls = _NONE
        for batch in trace.batches():
            classes = trace.event_classes
            for event_class in classes[len(result.event_classes) :]:
                result.add_class(_with_fields(event_class))
            numbers = [
                number
                for number, table in batch.tables.items()
                if len(table) and classes[number] != result.event_classes[number]
            ]
            if numbers:
                rewritten, open_calls = _rewritten(batch, numbers, classes, open_calls)
                yield rewritten
            else:
                yield batch

    result.make_batches = batches
    return result


def _with_fields(event_class: EventClass) -> EventClass:
    return dataclasses.replace(event_class, fields=(*event_class.fields, *_added(event_class)))


def _added(event_class: EventClass) -> list[Field]:
    """Return the fields that a class gets: none if it says a depth, or is of other events."""
    if event_class.kind not in _KINDS or event_class.index_of(Role.DEPTH) is not None:
        return []
    if event_class.kind is Kind.FUNCTION_ENTRY:
        return [_DEPTH]
    has_function = event_class.index_of(Role.FUNCTION) is not None
    return [*([] if has_function else [_FUNCTION]), _DEPTH, _BEGIN, _END]


def _rewritten(
    batch: Batch, numbers: list[int], classes: list[EventClass], open_calls: _Calls
) -> tuple[Batch, _Calls]:
    """Return the batch with the fields of its calls, and the calls that are open after it."""
    positions = np.concatenate([batch.positions(number) for number in numbers])
    calls = _Calls(
        batch.thread[positions],
        batch.ts[positions],
        np.concatenate([_functions(classes[one], batch.tables[one]) for one in numbers]),
        np.concatenate(
            [
                np.full(len(batch.tables[one]), classes[one].kind is Kind.FUNCTION_ENTRY)
                for one in numbers
            ]
        ),
    )
    order = np.argsort(positions, kind="stable")
    known = len(open_calls.ts)
    every = open_calls.before(calls.at(order))
    depth, entry, still_open = _matched(every)
    values: dict[str, NDArray[Any]] = {
        _DEPTH.name: depth[known:].astype(np.uint32),
        _BEGIN.name: every.ts[entry[known:]].astype(np.uint64),
        _END.name: every.ts[known:].astype(np.uint64),
        _FUNCTION.name: every.function[entry[known:]],
    }
    back = np.empty(len(order), np.intp)
    back[order] = np.arange(len(order))
    tables, start = dict(batch.tables), 0
    for number in numbers:
        table = batch.tables[number]
        rows = np.empty(len(table), np.intp)
        rows[batch.row[batch.positions(number)]] = back[start : start + len(table)]
        start += len(table)
        columns = [values[field.name][rows] for field in _added(classes[number])]
        tables[number] = Table(len(table), [*table.lazy_columns(), *columns])
    return in_classes(batch, range(len(classes)), tables), still_open


def _functions(event_class: EventClass, table: Table) -> NDArray[np.uint64]:
    """Return the functions of a class's events by row, 0 if they have no address."""
    index = event_class.index_of(Role.FUNCTION)
    if index is None or not isinstance(event_class.fields[index].type, IntegerClass):
        return np.zeros(len(table), np.uint64)
    return np.asarray(table.column(index)).astype(np.uint64)


def _matched(calls: _Calls) -> tuple[NDArray[np.int64], NDArray[np.intp], _Calls]:
    """Return the depth of each call, the row of the entry that it belongs to, and the calls that are still open.

    An exit without an entry has depth 0, and belongs to itself.
    """
    order = np.argsort(calls.thread, kind="stable")
    thread, enters = calls.thread[order], calls.enters[order]
    count = len(order)
    starts = np.flatnonzero(np.diff(thread, prepend=thread[0] - 1 if count else 0))
    group = np.repeat(np.arange(len(starts)), np.diff(starts, append=count))
    total = np.cumsum(np.where(enters, 1, -1))
    before = np.concatenate([np.zeros(1, np.int64), total])[starts]
    # What has fallen below 0 are exits without entries; each thread begins below all of those before.
    base = group * (2 * count + 1)
    level = total - before[group] - base
    lowest = np.minimum.accumulate(np.minimum(level, -base))
    depth = level - lowest
    previous = np.concatenate([np.zeros(1, np.int64), lowest[:-1]])
    previous[starts] = -base[starts]
    is_lone = ~enters & (lowest < previous)
    depth = np.where(enters, depth - 1, depth)
    # Of one thread and depth, entries and exits take turns.
    turns = np.lexsort((np.arange(count), is_lone, depth, group))
    entry = np.arange(count)
    follows = np.concatenate([np.zeros(1, np.intp), turns[:-1]])
    ends = ~enters[turns] & ~is_lone[turns]
    entry[turns[ends]] = follows[ends]
    is_open = enters.copy()
    is_open[entry[~enters]] = False
    rows = np.flatnonzero(is_open & (depth < _DEEPEST))
    depths, entries = np.empty(count, np.int64), np.empty(count, np.intp)
    depths[order], entries[order] = depth, order[entry]
    return depths, entries, calls.at(order[rows])
