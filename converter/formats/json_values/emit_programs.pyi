from typing import Any

from numpy import int32
from numpy.typing import NDArray

from converter.ir.tables import Table
from converter.kernels.tables.strings import StringTable

#: (column): int64 units as a decimal number without zeros at its end.
TIME: int
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
#: (column): int32 string id or text, its first character escaped where the text could be taken for a number.
STRING: int
#: (column): int32 string id or text, without that escape.
PLAIN_STRING: int
#: (column, place, size): the literal and the string, without that escape; nothing for the empty string.
STRING_IF: int
#: (column): JSON text, or a string of it where it is not valid.
JSON: int
#: (column): a comma and the members of an object in JSON text; nothing where there are none.
MEMBERS: int
#: (column): bytes in base64.
BASE64: int
#: (column, 0, count): an array of offsets in the column; the next `count` operations run for each element.
ARRAY: int
#: The event's time.
EVENT_TIME: int
#: The text of the event's thread, and its CPU as a member.
EVENT_PLACE: int
#: Both, one after the other.
EVENT: int
#: Nothing but the literal before it.
LITERAL: int

class Program:
    def bind(self, columns: list[Any]) -> int: ...
    def release(self) -> None: ...
    def __init__(
        self, code: NDArray[int32], literals: bytes, columns: int, strings: StringTable
    ) -> None: ...

def bind_plain(
    tables: dict[int, Table],
    programs: dict[int, Program],
    plain: set[int],
    bound: list[Program | None],
) -> list[int]: ...
def release_all(programs: list[Program | None]) -> None: ...
