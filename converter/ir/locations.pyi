from collections.abc import Callable
from typing import Any

from numpy import int32, int64, uint32
from numpy.typing import NDArray

class Locations:
    counts: NDArray[int32]
    def __init__(
        self,
        class_id: NDArray[int32],
        row: NDArray[int32],
        location: NDArray[int64],
        size: NDArray[uint32],
        counts: NDArray[int32],
    ) -> None: ...
    def of_class(self, id: int) -> Callable[[], tuple[NDArray[int64], NDArray[uint32]]]: ...

class LocatedRows:
    def __init__(self, locations: Locations, id: int) -> None: ...
    def __call__(self) -> Any: ...
