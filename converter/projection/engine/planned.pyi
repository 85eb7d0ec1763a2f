from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind
from converter.ir.tables import RecipePart
from converter.projection.engine.rows import Rows

_Piece = TypeVar("_Piece", bound=Rows)

class LossTally:
    """Losses that come again with each batch, which are summed together until somebody asks."""

    losses: tuple[Any, ...]
    event_kinds: frozenset[Kind]
    count: int
    first_ts: int
    def __init__(self, losses: tuple[Any, ...], event_kinds: frozenset[Kind]) -> None: ...
    def add(self, count: int, first_ts: int) -> int:
        """Count `count` of them, the first of these at the time `first_ts`."""

    def take(self) -> tuple[int, int]:
        """Return the count since the last call, and the time of the first of them."""

class PlannedPart:
    """One piece that the events of a class become: the number of its class, that, and what makes its columns.

    `places` say threads, CPUs and tracks: None for those of the batch, and where all are.
    """

    def __init__(
        self,
        number: int,
        event_class: EventClass,
        recipe: tuple[RecipePart, ...],
        places: tuple[RecipePart | None, ...] | None,
        after: int,
    ) -> None: ...

class ClassPlan:
    """The compiled plan of a class: the results for its events, and the losses of each; `exceptions` must hold for no
    row.

    `made` is the class of its pieces, which has nothing of its own besides what `Rows` has.
    """

    def __init__(
        self,
        parts: tuple[PlannedPart, ...],
        tally: LossTally | None,
        exceptions: tuple[RecipePart, ...],
        made: type[Rows],
    ) -> None: ...

def placed_parts(
    batch: Batch,
    numbers: Iterable[int],
    plans: dict[tuple[int, bool], ClassPlan | None],
    off_threads: frozenset[int] | None,
    counts: bool,
    classes: Sequence[EventClass],
    derived: dict[tuple[Hashable, ...], tuple[EventClass, EventClass]],
    unplanned: Callable[[int], list[tuple[int, _Piece]]],
) -> list[tuple[int, int, _Piece]]:
    """Return the results for the events of some classes of a batch: the class that they had, the number of the one that
    they have, and the piece.

    Args:
        batch: whose columns are placed already.
        numbers: of the classes, in the order in which they are to be projected.
        plans: by class, and by whether all its events are on threads.
        off_threads: the classes with events on no thread; None: all.
        counts: whether losses are counted.
        classes: the event classes of the batch.
        derived: as `Rows` has it.
        unplanned: projects a class that has no plan, or has rows that its plan does not cover.
    """

def occurring(tables: dict[int, Table]) -> set[int]:
    """The numbers of the classes with rows."""
