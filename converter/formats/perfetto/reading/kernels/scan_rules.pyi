from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

#: The number of field numbers, from 0 on, that have an entry each in a table; the number of higher ones that a
#: message may name.
NUMBERS: int
HIGH_NUMBERS: int
#: Entries of a table for a field, where they are not 0: it is read, or only if it is length-delimited, or it is a
#: message of the table, counted from here.
READ: int
READ_AS_BYTES: int
MESSAGE: int

def fields_without_rule(
    data: memoryview | bytes | NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    messages: memoryview | bytes | NDArray[uint8],
    low: NDArray[uint8],
    high: NDArray[int32],
) -> NDArray[uint64]: ...
