from numpy import int32, uint8, uint64
from numpy.typing import NDArray

from converter.kernels.batches.event_arrays import OutputArrays
from converter.kernels.tables.kept import Kept
from converter.kernels.tables.strings import StringTable

#: Results of `Scanner.scan` and `Scanner.skim` about the end of a window.
DONE: int
INCOMPLETE: int
ZERO_SIZE: int
TOO_MANY_PROVIDERS: int
FULL: int
SUSPECT: int
NOT_SURE: int

class Scanner:
    #: The number of bytes of the last window that were passed: whole records.
    consumed: int
    #: The scan stops, with SUSPECT, before long records that are not what their headers say, from here on.
    trusted: int
    def __init__(
        self, strings: StringTable, *, big_endian: bool, ticks_per_second: int
    ) -> None: ...
    def number_as(self, other: Scanner) -> None: ...
    @property
    def unresolved_strings(self) -> tuple[int, int]: ...
    @property
    def unresolved_threads(self) -> tuple[int, int]: ...
    @property
    def malformed(self) -> tuple[int, int]: ...
    @property
    def overflows(self) -> tuple[int, int]: ...
    @property
    def zero_rates(self) -> tuple[int, int]: ...
    def scan(
        self,
        data: memoryview | bytes | NDArray[uint8],
        events: OutputArrays,
        values: NDArray[uint64],
    ) -> tuple[int, int, int]: ...
    def skim(self, data: memoryview | bytes | NDArray[uint8], offset: int, kept: Kept) -> int: ...
    def signatures(self, known: int) -> list[tuple[int, list[tuple[int, int]]]]: ...
    def row_counts(self) -> NDArray[int32]: ...
    def threads(self, known: int) -> list[tuple[int, int]]: ...
    def processes(self, known: int) -> list[int]: ...
    def namings(self) -> list[tuple[bool, int, int]]: ...

class Survey:
    too_many_rates: bool
    #: Offsets of the first metadata record of each provider.
    providers: list[int]
    #: Offset of the first initialization record of more than two words, or -1.
    extended_initialization: int
    def __init__(self, *, big_endian: bool) -> None: ...
    def feed(self, window: memoryview | bytes | NDArray[uint8], offset: int) -> int: ...
    @property
    def rates(self) -> list[tuple[int, int | None]]: ...
