from converter.formats.uftrace.writing.emit_programs import Programs
from converter.kernels.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable

#: Records that a program writes; the columns of a `named` one begin with the ids of name and category. ENTRY: of a :
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
    """The task files under construction, of any number of tasks."""

    def __init__(
        self, strings: StringTable, first_address: int, symbol_size: int, mark: bytes
    ) -> None:
        """Function i has the address ``first_address + symbol_size * i``; `mark` names one that is no slice."""
    @property
    def max_depth(self) -> int:
        """Return the largest number of functions open at a time in one task."""
    @property
    def mark(self) -> int:
        """The number of the function that is no slice, -1 where it was not needed."""
    @property
    def has_functions(self) -> bool:
        """Return True if there are functions that are slices."""
    def add_tasks(self, count: int) -> None:
        """Make it so many tasks."""
    def emit(self, columns: EventArrays, start: int) -> tuple[int, int]:
        """Emit events from number `start` on, each to its task: (status, the first that was not). Releases the GIL.

        `class_id` are the programs; the columns have a `task` beside the common ones.
        """
    def put_event(self, task: int, ts: int, event: int) -> None:
        """An event without data."""
    def put_mark(self, task: int, ts: int) -> None:
        """The entry and exit of the function that is no slice; a lost record has them before it by itself."""
    def last_time(self, task: int) -> int:
        """The time of a task's last record, 0 where it has none."""
    def dirty(self) -> list[int]:
        """The tasks with records that were not taken."""
    def take(self, task: int) -> bytes:
        """The records of a task since the last time."""
    def symbols(self) -> list[tuple[int, int, int, int, int, int]]:
        """The functions by number: shown name, name, category (-1: of exits without an entry), programs of both, place.

        A program is -1 where the function has no such record, or none with values or a name.
        """
    def user_events(self) -> list[tuple[int, int]]:
        """Name and category of the named events by number, which counts from the first id of such."""
