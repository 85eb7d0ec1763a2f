from collections.abc import Sequence
from typing import Any

from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.batches.programs import ProgramSet
from converter.kernels.tables.strings import StringTable

OP_SCALAR: int
OP_STRING: int
OP_BYTES: int
OP_LIST: int
OP_ARRAY: int
OP_UNION: int
OP_OPTIONAL: int
OP_GROUP: int
OP_THREAD: int
DISCARDS_EVENTS: int
DISCARDS_PACKETS: int
DONE: int
FULL: int
OUT_OF_RANGE: int
BACKWARDS: int
OUT_OF_MEMORY: int
WRONG_LENGTH: int

class Emitter(ProgramSet):
    def __init__(self, strings: StringTable, uuid: bytes, packet_size: int) -> None: ...
    def add_threads(self, threads: Sequence[tuple[int, int, bytes]]) -> None: ...
    def add_stream(
        self, class_id: int, instance: int, cpu: int, tracked: bool, timed: bool
    ) -> int: ...
    def add_program(
        self, id: int, operations: Sequence[tuple[int, int, int]], discards: int, context: int = 0
    ) -> int: ...
    def emit(self, columns: EventArrays, start: int) -> tuple[int, int]: ...
    def finish(self, stream: int) -> None: ...
    def take(self, stream: int) -> tuple[bytes, list[tuple[int, int, int, int, int, int]]]: ...
    def pending(self, stream: int) -> int: ...

def check_nesting(operations: Any, begin: int, end: int, depth: int) -> Any: ...
