"""Samples that are written: columns of a projected trace's batches, with the number of each call stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch, EventClass
from converter.ir.field_classes import ArrayClass, IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.domain.stack_table import StackTable

#: The name of the field with the weight of a sample (`timeline_fields.weight`): others of its role count otherwise.
WEIGHT: Final = "weight"


def weight_index(event_class: EventClass) -> int | None:
    """Return the index of the field with the weight of samples of a class; None if each counts as one."""
    for index, field in enumerate(event_class.fields):
        if field.role is Role.COUNT and field.name == WEIGHT:
            return index
    return None


def unit_of(event_class: EventClass) -> str:
    """Return the unit of the weights of a class; samples without a weight are counted."""
    index = weight_index(event_class)
    return "count" if index is None else event_class.fields[index].unit


@dataclass(frozen=True, slots=True)
class Samples:
    """Samples in the order of their batch, one entry each.

    `event` is the number of their class in the trace, `stack` that of their call stack in the table of stacks. `at` is
    their position in the batch.
    """

    at: NDArray[np.int32]
    ts: NDArray[np.int64]
    thread: NDArray[np.int32]
    cpu: NDArray[np.int32]
    event: NDArray[np.int32]
    stack: NDArray[np.int32]
    weight: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ts)


class SampleColumns:
    """Finds the samples of a trace's batches, and numbers their call stacks."""

    def __init__(self, trace: Trace, stacks: StackTable) -> None:
        self._trace = trace
        self._stacks = stacks

    def of(self, batch: Batch) -> Samples:
        """Return the samples of a batch, which has no sample with anything but integers as its weight."""
        at: list[NDArray[np.int32]] = []
        stacks: list[NDArray[np.int32]] = []
        weights: list[NDArray[np.int64]] = []
        for number, table in batch.tables.items():
            event_class = self._trace.event_classes[number]
            if event_class.kind is not Kind.SAMPLE or not len(table):
                continue
            frames = event_class.index_of(Role.FRAMES)
            assert frames is not None
            element = event_class.fields[frames].type
            assert isinstance(element, ArrayClass)
            at.append(batch.positions(number))
            stacks.append(self._stacks.add(table.column(frames), element.element))
            index = weight_index(event_class)
            if index is None:
                weights.append(np.ones(len(table), np.int64))
                continue
            assert isinstance(event_class.fields[index].type, IntegerClass)
            weights.append(np.asarray(table.column(index)).astype(np.int64))
        where = np.concatenate([np.zeros(0, np.int32), *at])
        order = np.argsort(where, kind="stable")
        where = where[order]
        return Samples(
            at=where,
            ts=batch.ts[where],
            thread=batch.thread[where],
            cpu=batch.cpu[where],
            event=batch.class_id[where],
            stack=np.concatenate([np.zeros(0, np.int32), *stacks])[order],
            weight=np.concatenate([np.zeros(0, np.int64), *weights])[order],
        )
