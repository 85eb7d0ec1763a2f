from collections.abc import Mapping, Sequence
from typing import Any

from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.kernels.batches.event_arrays import EventArrays
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
#: MISSED: no record: start a page before which this number of events were lost, -1 if unknown. The only operation of
#: its class.
MISSED: int

class RecordLayout:
    def __init__(self, template: bytes, operations: NDArray[int32], pid_offset: int) -> None: ...

class RecordColumns:
    def __init__(
        self,
        layout: RecordLayout,
        columns: Sequence[NDArray[Any] | tuple[NDArray[Any], NDArray[int64]]],
        length: int,
    ) -> None: ...

class PageEmitter:
    def __init__(
        self, page_size: int, long_size: int, big_endian: bool, strings: StringTable
    ) -> None: ...
    @property
    def page_size(self) -> int: ...
    def add_stream(self) -> int: ...
    def emit(
        self, given: EventArrays, tables: Mapping[int, RecordColumns], start: int
    ) -> tuple[int, int]: ...
    def append_pages(
        self, stream: int, pages: memoryview | bytes | NDArray[uint8], page_size: int
    ) -> None: ...
    def finish(self, stream: int) -> None: ...
    def take(self, stream: int, multiple: int) -> NDArray[uint8] | None: ...
