"""Streams of events, each in the order of time, merged into one: for files that have one thread after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Columns of equal length of a part of a stream, with the times first.
Columns = tuple[NDArray[Any], ...]
_LAST = np.iinfo(np.int64).max


def merged_by_time(streams: Sequence[Iterator[Columns]]) -> Iterator[Columns]:
    """Yield the parts of several streams as parts in the order of time; at one time, by the order of streams.

    No part of a stream has an earlier event than the part before. Memory is that of a part of each stream.
    """
    waiting: list[Columns | None] = [next(stream, None) for stream in streams]
    while any(part is not None for part in waiting):
        # Up to here, nothing can come any more but what is waiting.
        until = min(int(part[0][-1]) if len(part[0]) else -_LAST - 1 for part in waiting if part)
        taken: list[Columns] = []
        for number, part in enumerate(waiting):
            if part is None:
                continue
            count = int(np.searchsorted(part[0], until, side="right"))
            if count:
                taken.append(tuple(column[:count] for column in part))
            rest: Columns | None = tuple(column[count:] for column in part)
            while rest is not None and not len(rest[0]):
                rest = next(streams[number], None)
                if rest is not None and len(rest[0]) and int(rest[0][0]) <= until:
                    # Of the same time, and after all of it that others have.
                    same = int(np.searchsorted(rest[0], until, side="right"))
                    taken.append(tuple(column[:same] for column in rest))
                    rest = tuple(column[same:] for column in rest)
            waiting[number] = rest
        if taken:
            columns = [np.concatenate(column) for column in zip(*taken, strict=True)]
            order = np.argsort(columns[0], kind="stable")
            yield tuple(column[order] for column in columns)
