"""One of two traces as it streams: the events that the other has not reached in time, and their fingerprints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import value
from converter.ir.display.text import text_of_fields
from converter.ir.events import Batch, class_label
from converter.ir.fingerprints import Fingerprinter, Fingerprints
from converter.ir.trace import ClockDomain, Trace
from converter.jobs.comparing.differences import Aspect

I64: Final = np.iinfo(np.int64)


class OutOfOrderError(Exception):
    """Raised if an event is earlier than those that have been compared already."""


@dataclass(slots=True)
class Uncompared:
    """Events of one side that are not compared yet: one entry each, by time."""

    ts: NDArray[np.int64]
    place: Fingerprints
    event: Fingerprints
    #: The batch of each, and its position in it.
    batch: NDArray[np.int32]
    position: NDArray[np.int32]

    def take(self, which: NDArray[Any]) -> Uncompared:
        return Uncompared(*(getattr(self, name)[which] for name in _PARTS))

    def joined(self, other: Uncompared) -> Uncompared:
        return Uncompared(*(np.concatenate([getattr(self, n), getattr(other, n)]) for n in _PARTS))


_PARTS = ("ts", "place", "event", "batch", "position")


class Side:
    """One of the traces as it streams."""

    def __init__(self, trace: Trace, aspects: frozenset[Aspect], late: int | None) -> None:
        self.trace = trace
        self.count = 0
        #: By batch, the classes and fingerprints of events without a time.
        self.untimed: list[tuple[NDArray[np.int32], Fingerprints]] = []
        #: The classes that have events.
        self.used: set[int] = set()
        self._late = late
        self._popped = int(I64.min)
        self._aspects = aspects
        self._fingerprints = Fingerprinter(trace)
        self._batches: Iterator[Batch] = trace.batches()
        self._first_ts: int | None = None
        self._number = 0
        self._horizons: list[int] = []
        self.kept: dict[int, Batch] = {}
        none = np.zeros(0, np.int32)
        self.window = Uncompared(
            np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.uint64), none, none
        )
        self.ended = False
        self.labels: dict[int, str] = {}

    def advance(self) -> None:
        """Read a batch."""
        batch = next(self._batches, None)
        if batch is None:
            self.ended = True
            return
        if not len(batch):
            return
        ts = batch.ts
        if Aspect.CLOCK_OFFSET in self._aspects:
            if self._first_ts is None:
                self._first_ts = int(ts[0])
            ts = ts - np.int64(self._first_ts)
        if int(ts.min()) < self._popped:
            raise OutOfOrderError
        self.count += len(batch)
        classes = np.unique(batch.class_id).tolist()
        self.used.update(classes)
        place = self._fingerprints.places(batch)
        if Aspect.PLACES in self._aspects:
            place = np.zeros_like(place)
        new = Uncompared(
            ts,
            place,
            self._fingerprints.events(batch),
            np.full(len(batch), self._number, np.int32),
            np.arange(len(batch), dtype=np.int32),
        )
        untimed = [id for id in classes if not self.trace.event_classes[id].timed]
        if untimed:
            apart = np.isin(batch.class_id, untimed)
            self.untimed.append((batch.class_id[apart], new.place[apart] ^ new.event[apart]))
            new = new.take(~apart)
        self.kept[self._number] = batch
        self._number += 1
        self.window = self.window.joined(new)
        self._horizons.append(int(ts.max()))

    @property
    def horizon(self) -> int:
        """Events before this time have all arrived."""
        if self.ended:
            return int(I64.max)
        if self._late is None or len(self._horizons) <= self._late:
            return int(I64.min)
        return max(self._horizons[: -self._late])

    def pop(self, until: int) -> Uncompared:
        """Remove and return the events before a time, in the order of time, place and arrival."""
        self._popped = until
        taken = self.window.ts <= until if until == I64.max else self.window.ts < until
        part = self.window.take(taken)
        self.window = self.window.take(~taken)
        return part.take(np.lexsort((part.place, part.ts)))

    def release(self) -> None:
        """Free the batches without remaining events."""
        needed = set(np.unique(self.window.batch).tolist())
        for number in list(self.kept):
            if number not in needed:
                del self.kept[number]

    def untimed_events(self) -> Iterator[tuple[str, int]]:
        """Return the label and fingerprint of each event without a time."""
        for classes, fingerprints in self.untimed:
            for number, fingerprint in zip(classes.tolist(), fingerprints.tolist(), strict=True):
                yield self._label(number), fingerprint

    def label(self, batch: Batch, position: int) -> str:
        """Return the kind and name of an event's class."""
        return self._label(int(batch.class_id[position]))

    def _label(self, number: int) -> str:
        if number not in self.labels:
            event_class = self.trace.event_classes[number]
            self.labels[number] = f"{event_class.kind.name.lower()} {class_label(event_class)}"
        return self.labels[number]

    def describe(self, window: Uncompared, index: int) -> str:
        """Return an event as a line."""
        batch = self.kept[int(window.batch[index])]
        position = int(window.position[index])
        number = int(batch.class_id[position])
        event_class = self.trace.event_classes[number]
        values = [item for _, item in self.values(window, index)]
        text = text_of_fields(event_class.fields, values, None)
        thread = int(batch.thread[position])
        location = f"cpu {batch.cpu[position]}" if batch.cpu[position] >= 0 else ""
        if thread >= 0:
            owner = self.trace.threads[thread]
            pid = self.trace.processes[owner.process].pid
            location += f" thread {owner.tid}"
            location += f" of process {pid}" if pid != owner.tid else ""
        if batch.track[position] >= 0:
            location += f" track {self.trace.tracks[batch.track[position]].name}"
        time = _seconds(int(window.ts[index]), self.trace.clock)
        return f"{time} {location.strip()} {class_label(event_class)}: {text}"

    def values(self, window: Uncompared, index: int) -> list[tuple[str, Any]]:
        """Return the fields of an event by name."""
        batch = self.kept[int(window.batch[index])]
        position = int(window.position[index])
        number = int(batch.class_id[position])
        table, row = batch.tables[number], int(batch.row[position])
        return [
            (field.name, value(table.column(i), field.type, row, self.trace.strings))
            for i, field in enumerate(self.trace.event_classes[number].fields)
        ]


def _seconds(ts: int, clock: ClockDomain) -> str:
    """Return a time in seconds, as reports print it; of a clock without a known rate, in ticks."""
    if clock.ticks_per_second is None:
        return f"{ts}"
    nanoseconds = int(ts * 10**9 // clock.ticks_per_second)
    sign = "-" if nanoseconds < 0 else ""
    return f"{sign}{abs(nanoseconds) // 10**9}.{abs(nanoseconds) % 10**9:09d}"
