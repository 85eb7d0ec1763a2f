"""project(): a trace as a format can hold it, and what that loses.

Pure: the source is not changed, and the losses follow from the capabilities alone. What depends on other events is
rewritten first (`preparation`). Then a batch is taken apart into pieces, one a class; each is lowered until the format
knows its kind, its fields are fitted, and the pieces are put together again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import constant_column
from converter.ir.events import Batch, EventClass, Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import TRACEPOINT_KINDS, Kind, Role
from converter.ir.trace import Trace, Track, TrackScope
from converter.projection.assembly import assemble
from converter.projection.buffers import ARGUMENT as BUFFER_ARGUMENT
from converter.projection.buffers import may_have_buffers, place_of_argument
from converter.projection.capabilities import Capabilities, KindSupport
from converter.projection.fitting import (
    Fitter,
    flattened,
    is_nested,
    is_value,
    is_varying,
    label,
    native_records,
    split_by_presence,
)
from converter.projection.instants import CATEGORY, NAME, as_instant, lower_to_instant
from converter.projection.losses import Aspect, LossClass, LossKind, LossReport, PlannedLosses
from converter.projection.lowering import LOWERINGS, lowering_for
from converter.projection.metadata import TargetMetadata, held_clock
from converter.projection.pieces import ByClass, Derived, Piece, map_distinct
from converter.projection.preparation import prepared
from converter.projection.symbol_names import addresses_by_style, addresses_of, names_lost
from converter.projection.tables import TargetTables
from converter.projection.task_states import TaskStates

if TYPE_CHECKING:
    from converter.projection.slice_depths import NestedTooDeep

#: Lowering ends: no rule gives back a kind that it came from. This bounds it all the same.
MAX_LOWERINGS = 6


def project(trace: Trace, capabilities: Capabilities, format_name: str) -> tuple[Trace, LossReport]:
    """The trace as a format of these capabilities holds it, and the losses (complete once all batches have passed).

    Args:
        trace: any trace.
        capabilities: of the target's variant.
        format_name: of the target: only its own sidecar survives.

    Returns:
        The projected trace, streaming like its source, and the report. Columns are converted when they are asked for,
        so the report counts values that change once somebody has read them, as any writer does. Reading the batches
        again starts the losses of events anew.

    """
    report = LossReport()
    trace = prepared(trace, capabilities, format_name, report)
    return projected(trace, capabilities, format_name, report), report


def projected(
    prepared: Trace, capabilities: Capabilities, format_name: str, report: LossReport
) -> Trace:
    """What `project` makes of a trace that is prepared: the stage that may run behind that on a thread of its own."""
    return Projector(prepared, capabilities, format_name, report).target


class Projector:
    """One projection under way; what `pieces.Projection` describes."""

    def __init__(
        self, source: Trace, capabilities: Capabilities, format_name: str, report: LossReport
    ) -> None:
        self.source = source
        self.capabilities = capabilities
        self.report = report
        self.target = Trace(
            format=source.format,
            clock=held_clock(source.clock, capabilities, report),
            strings=source.strings,
            symbols=source.symbols,
            warnings=source.warnings,
            make_batches=self._batches,
            progress=source.progress,
            decodes_in_parallel=source.decodes_in_parallel,
        )
        self._tables = TargetTables(source, self.target, capabilities, report)
        self._fitter = Fitter(capabilities)
        self._class_ids = ByClass(self.target.add_class)
        self._support = ByClass(capabilities.support)
        self._is_nested = ByClass(lambda one: is_nested(one, self._holds(one)))
        self._is_varying = ByClass(lambda one: is_varying(one, self._holds(one)))
        self._has_required = ByClass(self._required_are_there)
        addresses = addresses_by_style if capabilities.symbols else addresses_of
        # What is read from a format names functions by events, where it has no table of them.
        named = source.symbols is not None and source.format != format_name
        self._addresses = ByClass(lambda one: addresses(one) if named else ())
        self._derived: Derived = {}
        self.open_slices: dict[tuple[int, ...], int] = {}
        self._task_states: TaskStates | None = None
        # In what was read from the same format they were not shown, either.
        self._too_deep: NestedTooDeep | None = None
        if capabilities.max_depth is not None and source.format != format_name:
            from converter.projection.slice_depths import NestedTooDeep

            self._too_deep = NestedTooDeep(self.target, capabilities.max_depth, report)
        # Of the batch under way.
        self._all_on_threads = self._all_on_cpus = False
        self._occurring: set[int] = set()
        self._tests: dict[Callable[[EventClass], bool], bool] = {}
        self._constants: dict[str | bytes, np.int32] = {}
        self._with_nul: list[int] = []
        self._nul_checked = 0
        self._metadata = TargetMetadata(source, self.target, capabilities, format_name, report)
        self._metadata.follow()
        self._tables.follow()

    # What rules may ask (pieces.Projection)

    def lose(
        self,
        kind: LossKind,
        what: str,
        piece: Piece,
        count: int | None = None,
        loss_class: LossClass | None = None,
        aspect: Aspect | None = None,
    ) -> None:
        """Count a loss at the rows of `piece` (at `count` of them when given)."""
        if count is None:
            count = len(piece)
        if count:
            first_ts, kinds = self._first_of(piece)
            self.report.add(kind, what, count, first_ts, loss_class, aspect, kinds)

    def lose_planned(self, losses: PlannedLosses, piece: Piece) -> None:
        """Count losses that are the same of all events of a class, at the rows of `piece`."""
        if len(piece):
            self.report.add_planned(losses, len(piece), *self._first_of(piece))

    def _first_of(self, piece: Piece) -> tuple[int, frozenset[Kind]]:
        """The time of the first row, and the kinds that the source and the piece have it as."""
        first = piece.positions[0]
        own = self.source.event_classes[piece.batch.class_id[first]]
        return int(piece.batch.ts[first]), frozenset((own.kind, piece.event_class.kind))

    def occurs(self, test: Callable[[EventClass], bool]) -> bool:
        """Whether events of a class that passes `test` have come so far, this batch included."""
        if test not in self._tests:
            classes = self.source.event_classes
            self._tests[test] = any(test(classes[number]) for number in self._occurring)
        return self._tests[test]

    def strings_with_nul(self) -> NDArray[np.int32]:
        """The ids of all strings so far with a NUL in them."""
        strings = self.source.strings
        for id in range(self._nul_checked, len(strings)):
            if b"\0" in strings[id]:
                self._with_nul.append(id)
            self._nul_checked = id + 1
        return np.array(self._with_nul, np.int32)

    def constant(self, text: str | bytes, length: int) -> NDArray[np.int32]:
        """A string column of one value."""
        id = self._constants.get(text)
        if id is None:
            # Once: interning waits for a reader that is interning what comes next.
            id = self._constants[text] = np.int32(self.source.strings.intern(text))
        return constant_column(id, length)

    def threads_of(self, piece: Piece) -> NDArray[np.int32]:
        """The thread of each row, an index into the target's threads."""
        return _taken(piece.batch.thread, piece) if piece.thread is None else piece.thread

    def cpus_of(self, piece: Piece) -> NDArray[np.int32]:
        """The CPU of each row."""
        return _taken(piece.batch.cpu, piece) if piece.cpu is None else piece.cpu

    def track(self, number: int) -> Track:
        """A track that rows are on, which the target may not keep."""
        return self._tables.tracks[number]

    def tids_of(self, threads: NDArray[np.int32]) -> NDArray[np.int64]:
        """The tids (as signed numbers) of threads, -1 where there is none."""
        return self._tables.tids(threads)

    def pids_of(self, threads: NDArray[np.int32]) -> NDArray[np.int64]:
        """The ids (as signed numbers) of the processes of threads, -1 where there is none."""
        return self._tables.pids(threads)

    def thread_of_tid(self, tids: NDArray[Any]) -> NDArray[np.int32]:
        """The thread that has each tid, -1 where none has."""
        return self._tables.thread_of_tid(tids)

    def place_on_cpu_track(self, name: str, cpus: NDArray[Any]) -> dict[str, Any]:
        """Where rows go that belong to the track "`name` Cpu N" of a CPU: keyword arguments for `rewritten`."""

        def track(cpu: int) -> int:
            if cpu < 0:
                return self._tables.synthetic_track(Track(name))
            return self._tables.synthetic_track(Track(f"{name} Cpu {cpu}", TrackScope.CPU, cpu))

        return {"track": map_distinct(cpus, track)}

    def place_on_track(self, name: str, scope: TrackScope, owners: NDArray[Any]) -> dict[str, Any]:
        """Where rows go that belong to the track called `name` of each owner: keyword arguments for `rewritten`."""
        return {
            "track": map_distinct(
                owners, lambda owner: self._tables.synthetic_track(Track(name, scope, owner))
            )
        }

    # Events

    def _batches(self) -> Iterator[Batch]:
        self.report.forget_events()
        self._occurring.clear()
        self.open_slices.clear()
        if self._too_deep:
            self._too_deep.restart()
        if self.capabilities.task_tracks:
            self._task_states = TaskStates(self)
        for batch in self.source.batches():
            self._tables.follow()
            yield self._project_batch(batch)
        self._tables.follow()
        self._metadata.follow()

    def _project_batch(self, batch: Batch) -> Batch:
        present = {number for number, table in batch.tables.items() if len(table)}
        if not present <= self._occurring:
            self._occurring |= present
            self._tests.clear()
        batch = self._renumbered(batch)
        self._all_on_threads = not len(batch) or int(batch.thread.min()) >= 0
        self._all_on_cpus = not len(batch) or int(batch.cpu.min()) >= 0
        placed = []
        for number in batch.tables.keys() & present:
            piece = Piece(
                batch,
                self.source.event_classes[number],
                batch.tables[number],
                batch.positions(number),
                derived=self._derived,
            )
            fitted = [
                (number, self._class_ids(part.event_class), part)
                for one in self._in_buffers(piece)
                for part in self._fit(one, 0)
            ]
            if self._addresses(piece.event_class):
                self._lose_names(piece, (part.event_class for _, _, part in fitted))
            placed += fitted
        if self._task_states is not None:
            placed += [
                (0, self._class_ids(part.event_class), part)
                for piece in self._task_states.pieces(batch)
                for part in self._fit(piece, 0)
            ]
        batch = assemble(batch, placed, self.source.strings)
        if self.capabilities.buffers and not _absent(batch.track):
            batch.track = self._tables.buffers.tracks(batch.track)
        if self._too_deep:
            self._too_deep.count(batch)
        return batch

    def _renumbered(self, batch: Batch) -> Batch:
        """The batch with threads and tracks in the target's numbers, and times and CPUs that the format can hold."""
        kept = self.capabilities
        ts, cpu = batch.ts, batch.cpu
        first = int(ts.min()) if len(ts) else 0
        if first < 0 and not kept.negative_times:
            count = int(np.count_nonzero(ts < 0))
            self.report.add(LossKind.CHANGED, "times before zero as zero", count, first)
            ts = np.maximum(ts, 0)
        if kept.max_cpu is not None and len(cpu) and int(cpu.max()) > kept.max_cpu:
            beyond = cpu > kept.max_cpu
            count = int(np.count_nonzero(beyond))
            self.report.add(LossKind.DROPPED, f"CPU numbers over {kept.max_cpu}", count, first)
            cpu = np.where(beyond, np.int32(-1), cpu)
        return Batch(
            ts=ts,
            class_id=batch.class_id,
            row=batch.row,
            tables=batch.tables,
            thread=self._tables.renumber_threads(batch.thread),
            cpu=cpu,
            track=self._tables.renumber_tracks(batch.track),
        )

    def _lose_names(self, piece: Piece, held: Iterable[EventClass]) -> None:
        """Functions that the source's symbols name are numbers alone where the format has no symbols."""
        addresses = self._addresses(piece.event_class)
        by_style = self.capabilities.symbols
        lost = names_lost(piece.event_class, addresses, held, by_style=by_style)
        if lost:
            what = f"names of functions in {', '.join(lost)} of {label(piece.event_class)}"
            self.lose(LossKind.DROPPED, what, piece)

    def _in_buffers(self, piece: Piece) -> list[Piece]:
        """Tracepoints in the buffers that they were recorded in, where the format has such."""
        tables, kind = self._tables, piece.event_class.kind
        if not self.capabilities.buffers or not may_have_buffers(kind):
            return self._on_threads(piece)
        parts = []
        said = tables.buffers.of_argument(piece, self.source.strings)
        if said is not None:
            known, rest = piece.split(said < -1)
            if known is not None:
                place = place_of_argument(known)
                assert place is not None
                parts.append(known.without_field(place).moved(track=said[said < -1]))
            if rest is None:
                return parts
            piece = rest
        tracks = _taken(piece.batch.track, piece)
        if kind is not Kind.INSTANT and not _absent(tracks):
            codes = tables.buffers.of_tracks(tables.tracks, tracks)
            if kind is not Kind.DISCARDED:
                codes = np.where(self.threads_of(piece) >= 0, codes, np.int32(-1))
            known, rest = piece.split(codes < -1)
            if known is not None:
                parts.append(known.moved(track=codes[codes < -1]))
            if rest is None:
                return parts
            piece = rest
        return [*parts, *self._on_threads(piece)]

    def _on_threads(self, piece: Piece) -> list[Piece]:
        """A tracepoint on a thread that is on a global track too stays on its thread where it cannot be on both.

        Such a track is the buffer that it was recorded in.
        """
        batch = piece.batch
        if _absent(batch.track) or _absent(batch.thread):
            return [piece]
        support = self._support(piece.event_class)
        if piece.event_class.kind not in TRACEPOINT_KINDS or (support and support.track):
            return [piece]
        tracks = _taken(batch.track, piece)
        of_buffers = [track.scope is TrackScope.GLOBAL for track in self._tables.tracks]
        both = (
            (tracks >= 0) & (self.threads_of(piece) >= 0) & np.array([*of_buffers, False])[tracks]
        )
        on, off = piece.split(both)
        if on is None:
            return [piece]
        self.lose(LossKind.LOWERED, "tracks of events on threads as an argument", on)
        names = [self.constant(track.name, 1)[0] for track in self._tables.tracks]
        texts = np.array(names, np.int32)[tracks[both]]
        kept = on.moved(track=constant_column(np.int32(-1), len(on)))
        kept = kept.with_argument(BUFFER_ARGUMENT, texts)
        return [kept] if off is None else [off, kept]

    def _fit(self, piece: Piece, depth: int) -> list[Piece]:
        """The pieces that the format holds of one of any kind."""
        event_class = piece.event_class
        if event_class.kind is Kind.NATIVE and event_class.name in self._metadata.bookkeeping:
            what = f"{label(event_class)} (bookkeeping)"
            self.lose(LossKind.DROPPED, what, piece, loss_class=LossClass.DETAIL)
            return []
        support = self._support(piece.event_class)
        rule = lowering_for(piece, self) if depth == 0 else None
        if rule is None and (support is None or not self._has_required(piece.event_class)):
            kind = piece.event_class.kind
            rule = self.capabilities.lowerings.get(kind) or LOWERINGS.get(kind, lower_to_instant)
        if rule is not None:
            return self._lower(piece, rule, depth)
        assert support is not None
        if self._is_nested(piece.event_class):
            what = f"{label(piece.event_class)}: structures and arrays as fields"
            self.lose(LossKind.LOWERED, what, piece, None, LossClass.DETAIL, Aspect.STRUCTURE)
            piece = flattened(piece, self._holds(piece.event_class))
        if self._is_varying(piece.event_class):
            what = f"{label(piece.event_class)}: optional values as event classes"
            self.lose(LossKind.LOWERED, what, piece, None, LossClass.DETAIL, Aspect.STRUCTURE)
            parts = split_by_presence(piece, self._holds(piece.event_class))
            return [fitted for part in parts for fitted in self._fit(part, max(depth, 1))]
        splitter = self.capabilities.splitters.get(piece.event_class.kind)
        if splitter is None:
            return self._adapted(piece, support, depth)
        result = []
        for part in splitter(piece, self):
            held = self._support(part.event_class)
            assert held is not None
            result += self._adapted(part, held, depth)
        return result

    def _adapted(self, piece: Piece, support: KindSupport, depth: int) -> list[Piece]:
        """A piece of a kind that the format holds, as it holds it."""
        adapter = self.capabilities.adapters.get(piece.event_class.kind)
        if adapter is not None:
            kind = piece.event_class.kind
            piece = adapter(piece, self)
            if not len(piece):
                return []
            if piece.event_class.kind is not kind:
                return self._fit(piece, depth + 1)
        return [
            part
            for placed in self._place(piece, support)
            for part in self._apart(self._fitter.fit(placed, self), support)
        ]

    def _required_are_there(self, event_class: EventClass) -> bool:
        roles = {field.role for field in event_class.fields}
        support = self._support(event_class)
        return support is not None and support.required <= roles

    def _holds(self, event_class: EventClass) -> Capabilities:
        """What arguments of a class can be."""
        support = self._support(event_class)
        return self.capabilities if support is None else support.holds or self.capabilities

    def _lower(
        self, piece: Piece, rule: Callable[..., list[Piece] | None], depth: int
    ) -> list[Piece]:
        lowered = rule(piece, self) if depth < MAX_LOWERINGS else None
        if lowered is None:
            what = f"events {label(piece.event_class)}"
            self.lose(LossKind.DROPPED, what, piece, aspect=Aspect.EVENTS)
            return []
        # What viewers make of a record they make of its format's own alone.
        unread = piece.event_class.kind is Kind.NATIVE and bool(self._metadata.bookkeeping)
        for part in lowered:
            if unread:
                what = native_records(piece, self)
                self.lose(LossKind.UNSHOWN, what, part, aspect=Aspect.EVENTS)
                continue
            kind = part.event_class.kind.name.lower()
            what = f"{label(piece.event_class)} as {kind}"
            self.lose(LossKind.LOWERED, what, part, aspect=Aspect.FORMS)
        return [fitted for part in lowered for fitted in self._fit(part, depth + 1)]

    def _place(self, piece: Piece, support: KindSupport) -> list[Piece]:
        """Put rows where the format can: CPUs become arguments, tracks become threads, where it has neither."""
        batch = piece.batch
        if not support.track and not _absent(batch.track if piece.track is None else piece.track):
            piece = self._without_track(piece, support)
        if support.one_place:
            piece = self._in_one_place(piece)
        if not support.thread:
            piece = self._without_thread(piece)
        elif not self.capabilities.threadless:
            piece = self._with_thread(piece)
        if not support.cpu:
            return self._without_cpu(piece, support)
        return [piece if self.capabilities.cpuless else self._with_cpu(piece)]

    def _without_track(self, piece: Piece, support: KindSupport) -> Piece:
        tracks = _taken(piece.batch.track, piece) if piece.track is None else piece.track
        on_track = tracks >= 0
        count = int(np.count_nonzero(on_track))
        if not count:
            return piece.moved(track=tracks)
        # Buffers are not among the tracks.
        absent = (
            constant_column(np.int32(-1), count)
            if count == len(tracks)
            else np.where(on_track, np.int32(-1), tracks)
        )
        if not support.thread:
            self.lose(LossKind.DROPPED, f"track of {label(piece.event_class)}", piece, count)
            return piece.moved(track=absent)
        self.lose(LossKind.LOWERED, "tracks as threads", piece, count)
        threads = self.threads_of(piece)
        hidden = int(np.count_nonzero(on_track & (threads >= 0)))
        self.lose(
            LossKind.DROPPED, f"thread of {label(piece.event_class)} on tracks", piece, hidden
        )
        owned = self._tables.threads_of_tracks(tracks)
        return piece.moved(thread=np.where(on_track, owned, threads), track=absent)

    def _in_one_place(self, piece: Piece) -> Piece:
        """Threads of events on tracks are dropped; one that owns the track goes without saying."""
        tracks = piece.batch.track if piece.track is None else piece.track
        if _absent(tracks) or _absent(piece.batch.thread if piece.thread is None else piece.thread):
            return piece
        tracks = _taken(tracks, piece) if piece.track is None else tracks
        threads = self.threads_of(piece)
        both = (tracks >= 0) & (threads >= 0)
        if not both.any():
            return piece
        owned = np.array(
            [one.owner if one.scope is TrackScope.THREAD else -1 for one in self._tables.tracks],
            np.int32,
        )
        lost = both & (owned[tracks] != threads)
        count = int(np.count_nonzero(lost))
        self.lose(LossKind.DROPPED, f"thread of {label(piece.event_class)} on tracks", piece, count)
        return piece.moved(thread=np.where(both, np.int32(-1), threads))

    def _without_thread(self, piece: Piece) -> Piece:
        if _absent(piece.batch.thread if piece.thread is None else piece.thread):
            return piece
        threads = self.threads_of(piece)
        lost = threads >= 0
        implied = piece.integers(Role.PREV_TID)
        if implied is not None:
            lost &= self.tids_of(threads) != implied.astype(np.int64)
        count = int(np.count_nonzero(lost))
        self.lose(LossKind.DROPPED, f"thread of {label(piece.event_class)}", piece, count)
        return piece.moved(thread=constant_column(np.int32(-1), len(threads)))

    def _with_thread(self, piece: Piece) -> Piece:
        if piece.thread is None and self._all_on_threads:
            return piece
        threads = self.threads_of(piece)
        missing = threads < 0
        count = int(np.count_nonzero(missing))
        if not count:
            return piece
        self.lose(LossKind.LOWERED, "events without a thread on a synthetic one", piece, count)
        placed = self._tables.threads_of_cpus(np.where(missing, self.cpus_of(piece), -1))
        return piece.moved(thread=np.where(missing, placed, threads))

    def _with_cpu(self, piece: Piece) -> Piece:
        if piece.cpu is None and self._all_on_cpus:
            return piece
        cpus = self.cpus_of(piece)
        missing = int(np.count_nonzero(cpus < 0))
        if not missing:
            return piece
        self.lose(LossKind.CHANGED, "events without a CPU on CPU 0", piece, missing)
        return piece.moved(cpu=np.maximum(cpus, 0))

    def _without_cpu(self, piece: Piece, support: KindSupport) -> list[Piece]:
        if _absent(piece.batch.cpu if piece.cpu is None else piece.cpu):
            return [piece]
        bare = piece.moved(cpu=constant_column(np.int32(-1), len(piece)))
        present = None
        count = len(piece)
        if piece.cpu is not None or not self._all_on_cpus:
            present = self.cpus_of(piece) >= 0
            count = int(np.count_nonzero(present))
        if not count:
            return [bare]
        if not support.arguments:
            self.lose(LossKind.DROPPED, f"CPU of {label(piece.event_class)}", piece, count)
            return [bare]
        self.lose(LossKind.LOWERED, "CPU of events as an argument", piece, count)
        taken = any(field.name == "cpu" for field in piece.event_class.fields)
        argument = _TAKEN_CPU if taken else _CPU
        if present is None or count == len(piece):
            return [bare.with_argument(argument, lambda: self.cpus_of(piece))]
        on, off = bare.split(present)
        assert on is not None and off is not None
        return [off, on.with_argument(argument, self.cpus_of(piece)[present])]

    def _apart(self, piece: Piece, support: KindSupport) -> list[Piece]:
        """What the format's record holds of a fitted piece, and the rest in instants right behind."""
        if not support.values_only:
            return self._limit(piece, support)
        fields = piece.event_class.fields
        own = len(support.fields)
        beside = [i for i in range(own, len(fields)) if not is_value(fields[i])]
        if not beside:
            return self._limit(piece, support)
        what = f"{label(piece.event_class)}: what is no value in instants"
        self.lose(LossKind.LOWERED, what, piece)
        naming = [i for i in range(own) if fields[i].role in (NAME.role, CATEGORY.role)]
        rest = _part(piece, piece.event_class, [*naming, *beside], piece.after + 1)
        values = [i for i in range(len(fields)) if i not in beside]
        kept = _part(piece, piece.event_class, values, piece.after)
        return [*self._limit(kept, support), *self._fit(as_instant(rest, self), 1)]

    def _limit(self, piece: Piece, support: KindSupport) -> list[Piece]:
        """Arguments beyond the format's number go to instants right behind."""
        limit = (support.holds or self.capabilities).max_arguments
        fields = piece.event_class.fields
        last = len(fields) - len(support.trailing)
        end = len(support.fields)
        if limit is None or last <= end + limit:
            return [piece]
        while end < last and fields[end] in support.optional:
            end += 1
        end += limit
        if last <= end:
            return [piece]
        which = [*range(end), *range(last, len(fields))]
        parts = [_part(piece, piece.event_class, which, piece.after)]
        instants = self.capabilities.kinds.get(Kind.INSTANT)
        is_named = instants is not None and NAME.role in {part.role for part in instants.fields}
        # Where an instant has no place for its name, that is an argument too.
        room = limit if is_named else limit - 1
        kinds = self.capabilities.kinds.keys() | self.capabilities.lowerings.keys()
        if Kind.INSTANT not in kinds or room < 1:
            self.lose(LossKind.DROPPED, f"arguments beyond {limit}", piece)
            return parts
        self.lose(LossKind.LOWERED, f"arguments beyond {limit} in further instants", piece)
        name = f"{label(piece.event_class)} (continued)"
        beyond = EventClass(Kind.TYPED, name)
        for after, start in enumerate(range(end, last, room), piece.after + 1):
            rest = _part(piece, beyond, range(start, min(start + room, last)), after)
            parts += self._fit(as_instant(rest, self), 1)
        return parts


def _part(piece: Piece, event_class: EventClass, which: Sequence[int], after: int) -> Piece:
    """The same rows as a class of some of the fields, so many places behind."""
    fields = tuple(piece.event_class.fields[i] for i in which)
    columns = [piece.table.lazy(i) for i in which]
    return piece.rewritten(replace(event_class, fields=fields), columns, after=after)


_CPU = Field("cpu", IntegerClass(32, True))
#: Where the event has a field of that name.
_TAKEN_CPU = Field("common_cpu", IntegerClass(32, True))


def _taken(column: NDArray[np.int32], piece: Piece) -> NDArray[np.int32]:
    """The piece's rows of a column of its batch."""
    if column.strides == (0,):
        return column[: len(piece)]
    return column[piece.positions]


def _absent(column: NDArray[np.int32]) -> bool:
    """Whether a column is -1 throughout, by its looks: a constant costs nothing to check."""
    return column.strides == (0,) and (not len(column) or int(column[0]) < 0)
