"""Capabilities of a legacy trace: events of other formats, with the fields that its reader delivers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Final

import numpy as np

from converter.formats.lttng_legacy.mapping import (
    CORRUPT,
    DISCARDED,
    MOST_LOST,
    SCHEDULING,
    TIMELINE,
    MarkerMeaning,
    argument_field,
    meanings,
    written_meanings,
)
from converter.ir.columns import Column
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import FloatClass, IntegerClass, Style
from converter.ir.kinds import REQUIRED_ROLES, Kind, Role
from converter.projection.capabilities import Adapter, Capabilities, KindSupport, Projection
from converter.projection.domain.lost_events import counted
from converter.projection.domain.scheduling.sched_conventions import with_linux_state
from converter.projection.engine.partitions import Partition
from converter.projection.engine.texts import plain_identifier
from converter.projection.instants import as_typed

#: This many arguments with texts of this size fit the largest block of version 1.0.
MAX_ARGUMENTS = 24
MAX_TEXT_BYTES = 30_000

#: Roles without which a marker is meaningless, besides those that its kind requires.
_REQUIRED: dict[Kind, frozenset[Role]] = {
    **dict.fromkeys((Kind.IRQ_ENTRY, Kind.IRQ_EXIT), frozenset({Role.IRQ})),
    Kind.SYSCALL_ENTRY: frozenset({Role.SYSCALL_NUMBER}),
    Kind.SYSCALL_EXIT: frozenset({Role.SYSCALL_NUMBER}),
    Kind.FUNCTION_EXIT: frozenset({Role.FUNCTION}),
    Kind.PROCESS_EXEC: frozenset({Role.FILENAME}),
    Kind.TASK_EXIT: frozenset({Role.TID}),
    Kind.TASK_FREE: frozenset({Role.TID}),
    Kind.SIGNAL_GENERATE: frozenset({Role.SIGNAL}),
}


@cache
def capabilities(variant: str) -> Capabilities:
    """Return the capabilities of a variant: version 1.0 has no counts of lost events."""
    kinds = {kind: _support(meaning) for kind, meaning in written_meanings().items()}
    kinds[Kind.TYPED] = KindSupport(cpu=True, named=True)
    adapters: dict[Kind, Adapter] = {
        Kind.TYPED: _adapt_typed,
        Kind.SCHED_SWITCH: _adapt_switch,
        Kind.COUNTER: _round_values,
    }
    if variant == "1.0":
        adapters[Kind.DISCARDED] = counted(unknown=1, zeros=True)
    else:
        kinds[Kind.DISCARDED] = KindSupport(
            DISCARDED.fields, arguments=False, thread=False, cpu=True, event=("", "")
        )
        adapters[Kind.DISCARDED] = _with_corrupt
    return Capabilities(
        kinds=kinds,
        floats=frozenset(),
        booleans=False,
        nulls=False,
        blobs=False,
        styles=frozenset({Style.POINTER, Style.HEXADECIMAL, Style.OCTAL}),
        wide_styles=frozenset({Style.POINTER}),
        max_arguments=MAX_ARGUMENTS,
        max_string_bytes=MAX_TEXT_BYTES,
        nul_ends_strings=True,
        identifier=plain_identifier,
        utf8_only=False,
        max_cpu=0xFFF,
        id_bits=31,
        cpuless=False,
        unknown_tasks=False,
        unknown_tids=False,
        lowerings={kind: _lower_to_typed for kind in Kind if kind is not Kind.TYPED},
        adapters=adapters,
        negative_durations=True,
        late_ends=True,
        clock_names=True,
        other_clocks=True,
        epoch=True,
        environment=True,
        command_lines=True,
    )


def _support(meaning: MarkerMeaning) -> KindSupport:
    kind = meaning.kind
    roles: Callable[[Field], Role] | None = None
    if kind in SCHEDULING or kind is Kind.IRQ_ENTRY:

        def roles(field: Field) -> Role:
            return argument_field(kind, field).role

    return KindSupport(
        fields=meaning.fields,
        required=REQUIRED_ROLES.get(kind, frozenset()) | _REQUIRED.get(kind, frozenset()),
        cpu=True,
        event=None if meaning.channel == TIMELINE else (meaning.channel, meaning.name),
        argument_role=roles,
        numeric_values=kind is Kind.COUNTER,
    )


def _lower_to_typed(partition: Partition, _: Projection) -> list[Partition] | None:
    return None if partition.event_class.kind is Kind.TYPED else [as_typed(partition)]


def _adapt_typed(partition: Partition, projection: Projection) -> Partition:
    """Rename events whose name the reader would take for a known event."""
    event_class = partition.event_class
    category, name = plain_identifier(event_class.category), plain_identifier(event_class.name)
    if all((category, name) != (one.channel, one.name) for one in meanings() if one.written):
        return partition
    projection.lose("event-renamed", partition, shown=f"{category}:{name}_event")

    def renamed() -> EventClass:
        return replace(event_class, name=f"{name}_event")

    return partition.rewritten(partition.derive(("named",), renamed), partition.lazy_columns())


def _adapt_switch(partition: Partition, projection: Projection) -> Partition:
    """Convert to the scheduler's own states, on the thread that leaves the CPU."""
    partition = with_linux_state(partition)
    tids = partition.integers(Role.PREV_TID)
    threads = projection.threads_of(partition)
    missing = threads < 0
    if tids is None or not missing.any():
        return partition
    found = projection.thread_of_tid(tids)
    return partition.moved(thread=np.where(missing, found, threads).astype(np.int32))


_COUNTED: Final = counted(MOST_LOST)


def _with_corrupt(partition: Partition, projection: Projection) -> Partition:
    """Report gaps of unknown size as corrupt sub-buffers, unless the source already does."""
    partition = _COUNTED(partition, projection)
    if CORRUPT in partition.event_class.fields or not len(partition):
        return partition
    counts = partition.integers(Role.COUNT)
    assert counts is not None, "all have counts now"
    unknown = counts < 0
    projection.lose("gap-as-corrupt-buffer", partition, rows=unknown)
    return partition.with_argument(CORRUPT, unknown.astype(np.uint32))


def _round_values(partition: Partition, projection: Projection) -> Partition:
    """Round values of counters to integers, the only numbers of markers."""
    floats = [
        index
        for index, field in enumerate(partition.event_class.fields)
        if field.role is Role.VALUE and isinstance(field.type, FloatClass)
    ]
    if not floats:
        return partition

    def integer_class() -> EventClass:
        fields = list(partition.event_class.fields)
        for index in floats:
            fields[index] = replace(fields[index], type=IntegerClass(64, True))
        return replace(partition.event_class, fields=tuple(fields))

    columns = partition.lazy_columns()
    for index in floats:
        columns[index] = _rounded(partition, index, projection)
    for index in floats:
        projection.lose("field-type", partition, field=partition.event_class.fields[index].name)
    return partition.rewritten(partition.derive(("rounded values",), integer_class), columns)


def _rounded(partition: Partition, index: int, projection: Projection) -> Callable[[], Column]:
    def rounded() -> Column:
        column = partition.table.column(index)
        assert isinstance(column, np.ndarray)
        limit = float(1 << 63)
        nearest = np.rint(np.nan_to_num(column.astype(np.float64)))
        held = np.where(np.abs(nearest) < limit, nearest, 0)
        projection.lose("counter-rounded", partition, rows=held != column)
        return held.astype(np.int64)

    return rounded
