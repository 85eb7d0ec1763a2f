from collections.abc import Mapping, Sequence

from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.kernels.lttng_legacy_programs import MarkerColumns
from converter.kernels.strings import StringTable

class BlockEmitter:
    """Blocks of several files that are being written.

    Args:
        strings: of the trace.
        template: a block's header, but for what differs from block to block.
        header: offsets of begin, end, data or lost size, block size and lost events (-1: none) in it.
        geometry: own sizes, big-endian, big-endian ids, block size, alignment, pointer size, tscbits, shift and
            truncation.

    """

    def __init__(
        self,
        strings: StringTable,
        template: bytes,
        header: Sequence[int],
        geometry: Sequence[int],
    ) -> None: ...
    def add_stream(self, form: int) -> int:
        """A new file, with event headers of this form (see `lttng_legacy_scan`); its number."""
    def begin(self, stream: int, ts: int) -> None:
        """Start a block at this time."""
    def put(self, stream: int, ts: int, id: int, payload: bytes) -> bool:
        """Append one event; False when it fits no block."""
    def emit(
        self,
        ts: NDArray[int64],
        class_id: NDArray[int32],
        row: NDArray[int32],
        stream: NDArray[int32],
        pid: NDArray[int32],
        tid: NDArray[int32],
        tables: Mapping[int, MarkerColumns],
    ) -> tuple[int, int]:
        """Append events, each to its stream, in order; those of classes without columns are left out.

        Returns how many are done and, where that is not all, why: 1 for an event that is larger than a block, 4 for one
        that its header cannot hold. ValueError for events without row, stream, time or string. Releases the GIL.
        """
    def finish(self, stream: int, shrink: bool) -> None:
        """End the open block; with `shrink` the only block of a file takes no more than the pages that it needs."""
    def take(self, stream: int) -> NDArray[uint8] | None:
        """All whole blocks so far, None for none."""
