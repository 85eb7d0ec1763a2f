from typing import Any

from numpy import int64, uint8, uint64
from numpy.typing import NDArray

def unfit_texts(
    values: NDArray[Any], offsets: NDArray[int64], limit: int, utf8_only: bool
) -> NDArray[int64]:
    """Rows of a text column (uint8 values) that are over `limit` bytes (-1: none is) or, if `utf8_only`, not UTF-8.

    Raises ValueError when a text lies outside the column. Releases the GIL.
    """

def format_integers(
    offsets: NDArray[int64], values: NDArray[uint64], signed: bool
) -> tuple[NDArray[uint8], NDArray[int64]]:
    """Lists of integers as text, ``[1, 2, 3]``: the characters and their offsets.

    Values are int64 viewed as uint64 where `signed`. Raises ValueError when a list lies outside the values.
    """
