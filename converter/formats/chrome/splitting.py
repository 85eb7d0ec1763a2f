"""Splits partitions where member names of the text express what other formats express elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from converter.formats.chrome.layout import Phase
from converter.formats.chrome.phases import PHASES
from converter.ir.columns import constant_column, string_ids
from converter.ir.distinct_values import values_of
from converter.ir.events import EventClass, Field
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import Unseen
from converter.ir.trace import TrackScope
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition
from converter.projection.instants import NAME, as_instant
from converter.projection.loss_codes.entry import LossClass
from converter.projection.loss_codes.names import kind_name
from converter.projection.timeline_fields import BINDS, ID_NAMES, PHASE

#: Roles of a counter's fields that are not arguments.
_OF_COUNTERS = frozenset(
    {Role.NAME, Role.CATEGORY, Role.SCOPE, Role.VALUE, Role.THREAD_TIME, Role.PAYLOAD}
)

#: Unusual spellings that Perfetto's importer accepts for track events (for samples, only V8's); not the older
#: asynchronous events.
_SHOWN = frozenset({Phase.INSTANT_OLD, Phase.MARK, Phase.SAMPLE})


def by_bind_point(partition: Partition, projection: Projection) -> list[Partition]:
    """Split off flow ends that bind to the enclosing slice, which have a member for it."""
    fields = partition.event_class.fields
    if BINDS not in fields:
        return [partition]
    column: Any = partition.table.column(fields.index(BINDS))
    binding, other = partition.split(column.astype(np.bool_))
    parts = [] if binding is None else [binding]
    if other is not None:
        projection.lose("flow-end-binding", other)
        parts.append(_without(other, BINDS))
    return parts


def by_waker(partition: Partition, projection: Projection) -> list[Partition]:
    """Split off wakeups by unknown threads, which become instants: viewers show the waker."""
    if projection.is_on_threads(partition):
        return [partition]
    threads = projection.threads_of(partition)
    missing = threads < 0
    tids = partition.integers(Role.WAKER_TID)
    if tids is not None and missing.any():
        threads = np.where(missing, projection.thread_of_tid(tids), threads).astype(np.int32)
        partition, missing = partition.moved(thread=threads), threads < 0
    waking, other = partition.split(~missing)
    parts = [] if waking is None else [waking]
    if other is not None:
        projection.lose("event-as", other, shown=kind_name(Kind.INSTANT))
        parts.append(as_instant(other, projection))
    return parts


def by_phase(partition: Partition, projection: Projection) -> list[Partition]:
    """Split off events whose phase is another spelling of their kind's, or whose letter means something else here.

    Events of other formats get a spelling that importers show; they know few.
    """
    kind, fields = partition.event_class.kind, partition.event_class.fields
    if PHASE not in fields:
        return [partition]
    strings = projection.source.strings
    column = string_ids(partition.table.column(fields.index(PHASE)), strings)
    own = projection.is_own
    spellings = [phase for phase in PHASES[kind][1:] if own or phase in _SHOWN]
    known = np.isin(column, [strings.intern(phase) for phase in spellings])
    spelled, other = partition.split(known)
    parts = [] if spelled is None else [spelled]
    if other is not None:
        projection.lose("phase-dropped", other)
        parts.append(_without(other, PHASE))
    return parts


def _without(partition: Partition, field: Field) -> Partition:
    fields = partition.event_class.fields
    return _with_fields(partition, [i for i, one in enumerate(fields) if one != field])


def _with_fields(partition: Partition, kept: list[int]) -> Partition:
    """Return the partition with only the kept fields."""
    fields = partition.event_class.fields

    def new_class() -> EventClass:
        return replace(partition.event_class, fields=tuple(fields[i] for i in kept))

    event_class = partition.derive(("fields", *kept), new_class)
    return partition.rewritten(event_class, [partition.table.lazy(i) for i in kept])


def by_series(partition: Partition, projection: Projection) -> list[Partition]:
    """Put counters of other formats on their process, named after their track, with values as their only arguments.

    All arguments of a counter are its series. A track called "name series" becomes the counter "name" with that series,
    so that viewers show the same name.
    """
    if projection.is_own:
        return [partition]
    partition = _values_alone(partition, projection)
    column = (
        partition.batch.track[partition.positions] if partition.track is None else partition.track
    )
    if not len(column) or int(column.max()) < 0:
        return [partition]
    parts = []
    for number in values_of(column).tolist():
        rows = np.flatnonzero(column == number)
        part = partition.select(rows) if len(rows) < len(partition) else partition
        parts.append(part if number < 0 else _counter_of_track(part, number, projection))
    return parts


def _is_of_counter(field: Field) -> bool:
    """Return True if a counter's field is not an argument."""
    if field.role is Role.ID:
        return field.name in ID_NAMES
    return field.role in _OF_COUNTERS


def _values_alone(partition: Partition, projection: Projection) -> Partition:
    fields = partition.event_class.fields
    if not any(field.role is Role.VALUE for field in fields):
        return partition
    kept = [i for i, field in enumerate(fields) if _is_of_counter(field)]
    if len(kept) == len(fields):
        return partition
    names = sorted({field.name for i, field in enumerate(fields) if i not in kept})
    unseen = Unseen.COUNTER_ARGUMENTS in projection.source.semantics.unseen
    loss_class = LossClass.KEPT if unseen else None
    for name in names:
        projection.lose("counter-argument-dropped", partition, field=name, loss_class=loss_class)
    return _with_fields(partition, kept)


def _identity(partition: Partition, projection: Projection) -> str:
    """Return the text of an id as viewers put it between name and series; empty where there is none."""
    strings = projection.source.strings
    texts, numbers = partition.texts(Role.ID, strings), partition.integers(Role.ID)
    if texts is not None:
        return f"id: {strings[int(texts[0])].decode('utf-8', 'surrogateescape')} "
    return "" if numbers is None else f"id: {int(numbers[0]):#x} "


def _counter_of_track(partition: Partition, number: int, projection: Projection) -> Partition:
    """Return the counter of one track under a name that is unique on its process."""
    strings = projection.source.strings
    track = projection.track(number)
    fields = partition.event_class.fields
    values = [i for i, field in enumerate(fields) if field.role is Role.VALUE]
    names = partition.texts(Role.NAME, strings)
    own = set() if names is None else {strings[id] for id in values_of(names).tolist()}
    name = next(iter(own)).decode("utf-8", "surrogateescape") if len(own) == 1 else ""
    called, series = track.name or name, ""
    prefix = f"{name} {_identity(partition, projection)}"
    if name and len(values) == 1 and track.name.startswith(prefix):
        called, series = name, track.name.removeprefix(prefix)
    elif track.scope is TrackScope.CPU:
        called = f"{name or track.name} Cpu {track.owner}"
    elif track.scope is TrackScope.THREAD:
        called = f"{called} [{projection.target.threads[track.owner].tid}]"
    renamed = tuple(
        replace(field, name=series) if series and i in values else field
        for i, field in enumerate(fields)
    )
    columns = partition.lazy_columns()
    text = projection.constant(called, len(partition))
    at = partition.event_class.index_of(Role.NAME)
    if at is None:
        renamed, columns = (NAME, *renamed), [text, *columns]
    else:
        columns[at] = text
    event_class = partition.derive(
        ("series", renamed), lambda: replace(partition.event_class, fields=renamed)
    )
    partition = partition.rewritten(event_class, columns)
    if track.scope is TrackScope.PROCESS:
        threads = projection.target.threads
        owned = (i for i, thread in enumerate(threads) if thread.process == track.owner)
        thread = next(owned, -1)
        if thread >= 0:
            absent = constant_column(np.int32(-1), len(partition))
            partition = partition.moved(
                thread=constant_column(np.int32(thread), len(partition)), track=absent
            )
    return partition
