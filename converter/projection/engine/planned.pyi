from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind
from converter.ir.tables import RecipePart
from converter.projection.engine.rows import Rows

_Partition = TypeVar("_Partition", bound=Rows)

class LossTally:
    losses: tuple[Any, ...]
    event_kinds: frozenset[Kind]
    count: int
    first_ts: int
    def add(self, count: int, first_ts: int) -> int: ...
    def __init__(self, losses: tuple[Any, ...], event_kinds: frozenset[Kind]) -> None: ...
    def take(self) -> tuple[int, int]: ...

class PlannedPart:
    def __init__(
        self,
        number: int,
        event_class: EventClass,
        recipe: tuple[RecipePart, ...],
        places: tuple[RecipePart | None, ...] | None,
        after: int,
    ) -> None: ...

class ClassPlan:
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
    unplanned: Callable[[int], list[tuple[int, _Partition]]],
) -> list[tuple[int, int, _Partition]]: ...
def occurring(tables: dict[int, Table]) -> set[int]: ...
