"""Moves lost events right before the event that follows them, for formats whose readers see a gap only there.

The kernel marks a page as following lost events, and readers report that with the page's first record, as long as its
time is relative to the page's own. A later time first needs a record of its own, and the marker is skipped.
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
            streams = _streams(batch)
            yield from self._followed(batch, streams)
            yield self._moved(batch, streams, gaps)
        yield from self._held.values()

    def _gaps(self, batch: Batch) -> NDArray[Any]:
        classes = self._trace.event_classes
        if any(classes[number].kind is Kind.DISCARDED for number in batch.tables):
            self._is_gap = np.array([one.kind is Kind.DISCARDED for one in classes])
            return np.flatnonzero(self._is_gap[batch.class_id])
        return np.zeros(0, np.intp)

    def _followed(self, batch: Batch, streams: _Int64s) -> Iterator[Batch]:
        """Return the gaps of earlier batches whose next event is in this one."""
        if not self._held:
            return
        present, first = np.unique(streams, return_index=True)
        for stream, position in zip(present.tolist(), first.tolist(), strict=True):
            held = self._held.pop(stream, None)
            if held is not None:
                yield _with_times(held, self._times(held.ts, batch.ts[[position]]))

    def _moved(self, batch: Batch, streams: _Int64s, gaps: NDArray[Any]) -> Batch:
        """Return the batch with its gaps at their times; the last of a stream is held back."""
        if not len(gaps):
            return batch
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
        moved = _with_times(batch, ts)
        return (
            moved if not len(open_ones) else moved.select(np.delete(np.arange(len(ts)), open_ones))
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


def _streams(batch: Batch) -> _Int64s:
    """Return a number for each event's CPU and track."""
    numbers: _Int64s = (batch.cpu.astype(np.int64) << 32) + batch.track
    return numbers


def _with_times(batch: Batch, ts: _Int64s) -> Batch:
    """Return the same events at other times."""
    return Batch(
        ts=ts,
        class_id=batch.class_id,
        row=batch.row,
        tables=batch.tables,
        thread=batch.thread,
        cpu=batch.cpu,
        track=batch.track,
    )
