from typing import Any

from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable

#: Operations of a program (operation, size in bytes): integers and floats take a word, as do whole registers, which
#: int arguments fill by half, and 80-bit floats, which become doubles; texts (a length of 16 bits before them) and
#: bytes take two, location and length.
UNSIGNED: int
SIGNED: int
REGISTER: int
FLOAT80: int
TEXT: int
BYTES: int

class FunctionTable:
    module: int
    symbol: int
    def __init__(self, strings: StringTable) -> None: ...
    def add_module(self) -> int: ...
    def load_module(self, number: int, starts: NDArray[uint64], ends: NDArray[uint64]) -> None: ...
    def add_space(
        self,
        starts: NDArray[uint64],
        ends: NDArray[uint64],
        bases: NDArray[uint64],
        modules: NDArray[int32],
    ) -> int: ...
    def add_program(
        self, operations: NDArray[int32], class_id: int, unmatched_class: int
    ) -> int: ...
    def set_site(
        self,
        module: int,
        symbol: int,
        name: int,
        category: int,
        entry: int,
        leave: int,
        source: int,
    ) -> None: ...

class Streams:
    def __init__(
        self,
        strings: Any,
        functions: FunctionTable,
        *,
        big_endian: bool,
        close_abandoned: bool,
        classes: Any,
    ) -> None: ...
    def add_tasks(self, thread: int, times: NDArray[int64], spaces: NDArray[int32]) -> int: ...
    def untracked(self) -> int: ...
    def add_ready(self, cpu: int) -> int: ...
    def feed(
        self, number: int, window: memoryview | bytes | NDArray[uint8], segment: int, final: bool
    ) -> None: ...
    def resume(
        self, number: int, window: memoryview | bytes | NDArray[uint8], segment: int, final: bool
    ) -> None: ...
    def feed_ready(
        self,
        number: int,
        events: EventArrays,
        count: int,
        data: memoryview | bytes | NDArray[uint8],
        segment: int,
    ) -> None: ...
    def consumed(self, number: int) -> int: ...
    def renumber(self, number: int, segment: int) -> None: ...
