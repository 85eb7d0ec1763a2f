from collections.abc import Mapping

from numpy import int32, uint8
from numpy.typing import NDArray

from converter.kernels.batches.event_arrays import OutputArrays

DONE: int
INCOMPLETE: int
FULL: int
BAD: int
GENERIC: int
WIDE: int
DOCUMENTED: int
RAGGED: int
FORM_BITS: int
HEADER: int
DECLARATION: int
DECLARATION_PART: int
TIME: int

def find_entry(bits: int, own: bool, data: memoryview | bytes | NDArray[uint8], at: int) -> int: ...

class Forms:
    def __init__(self, needs: Mapping[int, int], pid_words: Mapping[int, int]) -> None: ...
    def found(self, start: int) -> list[int]: ...
    def threads(self, start: int) -> list[tuple[int, int | None]]: ...

class Scanner:
    #: Bytes of the last window that need not be looked at again.
    consumed: int
    #: The number of bytes there must be from there on, when a pass ends with INCOMPLETE.
    needed: int
    #: Entries whose class, thread or track is not declared.
    undeclared: int
    #: The offset in the stream at which the next window begins.
    offset: int
    #: Holes of zeros, and where in the stream the first one is.
    holes: int
    first_hole: int
    def __init__(self, forms: Forms, *, bits: int, own: bool) -> None: ...
    def survey(
        self, data: memoryview | bytes | NDArray[uint8]
    ) -> tuple[int, list[tuple[int, bytes]], list[tuple[int, bytes]], list[tuple[int, int]]]: ...
    def scan(
        self,
        data: memoryview | bytes | NDArray[uint8],
        class_of_form: NDArray[int32],
        class_of_own: NDArray[int32],
        thread_of_task: NDArray[int32],
        known: tuple[int, int, int],
        events: OutputArrays,
        counts: NDArray[int32],
    ) -> tuple[int, int]: ...
    def take_side(self) -> bytes: ...

def presented(bits: int, data: memoryview | bytes | NDArray[uint8]) -> tuple[bytes, int, int]: ...
