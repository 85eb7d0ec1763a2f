from numpy import int32
from numpy.typing import NDArray

def number_rows(class_id: NDArray[int32], row: NDArray[int32], counts: NDArray[int32]) -> None:
    """Give event i the next row of its class; `counts`, one per class id, go on from what they hold.

    Raises ValueError for a class id outside `counts`. Releases the GIL.
    """

def positions_by_class(
    class_id: NDArray[int32], row: NDArray[int32], lengths: dict[int, int]
) -> dict[int, NDArray[int32]]:
    """For each class of `lengths` (rows by class id): entry r is the position of row r in the batch, -1 if nowhere.

    Raises ValueError for a row that no table has. Releases the GIL.
    """
