from numpy import int64, uint8
from numpy.typing import NDArray

from converter.formats.json_values.emit_programs import Program
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable

#: The number of bytes that must follow the texts of threads.
TEXT_PADDING: int

class Emitter:
    def __init__(self, strings: StringTable, places: int) -> None: ...
    def emit(
        self,
        programs: list[Program | None],
        columns: EventArrays,
        threads: tuple[NDArray[uint8], NDArray[int64]],
        start: int,
        stop: int,
    ) -> tuple[memoryview, int]: ...
