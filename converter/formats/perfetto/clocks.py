"""Clocks: converts times from a packet's clock to the trace's, with snapshots (clock_snapshot.proto)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.layout import SEQUENCE_CLOCKS, BuiltinClock
from converter.formats.perfetto.mapping import CLOCK_NAMES
from converter.ir.distinct_values import values_of
from converter.ir.trace import ClockDomain, known_epoch

#: A clock: (packet sequence, clock id); the sequence is 0 for clocks that all sequences share.
ClockKey = tuple[int, int]

#: Readings of two clocks, by the first of them, and the positions of their packets: only later packets are after them.
Edge = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def clock_key(sequence: int, clock: int) -> ClockKey:
    """Return the clock that an id means in packets of a sequence."""
    return (sequence if clock in SEQUENCE_CLOCKS else 0, clock)


def wrapped(value: int) -> int:
    """Return a 64-bit number as an int64."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


class Clocks:
    """The snapshots of a trace: simultaneous readings of several clocks."""

    def __init__(self) -> None:
        self._snapshots: list[dict[ClockKey, int]] = []
        self._positions: list[int] = []
        self._primary = 0
        self._routes: dict[ClockKey, list[Edge] | None] = {}
        self._used: dict[int, None] = {}

    def add(self, sequence: int, snapshot: dict[str, Any], position: int = 0) -> None:
        """Add a decoded ClockSnapshot, whose packet is at a position among all."""
        readings: dict[ClockKey, int] = {}
        for clock in snapshot.get("clocks", ()):
            if "clock_id" in clock:
                multiplier = clock.get("unit_multiplier_ns", 0) or 1
                key = clock_key(sequence, clock["clock_id"])
                readings[key] = wrapped(clock.get("timestamp", 0) * multiplier)
        if readings:
            self._snapshots.append(readings)
            self._positions.append(position)
        if not self._primary:
            self._primary = snapshot.get("primary_trace_clock", 0)

    @property
    def trace_clock(self) -> int:
        """The id of the clock of the trace's times."""
        return self._primary or BuiltinClock.BOOTTIME

    def convert(
        self, key: ClockKey, ts: NDArray[np.int64], positions: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64] | None:
        """Convert times of a clock, in nanoseconds, to the trace's clock; None if no snapshot relates them.

        A time is shifted by the difference in the last snapshot before it (or the first, for times before all).
        Importers do not know snapshots after the packet of a time; all count without the `positions` of packets.
        """
        if key == (0, self.trace_clock):
            return ts
        if key not in self._routes:
            self._routes[key] = self._route(key)
        route = self._routes[key]
        if route is None:
            return None
        for source, target, packets in route:
            count = np.searchsorted(source, ts, side="right")
            if positions is not None:
                count = np.minimum(count, np.searchsorted(packets, positions))
            ts = ts + (target - source)[np.clip(count - 1, 0, None)]
        return ts

    def invert(self, key: ClockKey, ts: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return times of a clock that `convert` maps to these times of the trace; None if no snapshot relates them.

        Where a clock was set back, several times map to one, and one of them is returned; where it was set forward,
        none does, and the first snapshot's difference counts.
        """
        if self.convert(key, ts[:0]) is None:
            return None
        for source, target, _ in reversed(self._routes.get(key) or ()):
            differences = target - source
            result = ts - differences[0]
            for difference in values_of(differences):
                before = ts - difference
                index = np.clip(np.searchsorted(source, before, side="right") - 1, 0, None)
                result = np.where(differences[index] == difference, before, result)
            ts = result
        return ts

    def domain(self) -> ClockDomain:
        """Return the trace's clock."""
        clock = self.trace_clock
        return ClockDomain(_name(clock), epoch_ns=self._epoch((0, clock)))

    def others(self) -> list[ClockDomain]:
        """Return the other clocks that all sequences share and snapshots contain, by id."""
        keys = {key for snapshot in self._snapshots for key in snapshot if key[0] == 0}
        keys.discard((0, self.trace_clock))
        return [ClockDomain(_name(key[1]), epoch_ns=self._epoch(key)) for key in sorted(keys)]

    def _epoch(self, key: ClockKey) -> int | None:
        real = (0, int(BuiltinClock.REALTIME))
        if key == real:
            return 0
        for snapshot in self._snapshots:
            if key in snapshot and real in snapshot:
                return known_epoch(snapshot[real] - snapshot[key])
        return None

    def _route(self, key: ClockKey) -> list[Edge] | None:
        """Return the shortest chain of clocks to the trace's in which neighbours were read together."""
        goal = (0, self.trace_clock)
        came_from: dict[ClockKey, ClockKey | None] = {key: None}
        frontier = [key]
        while frontier and goal not in came_from:
            following = []
            for here in frontier:
                for there in self._neighbours(here):
                    if there not in came_from:
                        came_from[there] = here
                        following.append(there)
            frontier = following
        if goal not in came_from:
            return None
        route: list[Edge] = []
        there = goal
        while (before := came_from[there]) is not None:
            route.insert(0, self._edge(before, there))
            there = before
        return route

    def _neighbours(self, key: ClockKey) -> Iterator[ClockKey]:
        for snapshot in self._snapshots:
            if key in snapshot:
                yield from snapshot

    def _edge(self, source: ClockKey, target: ClockKey) -> Edge:
        found = [
            (snapshot[source], snapshot[target], position)
            for snapshot, position in zip(self._snapshots, self._positions, strict=True)
            if source in snapshot and target in snapshot
        ]
        table = np.array(found, np.int64).reshape(-1, 3)
        table = table[np.argsort(table[:, 0], kind="stable")]
        return table[:, 0].copy(), table[:, 1].copy(), np.maximum.accumulate(table[:, 2])


def _name(clock: int) -> str:
    return CLOCK_NAMES.get(clock, f"clock {clock}")
