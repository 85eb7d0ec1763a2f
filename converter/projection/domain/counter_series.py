"""Counters of one value, each on its own track, named as in Perfetto's importers: for formats whose counters are so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.distinct_values import map_distinct
from converter.ir.events import EventClass
from converter.ir.kinds import Role
from converter.ir.trace import TrackScope
from converter.projection.capabilities import Projection
from converter.projection.domain.counter_texts import is_text
from converter.projection.engine.fitting import is_value
from converter.projection.engine.partitions import Partition
from converter.projection.instants import NAME


def without_texts(partition: Partition, projection: Projection) -> list[Partition]:
    """Report the texts of counters of JSON, which viewers take for values, and which are no numbers here."""
    texts = projection.source.semantics.counter_series
    if texts and any(map(is_text, partition.event_class.fields)):
        return series_as_counters(partition, projection)
    return [partition]


def series_as_counters(partition: Partition, projection: Projection) -> list[Partition]:
    """Split a counter with several values into counters on their own tracks.

    A counter without any is dropped: no viewer shows it.
    """
    fields = partition.event_class.fields
    # Importers of JSON take all arguments as values.
    texts = projection.source.semantics.counter_series
    values = [i for i, field in enumerate(fields) if is_value(field) or (texts and is_text(field))]
    parts: list[Partition] = []
    for value in values:
        if is_text(fields[value]):
            projection.lose("counter-text-dropped", partition, field=fields[value].name)
            continue
        kept = [i for i in range(len(fields)) if i == value or i not in values]

        def new_class(chosen: tuple[int, ...] = tuple(kept)) -> EventClass:
            return replace(
                partition.event_class, fields=tuple(fields[i] for i in chosen), native=b""
            )

        event_class = partition.derive(("series", value), new_class)
        columns = [partition.table.lazy(i) for i in kept]
        part = partition.rewritten(event_class, columns, after=partition.after + len(parts))
        parts.append(_placed(part, projection, fields[value].name))
    if not values:
        projection.lose("counter-without-number-dropped", partition)
    return parts


def place_counters(partition: Partition, projection: Projection) -> Partition:
    """Put counters without a track on one of their process: for JSON named as by the importer, else by their name."""
    series = ""
    if projection.source.semantics.counter_series:
        series = next((f.name for f in partition.event_class.fields if is_value(f)), "")
    return _placed(partition, projection, series)


def _placed(partition: Partition, projection: Projection, series: str) -> Partition:
    """Put counters without a track on one of their process, named "name series", with their id if they have one."""
    strings = projection.source.strings
    batch = partition.batch
    tracks = batch.track[partition.positions] if partition.track is None else partition.track
    names = partition.texts(Role.NAME, strings)
    if names is None:
        names = np.zeros(len(partition), np.int32)
        partition = partition.with_argument(NAME, names, first=True)
    missing = tracks < 0
    if missing.any():
        tracks = tracks.copy()
        threads = projection.threads_of(partition)
        targets = projection.target.threads
        ids = _identities(partition, projection)
        keys, which = np.unique(
            np.stack((names[missing], ids[missing]), 1), axis=0, return_inverse=True
        )
        owners = map_distinct(threads, lambda one: targets[one].process if one >= 0 else -1)
        positions = np.flatnonzero(missing)
        for number, key in enumerate(keys.tolist()):
            name, id = (strings[one].decode("utf-8", "surrogateescape") for one in key)
            rows = positions[which.reshape(-1) == number]
            parts = [f"id: {id}" if id else "", series]
            # For JSON, importers add a space after the name, whatever that is.
            leading = (
                [name] if name or (series and projection.source.semantics.counter_series) else []
            )
            called = " ".join([*leading, *filter(None, parts)])
            for scope, some in (
                (TrackScope.PROCESS, rows[owners[rows] >= 0]),
                (TrackScope.GLOBAL, rows[owners[rows] < 0]),
            ):
                if len(some):
                    placed = projection.place_on_track(called, scope, owners[some])
                    tracks[some] = placed["track"]
    partition = partition.moved(track=tracks)
    return _named_after_tracks(partition, projection, names, tracks)


def _identities(partition: Partition, projection: Projection) -> NDArray[np.int32]:
    """Return the ids as texts; empty without an id and, for JSON, for numbers, which importers ignore."""
    strings = projection.source.strings
    texts = partition.texts(Role.ID, strings)
    if texts is not None:
        return texts
    numbers = partition.integers(Role.ID)
    is_ignored = (
        projection.source.semantics.counter_series
        and numbers is not None
        and numbers.dtype != np.uint64
    )
    if numbers is None or is_ignored:
        return np.zeros(len(partition), np.int32)
    form = hex if numbers.dtype == np.uint64 else str
    return map_distinct(numbers, lambda one: strings.intern(form(one)))


def _named_after_tracks(
    partition: Partition,
    projection: Projection,
    names: NDArray[np.int32],
    tracks: NDArray[np.int32],
) -> Partition:
    """Name counters without a name after their track, as they will be read back."""
    unnamed = names == 0
    if not unnamed.any():
        return partition
    strings = projection.source.strings
    table = projection.target.tracks
    of_track = map_distinct(tracks, lambda one: strings.intern(table[one].name))
    index = partition.event_class.index_of(Role.NAME)
    assert index is not None
    columns: list[Any] = partition.lazy_columns()
    columns[index] = np.where(unnamed, of_track, names).astype(np.int32)
    return partition.rewritten(partition.event_class, columns)
