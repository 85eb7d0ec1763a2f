"""Where events go in a Perfetto trace: counters on tracks of their own, kernel events on threads told by their tid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.layout import PacketField
from converter.ir.columns import ListColumn
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    FloatClass,
    IntegerClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import TrackScope
from converter.projection.capabilities import Projection
from converter.projection.instants import NAME
from converter.projection.losses import LossKind
from converter.projection.pieces import Piece, map_distinct
from converter.projection.syscalls import name_in_class, syscall_names

_NUMBER = IntegerClass(64, signed=True)


def first_of_tid(projection: Projection) -> dict[int, int]:
    """The first thread of each tid in the target."""
    first: dict[int, int] = {}
    for index, thread in enumerate(projection.target.threads):
        first.setdefault(thread.tid, index)
    return first


def on_threads_by_tid(piece: Piece, projection: Projection) -> Piece:
    """Kernel events name their thread by its tid alone, so of several threads with one tid they are on the first."""
    piece = off_tracks(piece, projection)
    threads = projection.threads_of(piece)
    targets = projection.target.threads
    if len({thread.tid for thread in targets}) == len(targets):
        return piece
    first = first_of_tid(projection)
    moved = map_distinct(threads, lambda one: first[targets[one].tid] if one >= 0 else -1)
    count = int(np.count_nonzero(moved != threads))
    projection.lose(LossKind.CHANGED, "threads of kernel events that share a tid", piece, count)
    return piece.moved(thread=moved)


def off_tracks(piece: Piece, projection: Projection) -> Piece:
    """Kernel events are on no track; their threads stay."""
    column = piece.batch.track if piece.track is None else piece.track
    if column.strides == (0,) and (not len(column) or int(column[0]) < 0):
        return piece
    tracks = column[piece.positions] if piece.track is None else column
    count = int(np.count_nonzero(tracks >= 0))
    projection.lose(LossKind.DROPPED, "tracks of kernel events", piece, count)
    return piece.moved(track=np.broadcast_to(np.int32(-1), (len(piece),)))


def drop_foreign_packets(piece: Piece, projection: Projection) -> Piece:
    """Records of other formats are no packets; track events that lack their sequence's state tell nobody anything."""
    if projection.source.format == "perfetto":
        numbers = piece.integers(Role.TYPE)
        assert numbers is not None
        lost = numbers == int(PacketField.TRACK_EVENT)
        if lost.any():
            count = int(np.count_nonzero(lost))
            what = "track events without their sequence's state"
            projection.lose(LossKind.DROPPED, what, piece, count)
            piece = piece.select(np.flatnonzero(~lost))
        return piece
    what = f"native records of {projection.source.format}"
    projection.lose(LossKind.DROPPED, what, piece)
    return piece.select(np.zeros(0, np.intp))


# Counters


def series_as_counters(piece: Piece, projection: Projection) -> list[Piece] | None:
    """A counter for each of several values: "name value"."""
    fields = piece.event_class.fields
    values = [
        i
        for i, field in enumerate(fields)
        if field.role is Role.VALUE and isinstance(field.type, IntegerClass | FloatClass)
    ]
    if not values:
        return None
    strings = projection.source.strings
    names = piece.texts(Role.NAME, strings)
    name_index = piece.event_class.index_of(Role.NAME)
    parts: list[Piece] = []
    for value in values:
        kept = [i for i, f in enumerate(fields) if f.role is not Role.VALUE or i == value]
        series = fields[value].name.encode("utf-8", "surrogateescape")

        def named(id: int, series: bytes = series) -> int:
            return strings.intern(strings[id] + b" " + series if strings[id] else series)

        columns: list[Any] = [piece.table.lazy(i) for i in kept]
        kept_fields = tuple(fields[i] for i in kept)
        if names is not None and name_index is not None:
            columns[kept.index(name_index)] = map_distinct(names, named)
        else:
            columns.insert(0, projection.constant(series, len(piece)))
            kept_fields = (NAME, *kept_fields)

        def made(chosen: tuple[Field, ...] = kept_fields) -> EventClass:
            return replace(piece.event_class, fields=chosen, native=b"")

        event_class = piece.derive(("series", value), made)
        parts.append(piece.rewritten(event_class, columns, after=piece.after + len(parts)))
    return parts


def place_counters(piece: Piece, projection: Projection) -> Piece:
    """Counters on no track get one of their process, named after them, and their id if they have one."""
    strings = projection.source.strings
    batch = piece.batch
    tracks = batch.track[piece.positions] if piece.track is None else piece.track
    names = piece.texts(Role.NAME, strings)
    if names is None:
        names = np.zeros(len(piece), np.int32)
        piece = piece.with_argument(NAME, names, first=True)
    missing = tracks < 0
    if missing.any():
        tracks = tracks.copy()
        threads = projection.threads_of(piece)
        targets = projection.target.threads
        ids = piece.integers(Role.ID)
        numbers = np.zeros(len(piece), np.uint64) if ids is None else ids.astype(np.uint64)
        keys, which = np.unique(
            np.stack((names[missing].astype(np.uint64), numbers[missing]), 1),
            axis=0,
            return_inverse=True,
        )
        owners = map_distinct(threads, lambda one: targets[one].process if one >= 0 else -1)
        places = np.flatnonzero(missing)
        for number, (name, id) in enumerate(keys.tolist()):
            text = strings[name].decode("utf-8", "surrogateescape")
            rows = places[which.reshape(-1) == number]
            called = f"{text}[{id}]" if id else text
            for scope, some in (
                (TrackScope.PROCESS, rows[owners[rows] >= 0]),
                (TrackScope.GLOBAL, rows[owners[rows] < 0]),
            ):
                if len(some):
                    placed = projection.place_on_track(called, scope, owners[some])
                    tracks[some] = placed["track"]
    piece = piece.moved(track=tracks)
    return _named_after_tracks(piece, projection, names, tracks)


def _named_after_tracks(
    piece: Piece, projection: Projection, names: NDArray[np.int32], tracks: NDArray[np.int32]
) -> Piece:
    """A counter without a name reads back with that of its track."""
    unnamed = names == 0
    if not unnamed.any():
        return piece
    strings = projection.source.strings
    table = projection.target.tracks
    of_track = map_distinct(tracks, lambda one: strings.intern(table[one].name))
    index = piece.event_class.index_of(Role.NAME)
    assert index is not None
    columns: list[Any] = piece.lazy_columns()
    columns[index] = np.where(unnamed, of_track, names).astype(np.int32)
    return piece.rewritten(piece.event_class, columns)


# System calls


def _names_by_number(event_class: EventClass) -> bool:
    return (
        event_class.kind is Kind.SYSCALL_ENTRY
        and event_class.index_of(Role.SYSCALL_NUMBER) is not None
        and name_in_class(event_class.name) is None
    )


def syscalls_as_raw(piece: Piece, projection: Projection) -> Piece | None:
    """An event of its own for each system call as sys_enter or sys_exit, which the UI shows; None where that cannot be.

    Not where the trace has those too, and not where nobody knows the number of the call.
    """
    fields = piece.event_class.fields
    name = name_in_class(piece.event_class.name)
    if name is not None and projection.occurs(_names_by_number):
        return None
    number = piece.integers(Role.SYSCALL_NUMBER)
    if number is None:
        machine = str(projection.source.environment.get("machine", ""))
        known = next((n for n, text in syscall_names(machine).items() if text == name), None)
        if known is None:
            return None
        number = np.broadcast_to(np.int64(known), (len(piece),))
    leading: list[tuple[Field, Any]] = [
        (Field("id", _NUMBER, Role.SYSCALL_NUMBER), number.astype(np.int64))
    ]
    plain = [
        i
        for i, field in enumerate(fields)
        if field.role is Role.NONE and isinstance(field.type, IntegerClass)
    ]
    if piece.event_class.kind is Kind.SYSCALL_ENTRY:
        leading.append(
            (
                Field("args", ArrayClass(IntegerClass(64)), Role.SYSCALL_ARGUMENTS),
                _six([piece.table.column(i) for i in plain[:6]], len(piece)),
            )
        )
    else:
        returned = piece.integers(Role.RETURN)
        if returned is None:
            return None
        leading.append((Field("ret", _NUMBER, Role.RETURN), returned))
    dropped = {*plain, *(i for i, f in enumerate(fields) if f.role is Role.SYSCALL_NUMBER)}
    dropped |= {i for i, field in enumerate(fields) if field.role is Role.RETURN}
    kept = [i for i in range(len(fields)) if i not in dropped]
    entry = piece.event_class.kind is Kind.SYSCALL_ENTRY
    event_class = EventClass(
        piece.event_class.kind,
        "sys_enter" if entry else "sys_exit",
        "raw_syscalls",
        (*(field for field, _ in leading), *(fields[i] for i in kept)),
    )
    columns = [column for _, column in leading] + [piece.table.lazy(i) for i in kept]
    return piece.rewritten(event_class, columns)


def _six(columns: list[Any], count: int) -> ListColumn:
    """The six arguments of each call, as raw_syscalls has them; what a call does not take is zero."""
    values = np.zeros((count, 6), np.uint64)
    for i, column in enumerate(columns):
        values[:, i] = column.astype(np.int64).view(np.uint64)
    return ListColumn(np.arange(count + 1, dtype=np.int64) * 6, values.reshape(-1))
