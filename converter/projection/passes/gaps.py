"""Moves lost events right before the event that follows them, for formats whose readers see a gap only there.

The kernel marks a page as following lost events, and readers report that with the page's first record, as long as its
time is relative to the page's own. A later time first needs a record of its own, and the marker is skipped.

A gap that names no buffer is in the one of its CPU's next event, without which no page would have it.

A gap before another gap, or after the last event of its CPU, is on a page without records, which readers skip.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.losses import LossReport

_Int64s = NDArray[np.int64]


def before_events(trace: Trace, reach: int, report: LossReport) -> Trace:
    """Return the trace with each gap at most `reach` ticks before the next event of its CPU and track.

    A gap whose event is in a later batch is moved before that batch, so at most one per CPU and track is held back.
    """
    result = dataclasses.replace(trace)
    result.make_batches = lambda: _Gaps(trace, reach, report).batches()
    return result


class _Gaps:
    """The gaps of one pass over a trace."""

    def __init__(self, trace: Trace, reach: int, report: LossReport) -> None:
        self._trace = trace
        self._reach = reach
        self._report = report
        #: By CPU and track: a batch with the gap that no event has followed so far.
        self._held: dict[int, Batch] = {}
        self._is_gap: NDArray[np.bool_] = np.zeros(0, np.bool_)

    def batches(self) -> Iterator[Batch]:
        """Return the batches, with the gaps where readers see them."""
        for batch in self._trace.batches():
            gaps = self._gaps(batch)
            if not len(gaps) and not self._held:
                yield batch
                continue
            yield from self._followed(batch)
            yield self._moved(self._in_buffers(batch, gaps), gaps)
        for gap in self._held.values():
            self._unseen(gap.ts)
            yield gap

    def _gaps(self, batch: Batch) -> NDArray[Any]:
        classes = self._trace.event_classes
        if any(classes[number].kind is Kind.DISCARDED for number in batch.tables):
            self._is_gap = np.array([one.kind is Kind.DISCARDED for one in classes])
            return np.flatnonzero(self._is_gap[batch.class_id])
        return np.zeros(0, np.intp)

    def _followed(self, batch: Batch) -> Iterator[Batch]:
        """Return the gaps of earlier batches whose next event is in this one."""
        # Those without a track are followed by an event on any.
        for streams in (_streams(batch), _streams(batch, trackless=True)) if self._held else ():
            present, first = np.unique(streams, return_index=True)
            for stream, position in zip(present.tolist(), first.tolist(), strict=True):
                held = self._held.pop(stream, None)
                if held is not None:
                    follower = self._trace.event_classes[int(batch.class_id[position])]
                    if follower.kind is Kind.DISCARDED:
                        self._unseen(held.ts)
                    times = self._times(held.ts, batch.ts[[position]])
                    yield _moved(held, times, batch.track[[position]])

    def _in_buffers(self, batch: Batch, gaps: NDArray[Any]) -> Batch:
        """Return the batch with its gaps on the tracks of the next events of their CPUs, if they have none."""
        trackless = gaps[batch.track[gaps] < 0]
        if not len(trackless) or not (batch.track >= 0).any():
            return batch
        track = batch.track.copy()
        events = np.flatnonzero(~self._is_gap[batch.class_id])
        for cpu in np.unique(batch.cpu[trackless]).tolist():
            here = trackless[batch.cpu[trackless] == cpu]
            others = events[batch.cpu[events] == cpu]
            after = np.searchsorted(others, here)
            here, after = here[after < len(others)], after[after < len(others)]
            track[here] = batch.track[others[after]]
        return _moved(batch, batch.ts, track)

    def _moved(self, batch: Batch, gaps: NDArray[Any]) -> Batch:
        """Return the batch with its gaps at their times; the last of a stream is held back."""
        if not len(gaps):
            return batch
        streams = _streams(batch)
        order = np.lexsort((np.arange(len(streams)), streams))
        last = np.append(streams[order][1:] != streams[order][:-1], True)
        follower = np.empty(len(order), np.intp)
        follower[order] = np.where(last, -1, np.roll(order, -1))
        after = follower[gaps]
        open_ones = gaps[after < 0]
        for position in open_ones.tolist():
            self._held[int(streams[position])] = batch.select(np.array([position]))
        ts = batch.ts.copy()
        closed = gaps[after >= 0]
        ts[closed] = self._times(batch.ts[closed], batch.ts[after[after >= 0]])
        self._unseen(batch.ts[closed[self._is_gap[batch.class_id[after[after >= 0]]]]])
        moved = _moved(batch, ts, batch.track)
        return (
            moved if not len(open_ones) else moved.select(np.delete(np.arange(len(ts)), open_ones))
        )

    def _unseen(self, ts: _Int64s) -> None:
        if len(ts):
            self._report.add(
                "gap-unfollowed", len(ts), int(ts.min()), event_kinds=frozenset({Kind.DISCARDED})
            )

    def _times(self, ts: _Int64s, events: _Int64s) -> _Int64s:
        """Return the times of gaps, each before its event."""
        # The difference of any two times fits 64 unsigned bits.
        far = (ts < events) & (
            events.astype(np.uint64) - ts.astype(np.uint64) > np.uint64(self._reach)
        )
        if not far.any():
            return ts
        self._report.add(
            "gap-moved",
            int(np.count_nonzero(far)),
            int(ts[far].min()),
            event_kinds=frozenset({Kind.DISCARDED}),
        )
        return np.where(far, events - self._reach, ts)


def _streams(batch: Batch, trackless: bool = False) -> _Int64s:
    """Return a number for each event's CPU and track."""
    numbers: _Int64s = (batch.cpu.astype(np.int64) << 32) + (-1 if trackless else batch.track)
    return numbers


def _moved(batch: Batch, ts: _Int64s, track: NDArray[np.int32]) -> Batch:
    """Return the same events at other times, on other tracks."""
    return Batch(
        ts=ts,
        class_id=batch.class_id,
        row=batch.row,
        tables=batch.tables,
        thread=batch.thread,
        cpu=batch.cpu,
        track=track,
    )
