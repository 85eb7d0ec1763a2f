from collections.abc import Mapping, Sequence

from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable

INTEGER: int
STRING: int
RAW: int
INLINE: int
LOST: int
RECORD_ID: int

class BlockEmitter:
    def __init__(
        self, strings: StringTable, template: bytes, header: Sequence[int], geometry: Sequence[int]
    ) -> None: ...
    def add_stream(self, form: int) -> int: ...
    def begin(self, stream: int, ts: int) -> None: ...
    def put(
        self, stream: int, ts: int, id: int, payload: memoryview | bytes | NDArray[uint8]
    ) -> bool: ...
    def emit(self, given: EventArrays, tables: Mapping[int, MarkerColumns]) -> tuple[int, int]: ...
    def finish(self, stream: int, shrink: bool) -> None: ...
    def take(self, stream: int) -> NDArray[uint8] | None: ...

class MarkerProgram:
    id: int
    def __init__(
        self, id: int, operations: NDArray[int32], largest: int, context: bool, sized: bool
    ) -> None: ...

class MarkerColumns:
    def __init__(
        self,
        program: MarkerProgram,
        columns: Sequence[NDArray[int32] | tuple[NDArray[uint8], NDArray[int64]]],
        length: int,
    ) -> None: ...
