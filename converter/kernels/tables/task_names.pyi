from collections.abc import Iterator
from typing import Any

from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable

class TaskNames:
    """The name of each task that events name, by its tid: the one that the latest event says."""

    def __init__(self) -> None: ...
    def note_columns(
        self,
        tids: NDArray[Any],
        names: NDArray[int32],
        ts: NDArray[int64],
        strings: StringTable,
    ) -> None:
        """Take names, string ids, from columns of events: that of each row's task, and the row's time.

        Tids below 0, empty names and "<...>" say nothing. Raises ValueError when the columns differ in length or a name
        is none of the strings, MemoryError as
        `check` does. Releases the GIL.
        """
    def note_texts(
        self,
        tids: NDArray[Any],
        offsets: NDArray[int64],
        data: NDArray[uint8],
        ts: NDArray[int64],
        strings: StringTable,
    ) -> None:
        """The same of texts, that of row i at ``data[offsets[i]:offsets[i + 1]]``, which become strings of a table.

        Raises ValueError also when a text lies outside the data, or this has gaps.
        """
    def check(self) -> None:
        """Raise MemoryError if there was no room for a name."""
    def __len__(self) -> int: ...
    def names(self) -> Iterator[tuple[int, int]]:
        """The tids and the string ids of their names, in the order in which they were met."""
