from numpy import int32, uint8
from numpy.typing import NDArray

class CpuState:
    """The state of each of `n` CPUs, while events are followed in the order of time."""

    def __init__(self, cpus: int) -> None: ...
    def begin(self, cpu: int, thread: int) -> None:
        """A CPU begins with this thread, not with none."""
    def follow(
        self,
        roles: NDArray[uint8],
        class_id: NDArray[int32],
        cpu: NDArray[int32],
        thread: NDArray[int32],
        value: NDArray[int32],
        threads: int,
    ) -> None:
        """Fill in `thread`, and `value` where it follows from events before.

        `roles` are those of the classes: 1 switches (`thread` is the thread that leaves, `value` the one that comes),
        2 enters and 3 leaves an interrupt (`value` its number), 4 enters and 5 leaves a system call (the same), 6 makes
        a thread (`value`), which begins in the call of the one that makes it.
        `threads` is how many there are. Numbers that nothing tells are -1. Releases the GIL.
        """
