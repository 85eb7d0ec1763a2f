"""Text that programs write to a kernel trace: the importer treats all of it as atrace's.

A typed `print` event is parsed (systrace_parser.h): text that does not follow Android's syntax is an error, and text
that begins with an E ends the open slice. Only text with this syntax is written as typed events; other text becomes
events with a descriptor and their own name, which the importer shows unchanged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto import tracepoints
from converter.ir.columns import ListColumn
from converter.ir.distinct_values import distinct
from converter.ir.events import EventClass
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Projection
from converter.projection.domain.markers import plain_marker_ids, plain_marker_texts
from converter.projection.engine.partitions import Partition

#: The name of markers that have none.
_PRINT: Final = ("ftrace", "print")


def by_syntax(partition: Partition, projection: Projection) -> list[Partition]:
    """Split markers into those that the importer understands, and those that it would misinterpret."""
    event_class = partition.event_class
    index = event_class.index_of(Role.MESSAGE)
    if index is None or event_class.native == tracepoints.DESCRIBED_EVENT:
        return [partition]
    if not isinstance(event_class.fields[index].type, StringClass):
        # Numbers and bytes become texts of digits, which end nothing.
        return [partition]
    understood, other = partition.split(_is_understood(partition.table.column(index), projection))
    parts = [] if understood is None else [understood]
    if other is not None:

        def described() -> EventClass:
            system, name = event_class.category, event_class.name
            if tracepoints.kind_of(system, name) is not Kind.MARK:
                system, name = _PRINT
            return replace(
                event_class, category=system, name=name, native=tracepoints.DESCRIBED_EVENT
            )

        parts.append(
            other.rewritten(partition.derive(("described",), described), other.lazy_columns())
        )
    return parts


def _is_understood(column: Any, projection: Projection) -> NDArray[np.bool_]:
    if isinstance(column, ListColumn):
        assert isinstance(column.values, np.ndarray)
        return plain_marker_texts(column.values, column.offsets)
    # A message with an id is likely to occur again.
    messages, inverse = distinct(column)
    return plain_marker_ids(projection.source.strings, messages)[inverse]
