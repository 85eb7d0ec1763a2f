from collections.abc import Sequence

from numpy import int32, int64, uint8, uint32, uint64
from numpy.typing import NDArray

from converter.formats.ctf.streams.scan_programs import Program
from converter.kernels.tables.strings import StringTable

def decode(
    program: Program,
    windows: Sequence[memoryview | NDArray[uint8]],
    packet_registers: NDArray[uint64],
    location: NDArray[int64],
    size: NDArray[uint32],
    item_sizes: NDArray[int64],
    expected: NDArray[int64],
    strings: StringTable,
) -> list[NDArray[uint8]]: ...
def follow_switches(
    cpu: NDArray[int32],
    before: NDArray[int32],
    after: NDArray[int32],
    current: NDArray[int32],
    thread: NDArray[int32],
) -> None: ...
