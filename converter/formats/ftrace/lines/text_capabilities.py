"""The capabilities of formats of texts of ftrace's events: what trace.dat holds, as far as texts say it exactly."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.capabilities import TYPED, identifier
from converter.formats.ftrace.capabilities import capabilities as ftrace_capabilities
from converter.formats.ftrace.capabilities import held as held_in_records
from converter.formats.ftrace.kernel_formats import kernel_format
from converter.formats.ftrace.lines.text_formats import STATE_BITS
from converter.formats.ftrace.lines.text_mapping import is_exact
from converter.ir.columns import Column, string_ids
from converter.ir.distinct_values import values_of
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import REQUIRED_ROLES, Kind, Role
from converter.projection.capabilities import Capabilities, KindSupport, Projection
from converter.projection.domain.linux_tracepoints import TEXT_ROLES, meaning
from converter.projection.engine.partitions import Partition

#: Markers: the function that wrote them is a name alone.
_MARK = KindSupport(
    fields=(Field("buf", StringClass(), Role.MESSAGE),),
    required=frozenset({Role.MESSAGE}),
    arguments=False,
    cpu=True,
    event=("ftrace", "print"),
)


def text_capabilities(common: tuple[Field, ...]) -> Capabilities:
    """Return the capabilities of a format whose lines have these fields besides what events print."""
    records = ftrace_capabilities("")
    kinds = {
        kind: support
        if kind is Kind.DISCARDED
        else replace(support, trailing=common, of_class=partial(held, common))
        for kind, support in records.kinds.items()
    }
    kinds[Kind.MARK] = replace(_MARK, trailing=common)
    of_switches = records.adapters[Kind.SCHED_SWITCH]

    def adapt_switch(partition: Partition, projection: Projection) -> Partition:
        return _with_printed_states(of_switches(partition, projection), projection)

    return replace(
        records,
        kinds=kinds,
        adapters={
            **records.adapters,
            Kind.SCHED_SWITCH: adapt_switch,
            Kind.MARK: _without_line_ends,
        },
        blobs=False,
        buffers=0,
        gap_reach=None,
        call_depths=False,
        symbols=False,
    )


def held(common: tuple[Field, ...], event_class: EventClass) -> KindSupport | None:
    """Return how a format holds a class: as the kernel's event if its text says all of it, or by its fields.

    Args:
        common: the fields that lines have besides what events print.
        event_class: the class.

    """
    support = held_in_records(event_class)
    if support is None:
        return None
    support = replace(support, trailing=common)
    if support.event is None or kernel_format(*support.event) is None:
        return replace(support, holds=None)
    if is_exact(support.event):
        return replace(support, arguments=False, holds=None)
    typed = replace(TYPED, trailing=common)
    return typed if event_class.kind is Kind.TYPED else _named(event_class, typed)


def _named(event_class: EventClass, typed: KindSupport) -> KindSupport | None:
    """Return how the format holds a class that the reader knows by its name, field by field; None if it is not."""
    point = event_class.category, event_class.name
    known = meaning(*point)
    if known.kind is not event_class.kind or tuple(map(identifier, point)) != point:
        return None
    roles: set[Role] = set()
    for field in event_class.fields:
        role = known.roles.get(field.name, Role.NONE)
        kind = StringClass if role in TEXT_ROLES else IntegerClass
        if role is not Role.NONE and not isinstance(field.type, kind):
            return None
        roles.add(role)
    if not REQUIRED_ROLES.get(known.kind, frozenset()) <= roles:
        return None
    return replace(
        typed,
        named=True,
        argument_role=lambda field: known.roles.get(field.name, Role.NONE),
    )


def _without_line_ends(partition: Partition, projection: Projection) -> Partition:
    """Remove the line end of a marker, which its line has anyway."""
    index = partition.event_class.index_of(Role.MESSAGE)
    if index is None:
        return partition

    def line() -> Column:
        strings = projection.source.strings
        ids = string_ids(partition.table.column(index), strings)
        shorter = {
            id: strings.intern(strings[id].rstrip(b"\n"))
            for id in values_of(ids).tolist()
            if strings[id].endswith(b"\n")
        }
        if not shorter:
            return ids
        result = ids.copy()
        changed = np.isin(ids, np.array(list(shorter), np.int32))
        result[changed] = [shorter[id] for id in ids[changed].tolist()]
        projection.lose("marker-line-end-removed", partition, rows=changed)
        return result

    columns = partition.lazy_columns()
    columns[index] = line
    kept = [i for i, field in enumerate(partition.event_class.fields) if field.name != "ip"]

    def of_texts() -> EventClass:
        fields = tuple(partition.event_class.fields[i] for i in kept)
        return replace(partition.event_class, fields=fields)

    if len(kept) < len(columns):
        projection.lose("marker-function-dropped", partition)
    new = partition.derive(("markers of texts",), of_texts)
    return partition.rewritten(new, [columns[i] for i in kept])


def _with_printed_states(partition: Partition, projection: Projection) -> Partition:
    """Remove bits of states that have no letter."""
    index = partition.event_class.index_of(Role.PREV_STATE)
    if index is None:
        return partition

    def printed() -> Column:
        column = partition.table.column(index)
        assert isinstance(column, np.ndarray)
        known = STATE_BITS & ((1 << 8 * column.itemsize) - 1)
        states: NDArray[Any] = column & column.dtype.type(known)
        projection.lose("state-bits-without-letter", partition, rows=states != column)
        return states

    columns = partition.lazy_columns()
    columns[index] = printed
    return partition.rewritten(partition.event_class, columns)
