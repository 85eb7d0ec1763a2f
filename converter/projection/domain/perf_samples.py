"""perf's samples of CPUs as samples: `perf data convert` writes them as events whose fields are the sample's.

An event has the address where its thread was (`perf_ip`), and perhaps the addresses of its callers
(`perf_callchain`), the innermost first. The events stay; viewers of formats with call stacks need samples.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, ListColumn
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.losses import LossReport
from converter.projection.passes.renumbering import in_classes, with_events_behind
from converter.projection.timeline_fields import ADDRESSES

#: A sample of addresses, innermost first.
SAMPLE: Final = EventClass(Kind.SAMPLE, fields=(ADDRESSES,))
_ADDRESS: Final = "perf_ip"
_CALLERS: Final = "perf_callchain"
_THREAD: Final = "perf_tid"
_PREFIX: Final = "perf_"
#: Where user space or the kernel begin, a list of callers has a number in place of an address (PERF_CONTEXT_MAX).
_FIRST_MARK: Final = np.uint64((1 << 64) - 4095)


def with_samples(trace: Trace, report: LossReport) -> Trace:
    """Return the trace with a sample after each event that perf made of one."""
    result = dataclasses.replace(trace, event_classes=[])

    def batches() -> Iterator[Batch]:
        numbers: list[int] = []
        for batch in trace.batches():
            numbers.extend(map(result.add_class, trace.event_classes[len(numbers) :]))
            stacks = [
                (batch.positions(number), _frames(trace.event_classes[number], table))
                for number, table in batch.tables.items()
                if len(table) and is_sample(trace.event_classes[number])
            ]
            renumbered = in_classes(batch, numbers)
            for at, _ in stacks:
                report.add_at("call-stacks-added", trace, batch, at, profiler="perf")
            yield _with_stacks(renumbered, stacks, result) if stacks else renumbered

    result.make_batches = batches
    return result


def is_sample(event_class: EventClass) -> bool:
    """Return True if events of a class are samples of perf, rather than tracepoints with the same fields."""
    if event_class.kind is not Kind.TYPED:
        return False
    fields = [field for field in event_class.fields if field.role is not Role.CONTEXT]
    names = {field.name for field in fields if isinstance(field.type, IntegerClass)}
    return {_ADDRESS, _THREAD} <= names and all(field.name.startswith(_PREFIX) for field in fields)


def _with_stacks(
    batch: Batch, stacks: Sequence[tuple[NDArray[np.integer[Any]], ListColumn]], result: Trace
) -> Batch:
    at = np.concatenate([positions for positions, _ in stacks])
    order = np.argsort(at, kind="stable")
    place = np.empty(len(at), np.int64)
    place[order] = np.arange(len(at))
    offsets = [np.zeros(1, np.int64)]
    for _, frames in stacks:
        offsets.append(frames.offsets[1:] + offsets[-1][-1])
    values = np.concatenate([np.asarray(frames.values) for _, frames in stacks])
    table = Table(len(at), (ListColumn(np.concatenate(offsets), values),))
    added = {result.add_class(SAMPLE): (place, table)}
    return with_events_behind(batch, at[order], added, np.full(len(at), -1, np.int32))


def _frames(event_class: EventClass, table: Table) -> ListColumn:
    """Return the addresses of each sample: its callers without marks, or where it was if there are none."""
    names = [field.name for field in event_class.fields]
    address = np.asarray(table.column(names.index(_ADDRESS))).astype(np.uint64)
    callers: Column | None = None
    if _CALLERS in names:
        callers = table.column(names.index(_CALLERS))
    if not isinstance(callers, ListColumn) or not isinstance(callers.values, np.ndarray):
        return ListColumn(np.arange(len(address) + 1, dtype=np.int64), address)
    first, last = int(callers.offsets[0]), int(callers.offsets[-1])
    values = callers.values[first:last].astype(np.uint64)
    kept = values < _FIRST_MARK
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])[callers.offsets - first]
    empty = offsets[1:] == offsets[:-1]
    found = np.insert(values[kept], offsets[:-1][empty], address[empty])
    return ListColumn(offsets + np.concatenate([np.zeros(1, np.int64), np.cumsum(empty)]), found)
