"""Overlapping slices of a thread: moves slices that do not nest to tracks next to the thread.

Viewers that stack slices end a slice with the one that it is in, or drop it if it lasts longer. Recorders of complete
slices do not know stacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import order_of
from converter.ir.events import Batch
from converter.ir.kinds import Kind
from converter.ir.trace import Trace, Track, TrackScope
from converter.kernels.batches.union import looked_up
from converter.projection.losses import LossReport
from converter.projection.passes.renumbering import FollowedTracks
from converter.projection.passes.slices.open_slices import NestedSlices

#: The name of such a track.
NAME: Final = "overlapping slices"
_STEPS: Final = {Kind.SLICE_BEGIN: 1, Kind.SLICE_END: 2}
_STAYS: Final = 3
_SPLIT: Final = 4
#: More than the number of rows next to a track.
_LINES: Final = 1 << 9
_FOREVER: Final = np.iinfo(np.int64).max


class OverlappingSlices:
    """The tracks of a trace: those of its `source` and the added ones; continues from batch to batch."""

    def __init__(self, source: Trace, tracks: list[Track], report: LossReport) -> None:
        self._source = source
        self._tracks = tracks
        self._report = report
        self.restart()
        self._followed = FollowedTracks(source, tracks)
        self._added: dict[tuple[int, int, int], int] = {}
        #: Complete slices that end when one inside does, and these ends: positions, negative ones before the batch.
        self.around: list[tuple[int, int]] = []
        #: Positions in the batch of ends that close nothing.
        self.strays = np.zeros(0, np.intp)

    def restart(self) -> None:
        """Start over with the first batch."""
        self._nested = NestedSlices()
        self._any = False

    def place(
        self,
        batch: Batch,
        at: NDArray[np.intp],
        durations: NDArray[np.int64],
        stays: NDArray[np.bool_],
        place: NDArray[np.intp] | None,
        is_last: Callable[[], bool],
    ) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """Return the track of each event of a batch, and which of its complete slices are on an added one.

        The slices are those at the positions `at` in the batch; they have durations (-1: unknown), and stay complete or
        become a begin and an end. `place` has the new position of each event in the batch, or is None if they stay in
        place. `is_last` tells whether no batch follows.
        """
        self.strays = np.zeros(0, np.intp)
        self.around = []
        track = self._followed.renumbered(batch.track)
        none = np.zeros(0, np.intp)
        self._any = self._any or len(at) > 0
        if not self._any:
            return track, none
        steps = np.zeros(max(batch.tables, default=0) + 1, np.int32)
        for number, table in batch.tables.items():
            if len(table):
                steps[number] = _STEPS.get(self._source.event_classes[number].kind, 0)
        step = looked_up(steps, batch.class_id)
        step[at] = np.where(stays, _STAYS, _SPLIT)
        end = np.zeros(len(batch), np.int64)
        ends = batch.ts[at] + durations
        # The sum has wrapped around past the end of time.
        end[at] = np.where((durations < 0) | (ends < batch.ts[at]), _FOREVER, ends)
        line, crossing, cut, outlasting, self.around = self._nested.lines(
            step, batch.thread, track, batch.ts, end, time_and_position(batch.ts, place), is_last
        )
        self.strays = np.flatnonzero(line < 0)
        self._report.add_at("slice-end-unmatched", self._source, batch, self.strays)
        first = int(batch.ts[0])
        self._report.add("slice-end-cut", cut, first)
        self._report.add("slice-depth-changed", crossing, first)
        kinds = frozenset({Kind.SLICE_BEGIN})
        self._report.add("slice-outlasting", outlasting, first, event_kinds=kinds)
        on_added_track = np.flatnonzero(
            (line[at] > 0) & ((batch.thread[at] >= 0) | (track[at] >= 0))
        )
        at = at[on_added_track]
        if not len(at):
            return track, none
        self._report.add_at("slice-beside", self._source, batch, at)
        # A track, or the thread of events on no track, and the row next to it, as one number.
        is_track = track[at] >= 0
        owners = np.where(is_track, track[at], batch.thread[at]).astype(np.int64)
        keys = (owners << 1 | is_track) * _LINES + line[at]
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        numbers = [
            self._track(int(batch.thread[one]), int(track[one]), int(line[one]))
            for one in at[first].tolist()
        ]
        track = track.copy()
        track[at] = np.array(numbers, np.int32)[which]
        return track, on_added_track

    def _track(self, thread: int, track: int, line: int) -> int:
        """Return the track of that row next to one of a thread."""
        key = (-1 if track >= 0 else thread, track, line)
        if key not in self._added:
            name = NAME if line == 1 else f"{NAME} {line}"
            new_track = Track(name, TrackScope.THREAD, thread)
            if track >= 0:
                around = self._tracks[track]
                new_track = Track(name, around.scope, around.owner, parent=track)
            self._added[key] = self._followed.add(new_track)
        return self._added[key]


class CrossingSlices:
    """Complete slices that become a begin and an end, where the end of one around comes first; continues from batch to
    batch.
    """

    def __init__(self, source: Trace, report: LossReport) -> None:
        self._source = source
        self._report = report
        self._nested = NestedSlices(counts_outlasting=True)
        self._any = False

    def count(
        self,
        batch: Batch,
        at: NDArray[np.intp],
        durations: NDArray[np.int64],
        stays: NDArray[np.bool_],
    ) -> None:
        """Count those at some positions that end with a slice around them, of which some stay complete."""
        self._any = self._any or len(at) > 0
        if not self._any:
            return
        steps = np.zeros(max(batch.tables) + 1, np.int32)
        for number in batch.tables:
            steps[number] = _STEPS.get(self._source.event_classes[number].kind, 0)
        step = looked_up(steps, batch.class_id)
        step[at] = np.where(stays, _STAYS, _SPLIT)
        end = np.zeros(len(batch), np.int64)
        end[at] = batch.ts[at] + durations
        order = time_and_position(batch.ts, None)
        _, crossing, cut, _, _ = self._nested.lines(
            step, batch.thread, batch.track, batch.ts, end, order, lambda: False
        )
        self._report.add("slice-end-cut", crossing + cut, int(batch.ts[0]))


def time_and_position(ts: NDArray[np.int64], place: NDArray[np.intp] | None) -> NDArray[np.int64]:
    """Return the order of the events by time and, at equal times, by position."""
    at = np.arange(len(ts))
    if place is not None:
        at[place] = np.arange(len(ts))
        ts = ts[at]
    order = order_of(ts)
    return at if order is None else at[order]
