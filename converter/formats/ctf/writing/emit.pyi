from collections.abc import Sequence

from converter.kernels.event_arrays import EventArrays
from converter.kernels.programs import ProgramSet
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

class Emitter(ProgramSet):
    """Makes the packets of data streams; each event class has a program.

    A program is a list of (operation, width, number of operations behind it that belong to it). Structures are no
    operation of their own: their members stand one after the other.

    What `bind` takes for an operation is an array (int32 ids for strings); for strings and bytes also (values,
    offsets); for lists and arrays, offsets; for unions, (tags, rows); for groups, None.
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
    def emit(self, columns: EventArrays, start: int) -> tuple[int, int]:
        """Emit events from number `start` on until a stream has much to take: (status, number of the next event).

        `class_id` are the programs; the columns have a `stream` beside the common ones. `ts` are values of the clock,
        never below the last of their stream. Releases the GIL.
        """
    def finish(self, stream: int) -> None:
        """Close the open packet of a stream."""
    def take(self, stream: int) -> tuple[bytes, list[tuple[int, int, int, int, int, int]]]:
        """The finished packets of a stream since the last time: their bytes, and of each
        (size and content in bytes, first time, last time, events discarded so far, sequence number)."""
    def pending(self, stream: int) -> int:
        """The number of bytes that a stream holds."""
