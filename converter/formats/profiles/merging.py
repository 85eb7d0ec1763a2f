"""Streams of events, each in the order of time, merged into one: for files that have one thread after the other."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Columns of equal length of a part of a stream, with the times first.
Columns = tuple[NDArray[Any], ...]
#: Events that are yielded together at least, but for the last.
_ENOUGH = 1 << 14


def merged_by_time(streams: Sequence[Iterator[Columns]]) -> Iterator[Columns]:
    """Yield the parts of several streams as parts in the order of time; at one time, by the order of streams.

    No part of a stream has an earlier event than the part before. Memory is that of a part of each stream.
    """
    waiting: dict[int, Columns] = {}
    #: The first and the last time of each part that waits, with the number of its stream.
    firsts: list[tuple[int, int]] = []
    lasts: list[tuple[int, int]] = []

    def wait(number: int, part: Columns | None, *, is_rest: bool = False) -> None:
        while part is not None and not len(part[0]):
            part, is_rest = next(streams[number], None), False
        if part is not None:
            waiting[number] = part
            heapq.heappush(firsts, (int(part[0][0]), number))
            if not is_rest:
                heapq.heappush(lasts, (int(part[0][-1]), number))

    for number in range(len(streams)):
        wait(number, next(streams[number], None))
    taken: list[Columns] = []
    count = 0
    while firsts:
        # Up to here, nothing can come any more but what is waiting.
        until = lasts[0][0]
        pieces: list[tuple[int, Columns]] = []
        while firsts and firsts[0][0] <= until:
            number = heapq.heappop(firsts)[1]
            part = waiting.pop(number)
            size = int(np.searchsorted(part[0], until, side="right"))
            pieces.append((number, tuple(column[:size] for column in part)))
            count += size
            wait(number, tuple(column[size:] for column in part), is_rest=True)
        while lasts and lasts[0][0] <= until:
            heapq.heappop(lasts)
        pieces.sort(key=itemgetter(0))
        taken += (piece for _, piece in pieces)
        if count >= _ENOUGH or not firsts:
            columns = [np.concatenate(column) for column in zip(*taken, strict=True)]
            order = np.argsort(columns[0], kind="stable")
            yield tuple(column[order] for column in columns)
            taken, count = [], 0
