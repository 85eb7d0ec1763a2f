from collections.abc import Sequence
from typing import Any

from numpy import uint8, uint64
from numpy.typing import NDArray

from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.batches.programs import ProgramSet
from converter.kernels.tables.strings import StringTable

OK: int
TOO_LARGE: int
BAD_COLUMN: int
NO_MEMORY: int
TOO_MANY_EMPTY: int

class Emitter(ProgramSet):
    def __init__(self, strings: StringTable, *, bits: int) -> None: ...
    @property
    def size(self) -> int: ...
    def take(self) -> bytes: ...
    def add_program(
        self,
        hook: int,
        sub: int,
        timed: bool,
        nodes: Sequence[tuple[int, int, bool, int, int, int]],
        fields: int,
        following: tuple[Any, ...] | None,
    ) -> int: ...
    def metadata(self, kind: int, data: memoryview | bytes | NDArray[uint8], ts: int) -> None: ...
    def generic(
        self, hook: int, word: int, data: memoryview | bytes | NDArray[uint8], ts: int
    ) -> None: ...
    def put(self, data: memoryview | bytes | NDArray[uint8]) -> None: ...
    def emit(self, columns: EventArrays, tids: NDArray[uint64], start: int) -> tuple[int, int]: ...
