import numpy as np
from numpy.typing import NDArray

class OpenSlices:
    def match(
        self,
        step: NDArray[np.int32],
        thread: NDArray[np.int32],
        track: NDArray[np.int32],
        name: NDArray[np.int32],
    ) -> NDArray[np.intp]:
        """Go on with events, of which those of step 1 begin and those of step 2 end a slice of a track and thread.

        Returns:
            The places of ends that have another name than all that are open, where something is.

        """

def crossing(
    lane: NDArray[np.int32], start: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which slices, in order of lane and start, end after one that they begin in."""
