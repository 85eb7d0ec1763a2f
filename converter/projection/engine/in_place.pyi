from collections.abc import Callable, Sequence
from typing import TypeVar

from numpy import int32
from numpy.typing import NDArray

from converter.ir.columns import Column
from converter.ir.events import Batch, Table
from converter.projection.engine.rows import Rows

_Partition = TypeVar("_Partition", bound=Rows)

class JoinedColumn:
    def __init__(
        self, tables: list[Table], index: int, join: Callable[[list[Column]], Column]
    ) -> None: ...
    def __call__(self) -> Column: ...

def by_target(
    placed: list[tuple[int, int, _Partition]],
) -> tuple[dict[int, list[_Partition]], list[int], int, bool]: ...
def classes_and_rows(
    class_id: NDArray[int32],
    row: NDArray[int32],
    classes: int,
    placed: Sequence[tuple[int, int, _Partition]],
    partitions: dict[int, list[_Partition]],
) -> tuple[NDArray[int32], NDArray[int32]]: ...
def places(
    batch: Batch, classes: int, placed: Sequence[tuple[int, int, Rows]]
) -> tuple[NDArray[int32], NDArray[int32], NDArray[int32]]: ...
