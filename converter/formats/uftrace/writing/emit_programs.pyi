from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy import int64
from numpy.typing import NDArray

from converter.kernels.programs import ProgramSet

Column: TypeAlias = NDArray[Any] | tuple[NDArray[Any], NDArray[int64]]

class Programs(ProgramSet):
    """The programs of event classes, and the columns that they run over: what `Emitter` is based on.

    Columns are arrays of the operations' widths, int32 ids, or (values, offsets) of lists.
    """

    def add_program(
        self,
        record: int,
        named: bool,
        operations: Sequence[tuple[int, int]],
        event: int = 0,
        *,
        placed: bool = False,
    ) -> int:
        """A program for a class; its number. Raises ValueError for records that cannot be.

        The columns of a `named` one begin with the ids of name and category; of a `placed` one, that of the function's
        place in the source follows.
        """
