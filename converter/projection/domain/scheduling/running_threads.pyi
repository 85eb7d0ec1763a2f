from collections.abc import Sequence
from typing import Any

from numpy import int32, int64, uint8
from numpy.typing import NDArray

class RunningThreads:
    def __init__(self) -> None: ...
    def divided(
        self,
        class_id: NDArray[int32],
        row: NDArray[int32],
        thread: NDArray[int32],
        step: memoryview | bytes | NDArray[uint8],
        first: NDArray[int64],
        columns: Sequence[NDArray[Any] | None],
    ) -> tuple[NDArray[int32], NDArray[int32], dict[int, NDArray[int32] | None]]: ...

class ReadyThreads:
    def __init__(self) -> None: ...
    def inconsistent(
        self,
        class_id: NDArray[int32],
        row: NDArray[int32],
        cpu: NDArray[int32],
        step: memoryview | bytes | NDArray[uint8],
        rows: NDArray[int64],
        columns: Sequence[NDArray[Any] | None],
        last_ready: int,
        first_gone: int,
    ) -> tuple[int, int, int, int]: ...
