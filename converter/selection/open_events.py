"""Tracks what is open, current, or pending as batches pass: its owner, and the events that began it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch, decode
from converter.ir.trace import Trace
from converter.selection.pending_wakeups import PendingWakeups
from converter.selection.stacks import Closed, Stacks
from converter.selection.steps import Steps

#: The number of recent batches that are kept whole; of older ones only the events that are still open are kept.
_WHOLE: Final = 3
_NOWHERE: Final = np.zeros(0, np.intp)


@dataclass(slots=True)
class Provenance:
    """The origin of the events of a batch: the batch that was read, and their positions in it."""

    batch: Batch
    places: NDArray[np.intp]

    def events(self) -> Batch:
        """Return those events."""
        return self.batch.select(self.places)


@dataclass(slots=True)
class _Held:
    """Events that may be open: a batch, whose events are numbered from `first` unless their numbers are given."""

    batch: Batch
    first: int
    numbers: NDArray[np.int64] | None = None

    def places(self, numbers: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the positions in the batch of the events with these numbers, which must ascend."""
        if self.numbers is not None:
            at = np.minimum(np.searchsorted(numbers, self.numbers), len(numbers) - 1)
            return np.flatnonzero(numbers[at] == self.numbers) if len(numbers) else _NOWHERE
        start, end = np.searchsorted(numbers, [self.first, self.first + len(self.batch)])
        return numbers[start:end] - self.first


class OpenEvents:
    """The open events of a trace. Events are numbered in the order of reading. Events with owner 0 have none, and are
    not kept.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._stacks = Stacks()
        self._wakeups = PendingWakeups(trace)
        #: Begins that are still open.
        self._held: list[_Held] = []
        #: The number of the first event of the batch that is being read.
        self.first = 0

    def follow(self, steps: Steps, owner: NDArray[np.int32]) -> Closed:
        """Apply some steps of a batch, each event of which has an owner."""
        return self._stacks.follow(
            steps.lane,
            steps.step,
            steps.name,
            self.first + steps.at.astype(np.int64),
            owner[steps.at],
        )

    def follow_wakeups(
        self, batch: Batch, owner: NDArray[np.int32], considered: NDArray[np.bool_]
    ) -> bool:
        """Process some events of a batch that may be wakeups; return True if any are pending."""
        self._wakeups.follow(batch, self.first, owner, considered)
        return bool(len(self._wakeups.open()))

    def _numbers(self) -> NDArray[np.int64]:
        """Return the numbers, ascending, of the events that are open, current, or pending."""
        numbers, _ = self._stacks.open()
        wakeups = self._wakeups.open()
        # An event is in only one of them. `union1d` makes NumPy import its masked arrays, which takes longer than a
        # small part.
        return np.sort(np.concatenate([numbers, wakeups])) if len(wakeups) else numbers

    def places_in(self, batch: Batch) -> NDArray[np.intp]:
        """Return the positions of events in the batch being read that are open so far."""
        numbers = self._numbers()
        found: NDArray[np.intp] = numbers[numbers >= self.first] - self.first
        return found[found < len(batch)]

    def hold(self, batch: Batch) -> None:
        """Keep a batch for its open events. Older batches are reduced to theirs, so that memory is bounded."""
        self._held.append(_Held(batch, self.first))
        numbers = self._numbers()
        held = []
        for age, one in enumerate(reversed(self._held)):
            positions = one.places(numbers)
            if not len(positions):
                continue
            if age >= _WHOLE and one.numbers is None:
                held.append(_Held(decoded(one.batch, positions), one.first, one.first + positions))
            else:
                held.append(one)
        self._held = held[::-1]

    def still_open(self) -> list[Provenance]:
        """Return the events of the held batches that are still open."""
        numbers = self._numbers()
        found = []
        for held in self._held:
            positions = held.places(numbers)
            if len(positions):
                found.append(Provenance(held.batch, positions))
        return found


def decoded(batch: Batch, positions: NDArray[np.intp]) -> Batch:
    """Return some events of a batch, decoded, so that the rest of it can be freed."""
    result = batch.select(positions)
    decode(result)
    return result
