from collections.abc import Hashable
from typing import TypeAlias

from numpy import int32
from numpy.typing import NDArray

from converter.ir.events import Batch, EventClass, Table
from converter.ir.tables import ComputedColumn
from converter.kernels.batches.union import DenseUnion

#: _Places of rows (int32, one a row), as a column or as what computes them.
_Place: TypeAlias = NDArray[int32] | ComputedColumn
#: Event classes by the class that they were made of and what was changed, with the former.
_Derived: TypeAlias = dict[tuple[Hashable, ...], tuple[EventClass, EventClass]]

class Places:
    """The places of all rows of a class in a batch, found when somebody asks for them: then `asked` says so."""

    asked: bool
    number: int
    def __init__(self, union: DenseUnion, number: int) -> None: ...
    @property
    def all(self) -> NDArray[int32]:
        """The place of each row."""

    @property
    def first(self) -> int:
        """That of the first row, which is nothing to ask for."""

class Rows:
    """Rows of one class; nobody changes them once they are made.

    `places` (int32, one a row) are positions in `batch`; `on_thread`, `on_cpu`, `on_track` replace the batch's columns
    there; `after` > 0 puts the rows after the events at those positions, as additional events. `whole` says that the
    rows are those of a table of the batch, all and in order. `derived` remembers the classes that were made of others,
    so that a class is the same object in every batch.
    """

    batch: Batch
    event_class: EventClass
    table: Table
    places: NDArray[int32] | Places
    on_thread: _Place | None
    on_cpu: _Place | None
    on_track: _Place | None
    after: int
    whole: bool
    derived: _Derived
    def __init__(
        self,
        batch: Batch,
        event_class: EventClass,
        table: Table,
        places: NDArray[int32] | Places,
        on: tuple[_Place | None, _Place | None, _Place | None] = (None, None, None),
        after: int = 0,
        whole: bool = True,
        derived: _Derived | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def positions(self) -> NDArray[int32]:
        """The place of each row in the batch."""

    @property
    def first(self) -> int:
        """The place of the first row."""

    @property
    def thread(self) -> NDArray[int32] | None:
        """The thread of each row, None where the batch says it."""

    @property
    def cpu(self) -> NDArray[int32] | None:
        """The CPU of each row, None where the batch says it."""

    @property
    def track(self) -> NDArray[int32] | None:
        """The track of each row, None where the batch says it."""

    def settle(self) -> None:
        """Compute where the rows are: threads and tracks come to be in the order in which they are asked for."""

    def taken(self, column: NDArray[int32]) -> NDArray[int32]:
        """Return a column of the batch for each row; a constant costs nothing, and the rows are not read."""

def threads_of(rows: Rows) -> NDArray[int32]:
    """The thread of each row."""

def cpus_of(rows: Rows) -> NDArray[int32]:
    """The CPU of each row."""

def settled(place: _Place) -> NDArray[int32]:
    """Places, computed where they are not yet."""
