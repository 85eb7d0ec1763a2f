"""perf's samples of CPUs as samples: `perf data convert` writes them as events whose fields are the sample's.

An event has the address where its thread was (`perf_ip`), and perhaps the addresses of its callers
(`perf_callchain`), the innermost first, and the count since the last one (`perf_period`). The events stay; viewers of
formats with call stacks need samples, which have the event's name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, ListColumn
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.losses import LossReport
from converter.projection.passes.renumbering import in_classes, with_events_behind
from converter.projection.timeline_fields import ADDRESSES, weight

_PERIOD: Final = "perf_period"
#: Events that are counted in nanoseconds.
_CLOCKS: Final = ("cpu-clock", "task-clock")
_ADDRESS: Final = "perf_ip"
_CALLERS: Final = "perf_callchain"
_THREAD: Final = "perf_tid"
_PREFIX: Final = "perf_"
#: Where user space or the kernel begin, a list of callers has a number in place of an address (PERF_CONTEXT_MAX).
_FIRST_MARK: Final = np.uint64((1 << 64) - 4095)

#: The positions of events, and the class and the table of their samples.
_Samples = tuple[NDArray[np.integer[Any]], int, Table]


def with_samples(trace: Trace, report: LossReport) -> Trace:
    """Return the trace with a sample after each event that perf made of one."""
    result = dataclasses.replace(trace, event_classes=[])

    def batches() -> Iterator[Batch]:
        numbers: list[int] = []
        #: The class of the samples of each class.
        sampled: dict[int, int] = {}
        for batch in trace.batches():
            numbers.extend(map(result.add_class, trace.event_classes[len(numbers) :]))
            samples: list[_Samples] = []
            for number, table in batch.tables.items():
                event_class = trace.event_classes[number]
                if not len(table) or not is_sample(event_class):
                    continue
                sample, columns = _sampled(event_class, table)
                if number not in sampled:
                    sampled[number] = result.add_class(sample)
                at = batch.positions(number)
                report.add_at("call-stacks-added", trace, batch, at, profiler="perf")
                samples.append((at, sampled[number], Table(len(table), columns)))
            renumbered = in_classes(batch, numbers)
            yield _with_samples(renumbered, samples) if samples else renumbered

    result.make_batches = batches
    return result


def is_sample(event_class: EventClass) -> bool:
    """Return True if events of a class are samples of perf, rather than tracepoints with the same fields."""
    if event_class.kind is not Kind.TYPED:
        return False
    fields = [field for field in event_class.fields if field.role is not Role.CONTEXT]
    names = {field.name for field in fields if isinstance(field.type, IntegerClass)}
    return {_ADDRESS, _THREAD} <= names and all(field.name.startswith(_PREFIX) for field in fields)


def _with_samples(batch: Batch, samples: Sequence[_Samples]) -> Batch:
    at = np.concatenate([positions for positions, _, _ in samples])
    order = np.argsort(at, kind="stable")
    place = np.empty(len(at), np.int64)
    place[order] = np.arange(len(at))
    ends = np.cumsum([len(table) for _, _, table in samples])[:-1]
    added = {
        number: (which, table)
        for which, (_, number, table) in zip(np.split(place, ends), samples, strict=True)
    }
    return with_events_behind(batch, at[order], added, np.full(len(at), -1, np.int32))


def _sampled(event_class: EventClass, table: Table) -> tuple[EventClass, list[Column]]:
    """Return the class and the columns of the samples of an event."""
    names = [field.name for field in event_class.fields]
    fields: list[Field] = [ADDRESSES]
    columns: list[Column] = [_frames(event_class, table)]
    period = names.index(_PERIOD) if _PERIOD in names else None
    if period is not None and isinstance(event_class.fields[period].type, IntegerClass):
        is_clock = event_class.name.partition(":")[0] in _CLOCKS
        fields.append(weight("ns" if is_clock else ""))
        columns.append(np.asarray(table.column(period)).astype(np.int64))
    return EventClass(Kind.SAMPLE, event_class.name, fields=tuple(fields)), columns


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
