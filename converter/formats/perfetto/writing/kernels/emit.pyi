from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy import int64, uint8, uint64
from numpy.typing import NDArray

from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.batches.programs import ProgramSet
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
#: given as ids; given as (values, offsets), in place, under the inline tag. Empty ones are left out except in table
#: 3.
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
#: The kind of a program's output: packets with a TrackEvent, FtraceEvents, events lost before a bundle, packets as
#: they are, packets of any other sort (time, sequence and the program's fields).
FRAME_TRACK: int
FRAME_FTRACE: int
FRAME_LOST: int
FRAME_RAW: int
FRAME_RECORD: int
FRAME_SWITCH: int
FRAME_WAKING: int
OK: int
BAD_COLUMN: int
BAD_CPU: int
TOO_LARGE: int
#: A result of `Emitter.emit`: the next event is the first to use a text.
NEW_TEXT: int
#: A step: (kind, tag, inline tag, table, number of steps after it that belong to it, bytes).
Step: TypeAlias = tuple[int, int, int, int, int, bytes]

NO_MEMORY: int

class PacketSequence(ProgramSet):
    def __init__(
        self, strings: StringTable, sequence: int, *, writer: int = 0, writers: int = 1
    ) -> None: ...
    def set_threads(self, tids: NDArray[int64], uuids: NDArray[uint64]) -> None: ...
    def set_tracks(self, uuids: NDArray[uint64]) -> None: ...
    def add_program(
        self, frame: int, steps: Sequence[Step], middle: int = 0, sequence: int = 0
    ) -> int: ...
    def release(self) -> Any: ...
    def take_symbols(self) -> list[int]: ...
    def begin(self, columns: EventArrays) -> None: ...
    def group(self) -> tuple[int, list[tuple[int, int]], int]: ...

class Emitter:
    def __init__(self, sequence: PacketSequence) -> None: ...
    @property
    def size(self) -> int: ...
    def take(self) -> memoryview: ...
    def put(self, data: memoryview | bytes | NDArray[uint8]) -> None: ...
    def emit(self, start: int, stop: int, follows: bool) -> tuple[int, int]: ...
    def emit_bundles(self, start: int, stop: int) -> tuple[int, int]: ...
