"""FXT's capabilities, and its adapters for events of other formats.

The projection applies an adapter to the events of a kind before it fits their fields to the record's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from converter.formats.fxt.mapping import (
    BLOB,
    KERNEL_OBJECT,
    LARGE,
    LARGE_TIMED,
    LEGACY_SWITCH,
    MAX_CPU,
    SAMPLE,
    SCHEDULING,
    SHAPES,
    Shape,
    is_exact_rate,
)
from converter.formats.fxt.record_types import MAX_ARGUMENTS, MAX_PROFILER_LENGTH, MAX_STRING_BYTES
from converter.ir.columns import Column, ListColumn, string_ids, take
from converter.ir.distinct_values import map_distinct
from converter.ir.events import EventClass
from converter.ir.field_classes import ArrayClass, IntegerClass, Style
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import EndMatching, FlowMatching
from converter.projection.capabilities import Adapter, Capabilities, KindSupport, Projection
from converter.projection.domain.scheduling.sched_conventions import (
    adapt_sched_switch,
    adapt_sched_wakeup,
    argument_role,
)
from converter.projection.engine.partitions import Partition, Thunk
from converter.projection.engine.texts import cut_utf8
from converter.projection.instants import as_instant, lower_to_instant
from converter.projection.loss_codes.names import kind_name
from converter.projection.lowering import lose_native
from converter.projection.timeline_fields import ID_NAMES, SCOPE
from converter.projection.unseen import lose_bytes


def _adapt_native(partition: Partition, projection: Projection) -> Partition:
    """Drop native records of other formats."""
    if projection.is_own:
        return partition
    lose_native("native-dropped", partition, projection)
    return partition.select(np.zeros(0, np.int32))


def _adapt_log(partition: Partition, projection: Projection) -> Partition:
    """Turn logs of other formats into instants with the same arguments: viewers skip log records ("Log Record")."""
    if projection.is_own:
        return partition
    projection.lose("event-as", partition, shown=kind_name(Kind.INSTANT))
    return as_instant(partition, projection)


def _adapt_sample(partition: Partition, projection: Projection) -> Partition:
    """Keep the first 255 frames, the most that a record holds ("Backtrace Record")."""
    return _with_lists_cut(partition, projection, Role.FRAMES, "frames")


def _adapt_instant(partition: Partition, projection: Projection) -> Partition:
    """Report instants of a process, or of all: FXT's are of threads."""
    if SCOPE in partition.event_class.fields:
        index = partition.event_class.fields.index(SCOPE)
        strings = projection.source.strings
        scopes = string_ids(partition.table.column(index), strings)
        # Any other scope is that of a thread.
        wide = np.isin(scopes, [strings.intern("p"), strings.intern("g")])
        projection.lose("instant-scope", partition, rows=wide)
    return partition


def _adapt_async(partition: Partition, projection: Projection) -> Partition:
    """Report ids that only count within a process: FXT has no such."""
    if any(field.name == ID_NAMES[1] for field in partition.event_class.fields):
        projection.lose("async-id-scope", partition)
    return partition


def _adapt_module(partition: Partition, projection: Projection) -> Partition:
    """Cut names and build IDs to 255 bytes, the most that a record holds ("Module Record")."""
    strings = projection.source.strings
    names = partition.texts(Role.NAME, strings)
    if names is not None:
        cut = map_distinct(
            names, lambda id: strings.intern(cut_utf8(strings[id], MAX_PROFILER_LENGTH))
        ).astype(np.int32)
        projection.lose(
            "text-cut", partition, rows=cut != names, field="name", limit=MAX_PROFILER_LENGTH
        )
        partition = _with_column(partition, Role.NAME, cut)
    return _with_lists_cut(partition, projection, Role.BUILD_ID, "build_id")


def _with_lists_cut(
    partition: Partition, projection: Projection, role: Role, name: str
) -> Partition:
    column = partition.column(role)
    if not isinstance(column, ListColumn):
        return partition
    lengths = np.diff(column.offsets)
    long = lengths > MAX_PROFILER_LENGTH
    if not long.any():
        return partition
    projection.lose("list-cut", partition, rows=long, field=name, limit=MAX_PROFILER_LENGTH)
    kept = np.minimum(lengths, MAX_PROFILER_LENGTH)
    offsets = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(kept, out=offsets[1:])
    inner = np.arange(offsets[-1]) + np.repeat(column.offsets[:-1] - offsets[:-1], kept)
    return _with_column(partition, role, ListColumn(offsets, take(column.values, inner)))


def _with_column(partition: Partition, role: Role, column: Column) -> Partition:
    columns: list[Column | Thunk] = partition.lazy_columns()
    index = partition.event_class.index_of(role)
    assert index is not None
    columns[index] = column
    return partition.rewritten(partition.event_class, columns)


def _shown(adapter: Adapter | None) -> Adapter:
    """Return an adapter that also reports binary arguments, which viewers show as "unknown"."""

    def adapt(partition: Partition, projection: Projection) -> Partition:
        lose_bytes(partition, projection)
        return partition if adapter is None else adapter(partition, projection)

    return adapt


_OWN_ADAPTERS: Final[Mapping[Kind, Adapter]] = {
    Kind.SCHED_SWITCH: adapt_sched_switch,
    Kind.SCHED_WAKEUP: adapt_sched_wakeup,
    Kind.LOG: _adapt_log,
    Kind.INSTANT: _adapt_instant,
    Kind.ASYNC_BEGIN: _adapt_async,
    Kind.ASYNC_INSTANT: _adapt_async,
    Kind.ASYNC_END: _adapt_async,
    Kind.SAMPLE: _adapt_sample,
    Kind.MODULE: _adapt_module,
    Kind.NATIVE: _adapt_native,
}
#: Those of the kinds of which viewers show arguments, too.
_ADAPTERS: Final[Mapping[Kind, Adapter]] = {
    **_OWN_ADAPTERS,
    **{
        kind: _shown(_OWN_ADAPTERS.get(kind))
        for kind in (
            *(Kind.INSTANT, Kind.SLICE_BEGIN, Kind.SLICE_END, Kind.SLICE_COMPLETE),
            *(Kind.ASYNC_BEGIN, Kind.ASYNC_INSTANT, Kind.ASYNC_END),
        )
    },
}


def _lower_new_task(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Report that a new task waits, which viewers of kernel events show: FXT has a record for threads that sleep."""
    projection.lose("new-task-wait-unshown", partition)
    return lower_to_instant(partition, projection)


def _support(shape: Shape) -> KindSupport:
    return KindSupport(
        fields=tuple(field for field, _ in shape.fields),
        required=shape.required,
        arguments=shape.arguments,
        thread=shape.thread,
        cpu=shape.cpu,
        numeric_values=shape.kind is Kind.COUNTER,
        # Perfetto's importer counts others as errors.
        values_only=shape.kind is Kind.COUNTER,
        argument_role=argument_role if shape.kind in SCHEDULING else None,
        timed=shape.timed,
    )


def _sample_support(event_class: EventClass) -> KindSupport | None:
    """Return how a sample is held: a record has the addresses of its stack alone; others are instants."""
    frames = event_class.fields[0].type if len(event_class.fields) == 1 else None
    if not isinstance(frames, ArrayClass) or not isinstance(frames.element, IntegerClass):
        return None
    return _support(SAMPLE)


def capabilities(variant: str) -> Capabilities:
    """Return the capabilities of a variant.

    All variants but "" have large records: BLOB events with a time, a thread and arguments.
    """
    without = {LEGACY_SWITCH, KERNEL_OBJECT, LARGE, BLOB if variant else LARGE_TIMED}
    kinds = {shape.kind: _support(shape) for shape in SHAPES.values() if shape not in without}
    kinds[Kind.SAMPLE] = replace(kinds[Kind.SAMPLE], of_class=_sample_support)
    return Capabilities(
        kinds=kinds,
        integers=frozenset((bits, signed) for bits in (32, 64) for signed in (False, True)),
        floats=frozenset({64}),
        styles=frozenset({Style.POINTER, Style.OBJECT_ID}),
        wide_styles=frozenset({Style.POINTER, Style.OBJECT_ID}),
        max_arguments=MAX_ARGUMENTS,
        max_string_bytes=MAX_STRING_BYTES,
        max_blob_bytes=MAX_STRING_BYTES,
        utf8_only=True,
        exact_rate=is_exact_rate,
        negative_times=False,
        duration_unit=1,
        ends=EndMatching.INNERMOST,
        complete_first=False,
        flow_matching=FlowMatching.ID,
        flow_fields=frozenset(),
        flows_to_next=False,
        max_cpu=MAX_CPU,
        max_depth=512,
        id_bits=64,
        shown_id_bits=32,
        threadless=False,
        cpuless=False,
        time_order=True,
        unknown_tasks=False,
        lists_tasks=True,
        exits_by_switch=True,
        wakes_running=False,
        weights=True,
        flows_fork=False,
        adapters=_ADAPTERS,
        lowerings={Kind.TASK_NEW: _lower_new_task},
        epoch=True,
        shows_epoch=False,
    )
