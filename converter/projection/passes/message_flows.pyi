import numpy as np
from numpy.typing import NDArray

class MessageFlows:
    def match(
        self,
        step: NDArray[np.int32],
        thread: NDArray[np.int32],
        scope: NDArray[np.uint64],
        id: NDArray[np.uint64],
        received: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Go on with a batch: of each event, in the order of time, the flow that begins or ends there, else 0.

        `step` is 1 where a message of this scope and id is sent (its flow begins), 2 where one is received, 3 where a
        call begins, which handles what its thread has received last (its flow ends: below 0, where it is not the
        first who receives it); else 0. `received` has by thread the flow that no call has handled yet, and is kept up
        to date. Raises MemoryError. Releases the GIL.
        """
