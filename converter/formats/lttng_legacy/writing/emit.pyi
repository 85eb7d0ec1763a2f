from collections.abc import Mapping, Sequence

from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.kernels.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable

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
        """A new file, with event headers of this form (see `scan`); its number."""
    def begin(self, stream: int, ts: int) -> None:
        """Start a block at this time."""
    def put(self, stream: int, ts: int, id: int, payload: bytes) -> bool:
        """Append one event; False when it fits no block."""
    def emit(self, given: EventArrays, tables: Mapping[int, MarkerColumns]) -> tuple[int, int]:
        """Append events, each to its stream, in order; those of classes without columns are left out.

        Returns how many are done and, where that is not all, why: 1 for an event that is larger than a block, 4 for one
        that its header cannot hold. The columns have `stream`, `pid` and `tid` beside the common ones. ValueError for
        events without row, stream, time or string. Releases the GIL.
        """
    def finish(self, stream: int, shrink: bool) -> None:
        """End the open block; with `shrink` the only block of a file takes no more than the pages that it needs."""
    def take(self, stream: int) -> NDArray[uint8] | None:
        """All whole blocks so far, None for none."""

INTEGER: int
STRING: int
RAW: int
INLINE: int
LOST: int
RECORD_ID: int

class MarkerProgram:
    """The program for the payloads of a marker.

    Operations are (code, bytes, alignment, always big-endian): INTEGER; STRING, with its NUL; RAW bytes; INLINE bits of
    a compact header; LOST, twice, the counts of the next block's header; RECORD_ID, in place of `id`. With `context` a
    pid and a tid come at the end, with `sized` the header always says the payload's size.
    """

    id: int

    def __init__(
        self, id: int, operations: NDArray[int32], largest: int, context: bool, sized: bool
    ) -> None: ...

class MarkerColumns:
    """A program and its columns in a batch, one an operation: integers, ids of strings, or (values, offsets)."""

    def __init__(
        self,
        program: MarkerProgram,
        columns: Sequence[NDArray[int32] | tuple[NDArray[uint8], NDArray[int64]]],
        length: int,
    ) -> None: ...
