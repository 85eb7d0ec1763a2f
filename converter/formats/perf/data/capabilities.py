"""The capabilities of perf.data: call stacks are its samples, all else is tracepoints with records of the kernel."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

import numpy as np

from converter.formats.ftrace.capabilities import capabilities as ftrace_capabilities
from converter.formats.profiles.capabilities import lists_with, sample_support, with_whole_frames
from converter.ir.columns import Column, ListColumn, StructColumn
from converter.ir.columns import take as taken
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Capabilities, Projection
from converter.projection.domain.call_stacks import members_of
from converter.projection.domain.lost_events import counted
from converter.projection.engine.partitions import Partition

#: The most frames of a call stack: a record has at most 65,528 bytes, and before each frame may be a mark.
MAX_FRAMES: Final = 4000


@cache
def capabilities(variant: str) -> Capabilities:  # noqa: ARG001 - all variants hold the same
    """Return the capabilities of every variant."""
    records = ftrace_capabilities("")
    # Names of sampled events are any text, those of tracepoints and their fields are identifiers.
    names = replace(records, identifier=None)
    samples = sample_support(named=True, cpu=True, holds=names)
    return replace(
        records,
        kinds={**records.kinds, Kind.SAMPLE: samples},
        adapters={
            **records.adapters,
            Kind.SAMPLE: _adapt_sample,
            Kind.DISCARDED: counted(unknown=1, zeros=True),
        },
        buffers=0,
        cpuless=True,
        gap_reach=None,
        call_stacks=True,
        # A sample beside a tracepoint would be a second event in perf's eyes.
        event_stacks=True,
        call_depths=False,
    )


def _adapt_sample(partition: Partition, projection: Projection) -> Partition:
    """Give samples frames and a weight, and cut call stacks that no record can hold."""
    partition = with_whole_frames(partition, projection)
    index = partition.event_class.index_of(Role.FRAMES)
    assert index is not None

    def cut() -> Column:
        column = partition.table.column(index)
        assert isinstance(column, ListColumn)
        _note_unshown(column, partition, projection)
        offsets = np.asarray(column.offsets, np.int64)
        sizes = np.diff(offsets)
        deep = sizes > MAX_FRAMES
        if not deep.any():
            return column
        projection.lose(
            "list-cut",
            partition,
            rows=deep,
            field=partition.event_class.fields[index].name,
            limit=MAX_FRAMES,
        )
        kept = np.minimum(sizes, MAX_FRAMES)
        shorter = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
        inner = np.arange(shorter[-1]) + np.repeat(offsets[:-1] - shorter[:-1], kept)
        return ListColumn(shorter, taken(column.values, inner))

    columns = partition.lazy_columns()
    columns[index] = cut
    return partition.rewritten(partition.event_class, columns)


def _note_unshown(column: ListColumn, partition: Partition, projection: Projection) -> None:
    """Count samples with frames of which viewers show less than the file has."""
    assert isinstance(column.values, StructColumn)
    function, mapping, _, source, line = members_of(column.values, projection.source.strings)
    binary = (function != 0) & (mapping != 0)
    if binary.any():
        projection.lose("frame-binary-unshown", partition, rows=lists_with(column, binary))
    placed = (source != 0) | (line != 0)
    if placed.any():
        projection.lose("frame-source-unshown", partition, rows=lists_with(column, placed))
