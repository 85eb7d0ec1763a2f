import numpy as np
from numpy import int64
from numpy.typing import NDArray

from converter.kernels.batches.event_arrays import EventArrays

class LateFlows:
    def __init__(self) -> None: ...
    def find(
        self, events: EventArrays, order: NDArray[int64]
    ) -> tuple[NDArray[np.intp], NDArray[int64], NDArray[int64]]: ...
    def outside(self, events: EventArrays, order: NDArray[int64]) -> NDArray[np.intp]: ...
