from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable

def scatter(
    values: NDArray[uint64],
    first: NDArray[int64],
    class_id: NDArray[int32],
    row: NDArray[int32],
    bases: NDArray[int64],
    widths: NDArray[int32],
    out: NDArray[uint64],
) -> None:
    """Sort values into rows of their classes: event i's to ``out[bases[c] + row[i] * widths[c]]``.

    Raises ValueError for an event outside the arrays. Releases the GIL.
    """

def gather_texts(
    data: bytes | memoryview, values: NDArray[uint64], strings: StringTable
) -> tuple[NDArray[uint8], NDArray[int64]]:
    """Texts or bytes that are spans of the window or string ids: (bytes, offsets).

    Raises ValueError for a span outside the window.
    """

def gather_payloads(
    data: bytes | memoryview, starts: NDArray[uint64], lengths: NDArray[uint64]
) -> tuple[NDArray[uint8], NDArray[int64]]:
    """Copy segments of the window: (bytes, offsets). Raises ValueError for one outside it."""

def gather_arguments(
    data: bytes | memoryview, places: NDArray[uint64], big_endian: bool
) -> tuple[NDArray[uint8], NDArray[int64]]:
    """Copy the contents of arguments of unknown types, at these offsets of the window: (bytes, offsets).

    Each is the header's upper half, little-endian, and what follows the name. Raises ValueError for one outside.
    """
