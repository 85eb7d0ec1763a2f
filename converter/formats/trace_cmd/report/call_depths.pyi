from numpy import int32, int64
from numpy.typing import NDArray

class CallDepths:
    """How deep calls are nested on each CPU as far as the names of their functions tell, as trace-cmd finds it."""

    def follow(
        self, cpu: NDArray[int32], caller: NDArray[int32], callee: NDArray[int32]
    ) -> NDArray[int64]:
        """The depth of each call, in their order; names are numbers, -1 those that are not known."""
