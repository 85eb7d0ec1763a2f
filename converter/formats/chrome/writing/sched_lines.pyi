from typing import Any

from numpy import int64
from numpy.typing import NDArray

from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable

class LineColumns:
    def __init__(self, name: bytes, columns: list[Any]) -> None: ...

class SchedLines:
    def __init__(
        self, strings: StringTable, decimals: int, letters: bytes, preempted: int
    ) -> None: ...
    def lines(
        self,
        classes: list[LineColumns | None],
        columns: EventArrays,
        tids: NDArray[int64],
        pids: NDArray[int64],
        start: int,
        stop: int,
    ) -> tuple[memoryview, int]: ...
