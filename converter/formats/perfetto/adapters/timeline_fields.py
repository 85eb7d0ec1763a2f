"""Fits fields of timeline events to TrackEvent: ids as numbers, thread times in microseconds, known letters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto import mapping
from converter.formats.perfetto.json_sidecar import is_switch, was_json
from converter.formats.perfetto.thread_states import shown_states
from converter.formats.perfetto.typed_arguments import as_written, distinct_bytes
from converter.ir.columns import constant_column, list_of_bytes, string_ids, take
from converter.ir.distinct_values import values_of
from converter.ir.events import Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import FlowBinding
from converter.projection import timeline_fields
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition

_MICROSECOND: Final = 1000
_THREAD_TIMES: Final = (timeline_fields.THREAD_TIME, timeline_fields.THREAD_DURATION)
_IDLE: Final = "swapper"
_IDENTITIES: Final = (*timeline_fields.ID_NAMES, timeline_fields.BIND_NAME)


def as_parts(partition: Partition, projection: Projection) -> Partition:
    """Return the partition with its fields in the encoding of a TrackEvent."""
    fields = partition.event_class.fields
    if mapping.is_of_thread_states(partition.event_class):
        _lose_state_details(partition, projection)
    _lose_name_of_idle(partition, projection)
    if mapping.REMAINDER in fields:
        projection.lose("sequence-texts", partition)
    parts: list[tuple[Field, Any]] = []
    for index, field in enumerate(fields):
        column: Any = partition.table.lazy(index)
        if field == timeline_fields.PHASE and timeline_fields.SCOPE in fields:
            column = _no_marks(column, partition, projection)
        if field == mapping.REMAINDER:
            column = _as_written(column)
        if field.role is Role.ID and field.name in _IDENTITIES:
            parts.append(_numbered(field, column, partition, projection))
        elif field in _THREAD_TIMES:
            parts.append((field, _in_microseconds(field, column, partition, projection)))
        elif field == timeline_fields.SCOPE:
            parts.append((field, _known_scope(column, partition, projection)))
        elif field == timeline_fields.PHASE and not _is_known(column, partition, projection):
            projection.lose("phase-dropped", partition)
        elif field == timeline_fields.FLOW_OUT and timeline_fields.FLOW_IN not in fields:
            parts += [
                _no_direction(timeline_fields.FLOW_IN, partition, projection),
                (field, column),
            ]
        elif field == timeline_fields.FLOW_IN and timeline_fields.FLOW_OUT not in fields:
            parts += [
                (field, column),
                _no_direction(timeline_fields.FLOW_OUT, partition, projection),
            ]
        else:
            parts.append((field, column))
    if _ends_at_slice_around(partition, projection):
        parts.append((timeline_fields.BINDS, constant_column(np.True_, len(partition))))
    new_fields = tuple(field for field, _ in parts)
    if new_fields == fields and all(
        column is partition.table.lazy(i) for i, (_, column) in enumerate(parts)
    ):
        return partition
    event_class = partition.event_class
    if new_fields != fields:
        event_class = partition.derive(
            ("parts", new_fields), lambda: replace(partition.event_class, fields=new_fields)
        )
    return partition.rewritten(event_class, [column for _, column in parts])


def _as_written(column: Any) -> Any:
    """Return fields without an argument as recorders write them."""

    def written() -> Any:
        held = column() if callable(column) else column
        distinct, which = distinct_bytes(held)
        return take(list_of_bytes([as_written(one) for one in distinct]), which)

    return written


def _lose_state_details(partition: Partition, projection: Projection) -> None:
    """Report what importers ignore of task states: the end of one that no other follows, and all other fields."""
    shown = shown_states(
        partition.event_class,
        partition.table,
        projection.threads_of(partition),
        projection.target.threads,
        projection.source.strings,
    )
    if len(shown.rows):
        projection.lose("state-end-and-arguments", partition, len(shown.rows))
    if len(shown.rows) < len(partition):
        # Readers of the file find them as track events.
        projection.lose("state-of-no-thread", partition, len(partition) - len(shown.rows))


def _lose_name_of_idle(partition: Partition, projection: Projection) -> None:
    """Report that importers treat thread 0 of process 0 as the kernel's idle task, and rename it.

    This does not happen for a trace that was JSON, whose output prevents it.
    """
    source = projection.source
    if projection.is_own or (was_json(source) and not projection.occurs(is_switch)):
        return
    threads = projection.threads_of(partition)
    is_idle = (projection.tids_of(threads) == 0) & (projection.pids_of(threads) == 0)
    if is_idle.any():
        named = projection.target.threads[int(threads[int(is_idle.argmax())])].name
        if named != _IDLE:
            projection.lose("idle-thread-renamed", partition, rows=is_idle, name=named)


def _ends_at_slice_around(partition: Partition, projection: Projection) -> bool:
    """Return True if flows end at the enclosing slice, as by default in other formats: importers use the next one."""
    says_where = projection.source.semantics.flows is FlowBinding.NEXT_UNLESS_STATED
    is_told = timeline_fields.BINDS in partition.event_class.fields
    return partition.event_class.kind is Kind.FLOW_END and not is_told and not says_where


def _numbered(
    field: Field, column: Any, partition: Partition, projection: Projection
) -> tuple[Field, Any]:
    """Convert an id that is a signed number to an unsigned one."""
    if not isinstance(field.type, IntegerClass) or field.type == mapping.ID.type:
        return field, column
    same_bits = np.int64 if field.type.signed else np.uint64
    projection.lose("field-type", partition, field=field.name)

    def unsigned() -> Any:
        return column().astype(same_bits).view(np.uint64)

    return timeline_fields.number_id(field.name), unsigned


def _in_microseconds(
    field: Field, column: Any, partition: Partition, projection: Projection
) -> Any:
    values: NDArray[np.int64] = column()
    rest = values % _MICROSECOND
    if not rest.any():
        return column
    projection.lose("thread-time-rounded", partition, rows=rest != 0, field=field.name)
    return values - rest


def _known_scope(column: Any, partition: Partition, projection: Projection) -> Any:
    strings = projection.source.strings
    values = string_ids(column(), strings)
    known = [strings.intern(letter) for letter in mapping.INSTANT_SCOPES]
    unknown = ~np.isin(values, known)
    if not unknown.any():
        return column
    projection.lose("instant-scope-unknown", partition, rows=unknown)
    return np.where(unknown, np.int32(strings.intern("t")), values)


def _no_marks(column: Any, partition: Partition, projection: Projection) -> Any:
    """Convert the phase of markers to that of instants, as importers read the scope of no other phase."""
    strings = projection.source.strings
    values = string_ids(column(), strings)
    marks = values == strings.intern("R")
    if not marks.any():
        return column
    projection.lose("mark-as-instant", partition, rows=marks)
    return np.where(marks, np.int32(strings.intern("I")), values)


def _is_known(column: Any, partition: Partition, projection: Projection) -> bool:
    """Return True if all phases are letters of the partition's kind other than the default one, which is implied."""
    kind = partition.event_class.kind
    strings = projection.source.strings
    values = column() if callable(column) else column
    for id in values_of(string_ids(values, strings)).tolist():
        letter = strings[id].decode("utf-8", "surrogateescape")
        if len(letter) != 1 or not 0 < ord(letter) < 128 or letter == mapping.default_phase(kind):
            return False
        if mapping.PHASE_KINDS.get(letter, Kind.INSTANT) is not kind:
            return False
    return True


def _no_direction(field: Field, partition: Partition, projection: Projection) -> tuple[Field, Any]:
    projection.lose("flow-direction", partition)
    return field, constant_column(np.False_, len(partition))
