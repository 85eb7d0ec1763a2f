"""A trace cut to a selection: what is wanted, and what was so when the window begins.

What is open when the window begins (slices, calls, interrupts) begins with it, what holds (counters, the task that runs
on a CPU) is said again; what is open when it ends, ends with it. An end stays where its begin does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch, decode
from converter.ir.trace import Trace
from converter.selection.clipping import bounds, durations, kept_events
from converter.selection.closing import Closing
from converter.selection.conditions import Conditions
from converter.selection.moments import Window
from converter.selection.selection import Selection
from converter.selection.stacks import END, KEPT, UNMATCHED, Closed, Stacks
from converter.selection.steps import Steps, StepsOf

Mask = NDArray[np.bool_]
#: Batches that are kept whole for what they began; of older ones only the events that are still open are.
_WHOLE: Final = 3


@dataclass(slots=True)
class SelectionCounts:
    """What became of the events of a trace: all that were read, those that were kept, and those that say what was so
    when the window began or ended. `all_read` is whether the reader has left out none.
    """

    read: int = 0
    kept: int = 0
    added: int = 0
    all_read: bool = True
    #: Names in conditions that no event has had.
    unknown_names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Provenance:
    """Where the events of a batch come from: the batch that was read, and the places in it."""

    batch: Batch
    places: NDArray[np.intp]


@dataclass(slots=True)
class _Held:
    """Events that may be open: a batch, and the numbers of its events."""

    batch: Batch
    numbers: NDArray[np.int64]
    whole: bool = True


class Cut:
    """One pass over the batches of a trace. Events are numbered in the order in which they come."""

    def __init__(
        self, source: Trace, target: Trace, selection: Selection, window: Window, closing: Closing
    ) -> None:
        self._source = source
        self._target = target
        self._window = window
        self._start, self._end = bounds(window)
        self._conditions = Conditions(source, selection) if selection.is_filter else None
        self._steps_of = StepsOf(source, values=window.start is not None)
        self._closing = closing
        self._stops_early = source.in_time_order and source.is_as_read
        self._stacks = Stacks()
        #: What began and is still open: needed at the start of the window, and at its end.
        self._held: list[_Held] = []
        #: Complete slices from before the window that reach into it.
        self._reaching: list[Batch] = []
        self._number = 0
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
        """The batches that stay of those that are read; `came_from` hears of each where it is from.

        With `goes_on` there are events behind the window that are not among them.
        """
        self._passed = goes_on
        for batch in batches:
            self._follow_tables()
            self.counts.read += len(batch)
            before, after = batch.ts < self._start, batch.ts > self._end
            self._passed |= bool(after.any())
            if self._stops_early and after.all():
                # So is everything that comes.
                self.counts.all_read = False
                break
            opens = not self._opened and not before.all()
            places, opening = self._cut(batch, before, after, opens=opens)
            if opens:
                yield from self._open(opening, came_from)
            if len(places):
                self.counts.added += int(np.count_nonzero(before[places]))
                self.counts.kept += int(np.count_nonzero(~before[places]))
                yield self._kept(Provenance(batch, places), came_from)
            self._number += len(batch)
        self._follow_tables()
        if self._passed and not self._opened:
            yield from self._open(self._still_open() + self._reached(), came_from)
        if self._passed:
            yield from self._ends()
        if self._conditions is not None:
            self.counts.unknown_names = self._conditions.unknown_names()

    def _open(
        self, origins: list[Provenance], came_from: Callable[[Batch, Provenance], None]
    ) -> Iterator[Batch]:
        """The events that say how it is when the window begins."""
        self._opened = True
        for origin in origins:
            self.counts.added += len(origin.places)
            yield self._kept(origin, came_from)

    def _kept(self, origin: Provenance, came_from: Callable[[Batch, Provenance], None]) -> Batch:
        result = kept_events(self._source, origin.batch, origin.places, self._window)
        came_from(result, origin)
        return result

    def _follow_tables(self) -> None:
        source, target = self._source, self._target
        target.event_classes.extend(source.event_classes[len(target.event_classes) :])
        target.symbols = source.symbols

    def _cut(
        self, batch: Batch, before: Mask, after: Mask, *, opens: bool
    ) -> tuple[NDArray[np.intp], list[Provenance]]:
        """Where in a batch the events are that stay, and what says how it was when the window begins."""
        wanted = (
            np.ones(len(batch), np.bool_)
            if self._conditions is None
            else self._conditions.mask(batch)
        )
        keep = wanted & ~before & ~after
        reaching = self._reaching_in(batch, wanted & before)
        steps = self._steps_of(batch)
        opening: list[Provenance] = []
        if steps is not None:
            early = before[steps.at]
            if early.any():
                closed = self._follow(steps.take(early), wanted)
                if self._opened:
                    # What has begun with the window ends where it begins.
                    closes = (closed.state == KEPT) & (closed.number < self._number)
                    keep[steps.at[early][closes]] = True
        if opens:
            opening = self._still_open() + self._reached()
        if opens or self._opened:
            keep[reaching] = True
            keep[self._open_in(batch)] = True
        elif len(reaching):
            self._reaching.append(_decoded(self._source, batch, reaching))
        if steps is not None:
            late = ~before[steps.at] & ~after[steps.at]
            if late.any():
                inside = steps.take(late)
                state = self._follow(inside, wanted).state
                ends = inside.step == END
                alone = inside.keeps & wanted[inside.at]
                stays = np.where(state == UNMATCHED, alone, state == KEPT)
                keep[inside.at[ends]] = stays[ends]
            if self._window.end is not None or not (opens or self._opened):
                self._hold(batch)
        return self._in_order(batch, keep, before), opening

    def _in_order(self, batch: Batch, keep: Mask, before: Mask) -> NDArray[np.intp]:
        """The places of what stays. What is moved to the start of the window stands first, as it had begun."""
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

    def _follow(self, steps: Steps, wanted: Mask) -> Closed:
        return self._stacks.follow(
            steps.lane,
            steps.step,
            steps.name,
            self._number + steps.at.astype(np.int64),
            wanted[steps.at].view(np.uint8),
        )

    # What began before

    def _reaching_in(self, batch: Batch, among: Mask) -> NDArray[np.intp]:
        """Complete slices that reach into the window."""
        places = []
        for number, table in batch.tables.items():
            known = durations(self._source.event_classes[number], table)
            if known is None or not len(table):
                continue
            at = batch.positions(number)
            # Differences from the start of the window do not overflow where sums would.
            reaches = (known < 0) | (known >= self._start - batch.ts[at])
            places.append(at[among[at] & reaches])
        return np.sort(np.concatenate(places)) if places else np.zeros(0, np.intp)

    def _open_in(self, batch: Batch) -> NDArray[np.intp]:
        """Where in the batch that is being read events are that are open, so far."""
        numbers = self._stacks.open()
        found: NDArray[np.intp] = numbers[numbers >= self._number] - self._number
        return found

    def _hold(self, batch: Batch) -> None:
        """Keep a batch for what is open of it. Of older ones only that is kept, so that memory is bounded."""
        self._held.append(_Held(batch, self._number + np.arange(len(batch))))
        numbers = self._stacks.open()
        held = []
        for age, one in enumerate(reversed(self._held)):
            places = np.flatnonzero(np.isin(one.numbers, numbers))
            if not len(places):
                continue
            if age >= _WHOLE and one.whole:
                open_ones = _decoded(self._source, one.batch, places)
                held.append(_Held(open_ones, one.numbers[places], whole=False))
            else:
                held.append(one)
        self._held = held[::-1]

    def _still_open(self) -> list[Provenance]:
        """What is open of the batches before."""
        numbers = self._stacks.open()
        found = []
        for held in self._held:
            places = np.flatnonzero(np.isin(held.numbers, numbers))
            if len(places):
                found.append(Provenance(held.batch, places))
        return found

    def _reached(self) -> list[Provenance]:
        """Complete slices of the batches before, the first to begin first."""
        batches = sorted(self._reaching, key=lambda batch: int(batch.ts.min()))
        self._reaching = []
        return [Provenance(batch, np.arange(len(batch))) for batch in batches]

    def _ends(self) -> Iterator[Batch]:
        """The ends of what is open when the window ends."""
        for origin in reversed(self._still_open()):
            begins = kept_events(self._source, origin.batch, origin.places, _ALWAYS)
            ends = self._closing.ends(begins, self._end)
            if ends is not None:
                self.counts.added += len(ends)
                yield ends


_ALWAYS: Final = Window(None, None)


def _decoded(trace: Trace, batch: Batch, places: NDArray[np.intp]) -> Batch:
    """Some events of a batch, without the rest of it."""
    order = np.argsort(batch.ts[places], kind="stable")
    result = kept_events(trace, batch, places[order], _ALWAYS)
    decode(result)
    return result
