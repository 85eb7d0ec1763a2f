from numpy import int64, uint8
from numpy.typing import NDArray

class ValueScanner:
    """Base class of `EventScanner`, of no use from Python."""

def end_of_value(data: bytes | memoryview | NDArray[uint8], at: int) -> tuple[int, bytes] | None:
    """The end of the JSON value at `at` and its compact text, or None where the data end before.

    Raises ValueError for what is no JSON value.
    """

def slots_at(slots: NDArray[int64], at: NDArray[int64]) -> NDArray[int64]:
    """Return the values of the slots with these numbers.

    Raises ValueError for numbers out of range. Releases the GIL.
    """

def copy_spans(
    text: NDArray[uint8], starts: NDArray[int64], offsets: NDArray[int64], out: NDArray[uint8]
) -> None:
    """Copy the spans of `text` that begin at `starts` to ``out[offsets[i]:offsets[i + 1]]``.

    Raises ValueError when a span lies outside. Releases the GIL.
    """
