"""Placement of events: maps threads, tracks, CPUs and buffers of a trace to those that a format has.

CPUs become arguments, tracks become threads, if the format has neither; tracepoints go to the buffers that they were
recorded in, if it has buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import constant_column
from converter.ir.distinct_values import ByValue, values_of
from converter.ir.events import Batch, EventClass, Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import TRACEPOINT_KINDS, Kind, Role
from converter.ir.semantics import Unseen
from converter.ir.tables import ComputedColumn
from converter.ir.trace import TrackScope
from converter.projection.capabilities import Capabilities, KindSupport, Projection
from converter.projection.engine.buffers import ARGUMENT as BUFFER_ARGUMENT
from converter.projection.engine.buffers import may_have_buffers, place_of_argument
from converter.projection.engine.partitions import Everywhere, Partition
from converter.projection.engine.tables import TargetTables

_CPU = Field("cpu", IntegerClass(32, True))
#: Kinds of events that interrupt a thread.
_INTERRUPTS = frozenset(
    {
        Kind.IRQ_ENTRY,
        Kind.IRQ_EXIT,
        Kind.SOFTIRQ_ENTRY,
        Kind.SOFTIRQ_EXIT,
        Kind.TIMER_ENTRY,
        Kind.TIMER_EXIT,
        Kind.IPI_ENTRY,
        Kind.IPI_EXIT,
    }
)
#: If the event has a field of that name.
_TAKEN_CPU = Field("common_cpu", IntegerClass(32, True))


class Placing:
    """Places the rows of partitions, batch by batch."""

    def __init__(
        self,
        projection: Projection,
        tables: TargetTables,
        capabilities: Capabilities,
        support: Callable[[EventClass], KindSupport | None],
    ) -> None:
        self._projection = projection
        self._tables = tables
        self._capabilities = capabilities
        self._support = support
        # Of the current batch.
        self._all_on_cpus = False
        #: Of the current batch, too: the classes with events on no thread, or None if no event is on one.
        self.off_threads: frozenset[int] | None = None
        # Of the class of the next partitions.
        self._is_on_threads = False

    def begin(self, batch: Batch) -> tuple[Hashable, ...]:
        """Start a batch whose partitions come next; return the properties of it that decide the placement."""
        self.off_threads = _off_threads(batch)
        self.begin_class(None)
        self._all_on_cpus = not len(batch) or int(batch.cpu.min()) >= 0
        columns = (batch.thread, batch.cpu, batch.track)
        return (
            self._all_on_cpus,
            *(int(one[0]) if one.strides == (0,) and len(one) else None for one in columns),
        )

    def begin_class(self, number: int | None) -> bool:
        """Set the class of the next partitions, or None for any; return True if all of its events are on threads."""
        off = self.off_threads
        self._is_on_threads = off is not None and (not off if number is None else number not in off)
        return self._is_on_threads

    def is_on_threads(self, partition: Partition) -> bool:
        """Return True if all rows are known to be on threads without reading the column."""
        if partition.on_thread is None:
            return self._is_on_threads
        return isinstance(partition.on_thread, Everywhere)

    def in_buffers(self, partition: Partition) -> list[Partition]:
        """Return tracepoints in the buffers that they were recorded in, if the format has buffers."""
        return [one for part in self._by_having_cpus(partition) for one in self._in_buffers(part)]

    def _by_having_cpus(self, partition: Partition) -> list[Partition]:
        """Split tracepoints by whether they are on a CPU, if they are lowered differently then."""
        if (
            not self._capabilities.program_instants
            or partition.event_class.kind is not Kind.TYPED
            or self._all_on_cpus
            or is_absent(partition.batch.cpu)
        ):
            return [partition]
        on, off = partition.split(self._projection.cpus_of(partition) >= 0)
        if off is not None:
            off = off.moved(cpu=constant_column(np.int32(-1), len(off)))
        return [part for part in (on, off) if part is not None]

    def _in_buffers(self, partition: Partition) -> list[Partition]:
        tables, kind = self._tables, partition.event_class.kind
        if not self._capabilities.buffers or not may_have_buffers(kind):
            return self._on_threads(partition)
        parts = []
        buffer_codes = tables.buffers.of_argument(partition, self._projection.source.strings)
        if buffer_codes is not None:
            known, rest = partition.split(buffer_codes < -1)
            if known is not None:
                field_index = place_of_argument(known)
                assert field_index is not None
                parts.append(
                    known.without_field(field_index).moved(track=buffer_codes[buffer_codes < -1])
                )
            if rest is None:
                return parts
            partition = rest
        tracks = partition.taken(partition.batch.track)
        if kind is not Kind.INSTANT and not is_absent(tracks):
            codes = tables.buffers.of_tracks(tables.tracks, tracks)
            if kind is not Kind.DISCARDED:
                codes = np.where(self._projection.threads_of(partition) >= 0, codes, np.int32(-1))
            known, rest = partition.split(codes < -1)
            if known is not None:
                parts.append(known.moved(track=codes[codes < -1]))
            if rest is None:
                return parts
            partition = rest
        return [*parts, *self._on_threads(partition)]

    def _on_threads(self, partition: Partition) -> list[Partition]:
        """Keep a tracepoint on its thread if it is also on a global track and cannot be on both.

        Such a track is the buffer that it was recorded in.
        """
        batch = partition.batch
        if is_absent(batch.track) or is_absent(batch.thread):
            return [partition]
        support = self._support(partition.event_class)
        if partition.event_class.kind not in TRACEPOINT_KINDS or (support and support.track):
            return [partition]
        tracks = partition.taken(batch.track)
        of_buffers = [track.scope is TrackScope.GLOBAL for track in self._tables.tracks]
        both = (
            (tracks >= 0)
            & (self._projection.threads_of(partition) >= 0)
            & np.array([*of_buffers, False])[tracks]
        )
        on, off = partition.split(both)
        if on is None:
            return [partition]
        self._projection.lose("buffer-as-argument", on)
        names = [self._projection.constant(track.name, 1)[0] for track in self._tables.tracks]
        texts = np.array(names, np.int32)[tracks[both]]
        kept = on.moved(track=constant_column(np.int32(-1), len(on)))
        kept = kept.with_argument(BUFFER_ARGUMENT, texts)
        return [kept] if off is None else [off, kept]

    def place(self, partition: Partition, support: KindSupport) -> list[Partition]:
        """Place rows as the format can: CPUs become arguments, tracks become threads, if it has neither."""
        batch = partition.batch
        if not support.track and isinstance(partition.on_track, Everywhere):
            partition = self._off_tracks(partition, partition.on_track, support)
        elif not support.track and not is_absent(
            batch.track if partition.track is None else partition.track
        ):
            partition = self._without_track(partition, support)
        if support.one_place:
            partition = self._in_one_place(partition)
        if not support.thread:
            partition = self._without_thread(partition)
        elif not self._capabilities.threadless:
            partition = self._with_thread(partition)
        if not support.cpu:
            return self._without_cpu(partition, support)
        return [partition if self._capabilities.cpuless else self._with_cpu(partition)]

    def _off_tracks(
        self, partition: Partition, tracks: Everywhere, support: KindSupport
    ) -> Partition:
        """Like `_without_track` for rows that are all on tracks, which requires no reading of the column."""
        absent = constant_column(np.int32(-1), len(partition))
        if not support.thread:
            self._projection.lose("track-dropped", partition)
            return partition.moved(track=absent)
        self._projection.lose("track-as-thread", partition)
        hidden = None
        if not self.is_on_threads(partition):
            hidden = self._projection.threads_of(partition) >= 0
        self._lose_thread(partition, hidden)
        owned = Everywhere(ByValue(self._tables.thread_of_track), (tracks,), partition)
        return partition.moved(thread=owned, track=absent)

    def _without_track(self, partition: Partition, support: KindSupport) -> Partition:
        tracks = (
            partition.taken(partition.batch.track) if partition.track is None else partition.track
        )
        on_track = tracks >= 0
        count = int(np.count_nonzero(on_track))
        if not count:
            return partition.moved(track=tracks)
        # Buffers are not among the tracks.
        absent = (
            constant_column(np.int32(-1), count)
            if count == len(tracks)
            else np.where(on_track, np.int32(-1), tracks)
        )
        if not support.thread:
            self._projection.lose("track-dropped", partition, rows=on_track)
            return partition.moved(track=absent)
        self._projection.lose("track-as-thread", partition, rows=on_track)
        threads = self._projection.threads_of(partition)
        self._lose_thread(partition, on_track & (threads >= 0))
        owned = self._tables.threads_of_tracks(tracks)
        return partition.moved(thread=np.where(on_track, owned, threads), track=absent)

    def _in_one_place(self, partition: Partition) -> Partition:
        """Drop the threads of events on tracks; a thread that owns the track is implied."""
        tracks = partition.batch.track if partition.track is None else partition.track
        if is_absent(tracks) or is_absent(
            partition.batch.thread if partition.thread is None else partition.thread
        ):
            return partition
        tracks = partition.taken(tracks) if partition.track is None else tracks
        threads = self._projection.threads_of(partition)
        both = (tracks >= 0) & (threads >= 0)
        if not both.any():
            return partition
        owned = np.array(
            [one.owner if one.scope is TrackScope.THREAD else -1 for one in self._tables.tracks],
            np.int32,
        )
        lost = both & (owned[tracks] != threads)
        self._lose_thread(partition, lost)
        return partition.moved(thread=np.where(both, np.int32(-1), threads))

    def _lose_thread(self, partition: Partition, rows: NDArray[np.bool_] | None) -> None:
        """Count the loss of the threads of events that are on tracks."""
        if not len(partition):
            return
        interrupts = self._projection.own_class(partition).kind in _INTERRUPTS
        code = "interrupted-thread" if interrupts else "thread-of-event-on-track"
        self._projection.lose(code, partition, rows=rows)

    def _without_thread(self, partition: Partition) -> Partition:
        if is_absent(partition.batch.thread if partition.thread is None else partition.thread):
            return partition
        projection = self._projection
        absent = constant_column(np.int32(-1), len(partition))
        implied = partition.lazy_integers(Role.PREV_TID)

        def lost(partition: Partition, *implied: NDArray[Any]) -> NDArray[np.bool_]:
            threads = projection.threads_of(partition)
            on_threads = threads >= 0
            if implied:
                on_threads &= projection.tids_of(threads) != implied[0].astype(np.int64)
            return on_threads

        are_lost = ComputedColumn(lost, () if implied is None else (implied,), partition)
        if partition.on_thread is None and implied is not None and projection.is_nowhere(are_lost):
            return partition.moved(thread=absent)
        rows = None
        if implied is not None or not self.is_on_threads(partition):
            rows = np.asarray(are_lost())
        code = "thread-dropped"
        if partition.event_class.kind is Kind.COUNTER:
            unseen = Unseen.COUNTER_THREADS in projection.source.semantics.unseen
            code = "counter-thread-unshown" if unseen else "counter-thread"
        projection.lose(code, partition, rows=rows)
        return partition.moved(thread=absent)

    def _with_thread(self, partition: Partition) -> Partition:
        if self.is_on_threads(partition):
            return partition
        threads = self._projection.threads_of(partition)
        missing = threads < 0
        if not missing.any():
            return partition
        self._projection.lose("threadless-on-made-up-thread", partition, rows=missing)
        placed = self._tables.threads_of_cpus(
            np.where(missing, self._projection.cpus_of(partition), -1)
        )
        return partition.moved(thread=np.where(missing, placed, threads))

    def _with_cpu(self, partition: Partition) -> Partition:
        if partition.cpu is None and self._all_on_cpus:
            return partition
        cpus = self._projection.cpus_of(partition)
        missing = cpus < 0
        if not missing.any():
            return partition
        self._projection.lose("cpu-unknown-shown-on-0", partition, rows=missing)
        return partition.moved(cpu=np.maximum(cpus, 0))

    def _without_cpu(self, partition: Partition, support: KindSupport) -> list[Partition]:
        if is_absent(partition.batch.cpu if partition.cpu is None else partition.cpu):
            return [partition]
        bare = partition.moved(cpu=constant_column(np.int32(-1), len(partition)))
        present = None
        count = len(partition)
        if partition.cpu is not None or not self._all_on_cpus:
            present = self._projection.cpus_of(partition) >= 0
            count = int(np.count_nonzero(present))
        if not count:
            return [bare]
        if not support.arguments:
            self._projection.lose("cpu-dropped", partition, rows=present)
            return [bare]
        self._projection.lose("cpu-as-argument", partition, rows=present)
        name_exists = any(field.name == "cpu" for field in partition.event_class.fields)
        argument = _TAKEN_CPU if name_exists else _CPU
        if present is None or count == len(partition):
            return [bare.with_argument(argument, self._projection.lazy_cpus_of(partition))]
        on, off = bare.split(present)
        assert on is not None and off is not None
        return [off, on.with_argument(argument, self._projection.cpus_of(partition)[present])]


def _off_threads(batch: Batch) -> frozenset[int] | None:
    if is_absent(batch.thread):
        return None if len(batch) else frozenset()
    off = batch.thread < 0
    return frozenset(values_of(batch.class_id[off]).tolist() if off.any() else ())


def is_absent(column: NDArray[np.int32]) -> bool:
    """Return True if a column is -1 throughout, checking only constants, which costs nothing."""
    return column.strides == (0,) and (not len(column) or int(column[0]) < 0)
