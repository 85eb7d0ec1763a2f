from numpy import int64, uint8
from numpy.typing import NDArray

#: Columns of a row of `scan_packets`. Starts are offsets in the window.
START: int
SIZE: int
TIMESTAMP: int
#: The packet's own timestamp_clock_id, -1 when it has none.
CLOCK: int
SEQUENCE: int
FLAGS: int
#: Field number of the packet's data: 0 when it has none, DAMAGED when the packet cannot be read.
DATA: int
DATA_START: int
DATA_SIZE: int
INTERNED_START: int
INTERNED_SIZE: int
DEFAULTS_START: int
DEFAULTS_SIZE: int
COLUMNS: int
#: Bits of FLAGS.
CLEARED: int
NEEDS_STATE: int
TIMED: int
INTERNED: int
DEFAULTS: int
DROPPED: int
FIRST: int
#: It is of another computer than the one that recorded (machine_id).
MACHINE: int
#: It may have fields without a rule (`rules`), as scanning it, and then its events, has seen.
FURTHER: int
DAMAGED: int

def scan_packets(
    data: memoryview | bytes | NDArray[uint8], begin: int, rows: NDArray[int64]
) -> tuple[int, int, int]: ...
def split_fields(
    data: memoryview | bytes | NDArray[uint8], start: int, size: int
) -> list[tuple[int, int, int, int]]: ...
