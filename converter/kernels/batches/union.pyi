from typing import TypeVar

from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

_Entry = TypeVar("_Entry", int32, int64)

def number_rows(class_id: NDArray[int32], row: NDArray[int32], counts: NDArray[int32]) -> None:
    """Give event i the next row of its class; `counts`, one per class id, go on from what they hold.

    Raises ValueError for a class id outside `counts`. Releases the GIL.
    """

def positions_of(
    number: int, class_id: NDArray[int32], row: NDArray[int32], length: int
) -> NDArray[int32]:
    """Return the positions in the batch of the `length` rows of one class: entry r is the position of row r, -1 if
    nowhere.

    For a class that has few it costs a glance at all events. Raises ValueError for a row that the class does not have.
    """

def values_by_class(
    class_id: NDArray[int32], row: NDArray[int32], columns: dict[int, NDArray[int32]]
) -> NDArray[int32]:
    """Return the value of each event in the column of its class, 0 where that has none, or one without rows.

    Raises ValueError for a row that the column does not have. Releases the GIL.
    """

def looked_up(table: NDArray[int32], numbers: NDArray[int32]) -> NDArray[int32]:
    """Return the table's entry for each number; -1 means the last one.

    Raises ValueError for other numbers that the table does not have. Releases the GIL.
    """

def put(column: NDArray[int32], positions: NDArray[int32], values: NDArray[int32]) -> None:
    """Set what a column has at some positions.

    Raises ValueError for positions outside of it. Releases the GIL.
    """

def put_by_class(
    column: NDArray[int32], class_id: NDArray[int32], values: NDArray[int32], absent: int
) -> NDArray[int32]:
    """The column with the value of each event's class, where that has one that is not `absent`.

    Raises ValueError for columns that differ in length. Releases the GIL.
    """

def mark(marks: NDArray[uint8], numbers: NDArray[int32]) -> None:
    """Set the marker of each number that occurs to 1; -1 means the last one.

    Raises ValueError for other numbers that have no marker. Releases the GIL.
    """

def number_values(column: NDArray[uint64]) -> tuple[NDArray[uint64], NDArray[int32]]:
    """The distinct values of a column in the order in which they first occur, and for each row which of them it holds.

    Raises ValueError for more than 2^30 rows, MemoryError. Releases the GIL.
    """

class DenseUnion:
    """The classes and rows of the events of a batch: positions of each class's rows are computed on first use.

    `lengths` are the numbers of rows by class.

    Any thread may call it.
    """

    def __init__(
        self, class_id: NDArray[int32], row: NDArray[int32], lengths: dict[int, int]
    ) -> None: ...
    def first(self, number: int) -> int:
        """Return the position of the first row of a class. Raises KeyError where it has none."""

    def positions(self, number: int) -> NDArray[int32]:
        """Return the positions of the rows of a class: entry r is the position of row r, -1 if nowhere.

        Raises ValueError for a row that no table has.
        """

    def taken(self, column: NDArray[_Entry], number: int) -> NDArray[_Entry]:
        """Return a column of the batch for the rows of a class; one pass over the batch serves all classes."""
