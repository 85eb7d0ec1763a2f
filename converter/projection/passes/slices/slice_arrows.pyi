import numpy as np
from numpy.typing import NDArray

class SliceArrows:
    def steps(
        self, id: NDArray[np.uint64], terminates: NDArray[np.uint8], order: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Go on with slices that say the id of a flow, in an order of time.

        Returns:
            What each is to its flow (1 the begin, 2 a step, 3 the end, 0 the end of one that never began), and how many
            flows of that id have ended before.

        """
