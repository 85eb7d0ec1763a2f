"""Switches of threads as Perfetto's JSON importer takes them: states "Running" that last until the CPU's next switch.

How long that is, is only known at the next switch, which may be in a later batch. The text then has room for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from converter.sink import Sink

#: A duration that is not known yet.
UNKNOWN = -1
#: Room for a duration, in characters (the emitter's placeholder).
_ROOM = 20


@dataclass(slots=True)
class Durations:
    """How long the thread of each switch runs; remembers the last switch of each CPU."""

    _open: dict[int, tuple[int, int]] = field(default_factory=dict)
    _waiting: list[tuple[int, int]] = field(default_factory=list)

    def of_batch(
        self, cpu: NDArray[np.int32], ts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], list[tuple[int, int]]]:
        """Durations of the switches of a batch, in its order, and (place in the output, duration) of earlier ones.

        `UNKNOWN` ones must be told the place of their text by `place`, in the same order.
        """
        result = np.full(len(cpu), UNKNOWN, np.int64)
        order = np.argsort(cpu, kind="stable")
        ordered_cpu, ordered_ts = cpu[order], ts[order]
        same = ordered_cpu[1:] == ordered_cpu[:-1]
        result[order[:-1][same]] = np.maximum(ordered_ts[1:] - ordered_ts[:-1], 0)[same]
        known = []
        firsts = np.flatnonzero(np.concatenate([[True], ~same])) if len(cpu) else order
        for first in firsts.tolist():
            number = int(ordered_cpu[first])
            if number in self._open:
                place, since = self._open.pop(number)
                known.append((place, max(int(ordered_ts[first]) - since, 0)))
        # Switches on no known CPU end at once, as nothing ends them.
        result[(cpu < 0) & (result == UNKNOWN)] = 0
        last = np.flatnonzero(result == UNKNOWN)
        self._waiting = [(int(cpu[i]), int(ts[i])) for i in last.tolist()]
        return result, known

    def place(self, places: list[int]) -> None:
        """Where in the output the durations of the batch stand that are not known yet."""
        for (number, since), place in zip(self._waiting, places, strict=True):
            self._open[number] = (place, since)
        self._waiting = []

    def rest(self, end: int) -> list[tuple[int, int]]:
        """(place, duration) of all that no switch ends, when the trace ends at `end`."""
        return [(place, max(end - since, 0)) for place, since in self._open.values()]

    def earliest(self) -> int | None:
        """The first place in the output that is not known yet."""
        return min((place for place, _ in self._open.values()), default=None)


class Patched:
    """Output of which some durations are filled in later: in place where the sink can, else it is held back."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._held: list[bytearray] = []
        self._start = sink.tell()

    def tell(self) -> int:
        """The place in the output of what is written next."""
        return self._start + sum(map(len, self._held)) if self._held else self._sink.tell()

    def write(self, data: bytes | bytearray | memoryview, *, hold: bool) -> None:
        """Append. With `hold`, or behind what is held, and in a stream, it waits for `release`."""
        if (hold or self._held) and not self._sink.seekable:
            if not self._held:
                self._start = self._sink.tell()
            self._held.append(bytearray(data))
        else:
            self._sink.write(data)

    def patch(self, place: int, text: bytes) -> None:
        """Fill in a duration."""
        text = text.ljust(_ROOM)
        if not self._held:
            self._sink.write_at(place, text)
            return
        at = place - self._start
        for chunk in self._held:
            if at < len(chunk):
                chunk[at : at + _ROOM] = text
                return
            at -= len(chunk)

    def release(self, before: int | None) -> None:
        """Pass on what ends before a place, or everything."""
        while self._held and (before is None or self._start + len(self._held[0]) <= before):
            chunk = self._held.pop(0)
            self._sink.write(chunk)
            self._start += len(chunk)
