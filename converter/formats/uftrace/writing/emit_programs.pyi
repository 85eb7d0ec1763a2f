from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy import int64
from numpy.typing import NDArray

from converter.kernels.batches.programs import ProgramSet

Column: TypeAlias = NDArray[Any] | tuple[NDArray[Any], NDArray[int64]]

class Programs(ProgramSet):
    def add_program(
        self,
        record: int,
        named: bool,
        operations: Sequence[tuple[int, int]],
        event: int = 0,
        *,
        placed: bool = False,
    ) -> int: ...
