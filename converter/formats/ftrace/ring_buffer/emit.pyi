from collections.abc import Mapping, Sequence
from typing import Any

from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.kernels.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable

#: Operations of a record's program; rows are (operation, offset, width, room, terminated), one for each column:
#: INTEGER: an integer of `width` bytes at `offset`.
INTEGER: int
#: INLINE: at most `room` bytes, elements of `width`, at `offset`.
INLINE: int
#: TAIL: all bytes, from `offset` on. Tails come before data locations.
TAIL: int
#: DATA_LOC: all bytes after the fixed part; at `offset` the word (of `room` bytes, 4 or 2) that says where.
DATA_LOC: int
#: REL_LOC: the same, the place counting from the word's end.
REL_LOC: int
#: MISSED: no record: start a page before which this number of events were lost, -1 if unknown. The only operation : of
#: its class.
MISSED: int

class RecordLayout:
    """The layout of the records of one event class."""

    def __init__(self, template: bytes, operations: NDArray[int32], pid_offset: int) -> None:
        """`template` is a record's fixed part, `operations` (n x 5) its program; the pid's offset is -1 if it has none.

        Lists and strings that are `terminated` get a NUL after them. Raises ValueError for operations that are unknown
        or write outside the fixed part.
        """

class RecordColumns:
    """The columns of one class in a batch, bound to its layout."""

    def __init__(
        self,
        layout: RecordLayout,
        columns: Sequence[NDArray[Any] | tuple[NDArray[Any], NDArray[int64]]],
        length: int,
    ) -> None:
        """A column for each operation: integers, int32 ids of strings, or (values, offsets) of lists; contiguous lists.

        Raises ValueError for columns that are too short or of another width.
        """

class PageEmitter:
    """Pages under construction, of one stream or many. Times count in the buffer's clock, modulo 2^64."""

    def __init__(
        self, page_size: int, long_size: int, big_endian: bool, strings: StringTable
    ) -> None:
        """Pages of a power of two bytes of a kernel whose longs have 4 or 8 bytes; ValueError for any others."""
    @property
    def page_size(self) -> int:
        """The size of a page in bytes, header included."""
    def add_stream(self) -> int:
        """Start another stream; its number."""
    def emit(
        self, given: EventArrays, tables: Mapping[int, RecordColumns], start: int
    ) -> tuple[int, int]:
        """Append the events from `start` on, in order, each to its stream: (events done, 0).

        An event that does not fit in a page ends this early: (its number, the bytes that a page would have to have).
        Raises ValueError for events without a class, row, stream, string or list, and for data beyond the reach of data
        locations (65,535). The columns have a `stream` and a `pid` beside the common ones. Releases the GIL.
        """
    def append_pages(
        self, stream: int, pages: memoryview | bytes | NDArray[uint8], page_size: int
    ) -> None:
        """Append the records of whole pages, which must not be larger than those here, joining pages where they fit.

        What does not make sense ends its page. Releases the GIL.
        """
    def finish(self, stream: int) -> None:
        """End the open page."""
    def take(self, stream: int, multiple: int) -> NDArray[uint8] | None:
        """Remove and return the finished pages, a `multiple` of pages; None when there are fewer."""
