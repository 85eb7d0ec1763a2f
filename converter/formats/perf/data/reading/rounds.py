"""Records in the order of time: those of each CPU are ordered in the file, and rounds say what is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perf.data.reading.records import Rows
from converter.limits import limit

#: Records that wait before it is worth sorting them.
_WORTH: Final = 1 << 16
#: Bytes of records of one batch.
_BATCH_BYTES: Final = 1 << 26
_LAST: Final = np.iinfo(np.int64).max


@dataclass(slots=True)
class Ordered:
    """Records in the order of time; `location` has the number of a segment in its upper 32 bits, and the offset."""

    segments: list[NDArray[np.uint8]]
    ts: NDArray[np.int64]
    code: NDArray[np.int32]
    thread: NDArray[np.int32]
    cpu: NDArray[np.int32]
    location: NDArray[np.int64]
    size: NDArray[np.uint32]


def in_order(
    stream: Iterator[Rows], most_events: int, out_of_order: Callable[[], None]
) -> Iterator[Ordered]:
    """Yield the records of windows in the order of time, as perf does; at equal times as in the file.

    A record without a time comes before all that wait, as perf handles it at once.

    Args:
        stream: the windows.
        most_events: events of a batch.
        out_of_order: called where too many records wait for the end of a round: half of them go on.

    """
    waiting = _Waiting()
    for rows in stream:
        waiting.add(rows)
        too_many = waiting.held > limit("perf.round")
        if too_many and waiting.count_up_to(rows.complete) * 2 < waiting.count:
            out_of_order()
            yield from _batches(waiting.take_half(), most_events)
            continue
        if waiting.count >= _WORTH and waiting.is_worth(rows.complete):
            yield from _batches(waiting.take(rows.complete), most_events)
    yield from _batches(waiting.take(_LAST), most_events)


class _Waiting:
    """Records that wait for earlier ones."""

    def __init__(self) -> None:
        self._rows: list[Rows] = []
        self.count = 0
        self.held = 0
        self._taken_up_to = -2

    def add(self, rows: Rows) -> None:
        self._rows.append(rows)
        self.count += len(rows)
        self.held += int(rows.size.sum(dtype=np.int64))

    def is_worth(self, complete: int) -> bool:
        """Return True if more is complete than when the last records were taken."""
        return complete > self._taken_up_to

    def count_up_to(self, time: int) -> int:
        return sum(int(np.count_nonzero(rows.ts <= time)) for rows in self._rows)

    def take_half(self) -> Ordered:
        """Take the earlier half."""
        times = np.concatenate([rows.ts for rows in self._rows])
        return self.take(int(np.partition(times, len(times) // 2)[len(times) // 2]))

    def take(self, time: int) -> Ordered:
        """Take the records up to a time."""
        self._taken_up_to = time
        rows, self._rows = self._rows, []
        self.count = self.held = 0
        taken: list[Rows] = []
        for one in rows:
            ready = one.ts <= time
            if ready.all():
                taken.append(one)
            elif ready.any():
                taken.append(_some(one, ready))
                self.add(_some(one, ~ready))
            else:
                self.add(one)
        return _sorted(taken)


def _some(rows: Rows, chosen: NDArray[np.bool_]) -> Rows:
    return Rows(
        rows.segment,
        rows.ts[chosen],
        rows.code[chosen],
        rows.thread[chosen],
        rows.cpu[chosen],
        rows.start[chosen],
        rows.size[chosen],
        rows.complete,
    )


def _sorted(rows: list[Rows]) -> Ordered:
    segments: list[NDArray[np.uint8]] = []
    locations = [np.zeros(0, np.int64)]
    for one in rows:
        if not segments or one.segment is not segments[-1]:
            segments.append(one.segment)
        locations.append(one.start.astype(np.int64) | (len(segments) - 1) << 32)
    ts = np.concatenate([np.zeros(0, np.int64), *(one.ts for one in rows)])
    code, thread, cpu = (
        np.concatenate([np.zeros(0, np.int32), *(getattr(one, name) for one in rows)])
        for name in ("code", "thread", "cpu")
    )
    size = np.concatenate([np.zeros(0, np.uint32), *(one.size for one in rows)])
    location = np.concatenate(locations)
    if (ts[1:] < ts[:-1]).any():
        order = np.argsort(ts, kind="stable")
        ts, code, thread, cpu = ts[order], code[order], thread[order], cpu[order]
        location, size = location[order], size[order]
    return Ordered(segments, ts, code, thread, cpu, location, size)


def _batches(whole: Ordered, most_events: int) -> Iterator[Ordered]:
    """Yield parts of the size of a batch, each with the segments that it needs."""
    ends = np.cumsum(whole.size, dtype=np.int64)
    start = 0
    while start < len(whole.ts):
        before = int(ends[start - 1]) if start else 0
        by_size = int(np.searchsorted(ends, before + _BATCH_BYTES, side="right"))
        end = min(start + most_events, max(by_size, start + 1))
        location = whole.location[start:end]
        used, place = np.unique(location >> 32, return_inverse=True)
        yield Ordered(
            [whole.segments[number] for number in used.tolist()],
            whole.ts[start:end],
            whole.code[start:end],
            whole.thread[start:end],
            whole.cpu[start:end],
            (location & 0xFFFF_FFFF) | place.astype(np.int64) << 32,
            whole.size[start:end],
        )
        start = end
