from numpy import int32, int64, uint64
from numpy.typing import NDArray

from converter.formats.uftrace.reading.scan_functions import FunctionTable, Streams
from converter.kernels.event_arrays import OutputArrays
from converter.kernels.tables.strings import StringTable

#: Reasons why `Scanner.fill` ended: no stream has an event; the columns are full; stream `stream` needs its next
#: window; : the table of functions needs a symbol's site, or a module's symbols; stream `stream` is damaged at `offset`
#: of its : window, and ended.
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
    """Records of task files and events of other streams, merged by time into columns.

    A location is ``segment << 32 | offset``. `rounded` counts the 80-bit floats that a double does not hold exactly.
    """

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
    ) -> None:
        """`classes`: of entries, exits and unmatched exits without values, of LOST, of records that nothing describes,
        of user events with data, of watched variables of 1, 2, 4 and 8 bytes, and of entries with their place in the
        source only.

        With `close_abandoned`, exits are distinguished by the depth of their task: functions that were left without one
        (longjmp, exec) get an exit at the time of the record that shows it.
        """
    def add_event(
        self, id: int, class_id: int, name: int, category: int, words: int, width: int
    ) -> None:
        """An EVENT record with `words` integers of `width` bytes as data; with class -1 it is left out."""
    def close_at(self, class_id: int, stream_of_thread: NDArray[int32]) -> None:
        """Ready events of this class are exits of tasks, which close the functions that they are still in.

        `stream_of_thread` has the stream of each thread, -1 for those without one.
        """
    def move_estimated(
        self, class_id: int, tids: NDArray[int32], streams: NDArray[int32], most: int
    ) -> None:
        """Ready events of this class are switches as perf records them, which move exits that have been estimated.

        `streams` has the stream of each task of `tids`, which ascend; functions nest in up to `most`.
        """
    def fill(
        self,
        events: OutputArrays,
        values: NDArray[uint64],
        filled: int,
        value_count: int,
        counts: NDArray[int32],
    ) -> tuple[int, int, int]:
        """Fill the columns from `filled` on: (what ended it, places filled, words of `values` filled).

        The columns are ts, class_id, row, thread, cpu, name and category (int32), first (int64), size (uint32). `name`
        and `category` are ids, -1 for events of other streams. `first` is where an event's words start in `values`, or
        its location; `size` is that of the payload of an event of another stream. `counts` numbers the rows of each
        class. Releases the GIL.
        """

def gather_words(values: NDArray[uint64], first: NDArray[int64], columns: NDArray[uint64]) -> None:
    """Copy the words from ``values[first[i]]`` on to place i of each of `columns` (words x n).

    Raises ValueError for words outside `values`. Releases the GIL.
    """
