"""What is open, holds, or waits, as batches pass: whose it is, and the events that began it."""

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

#: Batches that are kept whole for what they began; of older ones only the events that are still open are.
_WHOLE: Final = 3
_NOWHERE: Final = np.zeros(0, np.intp)


@dataclass(slots=True)
class Provenance:
    """Where the events of a batch come from: the batch that was read, and the places in it."""

    batch: Batch
    places: NDArray[np.intp]

    def events(self) -> Batch:
        """Those events."""
        return self.batch.select(self.places)


@dataclass(slots=True)
class _Held:
    """Events that may be open: a batch, whose events are numbered from `first` unless their numbers are given."""

    batch: Batch
    first: int
    numbers: NDArray[np.int64] | None = None

    def places(self, numbers: NDArray[np.int64]) -> NDArray[np.intp]:
        """Where in the batch events are that have one of these numbers, which ascend."""
        if self.numbers is not None:
            at = np.minimum(np.searchsorted(numbers, self.numbers), len(numbers) - 1)
            return np.flatnonzero(numbers[at] == self.numbers) if len(numbers) else _NOWHERE
        start, end = np.searchsorted(numbers, [self.first, self.first + len(self.batch)])
        return numbers[start:end] - self.first


class OpenEvents:
    """Events are numbered in the order in which they come. Owner 0 is nobody, whose events are not kept."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._stacks = Stacks()
        self._wakeups = PendingWakeups(trace)
        #: What began and is still open.
        self._held: list[_Held] = []
        #: The number of the first event of the batch that is being read.
        self.first = 0

    def follow(self, steps: Steps, owner: NDArray[np.int32]) -> Closed:
        """Go on with some steps of a batch, each event of which has an owner."""
        return self._stacks.follow(
            steps.lane,
            steps.step,
            steps.name,
            self.first + steps.at.astype(np.int64),
            owner[steps.at],
        )

    def follow_wakeups(
        self, batch: Batch, owner: NDArray[np.int32], among: NDArray[np.bool_]
    ) -> bool:
        """Go on with some events of a batch that may be wakeups; whether any are pending."""
        self._wakeups.follow(batch, self.first, owner, among)
        return bool(len(self._wakeups.open()))

    def _numbers(self) -> NDArray[np.int64]:
        """The numbers, ascending, of what is open, holds, or waits."""
        numbers, _ = self._stacks.open()
        wakeups = self._wakeups.open()
        # An event is in one of them. `union1d` has NumPy load its masked arrays, which takes longer than a small part.
        return np.sort(np.concatenate([numbers, wakeups])) if len(wakeups) else numbers

    def places_in(self, batch: Batch) -> NDArray[np.intp]:
        """Where in the batch that is being read events are that are open, so far."""
        numbers = self._numbers()
        found: NDArray[np.intp] = numbers[numbers >= self.first] - self.first
        return found[found < len(batch)]

    def hold(self, batch: Batch) -> None:
        """Keep a batch for what is open of it. Of older ones only that is kept, so that memory is bounded."""
        self._held.append(_Held(batch, self.first))
        numbers = self._numbers()
        held = []
        for age, one in enumerate(reversed(self._held)):
            places = one.places(numbers)
            if not len(places):
                continue
            if age >= _WHOLE and one.numbers is None:
                held.append(_Held(decoded(one.batch, places), one.first, one.first + places))
            else:
                held.append(one)
        self._held = held[::-1]

    def still_open(self) -> list[Provenance]:
        """What is open of the batches that are held."""
        numbers = self._numbers()
        found = []
        for held in self._held:
            places = held.places(numbers)
            if len(places):
                found.append(Provenance(held.batch, places))
        return found


def decoded(batch: Batch, places: NDArray[np.intp]) -> Batch:
    """Some events of a batch, without the rest of it."""
    result = batch.select(places)
    decode(result)
    return result
