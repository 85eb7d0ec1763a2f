"""Losses as values: reports of what did not fit.

`project` (in `project`) computes losses from the `Capabilities` that a format declares; no writer drops anything on its
own. A report without entries means that reading the output back gives the same trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum, unique
from threading import Lock
from typing import Final

from converter.ir.kinds import Kind
from converter.projection.engine.planned import LossTally


@unique
class LossKind(StrEnum):
    """The way in which something did not fit."""

    #: Not in the output at all.
    DROPPED = "dropped"
    #: Cut to a limit of the format.
    TRUNCATED = "truncated"
    #: In the output with another value (bytes that are not UTF-8, a time that is not representable).
    CHANGED = "changed"
    #: All values are in the output, as another kind of event or another structure.
    LOWERED = "lowered"
    #: The value is in the output, its declared type (width, labels, unit, style) is not.
    RETYPED = "retyped"
    #: In the output with its value and type, where the format's viewers do not look.
    UNSHOWN = "unshown"


@unique
class LossClass(StrEnum):
    """The users that a loss affects."""

    #: Users who open the output in a viewer: it is missing there, or different.
    SHOWN = "shown"
    #: Other programs that read the output: they find it in another representation, or somewhere that viewers do not
    #: show.
    KEPT = "kept"
    #: Only the tools of the source's format: declared types, native data, names that nothing shows.
    DETAIL = "detail"


@unique
class Aspect(StrEnum):
    """The aspect of a trace that a group of losses is about, if they occur once per field or class: summaries combine
    them.
    """

    #: Whole events.
    EVENTS = "events"
    #: Events that are represented by another kind: an instant for a tracepoint, a slice for an interrupt.
    FORMS = "events in another form"
    FLOWS = "arrows between slices"
    RENAMED_CLASSES = "names of events: the format has its own"
    RENAMED_FIELDS = "names of fields: the format allows fewer characters"
    TEXTS = "fields as text"
    TYPES = "declared types of fields (their values are kept)"
    UNITS = "units of fields"
    ROLES = "meanings of fields"
    LAYOUT = "order of fields, and which are empty for want of one"
    FIELD_NAMES = "the source's names of fields"
    CLASS_NAMES = "the source's names of events"
    STRUCTURE = "nesting of fields (their values are kept)"
    NATIVE = "settings and metadata of the recorder"


#: For losses that are counted without a class.
_CLASS_OF_KIND: Final = {
    LossKind.DROPPED: LossClass.SHOWN,
    LossKind.TRUNCATED: LossClass.SHOWN,
    LossKind.CHANGED: LossClass.SHOWN,
    LossKind.LOWERED: LossClass.KEPT,
    LossKind.RETYPED: LossClass.DETAIL,
    LossKind.UNSHOWN: LossClass.SHOWN,
}


@dataclass(frozen=True, slots=True)
class Loss:
    """One kind of loss: its `count`, and the time of the first, `first_ts` (ticks of the trace's clock; None for
    metadata).

    `event_kinds` are the kinds of the affected events; empty for losses of the trace, or of events regardless of kind.
    """

    kind: LossKind
    what: str
    count: int
    first_ts: int | None = None
    loss_class: LossClass = LossClass.SHOWN
    aspect: Aspect | None = None
    event_kinds: frozenset[Kind] = frozenset()

    def __str__(self) -> str:
        return f"{self.kind}: {self.what} ({self.count:,})"


#: The key that losses are summed by, and the sum: count, first time, and kinds of events.
_Key = tuple[LossKind, str, LossClass, Aspect | None]
_Sum = tuple[int, int | None, frozenset[Kind]]
_NOTHING: Final[_Sum] = (0, None, frozenset())


#: The number of losses that a notebook shows.
_LISTED: Final = 20

#: The losses of one class at each of its events.
PlannedLosses = tuple[tuple[LossKind, str, LossClass | None, Aspect | None], ...]


@dataclass(slots=True, eq=False)
class LossReport:
    """The losses of one conversion, summed by kind and subject; complete once all batches have passed.

    Any thread may add one: stages of a conversion run concurrently, and columns with losses are decoded by several
    threads.
    """

    _entries: dict[_Key, _Sum] = field(default_factory=dict)
    _repeated: dict[int, LossTally] = field(default_factory=dict)
    _adding: Lock = field(default_factory=Lock)
    #: False for output that another process writes: its losses are not counted here.
    counts: bool = True

    def add(
        self,
        kind: LossKind,
        what: str,
        count: int = 1,
        first_ts: int | None = None,
        loss_class: LossClass | None = None,
        aspect: Aspect | None = None,
        event_kinds: frozenset[Kind] = frozenset(),
    ) -> None:
        """Count a loss.

        Args:
            kind: the way in which it did not fit.
            what: the thing that did not fit; equal ones are counted together.
            count: the number of occurrences.
            first_ts: the ticks of the earliest one, None for metadata.
            loss_class: the users that it affects; by default, as given by `kind`.
            aspect: the subject, for losses that occur once per field or class: summaries combine them.
            event_kinds: the kinds of the affected events.
        """
        if count <= 0 or not self.counts:
            return
        self._add(kind, what, count, first_ts, loss_class, aspect, event_kinds)

    def _add(
        self,
        kind: LossKind,
        what: str,
        count: int,
        first_ts: int | None,
        loss_class: LossClass | None,
        aspect: Aspect | None,
        event_kinds: frozenset[Kind] = frozenset(),
    ) -> None:
        key = (kind, what, loss_class or _CLASS_OF_KIND[kind], aspect)
        with self._adding:
            known, first, kinds = self._entries.get(key, _NOTHING)
            if first is None or (first_ts is not None and first_ts < first):
                first = first_ts
            self._entries[key] = (known + count, first, kinds | event_kinds)

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
        rows = [(loss.loss_class, loss.kind, loss.what, loss.count) for loss in losses[:_LISTED]]
        title = f"{len(losses):,} losses" if losses else "no losses"
        heads = ("class", "became", "what", "times")
        return html_table(title, heads, rows, len(losses) - _LISTED)

    def add_planned(
        self, losses: PlannedLosses, count: int, first_ts: int, event_kinds: frozenset[Kind]
    ) -> None:
        """Count all of `losses`, which must be the same object each time. `count`, `first_ts` and `event_kinds` are as
        for `add`.
        """
        if not self.counts:
            return
        repeated = self._repeated.get(id(losses))
        if repeated is not None and repeated.event_kinds == event_kinds:
            repeated.add(count, first_ts)
            return
        for kind, what, loss_class, aspect in losses:
            self.add(kind, what, count, first_ts, loss_class, aspect, event_kinds)
        if repeated is None:
            self._repeated[id(losses)] = LossTally(losses, event_kinds)

    def tally(self, losses: PlannedLosses) -> LossTally:
        """Return the tally that counts `losses` of events, after one `add`, until the losses of events are
        forgotten.
        """
        repeated = self._repeated.get(id(losses))
        if repeated is None:
            repeated = self._repeated[id(losses)] = LossTally(losses, frozenset())
        return repeated

    def _settle(self) -> None:
        for repeated in self._repeated.values():
            count, first_ts = repeated.take()
            if not count:
                continue
            for kind, what, loss_class, aspect in repeated.losses:
                self._add(kind, what, count, first_ts, loss_class, aspect)

    def __eq__(self, other: object) -> bool:
        """Return True if the same things were lost, with the same counts."""
        return isinstance(other, LossReport) and list(self) == list(other)

    # It is mutable.
    __hash__ = None  # type: ignore[assignment]

    def include(self, other: LossReport) -> None:
        """Count the losses of the `other` report, too."""
        for loss in other:
            self.add(
                loss.kind,
                loss.what,
                loss.count,
                loss.first_ts,
                loss.loss_class,
                loss.aspect,
                loss.event_kinds,
            )

    def forget_events(self) -> None:
        """Forget the losses of events, which are about to be counted again; those of metadata stay."""
        self._repeated.clear()
        for key, (_, first_ts, _) in list(self._entries.items()):
            if first_ts is not None:
                del self._entries[key]

    def __iter__(self) -> Iterator[Loss]:
        self._settle()
        order = list(LossKind)
        for (kind, what, loss_class, aspect), (count, first, kinds) in sorted(
            self._entries.items(), key=lambda entry: (order.index(entry[0][0]), entry[0][1:3])
        ):
            yield Loss(kind, what, count, first, loss_class, aspect, kinds)

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
            if loss.aspect is Aspect.EVENTS and loss.kind in (LossKind.DROPPED, LossKind.UNSHOWN)
        )

    def to_json(self) -> str:
        """Return the report as JSON: {"losses": [{"kind", "what", "count", "first_ts", "class"}]}."""
        import json

        entries = [
            {
                "kind": str(loss.kind),
                "what": loss.what,
                "count": loss.count,
                "first_ts": loss.first_ts,
                "class": str(loss.loss_class),
            }
            for loss in self
        ]
        return json.dumps({"losses": entries}, indent=2) + "\n"
