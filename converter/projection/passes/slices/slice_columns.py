"""Columns that the passes over begins and ends of slices need, by class."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import string_ids
from converter.ir.events import Batch, EventClass
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace

#: The numbers by which kernels know events that begin slices, and those that end them.
STEPS: Final = {Kind.SLICE_BEGIN: 1, Kind.SLICE_END: 2}


def steps_of(trace: Trace, batch: Batch) -> NDArray[np.int32]:
    """Return the number in `STEPS` of each class of the trace that the batch may have, 0 for all other classes."""
    steps = np.zeros(max(batch.tables, default=0) + 1, np.int32)
    for number, table in batch.tables.items():
        if len(table):
            steps[number] = STEPS.get(trace.event_classes[number].kind, 0)
    return steps


def text_index(event_class: EventClass, role: Role) -> int | None:
    """Return the index of the first field with a role, if that is a text; else None."""
    index = event_class.index_of(role)
    if index is None or not isinstance(event_class.fields[index].type, StringClass):
        return None
    return index


def texts_of(trace: Trace, batch: Batch, role: Role) -> dict[int, NDArray[np.int32]]:
    """Return the texts of a role, such as names, of events that begin or end slices: ids of strings by class."""
    texts = {}
    for number, table in batch.tables.items():
        event_class = trace.event_classes[number]
        index = text_index(event_class, role)
        if event_class.kind in STEPS and index is not None and len(table):
            texts[number] = string_ids(table.column(index), trace.strings)
    return texts
