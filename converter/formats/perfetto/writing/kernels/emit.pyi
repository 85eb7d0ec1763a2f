from collections.abc import Sequence
from typing import TypeAlias

from numpy import int64, uint64
from numpy.typing import NDArray

from converter.kernels.event_arrays import EventArrays
from converter.kernels.programs import ProgramSet
from converter.kernels.tables.strings import StringTable

#: Steps that write a number as a varint: columns of that type. With `table` 1 zeros are left out. A tag of 0 is none.
U8: int
U16: int
U32: int
U64: int
I8: int
I16: int
I32: int
I64: int
#: Numbers in 4 and 8 bytes.
FIXED32: int
FIXED64: int
#: A string or bytes: ids (int32), or (values uint8, offsets int64).
TEXT: int
#: Bytes without tag and size: (values, offsets).
RAW: int
#: The step's own bytes; takes no column.
LITERAL: int
#: Begin and end of a message; take no columns.
OPEN: int
CLOSE: int
#: A string by its number in a table of interned texts (0 categories, 1 event names, 2 annotation names, 3 strings),
#: given as ids; given as (values, offsets), in place, under the inline tag. Empty ones are left out except in table 3.
INTERNED: int
#: The string whose id is in place of the inline tag, interned; takes no column.
NAME: int
#: The uuid of the event's track, if it has any; takes no column.
PLACE: int
#: The steps that belong to it for each element of a list: offsets (int64).
EACH: int
#: The steps of one of its options: (tags int16, rows int32). Each option is an OPTION with steps of its own.
UNION: int
OPTION: int
#: The steps that belong to it where there is a value: uint8.
OPTIONAL: int
#: As U64; values are noted for `take_symbols`.
SYMBOL: int
#: The common_flags of a kernel event (uint32), which the bundle says where there are any.
FLAGS: int

#: The kind of a program's output: packets with a TrackEvent, FtraceEvents, events lost before a bundle, : packets as
#: they are, packets of any other sort (time, sequence and the program's fields).
FRAME_TRACK: int
FRAME_FTRACE: int
FRAME_LOST: int
FRAME_RAW: int
FRAME_RECORD: int

OK: int
BAD_COLUMN: int
BAD_CPU: int
TOO_LARGE: int
#: A result of `Emitter.emit`: the next event is the first to use a text.
NEW_TEXT: int

#: A step: (kind, tag, inline tag, table, number of steps after it that belong to it, bytes).
Step: TypeAlias = tuple[int, int, int, int, int, bytes]

class PacketSequence(ProgramSet):
    """A sequence of packets: what its packets refer to, and how they are made of events.

    For each batch: `bind` columns to the programs of its classes, `begin`, have emitters emit all events, and `release`
    the columns. `bind` takes a column for each step that takes any, in order. Only `Emitter.emit` and
    `Emitter.emit_bundles` may be at work on several threads.
    """

    def __init__(
        self, strings: StringTable, sequence: int, *, writer: int = 0, writers: int = 1
    ) -> None:
        """`writer` is the number of this emitter among `writers` that write an output together, each the events of some
        batches.

        Interned texts have numbers that no other writer uses.
        """
    def set_threads(self, tids: NDArray[int64], uuids: NDArray[uint64]) -> None:
        """Set the names of threads: by tid in kernel events, by the uuid of their track elsewhere."""
    def set_tracks(self, uuids: NDArray[uint64]) -> None:
        """The uuids of tracks."""
    def add_program(self, frame: int, steps: Sequence[Step], middle: int = 0) -> int:
        """A program; its number. Of a record that is two packets `middle` is the first step of the second.

        Raises ValueError when the steps make no program.
        """
    def take_symbols(self) -> list[int]:
        """The values of symbol columns that were bound for the first time since the last call; zero is none."""
    def begin(self, columns: EventArrays) -> None:
        """The events that are emitted from now on: `class_id` are the programs."""
    def group(self) -> tuple[int, list[tuple[int, int]], int]:
        """Put the kernel's events in the order of their CPUs: (OK, from where to where each CPU's are in it, any).

        Without a valid CPU: (BAD_CPU, any, number of the event).
        """

class Emitter:
    """Emits packets of a sequence into a buffer: one for each thread."""

    def __init__(self, sequence: PacketSequence) -> None: ...
    @property
    def size(self) -> int:
        """Bytes since the last `take`."""
    def take(self) -> memoryview:
        """Return the output since the last call: a block that nobody changes, reused when the caller releases it."""
    def put(self, data: bytes) -> None:
        """Append bytes."""
    def emit(self, start: int, stop: int, follows: bool) -> tuple[int, int]:
        """Emit events other than the kernel's from number `start` on until a block is full: (status, the next one).

        If they follow all that were emitted (`follows`), they register the texts that they are the first to use;
        otherwise emitting ends before such an event with NEW_TEXT. On statuses other than OK the next one cannot be
        emitted. Releases the GIL.
        """
    def emit_bundles(self, start: int, stop: int) -> tuple[int, int]:
        """Emit bundles that begin with some of the kernel's events, as `emit`: (status, the next event).

        Numbers of events are in the order of `group`; when a status is not OK, that of the event itself. The first
        event must be one that a bundle begins with. The last bundle may have events from `stop` on. Releases the GIL.
        """
