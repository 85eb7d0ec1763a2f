from numpy import int32, int64, uint32
from numpy.typing import NDArray

from converter.kernels.batches.columns import HeldBuffers

class Payloads(HeldBuffers):
    def locate(
        self,
        location: NDArray[int64],
        size: NDArray[uint32],
        steps: NDArray[int32],
        place: NDArray[int64],
        left: NDArray[int64],
    ) -> None: ...
