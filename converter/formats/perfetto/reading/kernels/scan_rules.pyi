"""Fields of messages that have no rule in a table."""

from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

#: The number of field numbers, from 0 on, that have an entry each in a table; the number of higher ones that a message
#: : may name.
NUMBERS: int
HIGH_NUMBERS: int
#: Entries of a table for a field, where they are not 0: it is read, or only if it is length-delimited, or it is a :
#: message of the table, counted from here.
READ: int
READ_AS_BYTES: int
MESSAGE: int

def fields_without_rule(
    data: NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    messages: NDArray[uint8],
    low: NDArray[uint8],
    high: NDArray[int32],
) -> NDArray[uint64]:
    """``message << 32 | number`` of each field of some messages, and of those in them, that the table has no rule for.

    `low` has a row a message, of what is said of each number below ``NUMBERS``; that of number 0, which no field has,
    is said of all higher ones that `high` does not name, as (number, what is said). Damage ends a message. Raises
    ValueError when a message lies outside the data or the table is none. Releases the GIL.
    """
