"""Losses as values: reports of what did not fit.

`project` (in `project`) computes losses from the `Capabilities` that a format declares; no writer drops anything on its
own. A report without entries means that reading the output back gives the same trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from threading import Lock
from typing import Any, Final

from numpy.typing import NDArray

from converter.ir.columns import value
from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Thread, Trace
from converter.projection.engine.planned import LossTally
from converter.projection.loss_codes import LOSS_CODES
from converter.projection.loss_codes.entry import Extent, LossClass, LossCode, LossKind, Value
from converter.projection.loss_codes.names import event_name
from converter.projection.loss_codes.sentences import sentence_of

__all__ = ["Example", "Extent", "Loss", "LossClass", "LossCode", "LossKind", "LossReport"]

#: The names and values of the parameters of a loss, in the order of the names.
Parameters = tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Example:
    """An event with a loss, the first one.

    `ts` is its time in nanoseconds of the trace's clock, `cpu` and `thread` are None for an event that has none,
    `event` is its name, after its type where that has none of its own.
    """

    ts: int
    cpu: int | None
    thread: Thread | None
    event: str

    def __str__(self) -> str:
        where = [] if self.cpu is None else [f"CPU {self.cpu}"]
        if self.thread is not None:
            name, tid = self.thread.name, self.thread.tid
            where.append(f"{name} ({tid})" if name else f"thread {tid}")
        seconds, rest = divmod(abs(self.ts), _SECOND)
        sign = "-" if self.ts < 0 else ""
        return ", ".join([f"{self.event} at {sign}{seconds}.{rest:09} s", *where])


@dataclass(frozen=True, slots=True)
class Loss:
    """One loss: its `code`, the number of events or other things with it, and the time of the first, `first_ts` (ticks
    of the trace's clock; None for metadata).

    `event_kinds` are the kinds of the affected events; empty for losses of the trace, or of events regardless of kind.
    """

    code: str
    count: int
    first_ts: int | None = None
    loss_class: LossClass = LossClass.SHOWN
    parameters: Parameters = ()
    event_kinds: frozenset[Kind] = frozenset()
    example: Example | None = field(default=None, compare=False)

    @property
    def entry(self) -> LossCode:
        """The entry of its code in the table."""
        return LOSS_CODES[self.code]

    @property
    def kind(self) -> LossKind:
        """The way in which it did not fit."""
        return self.entry.kind

    @property
    def sentence(self) -> str:
        """The sentence about the events with the loss."""
        return sentence_of(self.entry, [(dict(self.parameters), self.count)])

    @property
    def remedy(self) -> str:
        """The option that keeps it."""
        from converter.projection.loss_codes.remedies import remedy_of

        return remedy_of(self.code)

    def __str__(self) -> str:
        return self.sentence


#: The key that losses are summed by, and the sum: count, first time, kinds of events, and the first event.
_Key = tuple[str, LossClass | None, Parameters]
_Sum = tuple[int, int | None, frozenset[Kind], Example | None]
_NOTHING: Final[_Sum] = (0, None, frozenset(), None)


#: The number of losses that a notebook shows.
_LISTED: Final = 20
_SECOND: Final = 10**9

#: A loss of a class at each of its events: code, class of the loss (None: as the table says), parameters.
PlannedLoss = tuple[str, LossClass | None, Parameters]
PlannedLosses = tuple[PlannedLoss, ...]
#: A tally of losses with the name of their events, and the losses without it, which it keeps alive.
_Repeated = tuple[LossTally, PlannedLosses]


def parameters_of(parameters: Mapping[str, Value]) -> Parameters:
    """Return parameters as they are compared."""
    return tuple(sorted(parameters.items()))


@dataclass(slots=True, eq=False)
class LossReport:
    """The losses of one conversion, summed by code and parameters; complete once all batches have passed.

    Any thread may add one: stages of a conversion run concurrently, and columns with losses are decoded by several
    threads.
    """

    _entries: dict[_Key, _Sum] = field(default_factory=dict)
    _repeated: dict[tuple[int, str], _Repeated] = field(default_factory=dict)
    _adding: Lock = field(default_factory=Lock)
    #: False for output that another process writes: its losses are not counted here.
    counts: bool = True

    def add(
        self,
        code: str,
        count: int = 1,
        first_ts: int | None = None,
        *,
        loss_class: LossClass | None = None,
        event_kinds: frozenset[Kind] = frozenset(),
        example: Callable[[], Example] | None = None,
        **parameters: Value,
    ) -> None:
        """Count a loss.

        Args:
            code: of the table (`loss_codes`).
            count: the number of occurrences.
            first_ts: the ticks of the earliest one, None for metadata.
            loss_class: the users that it affects; by default, as the table says.
            event_kinds: the kinds of the affected events.
            example: returns the earliest one; called if there is no earlier one.
            parameters: of the code's sentence; losses with equal ones are counted together.
        """
        if count <= 0 or not self.counts:
            return
        key = (code, loss_class, parameters_of(parameters))
        self._add(key, count, first_ts, event_kinds, example)

    def add_at(
        self,
        code: str,
        trace: Trace,
        batch: Batch,
        at: NDArray[Any],
        *,
        loss_class: LossClass | None = None,
        event_kinds: frozenset[Kind] = frozenset(),
        **parameters: Value,
    ) -> None:
        """Count a loss at some positions of a batch of `trace`, as for `add`."""
        if not len(at) or not self.counts:
            return
        first = int(at[batch.ts[at].argmin()])
        self.add(
            code,
            len(at),
            int(batch.ts[first]),
            loss_class=loss_class,
            event_kinds=event_kinds,
            example=lambda: example_at(trace, batch, first, trace.threads),
            **parameters,
        )

    def _add(
        self,
        key: _Key,
        count: int,
        first_ts: int | None,
        event_kinds: frozenset[Kind] = frozenset(),
        example: Callable[[], Example] | None = None,
    ) -> None:
        found = None
        if example is not None:
            _, first, _, known = self._entries.get(key, _NOTHING)
            if known is None or first is None or (first_ts is not None and first_ts < first):
                # Outside of the lock, as it may decode a column, which may have losses of its own.
                found = example()
        with self._adding:
            known_count, first, kinds, held = self._entries.get(key, _NOTHING)
            if first is None or (first_ts is not None and first_ts < first):
                first, held = first_ts, found or held
            total = known_count + count
            self._entries[key] = (total, first, kinds | event_kinds, held or found)

    def __getstate__(self) -> dict[_Key, _Sum]:
        """Return the sums, which may be sent to another process."""
        self._settle()
        return self._entries

    def __setstate__(self, entries: dict[_Key, _Sum]) -> None:
        self.__init__(entries)  # type: ignore[misc]

    def __repr__(self) -> str:
        """Return one line with the number of losses of each class."""
        counts = Counter(loss.loss_class for loss in self)
        classes = ", ".join(f"{counts[one]} {one}" for one in LossClass if counts[one])
        return f"<LossReport: {classes or 'no losses'}>"

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the most frequent losses, by the users that they affect."""
        from converter.ir.display.html import html_table

        losses = sorted(self, key=lambda loss: -loss.count)
        losses = [loss for one in LossClass for loss in losses if loss.loss_class is one]
        rows = [
            (loss.loss_class, loss.sentence, loss.count, loss.example or "")
            for loss in losses[:_LISTED]
        ]
        title = f"{len(losses):,} losses" if losses else "no losses"
        heads = ("class", "loss", "times", "first")
        return html_table(title, heads, rows, len(losses) - _LISTED)

    def add_planned(
        self,
        losses: PlannedLosses,
        count: int,
        first_ts: int,
        event_kinds: frozenset[Kind],
        event: str = "",
        example: Callable[[], Example] | None = None,
    ) -> None:
        """Count all of `losses`, which must be the same object each time, at events of the name `event`.

        `count`, `first_ts`, `event_kinds` and `example` are as for `add`.
        """
        if not self.counts:
            return
        repeated = self._repeated.get((id(losses), event))
        if repeated is not None and repeated[0].event_kinds == event_kinds:
            repeated[0].add(count, first_ts)
            return
        named = losses_at(losses, event)
        # All of them have the same first event.
        once = None if example is None else cache(example)
        for one in named:
            self._add(one, count, first_ts, event_kinds, once)
        if repeated is None:
            self._repeated[id(losses), event] = LossTally(named, event_kinds), losses

    def tally(self, losses: PlannedLosses, event: str) -> LossTally:
        """Return the tally that counts `losses`, after one `add`, until the losses of events are forgotten; `event` is
        the name of the events.
        """
        repeated = self._repeated.get((id(losses), event))
        if repeated is None:
            named = losses_at(losses, event)
            repeated = LossTally(named, frozenset()), losses
            self._repeated[id(losses), event] = repeated
        return repeated[0]

    def _settle(self) -> None:
        for repeated, _ in self._repeated.values():
            count, first_ts = repeated.take()
            if not count:
                continue
            for one in repeated.losses:
                self._add(one, count, first_ts)

    def __eq__(self, other: object) -> bool:
        """Return True if the same things were lost, with the same counts."""
        return isinstance(other, LossReport) and list(self) == list(other)

    # It is mutable.
    __hash__ = None  # type: ignore[assignment]

    def include(self, other: LossReport) -> None:
        """Count the losses of the `other` report, too."""
        for loss in other:
            self._include(loss)

    def _include(self, loss: Loss) -> None:
        if not self.counts:
            return
        example = loss.example
        key = (loss.code, loss.loss_class, loss.parameters)
        of_code = (loss.code, None, loss.parameters)
        self._add(
            of_code if loss.loss_class is loss.entry.default_class else key,
            loss.count,
            loss.first_ts,
            loss.event_kinds,
            None if example is None else lambda: example,
        )

    def forget_events(self) -> None:
        """Forget the losses of events, which are about to be counted again; those of metadata stay."""
        self._repeated.clear()
        for key, (_, first_ts, *_) in list(self._entries.items()):
            if first_ts is not None:
                del self._entries[key]

    def __iter__(self) -> Iterator[Loss]:
        self._settle()
        order = list(LossKind)
        found = [
            Loss(code, count, first, loss_class or LOSS_CODES[code].default_class, *rest)
            for (code, loss_class, parameters), (count, first, kinds, example) in list(
                self._entries.items()
            )
            for rest in ((parameters, kinds, example),)
        ]
        yield from sorted(
            found,
            key=lambda loss: (
                order.index(loss.kind),
                loss.code,
                loss.loss_class,
                *map(str, loss.parameters),
            ),
        )

    def __len__(self) -> int:
        return len(self._entries)

    def of_class(self, loss_class: LossClass) -> list[Loss]:
        """Return the losses of the class `loss_class`."""
        return [loss for loss in self if loss.loss_class is loss_class]

    @property
    def events_not_shown(self) -> int:
        """The number of events that nothing in the output shows."""
        return sum(
            loss.count
            for loss in self.of_class(LossClass.SHOWN)
            if loss.entry.extent is Extent.EVENTS
            and loss.kind in (LossKind.DROPPED, LossKind.UNSHOWN)
        )

    def to_json(self) -> str:
        """Return the report as JSON, by the schema `schemas/losses.schema.json`."""
        import json

        # A line for each loss.
        lines = ",\n".join(json.dumps(_as_json(loss)) for loss in self)
        return f'{{"losses": [\n{lines}\n]}}\n' if lines else '{"losses": []}\n'


def losses_at(losses: PlannedLosses, event: str) -> PlannedLosses:
    """Return losses with the name of the events that they are at, if their sentences say it."""
    return tuple(
        (code, loss_class, parameters_of({**dict(parameters), "event": event}))
        if LOSS_CODES[code].has_event
        else (code, loss_class, parameters)
        for code, loss_class, parameters in losses
    )


def example_at(trace: Trace, batch: Batch, position: int, threads: Sequence[Thread]) -> Example:
    """Return the event at a position of a batch of `trace`, whose threads are numbered by `threads`."""
    event_class = trace.event_classes[batch.class_id[position]]
    name = event_name(event_class)
    index = None if event_class.name else event_class.index_of(Role.NAME)
    if index is not None:
        column = batch.tables[int(batch.class_id[position])].column(index)
        text = value(
            column, event_class.fields[index].type, int(batch.row[position]), trace.strings
        )
        if isinstance(text, bytes) and text:
            # A begin is where the slice is.
            name = f"{name.removesuffix(' begin')} '{text.decode('utf-8', 'replace')}'"
    cpu, thread = int(batch.cpu[position]), int(batch.thread[position])
    rate = trace.clock.ticks_per_second or Fraction(_SECOND)
    return Example(
        int(int(batch.ts[position]) * _SECOND // rate),
        None if cpu < 0 else cpu,
        threads[thread] if 0 <= thread < len(threads) else None,
        name,
    )


def _as_json(loss: Loss) -> dict[str, Any]:
    example = loss.example
    thread = None if example is None else example.thread
    return {
        "code": loss.code,
        "class": str(loss.loss_class),
        "kind": str(loss.kind),
        "sentence": loss.sentence,
        "count": loss.count,
        "first_ts": loss.first_ts,
        "parameters": dict(loss.parameters),
        "example": None
        if example is None
        else {
            "ts": example.ts,
            "cpu": example.cpu,
            "thread": None if thread is None else {"tid": thread.tid, "name": thread.name},
            "event": example.event,
        },
        "remedy": loss.remedy,
    }
