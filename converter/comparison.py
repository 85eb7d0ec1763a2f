"""Comparing two traces, of whichever formats, in the representation.

Both are streamed side by side; what is kept of each is a window of events that the other has not reached in time. Two
events are the same when their fingerprints are (see `converter.ir.fingerprints`). Of the events that only one side
has, those at the same time in the same place of classes of the same name are pairs, whose fields are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum, unique
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.conversion import open_trace
from converter.ir.columns import value
from converter.ir.events import Batch
from converter.ir.fingerprints import Fingerprinter, Fingerprints
from converter.ir.forms import class_form
from converter.ir.text import class_label, text_of_fields
from converter.ir.trace import Trace
from converter.storage.opening import SourceArgument

#: The differences that are described one by one; all are counted.
SHOWN = 10
#: Pairs whose fields are compared; more only tell the same.
_COMPARED = 10_000
#: Batches that may arrive late: events are in the order of time within so many, or all are kept.
_LATE = 2

_I64 = np.iinfo(np.int64)


@unique
class Aspect(StrEnum):
    """What a comparison may leave out."""

    #: Where the clock's zero is, and what its rate and name are: times count from the first event.
    CLOCK_OFFSET = "clock-offset"
    #: The sidecars.
    NATIVE = "native"
    #: Names of processes and threads, and who has no events.
    NAMES = "names"
    #: What the environment says.
    ENVIRONMENT = "environment"
    #: How classes declare their fields: types, units, roles.
    TYPES = "types"
    #: On which CPU, thread and track events are.
    PLACES = "places"


@dataclass(slots=True)
class ClassDifference:
    """The events of one class: how many only one side has, how many differ, and in which fields."""

    only_first: int = 0
    only_second: int = 0
    changed: int = 0
    fields: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class TraceDifference:
    """How two traces differ; false where they do not.

    `tables` has a line for each difference outside the events, `classes` is by label, `first` has a description of
    each of the first differences.
    """

    events: tuple[int, int] = (0, 0)
    tables: list[str] = field(default_factory=list)
    classes: dict[str, ClassDifference] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.tables or self.classes)

    def __repr__(self) -> str:
        """One line: how much differs."""
        if not self:
            return f"<TraceDifference: none, of {self.events[0]:,} events>"
        first, second = self.events
        return (
            f"<TraceDifference of {first:,} and {second:,} events: "
            f"{len(self.classes)} classes, {len(self.tables)} lines of tables>"
        )

    def of_class(self, label: str) -> ClassDifference:
        """The entry of a class, made when it is not there."""
        return self.classes.setdefault(label, ClassDifference())


def diff(
    first: Trace | SourceArgument, second: Trace | SourceArgument, ignore: Collection[str] = ()
) -> TraceDifference:
    """Compare two traces.

    Args:
        first: one trace, whose batches are read, or an input as `open_trace` takes it.
        second: the other.
        ignore: values of `Aspect`.

    Raises:
        ValueError: there is no such aspect.
        TraceError: as `open_trace` and `Trace.batches` do.

    """
    aspects = frozenset(Aspect(name) for name in ignore)
    with ExitStack() as opened:
        one, other = (
            trace if isinstance(trace, Trace) else opened.enter_context(open_trace(trace))
            for trace in (first, second)
        )
        return _difference(one, other, aspects)


def _difference(first: Trace, second: Trace, aspects: frozenset[Aspect]) -> TraceDifference:
    result = TraceDifference()
    comparison = _Comparison(first, second, aspects, result, late=_LATE)
    try:
        comparison.run()
    except _OutOfOrderError:
        # Rare enough for reading again, and for keeping all.
        result = TraceDifference()
        comparison = _Comparison(first, second, aspects, result, late=None)
        comparison.run()
    _compare_tables(first, second, aspects, result)
    if Aspect.TYPES not in aspects:
        _compare_sets("event class", *comparison.declarations(), result)
    return result


class _OutOfOrderError(Exception):
    """An event is earlier than what has been compared already."""


@dataclass(slots=True)
class _Window:
    """Events of one side that are not compared yet: one entry each, by time."""

    ts: NDArray[np.int64]
    place: Fingerprints
    event: Fingerprints
    #: Which batch, and which position in it.
    batch: NDArray[np.int32]
    position: NDArray[np.int32]

    def take(self, which: NDArray[Any]) -> _Window:
        return _Window(*(getattr(self, name)[which] for name in _WINDOW_PARTS))

    def joined(self, other: _Window) -> _Window:
        return _Window(
            *(np.concatenate([getattr(self, n), getattr(other, n)]) for n in _WINDOW_PARTS)
        )


_WINDOW_PARTS = ("ts", "place", "event", "batch", "position")


class _Side:
    """One of the traces as it streams."""

    def __init__(self, trace: Trace, aspects: frozenset[Aspect], late: int | None) -> None:
        self.trace = trace
        self.count = 0
        #: By batch, the classes and fingerprints of events without a time.
        self.untimed: list[tuple[NDArray[np.int32], Fingerprints]] = []
        #: The classes that have events.
        self.used: set[int] = set()
        self._late = late
        self._popped = int(_I64.min)
        self._aspects = aspects
        self._fingerprints = Fingerprinter(trace)
        self._batches: Iterator[Batch] = trace.batches()
        self._first_ts: int | None = None
        self._number = 0
        self._horizons: list[int] = []
        self.kept: dict[int, Batch] = {}
        none = np.zeros(0, np.int32)
        self.window = _Window(
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
            raise _OutOfOrderError
        self.count += len(batch)
        classes = np.unique(batch.class_id).tolist()
        self.used.update(classes)
        place = self._fingerprints.places(batch)
        if Aspect.PLACES in self._aspects:
            place = np.zeros_like(place)
        new = _Window(
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
            return int(_I64.max)
        if self._late is None or len(self._horizons) <= self._late:
            return int(_I64.min)
        return max(self._horizons[: -self._late])

    def pop(self, until: int) -> _Window:
        """Take away the events before a time, in the order of time, place and arrival."""
        self._popped = until
        taken = self.window.ts <= until if until == _I64.max else self.window.ts < until
        part = self.window.take(taken)
        self.window = self.window.take(~taken)
        return part.take(np.lexsort((part.place, part.ts)))

    def release(self) -> None:
        """Forget the batches of which no event is left."""
        needed = set(np.unique(self.window.batch).tolist())
        for number in list(self.kept):
            if number not in needed:
                del self.kept[number]

    def untimed_events(self) -> Iterator[tuple[str, int]]:
        """The label and fingerprint of each event without a time."""
        for classes, fingerprints in self.untimed:
            for number, fingerprint in zip(classes.tolist(), fingerprints.tolist(), strict=True):
                yield self._label(number), fingerprint

    def label(self, batch: Batch, position: int) -> str:
        """The kind and name of an event's class."""
        return self._label(int(batch.class_id[position]))

    def _label(self, number: int) -> str:
        if number not in self.labels:
            event_class = self.trace.event_classes[number]
            self.labels[number] = f"{event_class.kind.name.lower()} {class_label(event_class)}"
        return self.labels[number]

    def describe(self, window: _Window, index: int) -> str:
        """An event as a line."""
        batch = self.kept[int(window.batch[index])]
        position = int(window.position[index])
        number = int(batch.class_id[position])
        event_class = self.trace.event_classes[number]
        values = [item for _, item in self.values(window, index)]
        text = text_of_fields(event_class.fields, values, None)
        thread = int(batch.thread[position])
        place = f"cpu {batch.cpu[position]}" if batch.cpu[position] >= 0 else ""
        if thread >= 0:
            owner = self.trace.threads[thread]
            place += f" thread {self.trace.processes[owner.process].pid}/{owner.tid}"
        if batch.track[position] >= 0:
            place += f" track {self.trace.tracks[batch.track[position]].name!r}"
        return f"{window.ts[index]} {place.strip()} {self.label(batch, position)}: {text}"

    def values(self, window: _Window, index: int) -> list[tuple[str, Any]]:
        """The fields of an event by name."""
        batch = self.kept[int(window.batch[index])]
        position = int(window.position[index])
        number = int(batch.class_id[position])
        table, row = batch.tables[number], int(batch.row[position])
        return [
            (field.name, value(table.column(i), field.type, row, self.trace.strings))
            for i, field in enumerate(self.trace.event_classes[number].fields)
        ]


class _Comparison:
    """The events of both sides."""

    def __init__(
        self,
        first: Trace,
        second: Trace,
        aspects: frozenset[Aspect],
        result: TraceDifference,
        late: int | None,
    ) -> None:
        self._sides = (_Side(first, aspects, late), _Side(second, aspects, late))
        self._result = result
        self._compared = 0

    def run(self) -> None:
        one, other = self._sides
        while not (one.ended and other.ended):
            behind = one if (one.horizon, one.ended) <= (other.horizon, other.ended) else other
            if behind.ended:
                behind = other if behind is one else one
            behind.advance()
            until = min(one.horizon, other.horizon)
            if until > _I64.min:
                self._compare(one.pop(until), other.pop(until))
                one.release()
                other.release()
        self._compare(one.pop(_I64.max), other.pop(_I64.max))
        self._compare_untimed()
        self._result.events = (one.count, other.count)

    def _compare_untimed(self) -> None:
        """Events of untimed classes stand apart, in the order of the trace."""
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

    def declarations(self) -> tuple[Counter[str], Counter[str]]:
        """Those of the classes that have events, each once, however often it is declared."""
        one, other = self._sides
        return _declarations(one), _declarations(other)

    def _compare(self, first: _Window, second: _Window) -> None:
        """Compare what both sides have of a stretch of time."""
        if (
            len(first.ts) == len(second.ts)
            and np.array_equal(first.ts, second.ts)
            and np.array_equal(first.place, second.place)
            and np.array_equal(first.event, second.event)
        ):
            return
        only_first, only_second = _only(first, second), _only(second, first)
        self._report(first.take(only_first), second.take(only_second))
        if not len(only_first) and not len(only_second):
            # The same events, in another order at equal times in one place.
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

    def _report(self, first: _Window, second: _Window) -> None:
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

    def _key(self, window: _Window, index: int, label: str) -> tuple[int, int, str]:
        return int(window.ts[index]), int(window.place[index]), label

    def _report_pair(
        self, label: str, first: _Window, index: int, second: _Window, other_index: int
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


def _line(what: str, side: _Side, window: _Window, index: int) -> str:
    return f"{what}: {side.describe(window, index)}"


def _only(window: _Window, other: _Window) -> NDArray[np.intp]:
    """The entries of a window that the other does not have, counting how often each is there."""
    keys = np.stack([window.ts.view(np.uint64), window.place, window.event], axis=1)
    others = np.stack([other.ts.view(np.uint64), other.place, other.event], axis=1)
    _, number = np.unique(np.concatenate([keys, others]), axis=0, return_inverse=True)
    number = number.reshape(-1)
    mine, theirs = number[: len(keys)], number[len(keys) :]
    counts = np.bincount(theirs, minlength=int(number.max(initial=-1)) + 1)
    order = np.argsort(mine, kind="stable")
    ordered = mine[order]
    # The how-manieth of its kind each entry is.
    starts = np.searchsorted(ordered, ordered)
    rank = np.empty(len(mine), np.int64)
    rank[order] = np.arange(len(mine)) - starts
    return np.flatnonzero(rank >= counts[mine])


def _differing(first: list[tuple[str, Any]], second: list[tuple[str, Any]]) -> set[str]:
    one, other = dict(first), dict(second)
    # Text tells 1 from true and -0.0 from 0.0.
    return {
        name
        for name in one.keys() | other.keys()
        if name not in one or name not in other or repr(one[name]) != repr(other[name])
    } or {"(order of fields)"}


def _compare_tables(
    first: Trace, second: Trace, aspects: frozenset[Aspect], result: TraceDifference
) -> None:
    """Everything but the events."""
    if Aspect.CLOCK_OFFSET not in aspects:
        _compare_values("clock", first.clock, second.clock, result)
        _compare_values("clock domains", first.clock_domains, second.clock_domains, result)
    if Aspect.ENVIRONMENT not in aspects:
        for key in sorted(first.environment.keys() | second.environment.keys()):
            _compare_values(
                f"environment {key!r}",
                first.environment.get(key),
                second.environment.get(key),
                result,
            )
    if Aspect.NAMES not in aspects:
        _compare_sets("process", _processes(first), _processes(second), result)
        _compare_sets("thread", _threads(first), _threads(second), result)
    if Aspect.NATIVE not in aspects and first.format == second.format:
        from converter.formats.table import portable_sidecar
        from converter.ir.forms import sidecar_form

        one = sidecar_form(portable_sidecar(first))
        other = sidecar_form(portable_sidecar(second))
        for name in sorted(one.keys() | other.keys()):
            if one.get(name) != other.get(name):
                result.tables.append(f"sidecar of {name} differs")


def _compare_values(what: str, first: object, second: object, result: TraceDifference) -> None:
    if first != second:
        result.tables.append(f"{what}: {first!r} became {second!r}")


def _compare_sets(
    what: str, first: Counter[str], second: Counter[str], result: TraceDifference
) -> None:
    result.tables += [f"{what} only in the first: {item}" for item in sorted(first - second)]
    result.tables += [f"{what} only in the second: {item}" for item in sorted(second - first)]


def _processes(trace: Trace) -> Counter[str]:
    return Counter(
        f"{p.pid} {p.name!r} parent {p.parent_pid} {list(p.command_line)}" for p in trace.processes
    )


def _threads(trace: Trace) -> Counter[str]:
    return Counter(
        f"{trace.processes[thread.process].pid}/{thread.tid} {thread.name!r}"
        for thread in trace.threads
    )


def _declarations(side: _Side) -> Counter[str]:
    return Counter({str(class_form(side.trace.event_classes[id])): 1 for id in side.used})
