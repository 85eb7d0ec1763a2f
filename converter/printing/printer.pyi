from collections.abc import Callable

from numpy import int32
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable
from converter.printing.program import Program

class Printer:
    def __init__(self, strings: StringTable, escapes: bool = False) -> None: ...
    def print(
        self,
        programs: list[Program | None],
        class_id: NDArray[int32],
        row: NDArray[int32],
        write: Callable[[memoryview], object],
    ) -> None: ...
    def flush(self, write: Callable[[memoryview], object]) -> None: ...
    def text(self, program: Program, position: int, row: int) -> bytes: ...
