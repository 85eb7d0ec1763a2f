from collections.abc import Sequence
from typing import TypeVar

from numpy import int32, int64, uint32
from numpy.typing import NDArray

from converter.kernels.batches.event_arrays import OutputArrays

_First = TypeVar("_First", int64, int32)
_Second = TypeVar("_Second", uint32, int32)

class Merge:
    def __init__(self, cpus: Sequence[int], tracks: Sequence[int]) -> None: ...
    def feed(
        self,
        stream: int,
        ts: NDArray[int64],
        class_id: NDArray[int32],
        thread: NDArray[int32],
        start: NDArray[uint32],
        size: NDArray[uint32],
        count: int,
        segment: int,
    ) -> None: ...
    def move(self, stream: int, cpu: int) -> None: ...
    def renumber(self, stream: int, segment: int) -> None: ...
    def fill(
        self, events: OutputArrays, filled: int, counts: NDArray[int32]
    ) -> tuple[int, int]: ...

def group_by_class(
    class_id: NDArray[int32],
    row: NDArray[int32],
    first: NDArray[int64],
    one: NDArray[_First],
    other: NDArray[_Second],
    grouped_one: NDArray[_First],
    grouped_other: NDArray[_Second],
) -> None: ...
