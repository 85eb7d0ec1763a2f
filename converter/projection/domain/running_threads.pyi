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
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], dict[int, NDArray[np.int32] | None]]:
        """Go on with a batch: the part of each event, its row there, and the rows of parts of wakeups that have some.

        There are four parts a class: part 4 n + d has division d of class n. That is 2 for wakeups of threads that have
        a CPU, 1 more where nobody is known to have woken them, else 0. None means all rows of the class, in order.

        Args:
            class_id: the class of each event, in the order of time.
            row: the row of each event.
            thread: the thread of each event, -1 for none.
            step: the kind of each class: 1 for switches, 2 for wakeups, else 0.
            first: for each class the number of the rows before its own, and of all rows.
            columns: two of each class: for switches the thread that leaves the CPU and the one that gets it, for
                wakeups the thread that is woken.
        """
