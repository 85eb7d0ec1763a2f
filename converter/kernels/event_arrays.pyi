from typing import Any

from numpy import number
from numpy.typing import NDArray

#: The names of the common columns.
COMMON: tuple[str, ...]

class EventArrays:
    """Columns of events that a kernel reads.

    Those that all events have in common are ts (int64), class_id, row, thread, cpu and track (int32). `class_id` is the
    event class or, for emitters with numbered programs, the program. Others are the format's own.

    Args:
        events: a batch, or whatever has common columns as attributes: they are taken from there unless they are given.
        columns: the others, by name.

    Raises:
        ValueError: the columns differ in length or have another width, or `ts` is missing.

    """

    def __init__(self, events: object = None, /, **columns: NDArray[number[Any]]) -> None: ...
    def __len__(self) -> int: ...

class OutputArrays(EventArrays):
    """Columns that a kernel fills: contiguous arrays that may be written to."""
