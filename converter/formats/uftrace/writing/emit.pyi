from collections.abc import Mapping, Sequence

from converter.formats.uftrace.writing.emit_programs import Programs
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable

#: Records that a program writes; the columns of a `named` one begin with the ids of name and category. ENTRY: of a
#: function, with its arguments; named.
ENTRY: int
#: EXIT: of the open function, or of the named one, with the value that it returns.
EXIT: int
#: LOST: a count of 8 bytes, below 2^48, or -1 where nobody knows it.
LOST: int
#: USER_EVENT: an event without data, numbered by its name.
USER_EVENT: int
#: EVENT: an event with a number and data, values without gaps.
EVENT: int
#: RAW: a whole record with what follows it, a multiple of 8 bytes; only its time is written again.
RAW: int
#: VARIABLE: a watched variable and its value, one number; the name is the variable's, and becomes a symbol.
VARIABLE: int
#: Operations, rows of (operation, width):
#: VALUE: a number of `width` bytes.
VALUE: int
#: TEXT: its length in two bytes, then the bytes; a column of ids, or (values, offsets).
TEXT: int
#: BYTES: exactly `width` bytes; (values, offsets).
BYTES: int
#: Results for the event at which `emit` stopped.
OK: int
BAD_COLUMN: int
TEXT_TOO_LONG: int
BAD_VALUE: int

class Emitter(Programs):
    def __init__(
        self,
        strings: StringTable,
        addresses: Sequence[int],
        symbol_size: int,
        mark: bytes,
        libraries: Mapping[bytes, int],
    ) -> None: ...
    @property
    def max_depth(self) -> int: ...
    @property
    def mark(self) -> int: ...
    @property
    def has_functions(self) -> bool: ...
    @property
    def has_forked(self) -> bool: ...
    def add_tasks(self, count: int) -> None: ...
    def emit(self, columns: EventArrays, start: int) -> tuple[int, int]: ...
    def put_event(self, task: int, ts: int, event: int) -> None: ...
    def put_mark(self, task: int, ts: int) -> None: ...
    def last_time(self, task: int) -> int: ...
    def dirty(self) -> list[int]: ...
    def take(self, task: int) -> bytes: ...
    def symbols(self) -> list[tuple[int, int, int, int, int, int, int]]: ...
    def user_events(self) -> list[tuple[int, int]]: ...
