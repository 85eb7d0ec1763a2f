from collections.abc import Sequence
from typing import Any

from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

#: The number of field numbers, from 0 on, for which `decode_messages` counts fields.
COUNTED: int
#: Ways to read a field. VARINT keeps as many low bytes as the column has; SPAN stores (start, size) in two int64.
VARINT: int
ZIGZAG: int
BOOLEAN: int
FIXED64: int
FIXED32: int
SPAN: int

def decode_messages(
    data: NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    fields: tuple[Sequence[int], Sequence[int], Sequence[NDArray[Any]]],
    skipped: Sequence[int] = (),
    undeclared: NDArray[int64] | None = None,
    listed: int = 0,
    offsets: NDArray[int64] | None = None,
) -> tuple[int, NDArray[uint64]]:
    """Read field ``numbers[k]`` of message i into ``columns[k][i]``, as ``ways[k]``; skip other fields.

    `fields` are `numbers`, `ways` and `columns`. Fields that are not among `skipped` either are counted in
    `undeclared`, by their numbers; those whose numbers are beyond it together, at 0.

    Columns hold the default values beforehand; of repeated occurrences the last counts (protobuf's rule). SPAN columns
    have shape (n, 2). Returns the number of damaged messages, whose fields after the damage keep their defaults, and
    the values of field `listed` of all messages: a repeated varint or 64-bit field, packed or not, whose `offsets` (n +
    1) are filled. Raises ValueError when a message lies outside the data or columns do not fit. Releases the GIL.
    """

def lacking(
    data: NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    keys: NDArray[int32],
    wanted: NDArray[uint64],
) -> tuple[NDArray[int64], NDArray[int64], NDArray[int32], NDArray[uint64]]:
    """Which messages lack a field of ``wanted[keys[i]]``, and which pair each is of: keys and bits of all pairs.

    The bits say what is lacked: bit n is that of field n. A pair comes again where messages of its key were of another
    between. A message of which nothing is wanted is not looked at. Raises ValueError when another lies outside the
    data. Releases the GIL.
    """

def decode_repeated(
    data: NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    number: int,
    offsets: NDArray[int64],
) -> NDArray[uint64]:
    """A repeated varint or 64-bit field, packed or not: the values of all messages; fills the offsets (n + 1)."""

def repeated_spans(
    data: NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    number: int,
    offsets: NDArray[int64],
) -> NDArray[int64]:
    """(start, size) of each occurrence of a length-delimited field, shape (m, 2); fills the offsets (n + 1)."""
