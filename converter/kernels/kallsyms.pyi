from numpy import uint8, uint32, uint64
from numpy.typing import NDArray

def scan_symbols(
    text: memoryview | bytes | NDArray[uint8],
    address: NDArray[uint64],
    name_start: NDArray[uint32],
    name_size: NDArray[uint32],
) -> int:
    """The symbols of a kallsyms text, in its order, into the columns: how many (no more than there is room for).

    Left out are lines that are no symbol, absolute symbols (type a or A) and ARM's mapping symbols ("$...").
    Releases the GIL.
    """
