from numpy import int32, int64, uint32, uint64
from numpy.typing import NDArray

from converter.formats.perf.data.reading.samples import SampledEvents
from converter.kernels.batches.gather import Segments
from converter.kernels.tables.strings import StringTable

class AddressSpaces:
    #: Mappings for which there was no room.
    refused: int
    #: The number of stacks since the last `forget`, and that of their frames together.
    stack_count: int
    filled: int
    def __init__(
        self, events: SampledEvents, strings: StringTable, most: int, *, zero_is_none: bool = False
    ) -> None: ...
    def frames(self, known: int) -> tuple[NDArray[int32], NDArray[uint64]]: ...
    def forget(self) -> bool: ...
    def resolve(
        self,
        code: NDArray[int32],
        segments: Segments,
        location: NDArray[int64],
        size: NDArray[uint32],
        stacks: NDArray[int32],
        ends: NDArray[int64],
        frames: NDArray[int32],
    ) -> None: ...
