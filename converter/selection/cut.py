"""Cuts a trace to a selection: the events that are wanted, and the state at the start of the window.

What is open when the window starts (slices, calls, interrupts) begins at its start, and current values (counters,
the task that runs on a CPU) are repeated there. What is open when the window ends, ends with it. An end is kept if
its begin is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.selection.clipping import bounds, clipped, durations
from converter.selection.closing import Closing
from converter.selection.conditions import Conditions
from converter.selection.cut_flows import CutFlows
from converter.selection.moments import Window
from converter.selection.open_events import OpenEvents, Provenance, decoded
from converter.selection.reaching import reaching
from converter.selection.selection import Selection
from converter.selection.stacks import END, UNMATCHED
from converter.selection.steps import StepsOf

Mask = NDArray[np.bool_]
#: The owner of begins that are wanted; the others have none.
_OURS: Final = 1
_NOWHERE: Final = np.zeros(0, np.intp)


@dataclass(slots=True)
class SelectionCounts:
    """Counts of the events of a trace: all that were read, those that were kept, and those that were added to restore
    the state at the start or the end of the window. `all_read` is True if the reader has omitted none.
    """

    read: int = 0
    kept: int = 0
    added: int = 0
    all_read: bool = True
    #: Flows whose arrows the part lacks: they begin before it, or end after it.
    cut_flows: int = 0
    #: The earliest and the latest time that were read; None without events.
    first: int | None = None
    last: int | None = None
    #: A sentence for each name, id and CPU of the selection that no event has had.
    unmatched: list[str] = field(default_factory=list)

    def follow(self, batch: Batch) -> None:
        """Count a batch that was read."""
        self.read += len(batch)
        if len(batch):
            first, last = int(batch.ts.min()), int(batch.ts.max())
            self.first = first if self.first is None else min(self.first, first)
            self.last = last if self.last is None else max(self.last, last)


class Cut:
    """One pass over the batches of a trace. Events are numbered in the order of reading.

    Unless `pairs_named`, an end of a class that has a name is kept if that name is wanted, rather than if its begin
    is.
    """

    def __init__(
        self,
        source: Trace,
        target: Trace,
        selection: Selection,
        window: Window,
        closing: Closing,
        *,
        pairs_named: bool = True,
    ) -> None:
        self._source = source
        self._target = target
        self._window = window
        self._start, self._end = bounds(window)
        self._conditions = Conditions(source, selection) if selection.is_filter else None
        self._steps_of = StepsOf(source, values=window.start is not None, named=pairs_named)
        self._closing = closing
        self._flows = CutFlows(source)
        self._stops_early = source.in_time_order and source.is_as_read
        #: Begins that are still open: needed at the start of the window, and at its end.
        self._open_events = OpenEvents(source)
        #: Complete slices from before the window that extend into it.
        self._reaching: list[Batch] = []
        self._passed = False
        self._opened = False
        self.counts = SelectionCounts()

    def batches(
        self,
        batches: Iterable[Batch],
        came_from: Callable[[Batch, Provenance], None],
        *,
        goes_on: bool = False,
    ) -> Iterator[Batch]:
        """Return what remains of the batches that are read; `came_from` is called with each batch and its provenance.

        With `goes_on` there are events after the window that are not among them.
        """
        self._passed = goes_on
        has_more = goes_on
        for batch in batches:
            self._follow_tables()
            self.counts.follow(batch)
            before, after = batch.ts < self._start, batch.ts > self._end
            self._passed |= bool(after.any())
            if self._stops_early and after.all():
                # All further events are after the window, too.
                self.counts.all_read = False
                has_more = True
                break
            opens = not self._opened and not before.all()
            if after.all():
                # None of its events remain, and nothing that is open ends in it.
                positions, opening = _NOWHERE, self._opening() if opens else []
            else:
                positions, opening = self._cut(batch, before, after, opens=opens)
            if opens:
                yield from self._open(opening, came_from)
            if len(positions):
                self.counts.added += int(np.count_nonzero(before[positions]))
                self.counts.kept += int(np.count_nonzero(~before[positions]))
                yield self._kept(Provenance(batch, positions), came_from)
            self._flows.follow(batch, positions)
            self._open_events.first += len(batch)
        self._follow_tables()
        if self._passed and not self._opened:
            yield from self._open(self._opening(), came_from)
        if self._passed:
            yield from self._ends()
        self.counts.cut_flows = self._flows.count(goes_on=has_more)
        if self._conditions is not None:
            self.counts.unmatched = self._conditions.unmatched()

    def _open(
        self, origins: list[Provenance], came_from: Callable[[Batch, Provenance], None]
    ) -> Iterator[Batch]:
        """Return the events that restore the state at the start of the window."""
        self._opened = True
        for origin in origins:
            self.counts.added += len(origin.places)
            opening = self._kept(origin, came_from)
            self._flows.begin(opening)
            yield opening

    def _kept(self, origin: Provenance, came_from: Callable[[Batch, Provenance], None]) -> Batch:
        result = clipped(self._source, origin.events(), self._window)
        came_from(result, origin)
        return result

    def _follow_tables(self) -> None:
        source, target = self._source, self._target
        target.event_classes.extend(source.event_classes[len(target.event_classes) :])
        target.symbols = source.symbols

    def _cut(
        self, batch: Batch, before: Mask, after: Mask, *, opens: bool
    ) -> tuple[NDArray[np.intp], list[Provenance]]:
        """Return the positions in a batch of the events that are kept, and the events that restore the state at the
        start.
        """
        wanted = (
            np.ones(len(batch), np.bool_)
            if self._conditions is None
            else self._conditions.mask(batch)
        )
        keep = wanted & ~before & ~after
        reaches = reaching(self._source, batch, self._start)
        reaches = reaches[(wanted & before)[reaches]]
        steps = self._steps_of(batch)
        opening: list[Provenance] = []
        owner = wanted.astype(np.int32) * np.int32(_OURS)
        if steps is not None:
            early = before[steps.at]
            if early.any():
                closed = self._open_events.follow(steps.take(early), owner)
                if self._opened:
                    # Slices that begin with the window are closed here, where their begins are known.
                    closes = (closed.owner == _OURS) & (closed.number < self._open_events.first)
                    keep[steps.at[early][closes]] = True
        waits = before.any() and self._open_events.follow_wakeups(batch, owner, before)
        if opens:
            opening = self._opening()
        if opens or self._opened:
            keep[reaches] = True
            keep[self._open_events.places_in(batch)] = True
        elif len(reaches):
            by_time = reaches[np.argsort(batch.ts[reaches], kind="stable")]
            self._reaching.append(decoded(batch, by_time))
        if steps is not None:
            late = ~before[steps.at] & ~after[steps.at]
            if late.any():
                inside = steps.take(late)
                closed = self._open_events.follow(inside, owner)
                ends = inside.step == END
                alone = inside.keeps & wanted[inside.at]
                stays = np.where(closed.owner == UNMATCHED, alone, closed.owner == _OURS)
                keep[inside.at[ends]] = stays[ends]
        if (waits or steps is not None) and (
            self._window.end is not None or not (opens or self._opened)
        ):
            self._open_events.hold(batch)
        return self._in_order(batch, keep, before), opening

    def _in_order(self, batch: Batch, keep: Mask, before: Mask) -> NDArray[np.intp]:
        """Return the positions of the events that are kept. Those moved to the start of the window come first, in
        their order.
        """
        moved = np.flatnonzero(keep & before)
        if not len(moved):
            return np.flatnonzero(keep)
        reach = np.zeros(len(batch), np.int64)
        for number, table in batch.tables.items():
            known = durations(self._source.event_classes[number], table)
            if known is not None and len(table):
                reach[batch.positions(number)] = known
        order = np.lexsort((moved, -reach[moved], batch.ts[moved]))
        return np.concatenate([moved[order], np.flatnonzero(keep & ~before)])

    # State from before the window

    def _opening(self) -> list[Provenance]:
        """Return the events that restore the state at the start of the window."""
        return self._open_events.still_open() + self._reached()

    def _reached(self) -> list[Provenance]:
        """Return complete slices of earlier batches, in the order in which they begin."""
        batches = sorted(self._reaching, key=lambda batch: int(batch.ts.min()))
        self._reaching = []
        return [Provenance(batch, np.arange(len(batch))) for batch in batches]

    def _ends(self) -> Iterator[Batch]:
        """Return the ends of what is open when the window ends."""
        for origin in reversed(self._open_events.still_open()):
            begins = origin.events()
            ends = self._closing.ends(begins, self._end)
            if ends is not None:
                self.counts.added += len(ends)
                yield ends
