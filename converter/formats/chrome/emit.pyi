from collections.abc import Sequence
from typing import Any

from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.kernels.strings import StringTable

#: Operations, with their operands. Columns are numbers of bound columns; literals are place and size in the text.

#: (column): int64 units as a decimal number without zeros at its end.
TIME: int
#: (column): like TIME, but what is below 0 is not known yet: "0" and room for 19 more characters.
DURATION: int
#: (column): int64.
SIGNED: int
#: (column): uint64, in quotes from 2**63 on.
UNSIGNED: int
#: (column): uint64 as "0x...".
HEXADECIMAL: int
#: (column): double, always with a point or an exponent; "NaN", "Infinity", "-Infinity".
FLOAT: int
#: (column): bool.
BOOLEAN: int
#: (column, place, size): the literal where the bool is true.
IF_TRUE: int
#: (column, column): the text of thread int32, or pid and tid both of int64 of the other column where it is none.
THREAD_OF: int
#: (column): int32 string id or text, its first character escaped where the text could be taken for a number.
STRING: int
#: (column, place, size): the literal and the string, without that escape; nothing for the empty string.
STRING_IF: int
#: (column): JSON text, or a string of it where it is not valid.
JSON: int
#: (column): a comma and the members of an object in JSON text; nothing where there are none.
MEMBERS: int
#: (column): bytes in base64.
BASE64: int
#: (column, count): an array of offsets in the column; the next `count` operations run for each element.
ARRAY: int
#: The event's time, without and with text of its thread, its thread as an owner, its CPU as a member and as a value.
EVENT_TIME: int
EVENT_THREAD: int
EVENT_OWNER: int
EVENT_CPU: int
ARGUMENT_CPU: int
#: (0, place, size): the literal.
LITERAL: int

#: How many bytes must follow the texts of threads.
TEXT_PADDING: int

class Program:
    """The operations of an event class, four int32 each: number and three operands.

    Each column is that of one operation, or of none. Raises ValueError for operations that make no sense.
    """

    def __init__(self, code: NDArray[int32], literals: bytes, columns: int) -> None: ...
    def bind(self, columns: Sequence[NDArray[Any] | tuple[NDArray[Any], NDArray[int64]]]) -> None:
        """Set the columns of the next batch: of texts, JSON and bytes (values, offsets), of arrays their offsets.

        Raises ValueError for one of another width or shape.
        """
    def release(self) -> None:
        """Let go of the columns."""

class Emitter:
    """Emits batches as text: the programs of their events, one after the other."""

    def __init__(self, strings: StringTable, places: int) -> None:
        """Times are in units of 10**-places."""
    def emit(
        self,
        programs: list[Program | None],
        class_id: NDArray[int32],
        row: NDArray[int32],
        ts: NDArray[int64],
        thread: NDArray[int32],
        cpu: NDArray[int32],
        threads: tuple[NDArray[uint8], NDArray[int64]],
        owners: tuple[NDArray[uint8], NDArray[int64]],
        start: int,
        stop: int,
    ) -> tuple[memoryview, NDArray[int64], int]:
        """The text of the events of a batch from number `start` on, before `stop`, until a block is full.

        Returns the text, where in it durations are not known yet, and the number of the next event. The text is a
        block that is used again when it is let go of. `threads` and `owners` are the texts of threads, one behind the
        other and `TEXT_PADDING` bytes at the end, with n + 1 offsets. Raises ValueError when an event is outside of
        its class's columns. Releases the GIL. Emitters of one trace may be at work at the same time, with the same
        programs.
        """
