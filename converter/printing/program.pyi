from collections.abc import Callable, Sequence
from typing import Any

from numpy import int64, uint32
from numpy.typing import NDArray

from converter.kernels.batches.columns import HeldBuffers
from converter.printing.directory import Directory

#: Input that operations take of columns: integers and floating-point numbers; ids of strings, or lists of bytes;
#: lists of bytes; the offsets of lists; whether there is a value; which option has it.
SCALAR: int
TEXTS: int
OCTET_LISTS: int
LISTS: int
VALIDITY: int
UNIONS: int
#: Levels of rows: 0 is the event's place in the batch, 1 its row in the table of its class, those above are of lists.
MAX_LEVELS: int
#: (start, size): a text that is always the same.
LITERAL: int
#: (value): leaves it.
CONSTANT: int
#: (column, level, signed): leaves an integer.
COLUMN: int
#: (offset, size): leaves an integer of the record, 0 where that ends before.
LOAD: int
#: Leaves the record's size.
RECORD_SIZE: int
#: (offset, size, relative): leaves the place that a location word in the record names.
DYNAMIC: int
#: Takes where, and leaves the place from there to the record's end.
REST: int
#: (little): takes a place, leaves the number that it holds.
READ: int
#: (size): takes a start and an index, leaves where that element is.
ELEMENT: int
#: Takes a number; leaves it twice.
DROP: int
COPY: int
#: Takes a place, leaves how many bytes it has.
LENGTH: int
#: (mask): takes a number, leaves its bits.
KEEP: int
#: C's operators, of unsigned numbers.
MULTIPLY: int
DIVIDE: int
REMAINDER: int
ADD: int
SUBTRACT: int
SHIFT_LEFT: int
SHIFT_RIGHT: int
LESS: int
GREATER: int
LESS_EQUAL: int
GREATER_EQUAL: int
EQUAL: int
NOT_EQUAL: int
AND: int
XOR: int
OR: int
BOTH: int
EITHER: int
NEGATE: int
INVERT: int
NOT: int
#: (target): goes on there; the second where the number that it takes is 0.
JUMP: int
JUMP_IF_ZERO: int
#: (column, level, end): the elements of a list have their rows on the next level; goes on at the end if there is
#: none.
EACH: int
#: (column, level): leaves how many elements a list has.
COUNT: int
#: (level): leaves how many elements of the list came before.
BEFORE: int
#: (begin, level): goes back for the next element.
NEXT: int
#: (column, level): leaves whether there is a value.
VALID: int
#: (column, level): leaves which option has the value, whose row is on the next level.
OPTION: int
#: (bits, signed): takes a number and prints it.
DECIMAL: int
#: (bits): takes a number and prints it.
HEXADECIMAL: int
#: (form, count, which): takes a number, before it width (1) and precision (2) as far as these are arguments.
NUMBER: int
#: (multiplier, divisor, unsigned + 2 * width): takes ticks, which become nanoseconds; prints seconds.
TIME: int
#: (start, size, mask): takes a number, prints the text of that size that it counts.
LETTERS: int
#: (size, limit): takes a number below the limit, and prints `size` blanks as many times.
BLANKS: int
#: (column, level): a text as it is.
TEXT: int
#: (column, level, function): a text in quotes where it needs them, and always; the function is for what is not ASCII.
QUOTED: int
JSON: int
#: (column, level): bytes in hexadecimal.
BYTES: int
#: (column, level, form): a floating-point number: 0 the shortest text; 1 the same, with non-finite values in quotes;
#: 2 and more: `form` - 2 decimals.
FLOAT: int
#: Takes a place and prints its bytes up to a NUL.
STRING: int
#: (delimiter): takes an offset and the number of bytes of it to print in hexadecimal; below 0 there is no delimiter.
OCTETS: int
#: (dynamic): takes a place, how many elements unless dynamic, their size; prints them.
ARRAY: int
#: (form, count, which): the form of texts; takes width and precision as far as these are arguments.
FORM: int
#: A text begins, ends, and has then that form.
MARK: int
FIT: int
#: (end, limit): a text begins that is stripped at `end`, where it goes on once it is that long.
LIMIT: int
#: (limit): it is no longer than that, and ends without newlines.
STRIP: int
#: (names, fitted): takes a number, prints its name, or those of its bits, each in the form of texts if asked for.
CHOOSE: int
FLAGS: int
#: (names): takes a number and prints its label, if it has one; leaves the number and whether.
LABEL: int
#: (directory): takes a number, leaves whether something is known of it.
FIND: int
#: The entry that was found: its text is printed, its number left.
FOUND_TEXT: int
FOUND_NUMBER: int
#: (directory): takes a number and prints its text, if it has one.
NAME: int
#: (directory, column, level): takes a number, for which the event has a text.
LEARN: int
#: (register): takes a number, which `FETCH` leaves until another is there.
STORE: int
FETCH: int
#: (target): goes back there.
AGAIN: int
#: (target): where the number that it takes is 0 nothing is printed of the event so far, and it goes on there.
GIVE_UP: int
#: Leaves how many bytes are printed of the event so far.
PRINTED: int
#: Leaves the last byte that is printed, 0 of none.
LAST: int
#: (count): takes an offset in bits and leaves `count` bits of the record, the first one being the highest; 0 where
#: the record ends before.
BITS: int
#: (ends): takes a place; leaves how many bytes of it there are (up to a NUL, if that `ends` it) and one, or 0 where
#: some are not printable ASCII.
PLAIN: int
#: (function, count): takes numbers and prints what the function makes of the record and of them.
CALL: int

class Program:
    def __init__(
        self,
        code: NDArray[int64],
        literals: bytes,
        forms: Sequence[tuple[int, int, int, int, int]],
        names: Sequence[tuple[Sequence[tuple[int, int, int, int]], int, int, tuple[int, int]]],
        takes: Sequence[int],
        directories: Sequence[Directory],
        functions: Sequence[Callable[..., bytes]],
        big_endian: bool,
    ) -> None: ...
    def bind(
        self,
        columns: Sequence[Any],
        records: tuple[HeldBuffers, NDArray[int64], NDArray[uint32]] | None = None,
    ) -> None: ...
    def release(self) -> None: ...
