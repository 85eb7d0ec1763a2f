"""Events of flows that belong together in the target's viewers as they do in the source's.

In some formats they have one id, which the end of the flow sets free for another. In others they have one id, name and
category for good.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, order_of, string_ids
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import FlowMatching
from converter.ir.trace import Trace
from converter.kernels.tables.strings import StringTable
from converter.projection.losses import LossReport
from converter.projection.passes.flows.bound_flows import hexadecimal
from converter.projection.passes.flows.flow_identities import FlowIdentities
from converter.projection.passes.renumbering import in_classes
from converter.projection.passes.slices.slice_columns import text_index
from converter.projection.timeline_fields import ID_NAMES, number_id

_STEPS: Final = {Kind.FLOW_BEGIN: 1, Kind.FLOW_STEP: 2, Kind.FLOW_END: 3}
_UNSIGNED: Final = 64
#: The codes of the differences that `FlowIdentities` finds, by its numbers.
_DIFFERENT: Final = {
    1: "flow-after-end",
    2: "flow-begins-again",
}


class _Flows(NamedTuple):
    """The events of flows of a batch: where they are, what they are, and their identities."""

    at: NDArray[np.intp]
    step: NDArray[np.uint8]
    id: NDArray[np.uint64]
    is_text: NDArray[np.uint8]
    name: NDArray[np.int32]
    category: NDArray[np.int32]


def with_matching_flows(trace: Trace, report: LossReport) -> Trace:
    """Return the trace with flows in the identities that the other formats' viewers need."""
    by_id = trace.semantics.flow_matching is FlowMatching.ID
    result = dataclasses.replace(trace, event_classes=[])
    passed = (_Named if by_id else _Numbered)(trace, result, report)
    result.make_batches = passed.batches
    return result


class _Identities:
    def __init__(self, source: Trace, result: Trace, report: LossReport) -> None:
        self._source = source
        self._result = result
        self._report = report
        self._numbers: list[int] = []

    def batches(self) -> Iterator[Batch]:
        identities = FlowIdentities()
        for batch in self._source.batches():
            classes = self._source.event_classes
            for event_class in classes[len(self._numbers) :]:
                self._numbers.append(self._result.add_class(self._adapted(event_class)))
            present = [
                number
                for number, table in batch.tables.items()
                if len(table) and _id_index(classes[number]) is not None
            ]
            if not present:
                yield in_classes(batch, self._numbers)
                continue
            flows = self._flows(batch, present)
            ts = batch.ts[flows.at]
            order = np.argsort(flows.at, kind="stable")
            by_time = order_of(ts[order])
            order = order if by_time is None else order[by_time]
            tables = self._tables(identities, batch, present, flows, order.astype(np.int64))
            yield in_classes(batch, self._numbers, {**batch.tables, **tables})

    def _adapted(self, event_class: EventClass) -> EventClass:
        return event_class

    def _tables(
        self,
        identities: FlowIdentities,
        batch: Batch,
        present: list[int],
        flows: _Flows,
        order: NDArray[np.int64],
    ) -> dict[int, Table]:
        raise NotImplementedError

    def _flows(self, batch: Batch, present: list[int]) -> _Flows:
        """Return the events of these classes, one class after the other."""
        strings = self._source.strings
        parts: list[_Flows] = []
        for number in present:
            event_class, table = self._source.event_classes[number], batch.tables[number]
            index = _id_index(event_class)
            assert index is not None
            column: Any = table.column(index)
            is_text = np.zeros(len(table), np.uint8)
            if isinstance(event_class.fields[index].type, StringClass):
                column, is_text = _numbers(strings, string_ids(column, strings))
            texts = [text_index(event_class, role) for role in (Role.NAME, Role.CATEGORY)]
            names = [
                np.zeros(len(table), np.int32)
                if one is None
                else string_ids(table.column(one), strings)
                for one in texts
            ]
            step = np.uint8(_STEPS[event_class.kind])
            parts.append(
                _Flows(
                    batch.positions(number).astype(np.intp),
                    np.full(len(table), step),
                    column.astype(np.uint64),
                    is_text,
                    *names,
                )
            )
        at, step_of, id, is_text_of, name, category = (
            np.concatenate(some) for some in zip(*parts, strict=True)
        )
        return _Flows(at, step_of, id, is_text_of, name, category)

    @staticmethod
    def _rows(batch: Batch, present: list[int]) -> Iterator[tuple[int, slice]]:
        """Return the entries of each class among `_flows`."""
        first = 0
        for number in present:
            count = len(batch.tables[number])
            yield number, slice(first, first + count)
            first += count


class _Numbered(_Identities):
    """For viewers that know flows by their ids alone."""

    def _adapted(self, event_class: EventClass) -> EventClass:
        index = _id_index(event_class)
        if index is None or _is_unsigned(event_class, index):
            return event_class
        fields = list(event_class.fields)
        fields[index] = number_id(fields[index].name)
        return replace(event_class, fields=tuple(fields), native=b"")

    def _tables(
        self,
        identities: FlowIdentities,
        batch: Batch,
        present: list[int],
        flows: _Flows,
        order: NDArray[np.int64],
    ) -> dict[int, Table]:
        ids, differences = identities.ids(
            flows.step, flows.id, flows.is_text, flows.name, flows.category, order
        )
        for number, code in _DIFFERENT.items():
            found = flows.at[differences == number]
            self._report.add_at(code, self._source, batch, found)
        changed = flows.at[(ids != flows.id) | (flows.is_text != 0)]
        self._report.add_at("flow-id-changed", self._source, batch, changed)
        tables = {}
        for number, rows in self._rows(batch, present):
            event_class = self._source.event_classes[number]
            index = _id_index(event_class)
            assert index is not None
            if _is_unsigned(event_class, index) and np.array_equal(ids[rows], flows.id[rows]):
                continue
            table = batch.tables[number]
            columns: list[Column | Any] = [table.lazy(i) for i in range(table.width)]
            columns[index] = ids[rows]
            tables[number] = Table(len(table), columns)
        return tables


class _Named(_Identities):
    """For viewers that know flows by their names, too."""

    def _tables(
        self,
        identities: FlowIdentities,
        batch: Batch,
        present: list[int],
        flows: _Flows,
        order: NDArray[np.int64],
    ) -> dict[int, Table]:
        name, category = flows.name.copy(), flows.category.copy()
        earlier = identities.names(flows.step, flows.id, name, category, order)
        strings = self._source.strings
        again = np.flatnonzero(earlier)
        if len(again):
            pairs = np.stack([name[again], earlier[again]])
            found, which = np.unique(pairs, axis=1, return_inverse=True)
            texts = [
                strings.intern(b"%s %d" % (strings[one], number + 1))
                for one, number in found.T.tolist()
            ]
            name[again] = np.array(texts, np.int32)[which.reshape(-1)]
        changed = np.flatnonzero((name != flows.name) | (category != flows.category))
        if not len(changed):
            return {}
        self._report.add_at("flow-name-changed", self._source, batch, flows.at[changed])
        tables = {}
        for number, rows in self._rows(batch, present):
            event_class, table = self._source.event_classes[number], batch.tables[number]
            columns: list[Column | Any] = [table.lazy(i) for i in range(table.width)]
            for role, texts_of in ((Role.NAME, name), (Role.CATEGORY, category)):
                index = text_index(event_class, role)
                if index is not None:
                    columns[index] = texts_of[rows]
            tables[number] = Table(len(table), columns)
        return tables


def _id_index(event_class: EventClass) -> int | None:
    """Return the field with the id of a flow; None for other events, and where it has none."""
    if event_class.kind not in _STEPS:
        return None
    for index, field in enumerate(event_class.fields):
        if field.role is Role.ID and field.name in ID_NAMES:
            return index if isinstance(field.type, IntegerClass | StringClass) else None
    return None


def _numbers(
    strings: StringTable, texts: NDArray[np.int32]
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Return the numbers that viewers take texts for, or else the texts, and which they are."""
    found, which = np.unique(texts, return_inverse=True)
    numbers = [hexadecimal(strings[text]) for text in found.tolist()]
    ids = [text if number is None else number for text, number in zip(found, numbers, strict=True)]
    is_text = np.array([number is None for number in numbers], np.uint8)
    return np.array(ids, np.uint64)[which], is_text[which]


def _is_unsigned(event_class: EventClass, index: int) -> bool:
    held = event_class.fields[index].type
    return isinstance(held, IntegerClass) and held.bits == _UNSIGNED and not held.signed
