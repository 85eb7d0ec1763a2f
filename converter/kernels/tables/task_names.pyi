from collections.abc import Iterator
from typing import Any

from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable

class TaskNames:
    def __init__(self) -> None: ...
    def note_columns(
        self, tids: NDArray[Any], names: NDArray[int32], ts: NDArray[int64], strings: StringTable
    ) -> None: ...
    def note_texts(
        self,
        tids: NDArray[Any],
        offsets: NDArray[int64],
        data: memoryview | bytes | NDArray[uint8],
        ts: NDArray[int64],
        strings: StringTable,
    ) -> None: ...
    def check(self) -> None: ...
    def __len__(self) -> int: ...
    def names(self) -> Iterator[tuple[int, int]]: ...
