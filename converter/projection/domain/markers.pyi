from collections.abc import Sequence
from typing import TypeAlias

from numpy import bool_, int32, int64, uint8, uint64
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable

#: A row of parsed markers: phase uint8 (an ASCII letter, 0 for other text), tgid int64 (-1 for none), name int32, :
#: track int32 (ids, 0 for none), value int64 (of a counter, or a cookie).
Markers: TypeAlias = tuple[
    NDArray[uint8], NDArray[int64], NDArray[int32], NDArray[int32], NDArray[int64]
]

def parse_marker_ids(strings: StringTable, ids: NDArray[int32]) -> Markers:
    """Parse atrace messages that are strings of the trace.

    Raises ValueError for an id that does not exist, MemoryError when there is no room for more strings.
    Releases the GIL.
    """

def parse_marker_texts(
    strings: StringTable, values: NDArray[uint8], offsets: NDArray[int64]
) -> Markers:
    """Parse atrace messages that are ``values[offsets[i]:offsets[i + 1]]``.

    Raises ValueError when a text lies outside the values, MemoryError when there is no room for more strings.
    Releases the GIL.
    """

def plain_marker_ids(strings: StringTable, ids: NDArray[int32]) -> NDArray[bool_]:
    """Return True for strings that Perfetto's importer reads as atrace messages: in full, and with nothing before them.

    Raises ValueError for an id that does not exist. Releases the GIL.
    """

def plain_marker_texts(values: NDArray[uint8], offsets: NDArray[int64]) -> NDArray[bool_]:
    """The same of texts that are ``values[offsets[i]:offsets[i + 1]]``.

    Raises ValueError when a text lies outside the values. Releases the GIL.
    """

#: A literal; a number a row, in decimal; or strings (ids, or offsets and characters) with the bytes that are replaced
#: by "_" in them.
Part: TypeAlias = (
    bytes
    | NDArray[int64]
    | NDArray[uint64]
    | tuple[NDArray[int32] | tuple[NDArray[int64], NDArray[uint8]], bytes]
)

def join_texts(
    count: int, parts: Sequence[Part], strings: StringTable
) -> tuple[NDArray[int64], NDArray[uint8], int]:
    """`count` texts, each all parts end to end: offsets, characters, and how many bytes were replaced.

    Columns are contiguous. Raises ValueError for one that has not a text for each row. Releases the GIL.
    """
