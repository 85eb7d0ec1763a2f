from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy import int64
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable

Column: TypeAlias = NDArray[Any] | tuple[NDArray[Any], NDArray[int64]]

class Programs:
    """The programs of event classes, and the columns that they run over: what `Emitter` is based on."""

    def __init__(self, strings: StringTable, *args: object) -> None: ...
    def add_program(
        self,
        record: int,
        named: bool,
        operations: Sequence[tuple[int, int]],
        event: int = 0,
        *,
        placed: bool = False,
    ) -> int:
        """A program for a class; its number. Raises ValueError for records that cannot be.

        The columns of a `named` one begin with the ids of name and category; of a `placed` one, that of the function's
        place in the source follows.
        """
    def bind(self, number: int, rows: int, columns: Sequence[Column]) -> None:
        """Columns for the next `emit`: arrays of the operations' widths, int32 ids, or (values, offsets) of lists.

        Raises ValueError for columns of another length or width, and lists outside their values.
        """
    def release(self) -> None:
        """Let go of the columns that were bound."""
