from typing import Any

from numpy import int64, signedinteger, uint8
from numpy.typing import NDArray

def numbers(
    data: bytes | bytearray | memoryview | NDArray[uint8],
    starts: NDArray[signedinteger[Any]],
    sizes: NDArray[signedinteger[Any]],
    key: bytes,
    base: int,
    out: NDArray[int64],
    *,
    before: bool = False,
) -> None:
    """The number behind the first `key` of each span (or the word `before` it), in base 10 or 16; -1 for none."""

def words(
    data: bytes | bytearray | memoryview | NDArray[uint8],
    starts: NDArray[signedinteger[Any]],
    sizes: NDArray[signedinteger[Any]],
    key: bytes,
    until: bytes,
    found_starts: NDArray[int64],
    found_sizes: NDArray[int64],
) -> None:
    """What stands behind the first `key` of each span up to `until`, or up to a blank where that is missing or empty.

    Blanks and full stops at its end are left out; of size 0 where there is no key.
    """

def copy_spans(
    data: bytes | bytearray | memoryview | NDArray[uint8],
    starts: NDArray[signedinteger[Any]],
    sizes: NDArray[signedinteger[Any]],
    offsets: NDArray[int64],
    out: NDArray[uint8],
) -> None:
    """Lay the spans end to end in `out`, where they are ``out[offsets[i]:offsets[i + 1]]``.

    Raises ValueError when a span lies outside the data, or `out` has not room for all. Releases the GIL.
    """
