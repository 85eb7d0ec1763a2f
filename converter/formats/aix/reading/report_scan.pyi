from typing import Any

from numpy import int64, signedinteger, uint8
from numpy.typing import NDArray

def scan(
    data: bytes | bytearray | memoryview | NDArray[uint8],
    start: int,
    final: bool,
    heading: Any,
    rows: NDArray[int64],
) -> tuple[int, int, bool]:
    """Read events of the lines from `start` on, at most as many as `rows` has; return their number, where the next line
    starts, and whether that line holds the heading's `title` and is a heading.

    The heading's `columns` are those before the time: (number of `report_header.FrontColumn`, offset in the line). A
    report is `aligned` where values are below their headings, else they are taken in order. An event's further lines
    belong to its text; with `final` the data ends here, else the last event waits for more.

    A row is 13 numbers, -1 for none: nanoseconds; 16-bit hook id (-2: no event, just text); CPU; pid; tid; nesting of
    interrupts; start and size of the process name, the system call and the text; 1 to 4 for the text's column, or 0.
    Releases the GIL.
    """

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
    """Find the number after the first `key` of each span (or the word `before` it), in base 10 or 16; -1 for none."""

def words(
    data: bytes | bytearray | memoryview | NDArray[uint8],
    starts: NDArray[signedinteger[Any]],
    sizes: NDArray[signedinteger[Any]],
    key: bytes,
    until: bytes,
    found_starts: NDArray[int64],
    found_sizes: NDArray[int64],
) -> None:
    """Find the text after the first `key` of each span up to `until`, or up to a blank where that is missing or empty.

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
