from numpy import int64
from numpy.typing import NDArray

OPERATIONS: dict[str, int]
"""The codes of operations, by name; `scan_programs.pxd` says what each does."""
FLAGS: dict[str, int]
MAX_DEPTH: int
"""The deepest nesting of loops."""

class Program:
    """Operations over the fields of a record, checked once."""

    def __init__(
        self,
        operations: NDArray[int64],
        ranges: NDArray[int64],
        registers: int,
        slots: int,
    ) -> None:
        """Operations of shape (n, 9), ranges of shape (m, 4): the words of the structures in the pxd.

        Raises ValueError for a register, slot, range or target that does not exist.
        """
    @property
    def size(self) -> int: ...
    @property
    def register_count(self) -> int: ...
    @property
    def slot_count(self) -> int: ...
