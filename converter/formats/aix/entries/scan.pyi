from collections.abc import Mapping

from numpy import int32, uint8
from numpy.typing import NDArray

from converter.kernels.event_arrays import OutputArrays

DONE: int
INCOMPLETE: int
FULL: int
BAD: int

HEADER: int
DECLARATION: int
DECLARATION_PART: int
TIME: int

GENERIC: int
WIDE: int
DOCUMENTED: int
RAGGED: int
FORM_BITS: int

class Forms:
    """The hooks' layouts and the threads that occur in the streams of a trace. Shared by the scanners of its streams."""

    def __init__(self, needs: Mapping[int, int], pid_words: Mapping[int, int]) -> None:
        """`needs`: data words (0x80: a generic entry) without which an entry of a hook id is not documented.

        `pid_words`: the word of a hook id (from 0) that is a process id, a thread id being the next. A form is
        ``hook id << FORM_BITS`` and the bits GENERIC, WIDE (64-bit data), DOCUMENTED and RAGGED (no whole words).
        """
    def found(self, start: int) -> list[int]:
        """The forms from number `start` on, in the order of their first entries."""
    def threads(self, start: int) -> list[tuple[int, int | None]]:
        """(tid, pid or None) of the threads from number `start` on."""

class Scanner:
    """One pass over one stream. `own` says that this converter wrote it."""

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
    ) -> tuple[int, list[tuple[int, bytes]], list[tuple[int, bytes]], list[tuple[int, int]]]:
        """Number what occurs in a window: (status, metadata [(kind, text)], executions [(pid, path)], forks
        [(pid of the child, tid of the thread that makes it)]).
        """
    def scan(
        self,
        data: memoryview | bytes | NDArray[uint8],
        class_of_form: NDArray[int32],
        class_of_own: NDArray[int32],
        thread_of_task: NDArray[int32],
        known: tuple[int, int, int],
        events: OutputArrays,
        counts: NDArray[int32],
    ) -> tuple[int, int]:
        """The events of a window: (status, number of events). Releases the GIL.

        `known` are the numbers of threads and tracks of this converter's own streams, and the CPU of others. The
        columns are the common ones, and start, size and location (int64) and shown (uint32): `start` and `size` are
        those of an event with all its entries, `location` and `shown` those of the data that its columns are read from:
        ``segment << 32 | offset``, segment 0 being the window, 1 what `take_side` gives. `counts` numbers the rows of
        each class.
        """
    def take_side(self) -> bytes:
        """The data of events of several entries, as of the last scan."""

def find_entry(bits: int, own: bool, data: bytes | memoryview, at: int) -> int:
    """The first place from `at` on, in steps of 4 bytes, where eight entries follow each other; -1 without one.

    Those of this converter's `own` streams are events or metadata of its own; the times of others rise. Where the data
    ends three do, and one that ends with it.
    """

def presented(bits: int, data: memoryview | bytes | NDArray[uint8]) -> tuple[bytes, int, int]:
    """The entry at the start of `data` as templates see it, the bits of its data, and its size in the stream.

    Without padding, thread id and time stamp; data of the other environment as that environment has them (trcfmt,
    "I.C. Trace environments"). Raises ValueError where there is no whole entry.
    """
