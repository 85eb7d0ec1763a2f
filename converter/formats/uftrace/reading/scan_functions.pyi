from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

from converter.kernels.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable

#: Operations of a program (operation, size in bytes): integers and floats take a word, as do whole registers, which int
#: arguments fill by half, and 80-bit floats, which become doubles; texts (a length of 16 bits before them) and bytes
#: take two, location and length.
UNSIGNED: int
SIGNED: int
REGISTER: int
FLOAT80: int
TEXT: int
BYTES: int

class FunctionTable:
    """The functions at the addresses of records, for one `Scanner`; its arrays are kept.

    `module` and `symbol` are those that the scanner lacks (`NEED_SYMBOL`): with symbol -1 the module's symbols.
    """

    module: int
    symbol: int

    def __init__(self, strings: StringTable) -> None: ...
    def add_module(self) -> int:
        """A file with symbols, which `load_module` returns when an address is in it; return its number."""
    def load_module(self, number: int, starts: NDArray[uint64], ends: NDArray[uint64]) -> None:
        """The symbols of a module, ascending."""
    def add_space(
        self,
        starts: NDArray[uint64],
        ends: NDArray[uint64],
        bases: NDArray[uint64],
        modules: NDArray[int32],
    ) -> int:
        """Mappings, ascending, of modules (-1: of no symbols); its number."""
    def add_program(self, operations: NDArray[int32], class_id: int, unmatched_class: int) -> int:
        """Add the program that decodes an argument record (n x 2), and the class of its events (-1: left out); return
        its number.
        """
    def set_site(
        self,
        module: int,
        symbol: int,
        name: int,
        category: int,
        entry: int,
        leave: int,
        source: int,
    ) -> None:
        """The names (ids) of a symbol, its programs (-1: none), and its place in the source (an id; -1: unknown)."""

class Streams:
    """Streams by number, as they are added; at equal times the lower number goes first. What `Scanner` is based on."""

    def add_tasks(self, thread: int, times: NDArray[int64], spaces: NDArray[int32]) -> int:
        """A stream of a task file's records; from times[i] on its addresses are those of spaces[i]."""
    def untracked(self) -> int:
        """Streams whose depth is no longer followed since it exceeds what memory allows."""
    def add_ready(self, cpu: int) -> int:
        """A stream of events that are decoded elsewhere; its number."""
    def feed(
        self, number: int, window: NDArray[uint8] | memoryview, segment: int, final: bool
    ) -> None:
        """Give a stream of records its next window, which starts where `consumed` said; it is kept."""
    def resume(self, number: int, window: memoryview, segment: int, final: bool) -> None:
        """Give a stream its next window, before which records of unknown depth are lost."""
    def feed_ready(
        self,
        number: int,
        events: EventArrays,
        count: int,
        data: NDArray[uint8] | bytes,
        segment: int,
    ) -> None:
        """Give an empty stream its next events, whose payloads lie in `data`, the segment. The arrays are kept."""
    def consumed(self, number: int) -> int:
        """Bytes of the stream's window that have become events."""
    def renumber(self, number: int, segment: int) -> None:
        """From now on the stream's window is `segment`."""
