from numpy import int64, uint32
from numpy.typing import NDArray

from converter.kernels.batches.gather import Segments

#: The columns of `SampledEvents.parts`: the values of variable place in the order of a sample, and its end.
PARTS_OF_SAMPLES: int

class SampledEvents:
    count: int
    big_endian: bool
    def __init__(self, *, big_endian: bool) -> None: ...
    def add(
        self,
        sample_type: int,
        read_format: int,
        branch_type: int,
        user_mask: int,
        other_mask: int,
        has_trailer: bool,
    ) -> int: ...
    def add_id(self, id: int, event: int) -> None: ...
    def positions(self, event: int) -> dict[str, int]: ...
    def parts(
        self, event: int, segments: Segments, location: NDArray[int64], size: NDArray[uint32]
    ) -> NDArray[uint32]: ...
    def trailer_sizes(
        self, segments: Segments, location: NDArray[int64], size: NDArray[uint32]
    ) -> NDArray[int64]: ...
