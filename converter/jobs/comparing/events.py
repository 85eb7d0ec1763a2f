"""Compares the events of two traces, one time range at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import EventClass
from converter.ir.trace import Trace
from converter.jobs.comparing.differences import Aspect, TraceDifference
from converter.jobs.comparing.sides import I64, Side, Uncompared

#: The number of differences that are described individually; all are counted.
SHOWN = 10
#: The number of pairs whose fields are compared; more would add nothing.
_COMPARED = 10_000


class EventComparison:
    """The events of both sides."""

    def __init__(
        self,
        first: Trace,
        second: Trace,
        aspects: frozenset[Aspect],
        result: TraceDifference,
        late: int | None,
    ) -> None:
        self._sides = (Side(first, aspects, late), Side(second, aspects, late))
        self._result = result
        self._compared = 0

    def run(self) -> None:
        one, other = self._sides
        while not (one.ended and other.ended):
            lagging = one if (one.horizon, one.ended) <= (other.horizon, other.ended) else other
            if lagging.ended:
                lagging = other if lagging is one else one
            lagging.advance()
            until = min(one.horizon, other.horizon)
            if until > I64.min:
                self._compare(one.pop(until), other.pop(until))
                one.release()
                other.release()
        self._compare(one.pop(I64.max), other.pop(I64.max))
        self._compare_untimed()
        self._result.events = (one.count, other.count)

    def _compare_untimed(self) -> None:
        """Compare the events of untimed classes, which have their own order, that of the trace."""
        first, second = ([*side.untimed_events()] for side in self._sides)
        if first == second:
            return
        missing, added = Counter(first) - Counter(second), Counter(second) - Counter(first)
        for (label, _), count in missing.items():
            self._result.of_class(label).only_first += count
        for (label, _), count in added.items():
            self._result.of_class(label).only_second += count
        if not missing and not added:
            for one, other in zip(first, second, strict=True):
                if one != other:
                    self._result.of_class(one[0]).fields["(order)"] += 1

    def classes(self) -> tuple[list[EventClass], list[EventClass]]:
        """Return the classes of both sides that have events."""
        one, other = ([side.trace.event_classes[id] for id in side.used] for side in self._sides)
        return one, other

    def _compare(self, first: Uncompared, second: Uncompared) -> None:
        """Compare the events of both sides in a time range."""
        if (
            len(first.ts) == len(second.ts)
            and np.array_equal(first.ts, second.ts)
            and np.array_equal(first.place, second.place)
            and np.array_equal(first.event, second.event)
        ):
            return
        only_first, only_second = _unmatched(first, second), _unmatched(second, first)
        self._report(first.take(only_first), second.take(only_second))
        if not len(only_first) and not len(only_second):
            # The same events, in another order at equal times on the same CPU, thread and track.
            swapped = np.flatnonzero(first.event != second.event)
            one = self._sides[0]
            for index in swapped.tolist():
                batch = one.kept[int(first.batch[index])]
                label = one.label(batch, int(first.position[index]))
                self._result.of_class(label).fields["(order)"] += 1
            if len(swapped):
                self._show(
                    lambda: f"order differs from here: {one.describe(first, int(swapped[0]))}"
                )

    def _report(self, first: Uncompared, second: Uncompared) -> None:
        one, other = self._sides
        waiting: dict[tuple[int, int, str], list[int]] = {}
        for index in range(len(second.ts)):
            batch = other.kept[int(second.batch[index])]
            key = self._key(second, index, other.label(batch, int(second.position[index])))
            waiting.setdefault(key, []).append(index)
        for index in range(len(first.ts)):
            batch = one.kept[int(first.batch[index])]
            label = one.label(batch, int(first.position[index]))
            pairs = waiting.get(self._key(first, index, label))
            if pairs:
                self._report_pair(label, first, index, second, pairs.pop(0))
            else:
                self._result.of_class(label).only_first += 1
                self._show(partial(_line, "only in the first", one, first, index))
        for (_, _, label), left in waiting.items():
            for index in left:
                self._result.of_class(label).only_second += 1
                self._show(partial(_line, "only in the second", other, second, index))

    def _key(self, window: Uncompared, index: int, label: str) -> tuple[int, int, str]:
        return int(window.ts[index]), int(window.place[index]), label

    def _report_pair(
        self, label: str, first: Uncompared, index: int, second: Uncompared, other_index: int
    ) -> None:
        one, other = self._sides
        entry = self._result.of_class(label)
        entry.changed += 1
        self._compared += 1
        if self._compared <= _COMPARED:
            entry.fields.update(
                _differing(one.values(first, index), other.values(second, other_index))
            )
        self._show(
            lambda: (
                f"{_line('changed', one, first, index)}\n"
                f"{_line('     to', other, second, other_index)}"
            )
        )

    def _show(self, text: Callable[[], str]) -> None:
        if len(self._result.first) < SHOWN:
            self._result.first.append(text())


def _line(what: str, side: Side, window: Uncompared, index: int) -> str:
    return f"{what}: {side.describe(window, index)}"


def _unmatched(window: Uncompared, other: Uncompared) -> NDArray[np.intp]:
    """Return the entries of a window that the other lacks, respecting how often each occurs."""
    keys = np.stack([window.ts.view(np.uint64), window.place, window.event], axis=1)
    others = np.stack([other.ts.view(np.uint64), other.place, other.event], axis=1)
    _, number = np.unique(np.concatenate([keys, others]), axis=0, return_inverse=True)
    number = number.reshape(-1)
    mine, theirs = number[: len(keys)], number[len(keys) :]
    counts = np.bincount(theirs, minlength=int(number.max(initial=-1)) + 1)
    order = np.argsort(mine, kind="stable")
    ordered = mine[order]
    # The number of equal entries before each.
    starts = np.searchsorted(ordered, ordered)
    rank = np.empty(len(mine), np.int64)
    rank[order] = np.arange(len(mine)) - starts
    return np.flatnonzero(rank >= counts[mine])


def _differing(first: list[tuple[str, Any]], second: list[tuple[str, Any]]) -> set[str]:
    one, other = dict(first), dict(second)
    # Compare as text, which distinguishes 1 from true and -0.0 from 0.0.
    return {
        name
        for name in one.keys() | other.keys()
        if name not in one or name not in other or repr(one[name]) != repr(other[name])
    } or {"(order of fields)"}
