from collections.abc import Callable, Sequence
from typing import Any

from numpy import int32
from numpy.typing import NDArray

from converter.ir.tables import Table
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.batches.programs import ProgramSet
from converter.kernels.tables.strings import StringTable

class Provider(ProgramSet):
    def __init__(self, strings: StringTable, *, big_endian: bool) -> None: ...
    @property
    def slots_taken(self) -> int: ...
    def add_program(
        self,
        shape: int,
        codecs: Sequence[int],
        arguments: Sequence[tuple[int, int]],
        extended: bool,
    ) -> int: ...
    def bind_tables(
        self,
        tables: dict[int, Table],
        programs: NDArray[int32],
        getters: list[list[Callable[[Table], Any]]],
    ) -> None: ...
    def add_threads(self, koids: Sequence[tuple[int, int]]) -> None: ...
    def forget_slots(self) -> None: ...
    def begin(self, columns: EventArrays) -> None: ...
    def release(self) -> None: ...

def without_program(tables: dict[int, Table], programs: NDArray[int32]) -> list[int]: ...
