"""The call trees that a Chrome JSON file has, from the projected trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from viewers.chrome_model import Clock, clock_of
from viewers.conversions import Conversion

from converter.ir.kinds import Kind, Role

_ID = 0xFFFF_FFFF

Row = tuple[Kind, int, int | None]


@dataclass
class Calls:
    """The slices of a thread: how many are open at a time, and ends and begins without the other."""

    depth: int = 0
    #: The depth where all that begins at a time comes before what ends then.
    most: int = 0
    orphans: int = 0
    unfinished: int = 0


def trees(conversion: Conversion) -> dict[tuple[int, int], Calls]:
    """What each thread that has slices calls; an end is that of the innermost slice."""
    found: dict[tuple[int, int], Calls] = {}
    clock = clock_of(conversion)
    for place, rows in _slices(conversion, clock).items():
        calls = found[place] = Calls()
        calls.depth, calls.orphans, calls.unfinished = _followed(rows)
        edges = sorted(_edges(rows))
        calls.most = max(accumulate(step for *_, step in edges)) if edges else 0
    return found


def _slices(conversion: Conversion, clock: Clock) -> dict[tuple[int, int], list[Row]]:
    """Kind, time and end of the slices of each thread, in the order of time."""
    found: dict[tuple[int, int], list[Row]] = {}
    for event in sorted(conversion.events, key=lambda event: clock(event.ts)):
        if event.kind not in (Kind.SLICE_BEGIN, Kind.SLICE_END, Kind.SLICE_COMPLETE):
            continue
        assert event.thread is not None
        ts = clock(event.ts)
        complete = event.kind is Kind.SLICE_COMPLETE
        end = ts + clock.between(0, event.of(Role.DURATION)) if complete else None
        place = (event.thread.pid & _ID, event.thread.tid & _ID)
        found.setdefault(place, []).append((event.kind, ts, end))
    return found


def _followed(rows: list[Row]) -> tuple[int, int, int]:
    """The depth, and the numbers of ends and of begins without the other."""
    depth, orphans = 0, 0
    #: The ends of what is open, None where another event says it.
    stack: list[int | None] = []
    for kind, ts, end in rows:
        while stack and (last := stack[-1]) is not None and last <= ts:
            stack.pop()
        if kind is not Kind.SLICE_END:
            stack.append(end)
            depth = max(depth, len(stack))
        elif stack:
            stack.pop()
        else:
            orphans += 1
    return depth, orphans, sum(end is None for end in stack)


def _edges(rows: list[Row]) -> Iterator[tuple[int, int, int]]:
    """Time, order at that time, and what it adds to the depth, of each begin and end that is one of a begin."""
    depth = 0
    for kind, ts, end in rows:
        if kind is Kind.SLICE_END:
            if depth:
                depth -= 1
                yield ts, 1, -1
            continue
        yield ts, 0, 1
        if end is None:
            depth += 1
        else:
            yield end, 1, -1
