"""Assembles a batch from the partitions that it was split into."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import (
    Column,
    ListColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    concatenate,
    list_of_bytes,
)
from converter.ir.events import Batch, Table
from converter.kernels.tables.strings import StringTable
from converter.projection.engine.in_place import JoinedColumn, by_target, classes_and_rows, places
from converter.projection.engine.partitions import Partition

#: A partition with the former and the new class number of its rows.
Placed = tuple[int, int, Partition]


def assemble(batch: Batch, placed: list[Placed], strings: StringTable) -> Batch:
    """Return the events of the partitions in the order of `batch`, added events after those whose
    positions they have.
    """
    by_class, several, size, are_behind = by_target(placed)
    tables = {target: partitions[0].table for target, partitions in by_class.items()}
    for target in several:
        tables[target] = _joined(by_class[target], strings)
    if size != len(batch) or are_behind:
        return _sorted(batch, by_class, tables)
    # Each event of the batch is exactly one event of the partitions.
    classes = max(batch.tables, default=0)
    class_id, row = classes_and_rows(batch.class_id, batch.row, classes, placed, by_class)
    thread, cpu, track = places(batch, classes, placed)
    return Batch(
        ts=batch.ts, class_id=class_id, row=row, tables=tables, thread=thread, cpu=cpu, track=track
    )


def _sorted(batch: Batch, by_class: dict[int, list[Partition]], tables: dict[int, Table]) -> Batch:
    """Assemble a batch in which events were removed or added."""
    classes, rows, positions, afters = [], [], [], []
    threads, cpus, tracks = [], [], []
    for target, partitions in by_class.items():
        start = 0
        for partition in partitions:
            size = len(partition)
            at = partition.positions
            classes.append(np.full(size, target, np.int32))
            rows.append(np.arange(start, start + size, dtype=np.int32))
            positions.append(at)
            afters.append(np.full(size, partition.after, np.int64))
            threads.append(batch.thread[at] if partition.thread is None else partition.thread)
            cpus.append(batch.cpu[at] if partition.cpu is None else partition.cpu)
            tracks.append(batch.track[at] if partition.track is None else partition.track)
            start += size
    if not positions:
        return NO_EVENTS
    at = np.concatenate(positions)
    after = np.concatenate(afters)
    order = np.argsort(at * (after.max() + 1) + after, kind="stable")
    return Batch(
        ts=batch.ts[at[order]],
        class_id=np.concatenate(classes)[order],
        row=np.concatenate(rows)[order],
        tables=tables,
        thread=np.concatenate(threads)[order],
        cpu=np.concatenate(cpus)[order],
        track=np.concatenate(tracks)[order],
    )


NO_EVENTS = Batch(
    ts=np.zeros(0, np.int64), class_id=np.zeros(0, np.int32), row=np.zeros(0, np.int32), tables={}
)


def _joined(partitions: list[Partition], strings: StringTable) -> Table:
    """Concatenate the rows of partitions of one class."""
    if len(partitions) == 1:
        return partitions[0].table
    tables = [partition.table for partition in partitions]

    def join(columns: list[Column]) -> Column:
        return concatenate(stored_alike(columns, strings))

    columns = [JoinedColumn(tables, index, join) for index in range(tables[0].width)]
    return Table(sum(map(len, tables)), columns)


def stored_alike(columns: Sequence[Column], strings: StringTable) -> list[Column]:
    """Return columns of one field class; if strings are lists of bytes in any of them, they are in all."""
    first = columns[0]
    match first:
        case np.ndarray() | ListColumn() if (
            len({isinstance(one, ListColumn) for one in columns}) > 1
        ):
            return [
                _as_bytes(column, strings) if isinstance(column, np.ndarray) else column
                for column in columns
            ]
        case ListColumn():
            lists = [column for column in columns if isinstance(column, ListColumn)]
            inner = stored_alike([column.values for column in lists], strings)
            return [ListColumn(c.offsets, i) for c, i in zip(lists, inner, strict=True)]
        case OptionalColumn():
            optionals = [column for column in columns if isinstance(column, OptionalColumn)]
            inner = stored_alike([column.values for column in optionals], strings)
            return [OptionalColumn(c.valid, i) for c, i in zip(optionals, inner, strict=True)]
        case StructColumn(_, members):
            structs = [column for column in columns if isinstance(column, StructColumn)]
            alike = [
                stored_alike([column.members[i] for column in structs], strings)
                for i in range(len(members))
            ]
            return [
                StructColumn(column.length, tuple(member[number] for member in alike))
                for number, column in enumerate(structs)
            ]
        case UnionColumn(_, _, options):
            unions = [column for column in columns if isinstance(column, UnionColumn)]
            alike = [
                stored_alike([column.options[i] for column in unions], strings)
                for i in range(len(options))
            ]
            return [
                UnionColumn(column.tags, column.rows, tuple(option[number] for option in alike))
                for number, column in enumerate(unions)
            ]
    return list(columns)


def _as_bytes(ids: NDArray[np.int32], strings: StringTable) -> ListColumn:
    known = {id: strings[id] for id in set(ids.tolist())}
    return list_of_bytes([known[id] for id in ids.tolist()])
