import numpy as np
from numpy import int32, int64
from numpy.typing import NDArray

class InnerEnds:
    def __init__(self) -> None: ...
    def find(
        self,
        step: NDArray[int32],
        thread: NDArray[int32],
        track: NDArray[int32],
        name: NDArray[int32],
        category: NDArray[int32],
        or_unnamed: bool,
        ts: NDArray[int64],
        until: NDArray[int64],
    ) -> tuple[
        NDArray[int64], NDArray[int64], NDArray[int32], NDArray[int32], NDArray[np.intp], int, int
    ]: ...
