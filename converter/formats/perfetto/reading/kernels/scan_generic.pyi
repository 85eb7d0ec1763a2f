from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable

def generic_signatures(
    data: NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    signatures: StringTable,
    ids: NDArray[int32],
) -> None:
    """Which class each GenericFtraceEvent (generic.proto) is of: the id in `signatures` of its shape.

    A shape is the event's name, then for each field a byte "s", "i", "u" or "-" (no value) and its name, all
    NUL-terminated. Messages that are damaged, or whose names hold a NUL, have the id of "". Releases the GIL.
    """

def generic_values(
    data: NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    index: int,
    values: NDArray[int64],
) -> None:
    """Value of field `index` of each GenericFtraceEvent: (number, 0), or a string's (start, size); shape (n, 2)."""
