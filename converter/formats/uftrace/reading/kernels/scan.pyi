from numpy import int32, uint64
from numpy.typing import NDArray

from converter.formats.uftrace.reading.kernels.scan_functions import FunctionTable, Streams
from converter.kernels.batches.event_arrays import OutputArrays
from converter.kernels.tables.strings import StringTable

#: Reasons why `Scanner.fill` ended: no stream has an event; the columns are full; stream `stream` needs its next
#: window; the table of functions needs a symbol's site, or a module's symbols; stream `stream` is damaged at `offset`
#: of its window, and ended.
DONE: int
FULL: int
NEED_WINDOW: int
NEED_SYMBOL: int
DAMAGED: int
#: Why a stream is damaged: the file ends within a record; a record without its magic number; a time beyond 63 bits;
#: an argument record of a function without specifications; values that exceed their record's end.
TRUNCATED: int
BAD_MAGIC: int
BAD_TIME: int
NO_SPECIFICATION: int

class Scanner(Streams):
    stream: int
    reason: int
    offset: int
    #: The time of the last record before the damage.
    time: int
    rounded: int
    def __init__(
        self,
        strings: StringTable,
        functions: FunctionTable,
        *,
        big_endian: bool,
        close_abandoned: bool,
        classes: NDArray[int32],
    ) -> None: ...
    def add_event(
        self, id: int, class_id: int, name: int, category: int, words: int, width: int
    ) -> None: ...
    def close_at(self, class_id: int, stream_of_thread: NDArray[int32]) -> None: ...
    def move_estimated(
        self, class_id: int, tids: NDArray[int32], streams: NDArray[int32], most: int
    ) -> None: ...
    def fill(
        self,
        events: OutputArrays,
        values: NDArray[uint64],
        filled: int,
        value_count: int,
        counts: NDArray[int32],
        *,
        keeps_records: bool = False,
    ) -> tuple[int, int, int]: ...
