import numpy as np
from numpy.typing import NDArray

class OpenSlices:
    def match(
        self,
        lane: NDArray[np.int32],
        step: NDArray[np.int8],
        name: NDArray[np.int32],
        top: NDArray[np.int32],
    ) -> NDArray[np.bool_]:
        """Go through events that begin (1) and end (2) slices.

        `top` has the innermost entry of each lane, -1 where nothing is open; it is changed.

        Returns:
            Per event whether it is an end of another name than all that are open, where something is.

        """

def crossing(
    lane: NDArray[np.int32], start: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which slices, in order of lane and start, end after one that they begin in."""
