from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.formats.ftrace.lines.scan.line_scan import Lines
from converter.kernels.tables.strings import StringTable

#: The steps of programs; the columns of `steps` are (step, place, offset, size, a, b, c, d):
#: LITERAL: the text at a of b bytes.
STEP_LITERAL: int
#: SPACES: any number of them.
STEP_SPACES: int
#: NUMBER: of base a, times b, which sets the field where c; d: its sign and the like (`NUMBER_...`).
STEP_NUMBER: int
#: TEXT: up to the literal that follows, or the end; spaces at its end do not count where c.
STEP_TEXT: int
#: CHOICE: one of the b texts of choices from a on, or a number; sets the field where c.
STEP_CHOICE: int
#: FLAGS: texts of choices with the delimiter (one byte, d) between them, or numbers; sets the field where c.
STEP_FLAGS: int
#: SYMBOL: a function, perhaps with a distance, or its address.
STEP_SYMBOL: int
#: FRAMES: lines of a stack, as an array of addresses.
STEP_FRAMES: int
#: Also (nil) and (null).
NUMBER_POINTER: int
#: INDENT: two spaces and two more for each function around: the depth of a call.
STEP_INDENT: int
#: CALL: notes the function of the field as the one that its task has called at the depth in the next field.
STEP_CALL: int
#: RETURN: the function that the task has called at the depth in the next field, into the field.
STEP_RETURN: int
#: MICROSECONDS: with up to three decimals, into a field of nanoseconds.
STEP_MICROSECONDS: int
#: Where a field is: at its offset, at a data location (from the record, or from the location), or to the end.
PLACE_INLINE: int
PLACE_DATA: int
PLACE_RELATIVE: int
PLACE_TAIL: int
#: The address of the first function by name, and the distance between two.
SYMBOL_BASE: int
SYMBOL_STEP: int

class Inverses:
    def __init__(self, symbols: StringTable, *, escaped: bool = False) -> None: ...
    def load(
        self,
        programs: tuple[NDArray[int64], NDArray[int64], NDArray[int64], bytes],
        first: NDArray[int32],
        candidates: NDArray[int32],
    ) -> None: ...
    def run(
        self,
        data: memoryview | bytes | NDArray[uint8],
        lines: Lines,
        rows: NDArray[int64],
        events: tuple[NDArray[int32], NDArray[int64], NDArray[int64]],
    ) -> memoryview: ...
