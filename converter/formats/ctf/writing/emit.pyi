from collections.abc import Sequence
from typing import Any

from numpy import int32, int64
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable

OP_SCALAR: int
OP_STRING: int
OP_BYTES: int
OP_LIST: int
OP_ARRAY: int
OP_UNION: int
OP_OPTIONAL: int
OP_GROUP: int

DISCARDS_EVENTS: int
DISCARDS_PACKETS: int

DONE: int
FULL: int
OUT_OF_RANGE: int
BACKWARDS: int
OUT_OF_MEMORY: int
WRONG_LENGTH: int

class Emitter:
    """Makes the packets of data streams; each event class has a program.

    A program is a list of (operation, width, number of operations after it that belong to it). Structures are no
    operation of their own: their members follow each other.
    """

    def __init__(self, strings: StringTable, uuid: bytes, packet_size: int) -> None:
        """Packets are closed once they have more than `packet_size` bytes."""
    def add_threads(self, threads: Sequence[tuple[int, int, bytes]]) -> None:
        """Threads in the order of their indices: (process id, thread id, name), ids as signed 64-bit numbers."""
    def add_stream(self, class_id: int, instance: int, cpu: int, tracked: bool) -> int:
        """A stream; its number. `cpu` is -1 where its class has none; `tracked`: the context has a track."""
    def add_program(
        self, id: int, operations: Sequence[tuple[int, int, int]], discards: int
    ) -> int:
        """A program for the event record class `id`; its number.

        One that `discards` has one column of 64-bit counts and writes no event: a packet begins at its time. Of
        DISCARDS_EVENTS the stream's counter of discarded events rises, of DISCARDS_PACKETS the packet's number, by more
        than one. Raises ValueError for operations that make no sense.
        """
    def bind(self, number: int, rows: int, columns: Sequence[Any]) -> None:
        """Columns for the next `emit`, one an operation.

        An array (int32 ids for strings); for strings and bytes also (values, offsets); for lists and arrays, offsets;
        for unions, (tags, rows); for groups, None. Raises ValueError for one of another shape.
        """
    def emit(
        self,
        start: int,
        ts: NDArray[int64],
        program: NDArray[int32],
        row: NDArray[int32],
        stream: NDArray[int32],
        thread: NDArray[int32],
        track: NDArray[int32],
    ) -> tuple[int, int]:
        """Emit events from number `start` on until a stream has much to take: (status, number of the next event).

        `ts` are values of the clock, never below the last of their stream. Releases the GIL.
        """
    def release(self) -> None:
        """Let go of the columns that were bound."""
    def finish(self, stream: int) -> None:
        """Close the open packet of a stream."""
    def take(self, stream: int) -> tuple[bytes, list[tuple[int, int, int, int, int, int]]]:
        """The finished packets of a stream since the last time: their bytes, and of each
        (size and content in bytes, first time, last time, events discarded so far, sequence number)."""
    def pending(self, stream: int) -> int:
        """The number of bytes that a stream holds."""
