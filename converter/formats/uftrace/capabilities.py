"""The capabilities of a data directory: how it holds events of other formats, as its reader returns them.

Slices are entries and exits of functions, instants without arguments are named events of the program; all other events
are tracepoints in the kernel's files, which have the capabilities of trace.dat.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.capabilities import (
    MAX_ARGUMENTS,
    MAX_TEXT_BYTES,
    identifier,
)
from converter.formats.ftrace.capabilities import (
    capabilities as kernel_capabilities,
)
from converter.formats.ftrace.capabilities import (
    held as held_by_kernel,
)
from converter.formats.uftrace.arguments.printed_values import (
    split_large_numbers,
    with_event_name,
    with_room,
)
from converter.formats.uftrace.arguments.shown_values import recorded_fields
from converter.formats.uftrace.layout import MOST_LOST
from converter.formats.uftrace.mapping import CATEGORY, DISCARDED, NAME, SCHEDULE
from converter.ir.events import EventClass
from converter.ir.field_classes import Style
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import EndMatching
from converter.projection.capabilities import Adapter, Capabilities, KindSupport, Projection
from converter.projection.domain.lost_events import counted
from converter.projection.domain.scheduling.switched_tasks import UNKNOWN_TASK
from converter.projection.engine.partitions import Partition
from converter.projection.instants import as_typed

#: uftrace reads the format of a kernel event, including its fields' names, into 4,096 bytes.
_MAX_FIELD_NAME: Final = 48


@cache
def capabilities(variant: str) -> Capabilities:  # noqa: ARG001 - there is one
    """Return the capabilities of a data directory."""
    kernel, functions = _kernel(), _functions()
    kinds = {
        kind: replace(support, holds=kernel, of_class=_of_kernel if support.of_class else None)
        for kind, support in kernel.kinds.items()
    }
    for kind in (Kind.FUNCTION_ENTRY, Kind.FUNCTION_EXIT):
        kinds[kind] = replace(kinds[kind], of_class=_call_support)
    kinds[Kind.SLICE_BEGIN] = KindSupport((NAME, CATEGORY), holds=functions)
    kinds[Kind.SLICE_END] = KindSupport(
        optional=(NAME, CATEGORY),
        holds=replace(functions, max_arguments=1),
        of_class=_end_support,
    )
    kinds[Kind.INSTANT] = KindSupport((NAME, CATEGORY), arguments=False, of_class=_instant_support)
    kinds[Kind.SCHED_SWITCH] = replace(kinds[Kind.SCHED_SWITCH], of_class=_switch_support)
    kinds[Kind.DISCARDED] = KindSupport(DISCARDED.fields, arguments=False)
    adapters: dict[Kind, Adapter] = dict(kernel.adapters)
    adapt_switch = adapters[Kind.SCHED_SWITCH]
    adapters[Kind.SCHED_SWITCH] = lambda partition, projection: (
        partition if partition.event_class == SCHEDULE else adapt_switch(partition, projection)
    )
    adapters[Kind.SLICE_BEGIN] = with_room
    adapters[Kind.SLICE_END] = _adapt_end
    adapters[Kind.INSTANT] = with_event_name
    adapters[Kind.DISCARDED] = counted(MOST_LOST)
    return replace(
        functions,
        kinds=kinds,
        ends=EndMatching.INNERMOST,
        max_blob_bytes=MAX_TEXT_BYTES,
        nul_ends_strings=True,
        clock_rates=False,
        max_cpu=kernel.max_cpu,
        cpuless=False,
        lowerings={
            kind: _lower_to_typed
            for kind in Kind
            # A complete slice becomes a begin and an end, a sample names its event.
            if kind not in (Kind.SLICE_COMPLETE, Kind.SAMPLE)
            and (kind not in kinds or kind is Kind.INSTANT)
        },
        adapters=adapters,
        splitters={
            Kind.SLICE_BEGIN: split_large_numbers,
            Kind.SLICE_END: split_large_numbers,
            Kind.SCHED_SWITCH: _split_switches,
        },
        clock_names=True,
        other_clocks=True,
        epoch=True,
        environment=True,
        command_lines=True,
        symbols=True,
    )


@cache
def _functions() -> Capabilities:
    return Capabilities(
        kinds={},
        blobs=False,
        nulls=False,
        styles=frozenset(Style),
        labels=True,
        units=True,
        max_arguments=MAX_ARGUMENTS,
        max_string_bytes=MAX_TEXT_BYTES,
        utf8_only=False,
    )


@cache
def _kernel() -> Capabilities:
    return replace(kernel_capabilities(""), identifier=_field_name)


def _field_name(name: str) -> str:
    return identifier(name)[:_MAX_FIELD_NAME]


def _of_kernel(event_class: EventClass) -> KindSupport | None:
    """Return how the kernel's files hold a class."""
    support = held_by_kernel(event_class)
    return None if support is None else replace(support, holds=_kernel())


def _call_support(event_class: EventClass) -> KindSupport | None:
    """Return how calls are held: the kernel tracer's in the kernel's files with its symbols, others as slices."""
    return _of_kernel(event_class) if event_class.category == "ftrace" else None


def _switch_support(event_class: EventClass) -> KindSupport | None:
    """Return how a context switch is held: as perf's record if it names one task."""
    if event_class == SCHEDULE:
        return KindSupport(SCHEDULE.fields, arguments=False, thread=False, cpu=True, named=True)
    return _of_kernel(event_class)


def _split_switches(partition: Partition, _: Projection) -> list[Partition]:
    """Make switches that name only one task, without a priority, records of perf, as which uftrace records them."""
    left, got = partition.integers(Role.PREV_TID), partition.integers(Role.NEXT_TID)
    if partition.event_class == SCHEDULE or left is None or got is None:
        return [partition]
    is_single = (left == UNKNOWN_TASK) ^ (got == UNKNOWN_TASK)
    for role in (Role.PREV_PRIORITY, Role.NEXT_PRIORITY):
        priorities = partition.integers(role)
        if priorities is not None:
            is_single &= priorities == 0
    single, both = partition.split(is_single)
    parts = [] if both is None else [both]
    if single is not None:
        states = single.integers(Role.PREV_STATE)
        state = np.zeros(len(single), np.uint8) if states is None else _perf_states(states)
        tids = (single.integers(role) for role in (Role.PREV_TID, Role.NEXT_TID))
        columns: list[NDArray[Any]] = [*(np.asarray(one, np.int32) for one in tids), state]
        record = single.derive(("record of perf",), lambda: SCHEDULE)
        parts.append(single.rewritten(record, columns, thread=np.full(len(single), -1, np.int32)))
    return parts


def _perf_states(states: NDArray[Any]) -> NDArray[np.uint8]:
    """Return what perf knows of the states of tasks: runnable, exited, or neither."""
    return np.select([states == 0, states == 16], [0, 16], 1).astype(np.uint8)


def _end_support(event_class: EventClass) -> KindSupport:
    """Return how an end is held: with one return value and, after it, its text."""
    support = KindSupport(optional=(NAME, CATEGORY))
    fields = tuple(field for field in event_class.fields if field not in (NAME, CATEGORY))
    most = 2 if len(fields) == 2 and recorded_fields(event_class.kind, fields) != fields else 1
    return replace(support, holds=replace(_functions(), max_arguments=most))


def _instant_support(event_class: EventClass) -> KindSupport | None:
    """Return how an instant is held: as a named event without data or, with arguments, as a tracepoint."""
    roles = [field.role for field in event_class.fields]
    if set(roles) <= {Role.NAME, Role.CATEGORY} and len(set(roles)) == len(roles):
        return KindSupport((NAME, CATEGORY), arguments=False)
    return None


def _lower_to_typed(partition: Partition, _: Projection) -> list[Partition] | None:
    return [as_typed(partition)]


def _adapt_end(partition: Partition, projection: Projection) -> Partition:
    """Give an end both name and category or neither, and remove its CPU, which its begin has."""
    partition = _without_text(partition, projection)
    cpus = projection.cpus_of(partition)
    on_cpus = cpus >= 0
    if on_cpus.any():
        projection.lose("cpu-dropped", partition, rows=on_cpus)
        partition = partition.moved(cpu=np.broadcast_to(np.int32(-1), cpus.shape))
    fields = partition.event_class.fields
    named, categorized = NAME in fields, CATEGORY in fields
    if named != categorized:
        projection.lose("field-added", partition)
        index = fields.index(NAME) + 1 if named else fields.index(CATEGORY)
        missing = CATEGORY if named else NAME

        def completed() -> EventClass:
            return replace(
                partition.event_class, fields=(*fields[:index], missing, *fields[index:])
            )

        columns = partition.lazy_columns()
        columns.insert(index, projection.constant("", len(partition)))
        partition = partition.rewritten(partition.derive(("named end",), completed), columns)
    return with_room(partition, projection)


def _without_text(partition: Partition, projection: Projection) -> Partition:
    """Remove the text of a return value, unless uftrace recorded it: only then uftrace shows the same text."""
    event_class = partition.event_class
    kept = recorded_fields(event_class.kind, event_class.fields)
    if kept == event_class.fields or projection.is_own:
        return partition
    text = event_class.fields[-1]
    projection.lose("field-dropped", partition, field=text.name)
    new_class = partition.derive(("values alone",), lambda: replace(event_class, fields=kept))
    return partition.rewritten(new_class, partition.lazy_columns()[:-1])
