from collections.abc import Callable

import numpy as np
from numpy import int32, int64
from numpy.typing import NDArray

class OpenSlices:
    def __init__(self) -> None: ...
    def match(
        self,
        step: NDArray[int32],
        thread: NDArray[int32],
        track: NDArray[int32],
        name: NDArray[int32],
        by_name: bool,
        in_turn: bool = False,
        category: NDArray[int32] | None = None,
    ) -> NDArray[np.intp]: ...
    def close_innermost(
        self,
        steps: NDArray[int32],
        class_id: NDArray[int32],
        thread: NDArray[int32],
        track: NDArray[int32],
        order: NDArray[int64] | None,
    ) -> NDArray[int64]: ...

class NamedEnds:
    def __init__(self) -> None: ...
    def name(
        self,
        class_id: NDArray[int32],
        row: NDArray[int32],
        thread: NDArray[int32],
        order: NDArray[int64] | None,
        begins: dict[int, tuple[NDArray[int32], NDArray[int32]]],
        ends: dict[int, tuple[NDArray[int32], NDArray[int32]]],
    ) -> tuple[int, int]: ...

class NestedSlices:
    def __init__(self, *, counts_outlasting: bool = False) -> None: ...
    def lines(
        self,
        step: NDArray[int32],
        thread: NDArray[int32],
        track: NDArray[int32],
        ts: NDArray[int64],
        end: NDArray[int64],
        order: NDArray[int64],
        is_last: Callable[[], bool],
    ) -> tuple[NDArray[int32], int, int, int, list[tuple[int, int]]]: ...
