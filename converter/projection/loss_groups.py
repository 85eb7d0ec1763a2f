"""Groups of losses: those of one code as one sentence, in the order of their consequences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from converter.projection.loss_codes.entry import Extent, LossClass, LossCode, LossKind
from converter.projection.loss_codes.remedies import kept_by
from converter.projection.loss_codes.sentences import count_of, sentence_of
from converter.projection.losses import Example, Loss

#: Other values are the worst, as nothing shows that they are others, then what is missing, then what is somewhere else.
_KINDS: Final = (
    LossKind.CHANGED,
    LossKind.DROPPED,
    LossKind.UNSHOWN,
    LossKind.TRUNCATED,
    LossKind.LOWERED,
    LossKind.RETYPED,
)


@dataclass(frozen=True)
class LossGroup:
    """All losses of one code, of which some may be of another class than the table says."""

    code: str
    loss_class: LossClass
    losses: tuple[Loss, ...]

    @property
    def entry(self) -> LossCode:
        """The entry of the code in the table."""
        return self.losses[0].entry

    @cached_property
    def count(self) -> int:
        """The number of events, each once."""
        return count_of((dict(loss.parameters), loss.count) for loss in self.losses)

    @property
    def example(self) -> Example | None:
        """The first event."""
        known = [loss for loss in self.losses if loss.example is not None]
        return min(known, key=lambda loss: loss.first_ts or 0).example if known else None

    def sentence(self, most: int = 3) -> str:
        """Return the sentence, which names at most `most` items."""
        items = [(dict(loss.parameters), loss.count) for loss in self.losses]
        return sentence_of(self.entry, items, most)


def grouped(losses: Iterable[Loss]) -> list[LossGroup]:
    """Return losses by class and code, those with the worst consequences first."""
    by_code: dict[tuple[LossClass, str], list[Loss]] = {}
    for loss in losses:
        by_code.setdefault((loss.loss_class, loss.code), []).append(loss)
    groups = [
        LossGroup(code, loss_class, tuple(some)) for (loss_class, code), some in by_code.items()
    ]
    return sorted(groups, key=_consequence)


def _consequence(group: LossGroup) -> tuple[int, bool, bool, int, int]:
    classes = list(LossClass)
    return (
        classes.index(group.loss_class),
        group.entry.extent is not Extent.EVENTS,
        # What is lost of events comes before what is lost of the tables.
        all(loss.first_ts is None for loss in group.losses),
        _KINDS.index(group.entry.kind),
        -group.count,
    )


def best_format(groups: Iterable[LossGroup], source: str, target: str) -> tuple[str, int] | None:
    """Return the format that keeps most of some losses, and the number of these; None if none keeps any.

    Args:
        groups: the losses.
        source: the format of the input.
        target: the format of the output, which is no remedy.
    """
    counts: dict[str, int] = {}
    for group in groups:
        for one in kept_by().get(group.entry.keeps, ()):
            counts[one] = counts.get(one, 0) + (one not in (source, target))
    best = max(counts.items(), key=lambda item: item[1], default=("", 0))
    return best if best[1] else None
