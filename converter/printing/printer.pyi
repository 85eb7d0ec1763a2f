from collections.abc import Callable

from numpy import int32
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable
from converter.printing.program import Program

class Printer:
    """Prints events, with `escapes` control characters as Python escapes them, but for line ends and tabs."""

    def __init__(self, strings: StringTable, escapes: bool = False) -> None: ...
    def print(
        self,
        programs: list[Program | None],
        class_id: NDArray[int32],
        row: NDArray[int32],
        write: Callable[[memoryview], object],
    ) -> None:
        """Print the events of a batch by the programs of their classes; those without one not at all.

        Blocks of text are written when they are full. Programs let go of the columns that they are bound to.
        """
    def flush(self, write: Callable[[memoryview], object]) -> None:
        """Write what has not been."""
    def text(self, program: Program, position: int, row: int) -> bytes:
        """Return the text that a program prints for one event."""
