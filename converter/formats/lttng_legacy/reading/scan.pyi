from collections.abc import Sequence

from numpy import int32, int64, uint8, uint32
from numpy.typing import NDArray

from converter.formats.lttng_legacy.reading.markers import MarkerTable, ThreadIndex
from converter.formats.lttng_legacy.reading.scan_records import RecordWalk

DONE: int
FULL: int
NEEDS_DATA: int

class Scanner(RecordWalk):
    resumed: int
    def __init__(
        self,
        table: MarkerTable,
        threads: ThreadIndex | None,
        header: Sequence[int],
        geometry: Sequence[int],
        holes: int,
    ) -> None: ...
    @property
    def holes(self) -> list[tuple[int, int, int]]: ...
    def scan(
        self,
        data: NDArray[uint8],
        base: int,
        file_size: int,
        ts: NDArray[int64],
        class_id: NDArray[int32],
        thread: NDArray[int32],
        start: NDArray[uint32],
        size: NDArray[uint32],
    ) -> tuple[int, int]: ...
