"""Weights of samples as running totals, and back: profilers count what happened up to a sample, or since the last one.

A weight belongs to its sample (perf's period, pprof's values). A total is the sum of the weights of all samples of the
event on the CPU so far, as the kernel's counters and Perfetto's records have it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.passes.renumbering import in_classes
from converter.projection.timeline_fields import total, weight

#: Converts the amounts of one event, in stream order, from their CPUs and the last totals by CPU, which it updates.
_Convert = Callable[
    [NDArray[np.uint64], NDArray[np.int32], dict[int, np.uint64]], NDArray[np.uint64]
]
_NONE: Final = np.uint64(0)


def with_totals(trace: Trace) -> Trace:
    """Return the trace whose samples have totals in place of weights."""
    return _rewritten(trace, Role.COUNT, total, partial(_by_cpu, np.cumsum))


def with_weights(trace: Trace) -> Trace:
    """Return the trace whose samples have weights in place of totals."""
    return _rewritten(trace, Role.VALUE, weight, partial(_by_cpu, _differences))


def _rewritten(trace: Trace, role: Role, field: Callable[[str], Field], convert: _Convert) -> Trace:
    result = dataclasses.replace(trace, event_classes=[])

    def batches() -> Iterator[Batch]:
        numbers: list[int] = []
        amounts: list[int | None] = []
        last: dict[tuple[str, str], dict[int, np.uint64]] = {}
        for batch in trace.batches():
            for event_class in trace.event_classes[len(numbers) :]:
                index = _amount(event_class, role)
                amounts.append(index)
                numbers.append(result.add_class(_with_field(event_class, index, field)))
            tables = dict(batch.tables)
            changed = False
            for number, table in batch.tables.items():
                index = amounts[number]
                if index is None or not len(table):
                    continue
                event_class = trace.event_classes[number]
                known = last.setdefault((event_class.category, event_class.name), {})
                values = np.asarray(table.column(index)).astype(np.uint64)
                cpus = batch.cpu[batch.positions(number)]
                made = convert(values, cpus, known)
                signed = role is Role.VALUE
                tables[number] = _replaced(table, index, made.view(np.int64) if signed else made)
                changed = True
            yield in_classes(batch, numbers, tables if changed else None)

    result.make_batches = batches
    return result


def _amount(event_class: EventClass, role: Role) -> int | None:
    """Return the index of the field with the weight or the total of a class of samples, if it has one."""
    index = event_class.index_of(role) if event_class.kind is Kind.SAMPLE else None
    if index is None or not isinstance(event_class.fields[index].type, IntegerClass):
        return None
    return index


def _with_field(
    event_class: EventClass, index: int | None, field: Callable[[str], Field]
) -> EventClass:
    if index is None:
        return event_class
    fields = list(event_class.fields)
    fields[index] = field(fields[index].unit)
    return dataclasses.replace(event_class, fields=tuple(fields))


def _replaced(table: Table, index: int, values: Column) -> Table:
    columns = [values if i == index else table.lazy(i) for i in range(table.width)]
    return Table(len(table), columns)


def _by_cpu(
    convert: Callable[[NDArray[np.uint64]], NDArray[np.uint64]],
    values: NDArray[np.uint64],
    cpus: NDArray[np.int32],
    last: dict[int, np.uint64],
) -> NDArray[np.uint64]:
    """Apply `convert` to the last total of each CPU followed by the CPU's values; totals have 64 bits and wrap."""
    is_one = len(cpus) and (cpus == cpus[0]).all()
    order = np.arange(len(cpus)) if is_one else np.argsort(cpus, kind="stable")
    starts = np.flatnonzero(np.diff(cpus[order], prepend=np.int32(-2)))
    result = np.empty(len(values), np.uint64)
    for rows in np.split(order, starts[1:]):
        cpu = int(cpus[rows[0]])
        known = np.append(last.get(cpu, _NONE), values[rows])
        made = convert(known)
        result[rows] = made[1:]
        last[cpu] = made[-1] if convert is np.cumsum else known[-1]
    return result


def _differences(totals: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the difference of each total to the one before; a counter that began again had 0 before."""
    before = np.append(_NONE, totals[:-1])
    return np.where(totals < before, totals, totals - before)
