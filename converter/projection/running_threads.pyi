import numpy as np
from numpy.typing import NDArray

class RunningThreads:
    def woken(
        self,
        step: NDArray[np.uint8],
        thread: NDArray[np.int64],
        next_thread: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Go on with a batch: of each event, in the order of time, whether it is a wakeup of a thread that has a CPU.

        `step` is 1 for a switch from `thread` to `next_thread`, 2 for a wakeup of `thread`, else 0.
        """
