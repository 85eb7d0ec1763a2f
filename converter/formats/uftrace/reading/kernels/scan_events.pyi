from numpy import int32, int64, uint8, uint32
from numpy.typing import NDArray

from converter.kernels.batches.event_arrays import OutputArrays
from converter.kernels.tables.tasks import TaskTable

def scan_perf(
    data: memoryview | bytes | NDArray[uint8],
    big_endian: bool,
    class_of_type: NDArray[int32],
    tasks: TaskTable,
    events: OutputArrays,
) -> tuple[int, int, bool]: ...
def survey_perf(
    data: memoryview | bytes | NDArray[uint8],
    big_endian: bool,
    tasks: TaskTable,
    counts: NDArray[int64],
) -> tuple[int, bool]: ...
def scan_lines(
    data: memoryview | bytes | NDArray[uint8],
    final: bool,
    ts: NDArray[int64],
    start: NDArray[uint32],
    size: NDArray[uint32],
) -> tuple[int, int, int]: ...
