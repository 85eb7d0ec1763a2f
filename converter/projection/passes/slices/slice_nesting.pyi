from numpy import int32, int64
from numpy.typing import NDArray

from converter.kernels.batches.event_arrays import EventArrays

class SliceDepths:
    def __init__(self) -> None: ...
    def beyond(
        self,
        steps: NDArray[int32],
        of_cpus: NDArray[int32],
        events: EventArrays,
        order: NDArray[int64] | None,
        most: int,
    ) -> int: ...
