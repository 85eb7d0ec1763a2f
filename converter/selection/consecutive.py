"""Splits a trace into consecutive parts in one pass.

Each part starts with the state at its start, as any part of a trace does (`cut`). An event that arrives before the
earlier parts are complete is held back, so memory is bounded by how far the trace is out of time order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.selection.clipping import I64, clipped
from converter.selection.closing import Closing
from converter.selection.moments import Window, ticks
from converter.selection.open_events import OpenEvents, decoded
from converter.selection.parts import Part, TimeLength
from converter.selection.reaching import reaching
from converter.selection.steps import StepsOf

#: For parts by size: the number of events written before their size is known, and the minimum number at a time.
_FIRST_EVENTS: Final = 1 << 12
_LEAST_EVENTS: Final = 1 << 9


class Consecutive:
    """The consecutive parts of a trace, each of a given duration or of a given size of the written output."""

    def __init__(self, source: Trace, length: TimeLength | int) -> None:
        self._source = source
        self._steps_of = StepsOf(source, values=True)
        self._open = OpenEvents(source)
        #: Complete slices that extend past all events so far.
        self._reaching: list[Batch] = []
        #: Events of parts after the current one.
        self._held_back: list[Batch] = []
        #: No event that is still to come is earlier than this.
        self._horizon = int(I64.min)
        self._latest = int(I64.min)
        if isinstance(length, TimeLength):
            self._most_bytes = 0
            self._length = max(ticks(length.seconds, source.clock), 1)
        else:
            self._most_bytes = length
            self._length = 0
        self._batches = source.batches()
        self._later = iter(()) if source.in_time_order else iter(_earliest_after(source))

    def parts(self) -> Iterator[Part]:
        """Return the parts in order. All batches of a part must be read, once, before the next part is requested."""
        self._held_back = self._next_batch()
        origin = self._earliest()
        while self._held_back:
            start = self._earliest()
            end: int | None = None
            if self._length:
                number = (start - origin) // self._length
                end = min(origin + (number + 1) * self._length - 1, int(I64.max))
                start = origin + number * self._length
            part = Part(dataclasses.replace(self._source, source_batches=None, seeking=None))
            part.trace.event_classes = list(self._source.event_classes)
            part.trace.describe = part.trace.check = None
            part.trace.make_batches = self._once(part, start, end)
            yield part
            self._held_back = self._held_back or self._next_batch()

    def _once(self, part: Part, start: int, end: int | None) -> Callable[[], Iterator[Batch]]:
        batches = self._batches_of(part, start, end)
        return lambda: batches

    def _batches_of(self, part: Part, start: int, end: int | None) -> Iterator[Batch]:
        part.first = start
        closing = Closing(part.trace)
        yield from self._opening(part, start)
        if end is not None:
            yield from self._until(part, start, end)
        else:
            yield from self._until_full(part, start)
        self._follow_tables(part.trace)
        part.last = self._latest if end is None or self._is_last() else end
        if not self._is_last():
            yield from self._ends(part, closing, part.last)

    # Reading

    def _next_batch(self) -> list[Batch]:
        """Return the next batch that has events, or an empty list at the end."""
        for batch in self._batches:
            if len(batch):
                earliest = max(self._horizon, int(self._times(batch).min()))
                self._horizon = next(self._later, earliest)
                return [batch]
        self._horizon = int(I64.max)
        return []

    def _earliest(self) -> int:
        times = [int(self._times(batch).min()) for batch in self._held_back]
        return min([self._horizon, *times])

    def _is_last(self) -> bool:
        return self._horizon == I64.max and not self._held_back

    def _times(self, batch: Batch) -> NDArray[np.int64]:
        """Return the times of events; events without a time fit any part."""
        timed = np.array([one.timed for one in self._source.event_classes], np.bool_)
        if timed.all():
            return batch.ts
        known = timed[batch.class_id]
        floor = batch.ts[known].min() if known.any() else max(self._latest, 0)
        return np.where(known, batch.ts, floor)

    # A part

    def _until(self, part: Part, start: int, end: int) -> Iterator[Batch]:
        """Return the events up to a time, in the order of reading."""
        incoming, self._held_back = self._held_back, []
        while incoming:
            for batch in incoming:
                yield from self._split_at(part, batch, end, Window(start, end))
            incoming = [] if self._horizon > end else self._next_batch()

    def _until_full(self, part: Part, start: int) -> Iterator[Batch]:
        """Return events, a range of time at a time, until the output has reached its maximum size."""
        while not (part.events and part.written() >= self._most_bytes):
            # Only events that no later one can precede.
            known = [self._times(batch) for batch in self._held_back]
            times = np.sort(np.concatenate([np.zeros(0, np.int64), *known]))
            ready = int(np.searchsorted(times, self._horizon))
            if self._horizon == I64.max:
                ready = len(times)
            if not ready:
                batches = self._next_batch()
                if not (batches or self._held_back):
                    return
                self._held_back += batches
                continue
            bound = int(times[min(ready, self._events_until_check(part)) - 1])
            held_back, self._held_back = self._held_back, []
            for batch in held_back:
                yield from self._split_at(part, batch, bound, Window(start, None))

    def _events_until_check(self, part: Part) -> int:
        """Return how many events to write before checking the size again: about half of those that may still fit."""
        written = part.written()
        if not written:
            return _FIRST_EVENTS
        return max((self._most_bytes - written) * part.events // (2 * written), _LEAST_EVENTS)

    def _split_at(self, part: Part, batch: Batch, end: int, window: Window) -> Iterator[Batch]:
        """Return the events of a batch up to a time, and hold back the others."""
        times = self._times(batch)
        later = times > end
        if later.any():
            self._held_back.append(batch.select(np.flatnonzero(later)))
            batch = batch.select(np.flatnonzero(~later))
            times = times[~later]
        if not len(batch):
            return
        self._latest = max(self._latest, int(times.max()))
        steps = self._steps_of(batch)
        owner = np.ones(len(batch), np.int32)
        if steps is not None:
            self._open.follow(steps, owner)
        waits = self._open.follow_wakeups(batch, owner, np.ones(len(batch), np.bool_))
        if waits or steps is not None:
            self._open.hold(batch)
        self._open.first += len(batch)
        self._keep_reaching(batch, end)
        self._follow_tables(part.trace)
        part.events += len(batch)
        yield clipped(self._source, batch, window)

    def _opening(self, part: Part, start: int) -> Iterator[Batch]:
        """Return the events that restore the state at the start of the part."""
        self._keep_reaching(None, start - 1)
        self._follow_tables(part.trace)
        window = Window(start, None)
        for origin in self._open.still_open():
            part.added += len(origin.places)
            yield clipped(self._source, origin.events(), window)
        for batch in sorted(self._reaching, key=lambda batch: int(batch.ts.min())):
            part.added += len(batch)
            yield clipped(self._source, batch, window)

    def _ends(self, part: Part, closing: Closing, last: int) -> Iterator[Batch]:
        for origin in reversed(self._open.still_open()):
            begins = origin.events()
            ends = closing.ends(begins, last)
            if ends is not None:
                part.added += len(ends)
                yield ends

    def _keep_reaching(self, batch: Batch | None, end: int) -> None:
        """Keep the complete slices that extend past `end`, including those of a batch."""
        kept = []
        for one in self._reaching if batch is None else [*self._reaching, batch]:
            positions = reaching(self._source, one, end + 1)
            if len(positions) == len(one) and one is not batch:
                kept.append(one)
            elif len(positions):
                by_time = positions[np.argsort(one.ts[positions], kind="stable")]
                kept.append(decoded(one, by_time))
        self._reaching = kept

    def _follow_tables(self, target: Trace) -> None:
        source = self._source
        target.event_classes.extend(source.event_classes[len(target.event_classes) :])
        target.symbols = source.symbols


def _earliest_after(trace: Trace) -> list[int]:
    """Return, for each batch that has events, the earliest time of all later batches."""
    earliest = []
    for batch in trace.batches():
        timed = np.array([one.timed for one in trace.event_classes], np.bool_)
        ts = batch.ts[timed[batch.class_id]]
        if len(batch):
            earliest.append(int(ts.min()) if len(ts) else int(I64.max))
    later = np.minimum.accumulate(np.array([*earliest[1:], I64.max], np.int64)[::-1])[::-1]
    return list(map(int, later))
