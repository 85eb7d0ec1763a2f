from numpy import int32
from numpy.typing import NDArray

class MarkerTable:
    def __init__(self, markers: NDArray[int32], steps: NDArray[int32]) -> None: ...

class ThreadIndex:
    def __init__(self, pids: NDArray[int32], tids: NDArray[int32]) -> None: ...
