from numpy import int32, int64
from numpy.typing import NDArray

class CallDepths:
    """The depth of nested calls on each CPU, as far as the names of their functions show it, as trace-cmd computes it."""

    def follow(
        self, cpu: NDArray[int32], caller: NDArray[int32], callee: NDArray[int32]
    ) -> NDArray[int64]:
        """The depth of each call, in their order; names are numbers, -1 those that are not known."""
