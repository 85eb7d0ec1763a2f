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
    asked: bool
    number: int
    def __init__(self, union: DenseUnion, number: int) -> None: ...
    @property
    def all(self) -> NDArray[int32]: ...
    @property
    def first(self) -> int: ...

class Rows:
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
    def taken(self, column: NDArray[int32]) -> NDArray[int32]: ...
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
    def positions(self) -> NDArray[int32]: ...
    @property
    def first(self) -> int: ...
    @property
    def thread(self) -> NDArray[int32] | None: ...
    @property
    def cpu(self) -> NDArray[int32] | None: ...
    @property
    def track(self) -> NDArray[int32] | None: ...
    def settle(self) -> None: ...

def threads_of(rows: Rows) -> NDArray[int32]: ...
def cpus_of(rows: Rows) -> NDArray[int32]: ...
def settled(place: _Place) -> NDArray[int32]: ...
