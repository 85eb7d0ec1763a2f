"""Loss as a value: what did not fit.

`project` (in `project`) computes losses from the `Capabilities` that a format declares; no writer drops
anything on its own. A report without entries means that reading the output back gives the same trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Final


@unique
class LossKind(StrEnum):
    """What became of the thing that did not fit."""

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
    """Who would miss the thing that did not fit."""

    #: Whoever opens the output: it is not there, or not what it was.
    SHOWN = "shown"
    #: Only the tools of the source's format: declared types, native data, names that nothing shows.
    DETAIL = "detail"


#: Of losses that are counted without a class.
_CLASS_OF_KIND: Final = {
    kind: LossClass.DETAIL if kind is LossKind.RETYPED else LossClass.SHOWN for kind in LossKind
}


@dataclass(frozen=True, slots=True)
class Loss:
    """One kind of loss: `count` times, first at `first_ts` (ticks of the trace's clock; None for metadata)."""

    kind: LossKind
    what: str
    count: int
    first_ts: int | None = None
    loss_class: LossClass = LossClass.SHOWN

    def __str__(self) -> str:
        return f"{self.kind}: {self.what} ({self.count:,})"


@dataclass(slots=True)
class LossReport:
    """The losses of one conversion, summed by kind and thing; complete once all batches have passed."""

    _entries: dict[tuple[LossKind, str, LossClass], tuple[int, int | None]] = field(
        default_factory=dict
    )

    def add(
        self,
        kind: LossKind,
        what: str,
        count: int = 1,
        first_ts: int | None = None,
        loss_class: LossClass | None = None,
    ) -> None:
        """Count a loss; its class is that of its kind where none is given."""
        if count <= 0:
            return
        key = (kind, what, loss_class or _CLASS_OF_KIND[kind])
        known, first = self._entries.get(key, (0, None))
        self._entries[key] = (known + count, first if first is not None else first_ts)

    def include(self, other: LossReport) -> None:
        """Count the losses of another report, too."""
        for loss in other:
            self.add(loss.kind, loss.what, loss.count, loss.first_ts, loss.loss_class)

    def forget_events(self) -> None:
        """Forget the losses of events, which are about to be counted again; those of metadata stay."""
        for key, (_, first_ts) in list(self._entries.items()):
            if first_ts is not None:
                del self._entries[key]

    def __iter__(self) -> Iterator[Loss]:
        order = list(LossKind)
        for (kind, what, loss_class), (count, first) in sorted(
            self._entries.items(), key=lambda entry: (order.index(entry[0][0]), entry[0][1:])
        ):
            yield Loss(kind, what, count, first, loss_class)

    def __len__(self) -> int:
        return len(self._entries)

    def of_class(self, loss_class: LossClass) -> list[Loss]:
        """The losses of one class."""
        return [loss for loss in self if loss.loss_class is loss_class]

    def to_json(self) -> str:
        """The report as JSON: {"losses": [{"kind", "what", "count", "first_ts", "class"}]}."""
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
