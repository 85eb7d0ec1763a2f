from numpy import int64
from numpy.typing import NDArray

OPERATIONS: dict[str, int]
"""The codes of operations, by name; `scan_programs.pxd` says what each does."""
FLAGS: dict[str, int]
MAX_DEPTH: int
"""The deepest nesting of loops."""

class Program:
    size: int
    register_count: int
    slot_count: int
    def __init__(
        self, operations: NDArray[int64], ranges: NDArray[int64], registers: int, slots: int
    ) -> None: ...
