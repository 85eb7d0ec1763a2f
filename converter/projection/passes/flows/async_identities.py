"""Asynchronous slices that belong together in the target's viewers as they do in the source's.

In some formats they have one id and category, in others one id, whatever the category is. In JSON a number is another
id than the same one as hexadecimal text. Where the target makes no such difference, the first keeps its id, and others
get numbers of their own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, order_of, string_ids
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass, Style
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.losses import LossReport
from converter.projection.passes.flows.flow_identities import FlowIdentities
from converter.projection.passes.slices.slice_columns import text_index
from converter.projection.timeline_fields import ID_NAMES, ID_SCOPE

_KINDS: Final = frozenset({Kind.ASYNC_BEGIN, Kind.ASYNC_INSTANT, Kind.ASYNC_END})
#: Neither begins nor ends of flows: all events of an identity get its number.
_STEP: Final = np.uint8(2)


def with_distinct_ids(trace: Trace, report: LossReport, *, by_category: bool) -> Trace:
    """Return the trace with numbers as ids of asynchronous slices that tell which belong together.

    Args:
        trace: the source.
        report: where changed ids are counted.
        by_category: the target's viewers match by category, too.

    """
    result = dataclasses.replace(trace)
    result.make_batches = _Distinct(trace, report, by_category=by_category).batches
    return result


class _Distinct:
    def __init__(self, source: Trace, report: LossReport, *, by_category: bool) -> None:
        self._source = source
        self._report = report
        self._by_category = by_category

    def batches(self) -> Iterator[Batch]:
        identities = FlowIdentities()
        for batch in self._source.batches():
            present = [
                (number, index)
                for number, table in batch.tables.items()
                if len(table) and (index := self._id_index(number)) is not None
            ]
            yield self._distinct(identities, batch, present) if present else batch

    def _id_index(self, number: int) -> int | None:
        """Return the field with the id of an asynchronous event, if that is a number."""
        event_class = self._source.event_classes[number]
        if event_class.kind not in _KINDS:
            return None
        for index, field in enumerate(event_class.fields):
            if field.role is Role.ID and field.name in ID_NAMES:
                return index if isinstance(field.type, IntegerClass) else None
        return None

    def _distinct(
        self, identities: FlowIdentities, batch: Batch, present: list[tuple[int, int]]
    ) -> Batch:
        at = np.concatenate([batch.positions(number) for number, _ in present]).astype(np.intp)
        columns: list[Any] = [batch.tables[number].column(index) for number, index in present]
        id = np.concatenate(columns).astype(np.uint64)
        scope = np.concatenate([self._scopes(batch, number) for number, _ in present])
        form = np.concatenate([self._forms(batch, *one) for one in present])
        order = np.argsort(at, kind="stable")
        by_time = order_of(batch.ts[at[order]])
        order = (order if by_time is None else order[by_time]).astype(np.int64)
        step, is_text = np.full(len(at), _STEP), np.zeros(len(at), np.uint8)
        ids, _ = identities.ids(step, id, is_text, form, scope, order)
        changed = np.flatnonzero(ids != id)
        # Positive where ids are signed, too.
        ids[changed] -= np.uint64(1 << 62)
        if not len(changed):
            return batch
        self._report.add_at("async-id-changed", self._source, batch, at[changed])
        tables, start = dict(batch.tables), 0
        for number, index in present:
            table = batch.tables[number]
            of_class: list[Column | Any] = [table.lazy(i) for i in range(table.width)]
            held = np.asarray(table.column(index))
            of_class[index] = ids[start : start + len(table)].astype(held.dtype)
            start += len(table)
            tables[number] = Table(len(table), of_class)
        return batch.with_tables(tables)

    def _forms(self, batch: Batch, number: int, index: int) -> NDArray[np.int32]:
        """Return 1 for ids of JSON that are numbers, 0 for all others."""
        held = self._source.event_classes[number].fields[index].type
        is_number = isinstance(held, IntegerClass) and held.style is not Style.HEXADECIMAL
        is_form = is_number and bool(self._source.semantics.json_arguments)
        return np.full(len(batch.tables[number]), is_form, np.int32)

    def _scopes(self, batch: Batch, number: int) -> NDArray[np.int32]:
        """Return what tells ids of one number apart: the scope of the id, else the category; of JSON the category."""
        event_class, table = self._source.event_classes[number], batch.tables[number]
        if self._by_category:
            return np.zeros(len(table), np.int32)
        scope = self._texts(event_class, table, text_index(event_class, Role.CATEGORY))
        if ID_SCOPE in event_class.fields and not self._source.semantics.json_arguments:
            stated = self._texts(event_class, table, event_class.fields.index(ID_SCOPE))
            scope = np.where(stated != 0, stated, scope).astype(np.int32)
        return scope

    def _texts(self, event_class: EventClass, table: Table, index: int | None) -> NDArray[np.int32]:
        if index is None:
            return np.zeros(len(table), np.int32)
        return string_ids(table.column(index), self._source.strings)
