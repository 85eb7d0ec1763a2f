from numpy import int32, uint64
from numpy.typing import NDArray

from converter.kernels.event_arrays import OutputArrays
from converter.kernels.tables.strings import StringTable

#: Results of `Scanner.scan` about the end of a window.
DONE: int
INCOMPLETE: int
ZERO_SIZE: int
TOO_MANY_PROVIDERS: int
FULL: int
SUSPECT: int

class Scanner:
    """Makes events of records, window after window, with the tables of each provider."""

    #: The number of bytes of the last window that were passed: whole records.
    consumed: int
    #: The scan stops, with SUSPECT, before long records that are not what their headers say, from here on.
    trusted: int

    def __init__(
        self, strings: StringTable, *, big_endian: bool, ticks_per_second: int
    ) -> None: ...
    @property
    def unresolved_strings(self) -> tuple[int, int]:
        """Return the number of references to strings that named none, and the position in its window of the first
        record with one.
        """
    @property
    def unresolved_threads(self) -> tuple[int, int]:
        """The same of references to threads."""
    @property
    def malformed(self) -> tuple[int, int]:
        """The same of records that are not what their headers say."""
    @property
    def overflows(self) -> tuple[int, int]:
        """The same of times beyond 63 bits."""
    def scan(
        self,
        data: bytes | memoryview,
        events: OutputArrays,
        values: NDArray[uint64],
    ) -> tuple[int, int, int]:
        """Scan a window, which starts with a record: (status, number of events, number of value words).

        The arrays have one entry an event; `values` has several, at least 32. The scan stops, with FULL, when they are
        full. `first` (int64) is where an event's values begin; `start` and `size` (int64) are of its record in the
        window. Rows are numbered from 0 in each window. Releases the GIL. Raises ValueError for small arrays,
        MemoryError.
        """
    def signatures(self, known: int) -> list[tuple[int, list[tuple[int, int]]]]:
        """Shape and arguments (type, string id of the name) of each class from number `known` on."""
    def row_counts(self) -> NDArray[int32]:
        """Return the number of events of each class in the last window."""
    def threads(self, known: int) -> list[tuple[int, int]]:
        """Process and thread koid of each thread from number `known` on."""
    def processes(self, known: int) -> list[int]:
        """The koid of each process from number `known` on."""
    def namings(self) -> list[tuple[bool, int, int]]:
        """Names given in the last window: whether to a thread, its or the process's number, string id."""

class Survey:
    """The first look at a file: which clock rates and providers it has. Reads only headers and times."""

    too_many_rates: bool
    #: Offsets of the first metadata record of each provider.
    providers: list[int]
    #: Offset of the first initialization record of more than two words, or -1.
    extended_initialization: int
    #: (ticks per second, latest time in ticks or None where nothing happened), in the order of the file.
    rates: list[tuple[int, int | None]]

    def __init__(self, *, big_endian: bool) -> None: ...
    def feed(self, window: bytes | memoryview, offset: int) -> int:
        """Scan a window that is at `offset` of the file and starts with a record.

        Returns how many bytes it passed: whole records; 0 where the first is larger than the window or of size zero.
        """
