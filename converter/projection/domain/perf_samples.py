"""perf's samples of CPUs as samples: `perf data convert` writes them as events whose fields are the sample's.

An event has the address where its thread was (`perf_ip`), and perhaps the addresses of its callers
(`perf_callchain`), the innermost first, and the count since the last one (`perf_period`). The events stay; viewers of
formats with call stacks need samples, which have the event's name.

perf's own samples of tracepoints are events that have a call stack (`timeline_fields.CALLSTACK`). Where viewers show
only those of samples, a sample after the event has the call stack, and with it the address and the period.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, ListColumn
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.domain import linux_tracepoints
from converter.projection.losses import LossReport
from converter.projection.passes.renumbering import in_classes, with_events_behind
from converter.projection.timeline_fields import (
    ADDRESSES,
    CALLSTACK,
    FRAMES,
    SAMPLE_ADDRESS,
    weight,
)

_PERIOD: Final = "perf_period"
#: Events that are counted in nanoseconds.
_CLOCKS: Final = ("cpu-clock", "task-clock")
_ADDRESS: Final = "perf_ip"
_CALLERS: Final = "perf_callchain"
_THREAD: Final = "perf_tid"
_PREFIX: Final = "perf_"
#: A field of perf's own samples beside the call stack and the address.
_OWN_PERIOD: Final = "period"
#: Where user space or the kernel begin, a list of callers has a number in place of an address (PERF_CONTEXT_MAX).
_FIRST_MARK: Final = np.uint64((1 << 64) - 4095)

_TRACEPOINTS: Final = linux_tracepoints.KINDS | {Kind.TYPED, Kind.MARK}

#: The positions of events, and the class and the table of their samples.
_Samples = tuple[NDArray[np.integer[Any]], int, Table]


def with_samples(
    trace: Trace, report: LossReport, kinds: Collection[Kind] = (), *, of_stacks: bool = True
) -> Trace:
    """Return the trace with a sample after each event that perf made of one.

    Args:
        trace: the trace.
        report: counts the samples.
        kinds: those that the format has. If a tracepoint can be no event there, its sample takes its place.
        of_stacks: call stacks of kernel events become samples, too.

    """
    result = dataclasses.replace(trace, event_classes=[])

    def batches() -> Iterator[Batch]:
        numbers: list[int] = []
        #: The class of the samples of each class.
        sampled: dict[int, int] = {}
        for batch in trace.batches():
            for event_class in trace.event_classes[len(numbers) :]:
                is_split = of_stacks and has_stack(event_class)
                numbers.append(result.add_class(_kept(event_class, kinds, is_split=is_split)))
            samples: list[_Samples] = []
            tables = dict(batch.tables)
            for number, table in batch.tables.items():
                event_class = trace.event_classes[number]
                is_split = of_stacks and has_stack(event_class)
                if not (is_split or is_sample(event_class)):
                    if of_stacks and len(table) and _is_bare(event_class, kinds):
                        at = batch.positions(number)
                        report.add_at("tracepoint-sample-unshown", trace, batch, at)
                    continue
                sample, columns = (_split if is_split else _sampled)(event_class, table)
                made = Table(len(table), columns)
                stays = not is_split or _stays(event_class, kinds)
                if is_split:
                    tables[number] = _without_moved(event_class, table) if stays else made
                if not len(table):
                    continue
                at = batch.positions(number)
                report.add_at("call-stacks-added", trace, batch, at, profiler="perf")
                if stays:
                    if number not in sampled:
                        sampled[number] = result.add_class(sample)
                    samples.append((at, sampled[number], made))
            renumbered = in_classes(batch, numbers, tables)
            yield _with_samples(renumbered, samples) if samples else renumbered

    result.make_batches = batches
    return result


def has_stack(event_class: EventClass) -> bool:
    """Return True if events of a class are tracepoints with a call stack."""
    return event_class.kind in _TRACEPOINTS and CALLSTACK in event_class.fields


def _is_bare(event_class: EventClass, kinds: Collection[Kind]) -> bool:
    """Return True if events of a class are tracepoints of perf without a call stack, which stay events."""
    contexts = [field.name for field in event_class.fields if field.role is Role.CONTEXT]
    return (
        _OWN_PERIOD in contexts and event_class.kind in _TRACEPOINTS and _stays(event_class, kinds)
    )


def _moved(event_class: EventClass) -> dict[int, Field]:
    """Return the fields that samples of a tracepoint have, and the event no longer, by their numbers in its class."""
    found = {event_class.fields.index(CALLSTACK): FRAMES}
    for number, field in enumerate(event_class.fields):
        if field.role is Role.CONTEXT and isinstance(field.type, IntegerClass):
            if field.name == SAMPLE_ADDRESS:
                found[number] = dataclasses.replace(field, role=Role.NONE)
            elif field.name == _OWN_PERIOD:
                found[number] = weight("")
    return found


def _stays(event_class: EventClass, kinds: Collection[Kind]) -> bool:
    """Return True if a tracepoint is an event of its own in a format with these kinds."""
    return not kinds or any(kind in kinds for kind in (event_class.kind, Kind.TYPED, Kind.INSTANT))


def _kept(event_class: EventClass, kinds: Collection[Kind], *, is_split: bool) -> EventClass:
    """Return the class of an event beside its sample, or that of the sample in its place."""
    if not is_split:
        return event_class
    moved = _moved(event_class)
    if not _stays(event_class, kinds):
        return _sample_class(event_class, moved)
    fields = [field for number, field in enumerate(event_class.fields) if number not in moved]
    return dataclasses.replace(event_class, fields=tuple(fields))


def _without_moved(event_class: EventClass, table: Table) -> Table:
    moved = _moved(event_class)
    columns = [table.lazy(i) for i in range(len(event_class.fields)) if i not in moved]
    return Table(len(table), columns)


def _sample_class(event_class: EventClass, moved: dict[int, Field]) -> EventClass:
    """Return the class of the samples of a tracepoint, which is named as perf names that."""
    category, name = event_class.category, event_class.name
    name = f"{category}:{name}" if category else name
    return EventClass(Kind.SAMPLE, name, fields=tuple(moved.values()))


def _split(event_class: EventClass, table: Table) -> tuple[EventClass, list[Any]]:
    """Return the class and the columns of the samples of a tracepoint."""
    moved = _moved(event_class)
    columns = [
        np.asarray(table.column(number)).astype(np.int64)
        if field.role is Role.COUNT
        else table.lazy(number)
        for number, field in moved.items()
    ]
    return _sample_class(event_class, moved), columns


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


def unit_of_event(name: str) -> str:
    """Return the unit of the weights of samples of an event, as its name says it."""
    return "ns" if name.partition(":")[0] in _CLOCKS else ""


def _sampled(event_class: EventClass, table: Table) -> tuple[EventClass, list[Column]]:
    """Return the class and the columns of the samples of an event."""
    names = [field.name for field in event_class.fields]
    fields: list[Field] = [ADDRESSES]
    columns: list[Column] = [_frames(event_class, table)]
    period = names.index(_PERIOD) if _PERIOD in names else None
    if period is not None and isinstance(event_class.fields[period].type, IntegerClass):
        fields.append(weight(unit_of_event(event_class.name)))
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
