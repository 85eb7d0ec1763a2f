from collections.abc import Sequence
from typing import Any

from numpy import uint64
from numpy.typing import NDArray

from converter.kernels.event_arrays import EventArrays
from converter.kernels.programs import ProgramSet
from converter.kernels.tables.strings import StringTable

OK: int
TOO_LARGE: int
BAD_COLUMN: int
NO_MEMORY: int
TOO_MANY_EMPTY: int

class Emitter(ProgramSet):
    """Makes the entries of one stream, of a kernel of 64 or 32 bits.

    What `bind` takes for a node: of numbers, booleans, flags of optionals and ids of texts an array, of lists of bytes
    (values, offsets), of arrays their offsets, of variants (tags, rows), of others None.
    """

    def __init__(self, strings: StringTable, *, bits: int) -> None: ...
    @property
    def size(self) -> int:
        """Bytes emitted and not taken yet."""
    def take(self) -> bytes:
        """Return the output since the last call."""
    def add_program(
        self,
        hook: int,
        sub: int,
        timed: bool,
        nodes: Sequence[tuple[int, int, bool, int, int, int]],
        fields: int,
        following: tuple[Any, ...] | None,
    ) -> int:
        """Add the program of a class; return its number.

        Nodes are (operation, width, signed, first child, children, extent); the first `fields` are those of the fields.
        `following` is the documented hook after each event: (hook, generic, nodes of words, node of the subhook, of the
        text, of the thread id), -1 for zero. Raises ValueError for nodes that form no tree.
        """
    def metadata(self, kind: int, data: bytes, ts: int) -> None:
        """An entry of the metadata hook; ValueError for data that do not fit."""
    def generic(self, hook: int, word: int, data: bytes, ts: int) -> None:
        """A generic entry whose data word, and subhook, is `word`; ValueError for data that do not fit."""
    def put(self, data: bytes) -> None:
        """Bytes as they are."""
    def emit(self, columns: EventArrays, tids: NDArray[uint64], start: int) -> tuple[int, int]:
        """Emit events from number `start` on until a block is full: (status, number of the next event).

        `class_id` are the programs, `tids` those of the threads. With a status other than OK the next event is the one
        that failed. Releases the GIL.
        """
