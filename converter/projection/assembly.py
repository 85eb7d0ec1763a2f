"""Putting a batch together again from the pieces that it was taken apart into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import (
    Column,
    ListColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    concatenate,
    constant_column,
    list_of_bytes,
)
from converter.ir.events import Batch, Table
from converter.kernels.strings import StringTable
from converter.kernels.union import looked_up, put, put_by_class
from converter.projection.pieces import Piece, Place, settled

#: No thread, CPU or track has this number.
_ABSENT = -(1 << 31)

#: A piece with the number of the class that its rows had and that of the class that they have.
Placed = tuple[int, int, Piece]


def assemble(batch: Batch, placed: Sequence[Placed], strings: StringTable) -> Batch:
    """The events of the pieces in the order of `batch`, additional ones behind those whose positions they have."""
    by_class: dict[int, list[Piece]] = {}
    tables: dict[int, Table] = {}
    size, behind, several = 0, 0, []
    for _, target, piece in placed:
        if target in by_class:
            by_class[target].append(piece)
            several.append(target)
        else:
            by_class[target] = [piece]
            tables[target] = piece.table
        size += len(piece.table)
        behind |= piece.after
    for target in dict.fromkeys(several):
        tables[target] = _joined(by_class[target], strings)
    if size == len(batch) and not behind:
        return _in_place(batch, placed, by_class, tables)
    return _sorted(batch, by_class, tables)


def _in_place(
    batch: Batch,
    placed: Sequence[Placed],
    by_class: dict[int, list[Piece]],
    tables: dict[int, Table],
) -> Batch:
    """Each event of the batch is one event of the pieces: only what changed is written."""
    numbers = np.full(max(batch.tables, default=0) + 1, -1, np.int32)
    for source, target, piece in placed:
        if piece.whole:
            numbers[source] = target
    is_same = all(piece.whole and source == target for source, target, piece in placed)
    class_id = batch.class_id if is_same else looked_up(numbers, batch.class_id)
    row = batch.row
    for target, pieces in by_class.items():
        if pieces[0] is pieces[-1] and pieces[0].whole:
            continue
        row = row.copy() if row is batch.row else row
        start = 0
        for piece in pieces:
            if not piece.whole:
                put(class_id, piece.positions, constant_column(np.int32(target), len(piece)))
            put(row, piece.positions, np.arange(start, start + len(piece), dtype=np.int32))
            start += len(piece)
    threads, cpus, tracks = _Places(batch, placed), _Places(batch, placed), _Places(batch, placed)
    for source, _, piece in placed:
        if piece.on_thread is not None:
            threads.add(source, piece, piece.on_thread)
        if piece.on_cpu is not None:
            cpus.add(source, piece, piece.on_cpu)
        if piece.on_track is not None:
            tracks.add(source, piece, piece.on_track)
    return Batch(
        ts=batch.ts,
        class_id=class_id,
        row=row,
        tables=tables,
        thread=threads.put(batch.thread),
        cpu=cpus.put(batch.cpu),
        track=tracks.put(batch.track),
    )


class _Places:
    """Where pieces say that their events are, of threads, CPUs or tracks."""

    def __init__(self, batch: Batch, placed: Sequence[Placed]) -> None:
        self._class_id = batch.class_id
        self._pieces = len(placed)
        self._given = 0
        self._vary = False
        #: What all events of a class have, by its number in the batch.
        self._of_class = np.full(max(batch.tables, default=0) + 1, _ABSENT, np.int32)
        self._constants: set[int] = set()
        self._others: list[tuple[Piece, NDArray[np.int32]]] = []

    def add(self, source: int, piece: Piece, place: Place) -> None:
        """What a piece says, whose events were of a class."""
        values = settled(place)
        if not len(values):
            return
        self._given += 1
        is_constant = values.strides == (0,)
        if is_constant:
            self._constants.add(int(values[0]))
        self._vary |= not is_constant
        if is_constant and piece.whole:
            self._of_class[source] = values[0]
        else:
            self._others.append((piece, values))

    def put(self, column: NDArray[np.int32]) -> NDArray[np.int32]:
        """The batch's column with that in its place."""
        if not self._given:
            return column
        if not self._vary:
            constants = self._constants
            is_constant = column.strides == (0,) and len(column) > 0
            if is_constant:
                constants = {*constants, int(column[0])}
            if len(constants) == 1 and (is_constant or self._given == self._pieces):
                return constant_column(np.int32(constants.pop()), len(column))
        if len(self._others) < self._given:
            result = put_by_class(column, self._class_id, self._of_class, _ABSENT)
        else:
            result = column.copy()
        for piece, values in self._others:
            put(result, piece.positions, values)
        return result


def _sorted(batch: Batch, by_class: dict[int, list[Piece]], tables: dict[int, Table]) -> Batch:
    """Some events are gone, or have company."""
    classes, rows, positions, afters = [], [], [], []
    threads, cpus, tracks = [], [], []
    for target, pieces in by_class.items():
        start = 0
        for piece in pieces:
            size = len(piece)
            at = piece.positions
            classes.append(np.full(size, target, np.int32))
            rows.append(np.arange(start, start + size, dtype=np.int32))
            positions.append(at)
            afters.append(np.full(size, piece.after, np.int64))
            threads.append(batch.thread[at] if piece.thread is None else piece.thread)
            cpus.append(batch.cpu[at] if piece.cpu is None else piece.cpu)
            tracks.append(batch.track[at] if piece.track is None else piece.track)
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


def _joined(pieces: list[Piece], strings: StringTable) -> Table:
    """The rows of pieces of one class, one piece after the other."""
    if len(pieces) == 1:
        return pieces[0].table
    tables = [piece.table for piece in pieces]

    def joined(index: int) -> Any:
        return lambda: concatenate(stored_alike([table.column(index) for table in tables], strings))

    return Table(sum(map(len, tables)), [joined(i) for i in range(tables[0].width)])


def stored_alike(columns: Sequence[Column], strings: StringTable) -> list[Column]:
    """Columns of one field class, with strings as lists of bytes in all of them where they are in any."""
    first = columns[0]
    match first:
        case np.ndarray() | ListColumn() if len({type(column) for column in columns}) > 1:
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
