from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

class RunningThreads:
    def divided(
        self,
        class_id: NDArray[np.int32],
        row: NDArray[np.int32],
        thread: NDArray[np.int32],
        step: NDArray[np.uint8],
        first: NDArray[np.int64],
        columns: Sequence[NDArray[Any] | None],
    ) -> NDArray[np.uint8]:
        """Go on with a batch: the division of each row, those of class n from `first[n]` on.

        It is 2 for wakeups of threads that have a CPU, 1 more where nobody is known to have woken them, else 0.

        Args:
            class_id: of each event, in the order of time.
            row: of each event.
            thread: of each event, -1 for none.
            step: of each class: 1 for switches, 2 for wakeups, else 0.
            first: of each class, and the end of the last.
            columns: two of each class: of switches who leaves the CPU and who gets it, of wakeups who is woken.

        """

def renumber_divided(
    class_id: NDArray[np.int32],
    row: NDArray[np.int32],
    first: NDArray[np.int64],
    division: NDArray[np.uint8],
    numbers: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Classes and rows where each division is a class of its own; that of division d of class n is `numbers[n, d]`."""
