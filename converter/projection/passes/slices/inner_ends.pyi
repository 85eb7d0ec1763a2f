import numpy as np
from numpy.typing import NDArray

class InnerEnds:
    def find(
        self,
        step: NDArray[np.int32],
        thread: NDArray[np.int32],
        track: NDArray[np.int32],
        name: NDArray[np.int32],
        category: NDArray[np.int32],
        or_unnamed: bool,
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.intp]]: ...
