from collections.abc import Sequence

from numpy import int32, int64, uint8, uint32
from numpy.typing import NDArray

from converter.formats.lttng_legacy.reading.markers import MarkerTable, ThreadIndex
from converter.formats.lttng_legacy.reading.scan_records import RecordWalk

DONE: int
FULL: int
NEEDS_DATA: int

class Scanner(RecordWalk):
    """One file being scanned.

    `position` is where the next window must begin or contain; `damaged` counts damaged ranges (the first at
    `first_damage`), `mismatches` payloads whose stored size is not that of their format, `undeclared` records of ids
    that nobody declared, `unclosed` blocks that the tracer never closed; `truncated` says that the file ends within
    one. `resumed` counts positions where events continue after damage, `holes` are the first of them: where the last
    event before it ends, where the next begins, and the time of the one before. `given_up` is where no more were looked
    for.

    Args:
        table: the channel's markers.
        threads: for markers of kind 1.
        header: size of a block's header, then the offsets of magic, begin, end, data or lost size, block size, lost
            events and corrupt sub-buffers (-1: none) in it.
        geometry: own sizes, big-endian, big-endian ids, block size, alignment, pointer size, layout of event headers
            (0: 32-bit time, 1: 64-bit, 2: compact, 3: version 2), tscbits, shift, truncation, classes of native
            records and of lost events.
        holes: positions of the file where reading continues after damage.
    """

    resumed: int
    @property
    def holes(self) -> list[tuple[int, int, int]]: ...
    def __init__(
        self,
        table: MarkerTable,
        threads: ThreadIndex | None,
        header: Sequence[int],
        geometry: Sequence[int],
        holes: int,
    ) -> None: ...
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
    ) -> tuple[int, int]:
        """Decode the window `data`, which begins at offset `base` of the file, from `position` on.

        Counts of lost events are changed in the window to what each block adds. The thread of a native record is its
        id. Returns the number of events and DONE, FULL (the columns are) or NEEDS_DATA. Releases the GIL.
        """
