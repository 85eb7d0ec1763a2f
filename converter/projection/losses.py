"""Loss as a value: what did not fit.

`project` (in `project`) computes losses from the `Capabilities` that a format declares; no writer drops
anything on its own. A report without entries means that reading the output back gives the same trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum, unique


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


@dataclass(frozen=True, slots=True)
class Loss:
    """One kind of loss: `count` times, first at `first_ts` (ticks of the trace's clock; None for metadata)."""

    kind: LossKind
    what: str
    count: int
    first_ts: int | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.what} ({self.count:,})"


@dataclass(slots=True)
class LossReport:
    """The losses of one conversion, summed by kind and thing; complete once all batches have passed."""

    _entries: dict[tuple[LossKind, str], tuple[int, int | None]] = field(default_factory=dict)

    def add(self, kind: LossKind, what: str, count: int = 1, first_ts: int | None = None) -> None:
        """Count a loss."""
        if count <= 0:
            return
        known, first = self._entries.get((kind, what), (0, None))
        self._entries[kind, what] = (known + count, first if first is not None else first_ts)

    def forget_events(self) -> None:
        """Forget the losses of events, which are about to be counted again; those of metadata stay."""
        for key, (_, first_ts) in list(self._entries.items()):
            if first_ts is not None:
                del self._entries[key]

    def __iter__(self) -> Iterator[Loss]:
        order = list(LossKind)
        for (kind, what), (count, first) in sorted(
            self._entries.items(), key=lambda entry: (order.index(entry[0][0]), entry[0][1])
        ):
            yield Loss(kind, what, count, first)

    def __len__(self) -> int:
        return len(self._entries)

    def to_json(self) -> str:
        """The report as JSON: {"losses": [{"kind", "what", "count", "first_ts"}]}."""
        import json

        entries = [
            {
                "kind": str(loss.kind),
                "what": loss.what,
                "count": loss.count,
                "first_ts": loss.first_ts,
            }
            for loss in self
        ]
        return json.dumps({"losses": entries}, indent=2) + "\n"
