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
) -> list[NDArray[uint8]]:
    """The contents of each slot of a program that runs over records, as bytes.

    A location is ``window << 32 | bit``, size counts bits; slots have items of `item_sizes` (1, 2, 4, 8) bytes and room
    for `expected` of them at first. `packet_registers` (windows, n) are the first registers in each window; n may be 0.
    Raises ValueError for a record that is not whole. Releases the GIL.
    """

def follow_switches(
    cpu: NDArray[int32],
    before: NDArray[int32],
    after: NDArray[int32],
    current: NDArray[int32],
    thread: NDArray[int32],
) -> None:
    """Place events without a thread on the one that runs on their CPU.

    `before` and `after` are the threads of each event that switches, `after` is -2 of others; `current` is the thread
    that runs on each CPU, and goes on from what it holds. Releases the GIL.
    """
