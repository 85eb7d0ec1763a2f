from typing import Any

from numpy import number
from numpy.typing import NDArray

#: The names of the common columns.
COMMON: tuple[str, ...]

class EventArrays:
    def __init__(self, events: object = None, /, **columns: NDArray[number[Any]]) -> None: ...
    def __len__(self) -> int: ...

class OutputArrays(EventArrays): ...
