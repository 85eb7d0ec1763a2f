from numpy import int32
from numpy.typing import NDArray

class MarkerTable:
    """The markers of a channel, by id.

    A marker is (first step, steps, payload size or -1, largest alignment, class or -1, kind); a step (code, argument).
    Steps: 0 n bytes, 1 a string, 2 alignment to n bytes. Kinds: 0 plain, 1 with pid and tid at its end, 2 heartbeat, 3
    heartbeat with all bits of the time. A marker of size -1 without steps is not declared.
    """

    def __init__(self, markers: NDArray[int32], steps: NDArray[int32]) -> None: ...

class ThreadIndex:
    """Threads by pid and tid: number i is (pids[i], tids[i])."""

    def __init__(self, pids: NDArray[int32], tids: NDArray[int32]) -> None: ...
