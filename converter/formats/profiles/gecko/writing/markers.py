"""Markers: their data by a program for each class, and the columns of their tables."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.json_values.emit import TEXT_PADDING, Emitter
from converter.formats.json_values.emit_programs import Program
from converter.formats.json_values.programs import Bindable, bindable
from converter.formats.profiles.gecko.layout import OWN, OWN_TRACK, MarkerPhase
from converter.formats.profiles.gecko.mapping import PHASES
from converter.formats.profiles.gecko.writing.columns import Columns
from converter.formats.profiles.gecko.writing.schemas import Schema, Schemas, has_repeats
from converter.formats.profiles.gecko.writing.texts import column_text, times_text
from converter.ir.columns import string_ids
from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import TrackScope
from converter.kernels.batches.event_arrays import EventArrays

_DECIMALS: Final = 6
_NO_TEXTS: Final = (np.zeros(TEXT_PADDING, np.uint8), np.zeros(1, np.int64))


class MarkerWriter:
    """Adds markers to the threads of the document."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._trace = trace = columns.trace
        meta = columns.kept.get("meta", {})
        taken = {
            str(one.get("name")) for one in meta.get("markerSchema") or [] if isinstance(one, dict)
        }
        self._schemas = Schemas(taken, own=trace.format == "gecko")
        #: By class: the schema of markers, and their program; None for other events.
        self.schemas: list[Schema | None] = []
        self._programs: list[Program | None] = []
        #: Objects in data repeat names.
        self.repeats = False
        self._emitter = Emitter(trace.strings, _DECIMALS)
        self._homes = np.zeros(0, np.int64)

    def add(self, batch: Batch) -> None:
        """Add the markers of a batch."""
        self._follow()
        kinds = np.array([PHASES.get(one.kind, -1) for one in self._trace.event_classes], np.int64)
        phases = kinds[batch.class_id]
        at = np.flatnonzero(phases >= 0)
        if len(at):
            homes = self._homes_of(batch.thread[at], batch.track[at])
            order = np.argsort(homes, kind="stable")
            self._add_markers(batch.select(at[order]), homes[order], phases[at[order]])

    def _follow(self) -> None:
        """Make schemas of new classes, and homes of new tracks."""
        trace = self._trace
        for event_class in trace.event_classes[len(self.schemas) :]:
            is_marker = event_class.kind in PHASES
            schema = self._schemas.of(event_class) if is_marker else None
            self.schemas.append(schema)
            self._programs.append(None if schema is None else schema.program(trace.strings))
            if is_marker:
                self.repeats |= any(has_repeats(field.type) for field in event_class.fields)
        known = len(self._homes)
        if len(trace.tracks) > known:
            new = [
                2 * track.owner if track.scope is TrackScope.THREAD else 2 * number + 1
                for number, track in enumerate(trace.tracks[known:], known)
            ]
            self._homes = np.concatenate([self._homes, np.array(new, np.int64)])

    def _homes_of(self, thread: NDArray[np.int32], track: NDArray[np.int32]) -> NDArray[np.int64]:
        of_threads = np.where(thread >= 0, 2 * thread.astype(np.int64), -1)
        if not len(self._homes):
            return of_threads
        return np.where(track >= 0, self._homes[np.maximum(track, 0)], of_threads)

    def _add_markers(
        self, batch: Batch, homes: NDArray[np.int64], phases: NDArray[np.int64]
    ) -> None:
        classes = self._trace.event_classes
        count = len(batch)
        names, categories = np.zeros(count, np.int32), np.zeros(count, np.int32)
        durations = np.zeros(count, np.int64)
        programs: list[Program | None] = [None] * len(classes)
        for number, table in batch.tables.items():
            positions = batch.positions(number)
            columns = table.columns()
            for field, column in zip(classes[number].fields, columns, strict=True):
                if field.role is Role.NAME:
                    names[positions] = string_ids(column, self._trace.strings)
                elif field.role is Role.CATEGORY:
                    categories[positions] = string_ids(column, self._trace.strings)
                elif field.role is Role.DURATION and classes[number].kind is Kind.SLICE_COMPLETE:
                    durations[positions] = np.asarray(column)
            program = self._programs[number]
            assert program is not None
            bound: list[Bindable] = []
            for column in columns:
                bound += bindable(column)
            program.bind(bound)
            programs[number] = program
        start = self._columns.relative(batch.ts)
        end = self._columns.relative(batch.ts + durations)
        arrays = EventArrays(batch)
        category = self._columns.category_numbers(categories)
        bounds = np.flatnonzero(np.diff(homes, prepend=homes[0] - 1)).tolist()
        for first, last in zip(bounds, [*bounds[1:], count], strict=True):
            rows = slice(first, last)
            home = int(homes[first])
            thread = self._columns.thread(home)
            thread.markers += last - first
            self._emit(home, programs, arrays, first, last)
            spool, phase = self._columns.spool, phases[rows]
            spool.add((home, "name"), column_text(thread.string_numbers(names[rows])))
            is_end = phase == MarkerPhase.INTERVAL_END
            spool.add((home, "startTime"), times_text(start[rows], ~is_end))
            has_end = is_end | (phase == MarkerPhase.INTERVAL)
            spool.add((home, "endTime"), times_text(end[rows], has_end))
            spool.add((home, "phase"), column_text(phase.tolist()))
            spool.add((home, "category"), column_text(category[rows].tolist()))
            spool.add((home, OWN), column_text(batch.class_id[rows].tolist()))
            track = batch.track[rows]
            thread.has_tracks |= bool((track >= 0).any())
            spool.add((home, OWN_TRACK), column_text(track.tolist()))
        for program in programs:
            if program is not None:
                program.release()

    def _emit(
        self,
        home: int,
        programs: list[Program | None],
        arrays: EventArrays,
        first: int,
        last: int,
    ) -> None:
        while first < last:
            text, first = self._emitter.emit(programs, arrays, _NO_TEXTS, first, last)
            self._columns.spool.add((home, "data"), text)
