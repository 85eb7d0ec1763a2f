from typing import Any

from numpy import int32
from numpy.typing import NDArray

def numbers_of_values(
    column: NDArray[Any], numbers: NDArray[int32], unknown: int, out: NDArray[int32]
) -> bool: ...
