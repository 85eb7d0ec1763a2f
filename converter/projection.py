"""project(): a trace as a format can hold it, and what that loses.

Pure: the source is not changed, and the losses follow from the capabilities alone. A batch is taken apart into pieces,
one a class; each is lowered until the format knows its kind, its fields are fitted, and all are put together again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.filters.fitting import fit_fields, label, split_by_presence
from converter.filters.lowering import LOWERINGS, lower_to_instant
from converter.filters.pieces import Piece, names_by_value
from converter.ir.columns import Column, concatenate
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Process, Thread, Trace, Track, TrackScope
from converter.losses import Capabilities, KindSupport, LossKind, LossReport

#: Process ids of the synthetic processes that hold tracks without a thread of their own. Beyond any Linux pid.
SYNTHETIC_PID = 0x7FFF_0000

#: Lowering ends: no rule gives back a kind that it came from. This bounds it all the same.
MAX_LOWERINGS = 6


def project(trace: Trace, capabilities: Capabilities, format_name: str) -> tuple[Trace, LossReport]:
    """The trace as a format of these capabilities holds it, and the losses (complete once all batches have passed).

    Args:
        trace: any trace.
        capabilities: of the target's variant.
        format_name: of the target: only its own sidecar survives.

    Returns:
        The projected trace, streaming like its source, and the report.

    """
    projector = Projector(trace, capabilities, format_name)
    return projector.target, projector.report


class Projector:
    """One projection under way; what `pieces.Projection` describes."""

    def __init__(self, source: Trace, capabilities: Capabilities, format_name: str) -> None:
        self.source = source
        self.capabilities = capabilities
        self.report = LossReport()
        self.batch: Batch = _EMPTY
        self._class_ids: dict[EventClass, int] = {}
        self._tracks: dict[tuple[int, str, int], int] = {}
        self._synthetic: dict[str, int] = {}
        self._threads_done = 0
        self._processes_done = 0
        self._process_index: list[int] = []
        self._thread_index: list[int] = []
        self._tids: dict[int, int] = {}
        self.target = Trace(
            format=source.format,
            clock=self._clock(),
            strings=source.strings,
            symbols=source.symbols,
            warnings=source.warnings,
            make_batches=self._batches,
            progress=source.progress,
        )
        self._environment(format_name)
        self._extend_tables()

    # Metadata

    def _clock(self) -> ClockDomain:
        clock = self.source.clock
        kept = self.capabilities
        if clock.ticks_per_second is None:
            self.report.add(
                LossKind.CHANGED, f"clock {clock.name!r} of unknown rate as nanoseconds"
            )
            clock = replace(clock, ticks_per_second=Fraction(1_000_000_000))
        if clock.epoch_ns is not None and not kept.epoch:
            self.report.add(LossKind.DROPPED, "wall-clock time of the trace")
            clock = replace(clock, epoch_ns=None)
        if not kept.clock_names:
            if clock.name != "ns" or clock.description:
                self.report.add(LossKind.DROPPED, f"name of the clock {clock.name!r}")
            clock = replace(clock, name="ns", description="")
        return clock

    def _environment(self, format_name: str) -> None:
        source, target, kept = self.source, self.target, self.capabilities
        if kept.environment:
            target.environment = dict(source.environment)
        else:
            self.report.add(
                LossKind.DROPPED, "environment (host, kernel, tool)", len(source.environment)
            )
        if kept.other_clocks:
            target.clock_domains = list(source.clock_domains)
        else:
            self.report.add(LossKind.DROPPED, "clock domains", len(source.clock_domains))
        for name, content in source.sidecar.items():
            if name == format_name:
                target.sidecar[name] = content
            else:
                self.report.add(LossKind.DROPPED, f"native data of {name}", len(content))

    def _extend_tables(self) -> None:
        """Follow the growth of the source's processes and threads, keeping the source's identities."""
        source, target, kept = self.source, self.target, self.capabilities
        mask = (1 << kept.id_bits) - 1
        for process in source.processes[self._processes_done :]:
            changed = replace(process)
            if process.pid & mask != process.pid:
                self.report.add(LossKind.CHANGED, f"process ids over {kept.id_bits} bits")
                changed.pid = process.pid & mask
            if not kept.command_lines:
                self.report.add(LossKind.DROPPED, "command lines", bool(process.command_line))
                self.report.add(
                    LossKind.DROPPED, "parents of processes", process.parent_pid is not None
                )
                changed.command_line, changed.parent_pid = (), None
            changed.name = self._name(process.name)
            self._process_index.append(len(target.processes))
            target.processes.append(changed)
        self._processes_done = len(source.processes)
        for thread in source.threads[self._threads_done :]:
            if thread.tid & mask != thread.tid:
                self.report.add(LossKind.CHANGED, f"thread ids over {kept.id_bits} bits")
            index = len(target.threads)
            self._thread_index.append(index)
            self._tids.setdefault(thread.tid, index)
            target.threads.append(
                Thread(
                    thread.tid & mask,
                    self._process_index[thread.process],
                    self._name(thread.name),
                )
            )
        self._threads_done = len(source.threads)
        if kept.tracks:
            target.tracks[:] = source.tracks

    def _name(self, name: str) -> str:
        limit = self.capabilities.max_string_bytes
        data = name.encode("utf-8", "surrogateescape")
        if self.capabilities.utf8_only:
            data = data.decode("utf-8", "replace").encode()
        if limit is not None:
            data = data[:limit]
        fitted = data.decode("utf-8", "surrogateescape")
        self.report.add(LossKind.CHANGED, "names of processes and threads", fitted != name)
        return fitted

    # What rules may ask (pieces.Projection)

    def lose(self, kind: LossKind, what: str, piece: Piece, count: int | None = None) -> None:
        """Count a loss at the rows of `piece` (at `count` of them when given)."""
        if count is None:
            count = len(piece)
        if count:
            self.report.add(kind, what, count, int(self.batch.ts[piece.positions[0]]))

    def constant(self, text: str | bytes, length: int) -> NDArray[np.int32]:
        """A string column of one value."""
        return np.broadcast_to(np.int32(self.source.strings.intern(text)), (length,))

    def threads_of(self, piece: Piece) -> NDArray[np.int32]:
        """The thread of each row."""
        return self.batch.thread[piece.positions] if piece.thread is None else piece.thread

    def cpus_of(self, piece: Piece) -> NDArray[np.int32]:
        """The CPU of each row."""
        return self.batch.cpu[piece.positions] if piece.cpu is None else piece.cpu

    def tracks_of(self, piece: Piece) -> NDArray[np.int32]:
        """The track of each row."""
        return self.batch.track[piece.positions] if piece.track is None else piece.track

    def thread_of_tid(self, tids: NDArray[Any]) -> NDArray[np.int32]:
        """The thread that has each tid, -1 where none has."""
        known = self._tids
        return names_by_value(tids, str, lambda tid: known.get(int(tid), -1))

    def place_on_cpu_track(self, piece: Piece, name: str, cpus: NDArray[Any]) -> dict[str, Any]:
        """Where rows go that belong to the track called `name` of a CPU: keyword arguments for `rewritten`."""
        return self.place_on_track(piece, name, TrackScope.CPU, cpus)

    def place_on_track(
        self, piece: Piece, name: str, scope: TrackScope, owners: NDArray[Any]
    ) -> dict[str, Any]:
        """Where rows go that belong to the track called `name` of each owner: keyword arguments for `rewritten`."""
        column = names_by_value(owners, str, lambda owner: self._track(name, scope, int(owner)))
        if self.capabilities.tracks:
            return {"track": column}
        none = np.broadcast_to(np.int32(-1), column.shape)
        return {"thread": column, "track": none}

    def _track(self, name: str, scope: TrackScope, owner: int) -> int:
        """The track of that name and owner: a track, or a synthetic thread in formats without tracks."""
        key = (int(scope), name, owner)
        if key not in self._tracks:
            if self.capabilities.tracks:
                self.source.tracks.append(Track(name, scope, owner))
                self.target.tracks[:] = self.source.tracks
                self._tracks[key] = len(self.source.tracks) - 1
            elif scope is TrackScope.CPU:
                self._tracks[key] = self._synthetic_thread("CPUs", f"{name} Cpu {owner}")
            else:
                self._tracks[key] = self._synthetic_thread("Tracks", name)
        return self._tracks[key]

    def _synthetic_thread(self, process: str, name: str) -> int:
        target = self.target
        if process not in self._synthetic:
            self._synthetic[process] = len(target.processes)
            target.processes.append(Process(SYNTHETIC_PID + len(self._synthetic), process))
        number = sum(thread.tid > SYNTHETIC_PID + 0x100 for thread in target.threads)
        target.threads.append(
            Thread(SYNTHETIC_PID + 0x101 + number, self._synthetic[process], name)
        )
        return len(target.threads) - 1

    # Events

    def _batches(self) -> Iterator[Batch]:
        for batch in self.source.batches():
            self._extend_tables()
            self.batch = batch
            yield self._assemble(batch, self._pieces(batch))
        self._extend_tables()

    def _pieces(self, batch: Batch) -> list[tuple[int, Piece]]:
        result = []
        for class_id, table in batch.tables.items():
            if not len(table):
                continue
            piece = Piece(self.source.event_classes[class_id], table, batch.positions(class_id))
            for part in self._fit(piece, 0):
                target = self._class_ids.get(part.event_class)
                if target is None:
                    target = self._class_ids[part.event_class] = self.target.add_class(
                        part.event_class
                    )
                result.append((target, part))
        return result

    def _fit(self, piece: Piece, depth: int) -> list[Piece]:
        kind = piece.event_class.kind
        support = self.capabilities.kinds.get(kind)
        if support is None or not _has_required(piece, support):
            rule = LOWERINGS.get(kind, lower_to_instant)
            lowered = rule(piece, self) if depth < MAX_LOWERINGS else None
            if lowered is None:
                self.lose(LossKind.DROPPED, f"events {label(piece)}", piece)
                return []
            for part in lowered:
                self.lose(
                    LossKind.LOWERED,
                    f"{label(piece)} as {part.event_class.kind.name.lower()}",
                    part,
                )
            return [fitted for part in lowered for fitted in self._fit(part, depth + 1)]
        if kind in self.capabilities.adapters:
            piece = self.capabilities.adapters[kind](piece, self)
        split = split_by_presence(piece, self.capabilities)
        if split is not None:
            self.lose(LossKind.LOWERED, f"{label(piece)}: optional values as event classes", piece)
            return [fitted for part in split for fitted in self._fit(part, depth)]
        fitted = []
        for placed in self._place(piece, support):
            fitted += self._limit(fit_fields(placed, support, self), support)
        return fitted

    def _place(self, piece: Piece, support: KindSupport) -> list[Piece]:
        """Put rows where the format can: CPUs become arguments, tracks become threads, where it has neither."""
        if not support.track:
            piece = self._without_track(piece)
        if not support.thread:
            piece = self._without_thread(piece)
        elif not self.capabilities.threadless:
            piece = self._with_thread(piece)
        if support.cpu:
            return [piece]
        cpus = self.cpus_of(piece)
        present = cpus >= 0
        absent = np.broadcast_to(np.int32(-1), cpus.shape)
        piece = replace(piece, cpu=absent)
        if not present.any():
            return [piece]
        if not support.arguments:
            self.lose(LossKind.DROPPED, f"CPU of {label(piece)}", piece)
            return [piece]
        self.lose(LossKind.LOWERED, "CPU of events as an argument", piece, int(present.sum()))
        if present.all():
            return [_with_cpu_argument(piece, cpus)]
        on, off = np.flatnonzero(present), np.flatnonzero(~present)
        return [_with_cpu_argument(piece.select(on), cpus[on]), piece.select(off)]

    def _without_track(self, piece: Piece) -> Piece:
        tracks = self.tracks_of(piece)
        if not (tracks >= 0).any():
            return replace(piece, track=tracks)
        self.lose(LossKind.LOWERED, "tracks as threads", piece, int((tracks >= 0).sum()))
        threads = self.threads_of(piece)
        owned = names_by_value(tracks, str, lambda track: self._thread_for_track(int(track)))
        return replace(
            piece,
            thread=np.where(tracks >= 0, owned, threads).astype(np.int32),
            track=np.broadcast_to(np.int32(-1), tracks.shape),
        )

    def _thread_for_track(self, index: int) -> int:
        if index < 0:
            return -1
        track = self.source.tracks[index]
        return self._track(track.name or f"track {index}", track.scope, track.owner)

    def _without_thread(self, piece: Piece) -> Piece:
        threads = self.threads_of(piece)
        implied = piece.integers(Role.PREV_TID)
        lost = threads >= 0
        if implied is not None:
            tids = np.array([thread.tid for thread in self.target.threads] + [-1], np.int64)
            lost &= tids[threads] != implied.astype(np.int64)
        self.lose(LossKind.DROPPED, f"thread of {label(piece)}", piece, int(lost.sum()))
        return replace(piece, thread=np.broadcast_to(np.int32(-1), threads.shape))

    def _with_thread(self, piece: Piece) -> Piece:
        threads = self.threads_of(piece)
        missing = threads < 0
        if not missing.any():
            return replace(piece, thread=threads)
        self.lose(
            LossKind.LOWERED,
            "events without a thread on a synthetic one",
            piece,
            int(missing.sum()),
        )
        cpus = self.cpus_of(piece)
        placed = names_by_value(cpus, str, lambda cpu: self._threadless_thread(int(cpu)))
        return replace(piece, thread=np.where(missing, placed, threads).astype(np.int32))

    def _threadless_thread(self, cpu: int) -> int:
        if cpu < 0:
            return self._track("no thread", TrackScope.GLOBAL, -1)
        return self._track("Events", TrackScope.CPU, cpu)

    def _limit(self, piece: Piece, support: KindSupport) -> list[Piece]:
        """Arguments beyond the format's number go to an instant right behind."""
        limit = self.capabilities.max_arguments
        fixed = len(support.fields)
        fields = piece.event_class.fields
        if limit is None or len(fields) - fixed <= limit:
            return [piece]
        self.lose(LossKind.LOWERED, f"arguments beyond {limit} in a further instant", piece)
        end = fixed + limit
        table = piece.table
        first = piece.rewritten(
            replace(piece.event_class, fields=fields[:end]), [table.lazy(i) for i in range(end)]
        )
        rest = piece.rewritten(
            replace(
                piece.event_class,
                kind=Kind.INSTANT,
                name=f"{label(piece)} (continued)",
                category="",
                fields=fields[end:],
                timed=True,
            ),
            [table.lazy(i) for i in range(end, len(fields))],
            after=piece.after + 1,
        )
        instants = lower_to_instant(rest, self) or []
        return [first] + [part for instant in instants for part in self._fit(instant, 1)]

    def _assemble(self, batch: Batch, pieces: list[tuple[int, Piece]]) -> Batch:
        if any(piece.after or piece.ts is not None for _, piece in pieces):
            return self._assemble_sorted(batch, pieces)
        count = len(batch)
        placed = sum(len(piece) for _, piece in pieces)
        if placed < count:
            return self._assemble_sorted(batch, pieces)
        by_class = _by_class(pieces)
        tables = {}
        class_id = np.empty(count, np.int32)
        row = batch.row
        if any(len(parts) > 1 or not parts[0].whole for parts in by_class.values()):
            row = row.copy()
        for id, parts in by_class.items():
            tables[id] = _joined(parts)
            start = 0
            for part in parts:
                class_id[part.positions] = id
                if row is not batch.row:
                    row[part.positions] = np.arange(start, start + len(part), dtype=np.int32)
                start += len(part)
        return Batch(
            ts=batch.ts,
            class_id=class_id,
            row=row,
            tables=tables,
            thread=_overridden(batch.thread, [(p.positions, p.thread) for _, p in pieces]),
            cpu=_overridden(batch.cpu, [(p.positions, p.cpu) for _, p in pieces]),
            track=_overridden(batch.track, [(p.positions, p.track) for _, p in pieces]),
        )

    def _assemble_sorted(self, batch: Batch, pieces: list[tuple[int, Piece]]) -> Batch:
        """Put together pieces that do not cover the batch one to one: some events are gone, or have company."""
        tables = {}
        classes, rows, keys = [], [], []
        times, threads, cpus, tracks = [], [], [], []
        for id, parts in _by_class(pieces).items():
            tables[id] = _joined(parts)
            start = 0
            for part in parts:
                size = len(part)
                classes.append(np.full(size, id, np.int32))
                rows.append(np.arange(start, start + size, dtype=np.int32))
                keys.append(part.positions.astype(np.int64) * (MAX_LOWERINGS + 1) + part.after)
                times.append(batch.ts[part.positions] if part.ts is None else part.ts)
                threads.append(self.threads_of(part))
                cpus.append(self.cpus_of(part))
                tracks.append(self.tracks_of(part))
                start += size
        if not keys:
            return _EMPTY
        order = np.argsort(np.concatenate(keys), kind="stable")
        return Batch(
            ts=np.concatenate(times)[order],
            class_id=np.concatenate(classes)[order],
            row=np.concatenate(rows)[order],
            tables=tables,
            thread=np.concatenate(threads)[order],
            cpu=np.concatenate(cpus)[order],
            track=np.concatenate(tracks)[order],
        )


_EMPTY = Batch(
    ts=np.zeros(0, np.int64), class_id=np.zeros(0, np.int32), row=np.zeros(0, np.int32), tables={}
)


def _has_required(piece: Piece, support: KindSupport) -> bool:
    roles = {field.role for field in piece.event_class.fields}
    return all(role in roles for role in support.required)


def _with_cpu_argument(piece: Piece, cpus: NDArray[np.int32]) -> Piece:
    taken = any(field.name == "cpu" for field in piece.event_class.fields)
    field = Field("common_cpu" if taken else "cpu", IntegerClass(32, True))
    fields = (*piece.event_class.fields, field)
    columns: list[Any] = [piece.table.lazy(i) for i in range(piece.table.width)]
    return piece.rewritten(replace(piece.event_class, fields=fields), [*columns, cpus])


def _by_class(pieces: list[tuple[int, Piece]]) -> dict[int, list[Piece]]:
    result: dict[int, list[Piece]] = {}
    for id, piece in pieces:
        result.setdefault(id, []).append(piece)
    return result


def _joined(parts: list[Piece]) -> Table:
    if len(parts) == 1:
        return parts[0].table
    length = sum(len(part) for part in parts)

    def joined(index: int) -> Any:
        def column() -> Column:
            return concatenate([part.table.column(index) for part in parts])

        return column

    return Table(length, [joined(i) for i in range(parts[0].table.width)])


def _overridden(
    column: NDArray[np.int32], places: list[tuple[NDArray[np.int32], NDArray[np.int32] | None]]
) -> NDArray[np.int32]:
    changed = [(positions, values) for positions, values in places if values is not None]
    if not changed:
        return column
    result = column.copy()
    for positions, values in changed:
        result[positions] = values
    return result
