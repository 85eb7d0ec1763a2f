"""The capabilities of simpleperf's files: samples with times, threads and call stacks, and context switches."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

import numpy as np

from converter.formats.profiles.capabilities import (
    lists_with,
    with_limited_weights,
    with_whole_frames,
)
from converter.formats.profiles.simpleperf.layout import (
    EXECUTION_TYPES,
    SWITCH,
    UNWINDING,
    unit_of_event,
)
from converter.ir.columns import Column, ListColumn, StructColumn, constant_column
from converter.ir.events import EventClass
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Capabilities, KindSupport, Projection
from converter.projection.domain.call_stacks import members_of
from converter.projection.engine.partitions import Partition
from converter.projection.timeline_fields import FRAMES, weight

_SAMPLE: Final = KindSupport(
    fields=(FRAMES, weight("")),
    optional=(EXECUTION_TYPES, UNWINDING),
    required=frozenset({Role.FRAMES}),
    arguments=False,
    named=True,
    holds=Capabilities(
        {}, integers=frozenset({(32, True), (64, True)}), units=True, arrays=True, structures=True
    ),
)
_SWITCH: Final = KindSupport(fields=SWITCH.fields, arguments=False, named=True)


@cache
def capabilities(variant: str) -> Capabilities:
    """Return the capabilities of the format."""
    del variant
    return Capabilities(
        {
            Kind.SAMPLE: replace(_SAMPLE, of_class=_sample_support),
            Kind.TYPED: replace(_SWITCH, of_class=_switch_support),
        },
        units=True,
        clock_rates=False,
        time_order=True,
        id_bits=31,
        call_stacks=True,
        adapters={Kind.SAMPLE: _adapt_sample},
        clock_names=True,
        other_clocks=True,
        epoch=True,
        environment=True,
        command_lines=True,
    )


def _sample_support(event_class: EventClass) -> KindSupport:
    """Return how samples of a class are held: the event says the unit of their weights."""
    return replace(_SAMPLE, fields=(FRAMES, weight(unit_of_event(event_class.name))))


def _switch_support(event_class: EventClass) -> KindSupport | None:
    """Return how tracepoints of a class are held: only those that say what records of context switches say."""
    said = event_class.name, event_class.category, event_class.fields
    return _SWITCH if said == (SWITCH.name, "", SWITCH.fields) else None


def _adapt_sample(partition: Partition, projection: Projection) -> Partition:
    """Return samples with weights that are not negative, and frames without lines of source files."""
    partition = with_limited_weights(with_whole_frames(partition, projection), projection)
    frames = partition.event_class.index_of(Role.FRAMES)
    assert frames is not None

    def without_lines() -> Column:
        column = partition.table.column(frames)
        assert isinstance(column, ListColumn)
        assert isinstance(column.values, StructColumn)
        function, mapping, address, source, line = members_of(
            column.values, projection.source.strings
        )
        placed = (source != 0) | (line != 0)
        if not placed.any():
            return column
        projection.lose("frame-source-dropped", partition, rows=lists_with(column, placed))
        count = len(source)
        nothing = constant_column(np.int32(0), count), constant_column(np.uint32(0), count)
        members: tuple[Column, ...] = (function, mapping, address, *nothing)
        return ListColumn(column.offsets, StructColumn(count, members))

    columns = partition.lazy_columns()
    columns[frames] = without_lines
    return partition.rewritten(partition.event_class, columns)
