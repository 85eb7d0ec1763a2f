from collections.abc import Callable, Sequence
from typing import Any

from numpy import integer
from numpy.typing import NDArray

from converter.ir.columns import Column

class Table:
    """The columns of one event class within a batch; each is decoded when first asked for, and kept."""

    def __init__(self, length: int, columns: Sequence[Column | Callable[[], Column]]) -> None: ...
    def __len__(self) -> int: ...
    @property
    def width(self) -> int:
        """The number of columns."""

    def column(self, index: int) -> Column:
        """Column `index`: the values of field `index` of the class, a value a row."""

    def lazy(self, index: int) -> Callable[[], Column]:
        """Column `index` when called: what a table derived from this one holds, so that laziness survives."""

    def lazy_columns(self) -> list[Column | Callable[[], Column]]:
        """All columns so."""

    def select(self, rows: NDArray[integer[Any]]) -> Table:
        """The given rows of every column, still decoded on demand."""
