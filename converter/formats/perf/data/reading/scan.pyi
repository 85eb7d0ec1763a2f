from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.formats.perf.data.reading.samples import SampledEvents
from converter.kernels.batches.event_arrays import OutputArrays

#: The ways in which a scan ends: the data are done; a record continues after them; a record of perf itself; a size
#: that no record has; no room in the columns.
DONE: int
INCOMPLETE: int
SPECIAL: int
DAMAGED: int
FULL: int
#: What records are, as `Scanner.scan` has it in the column of classes. The kernel's records: 4 times the type, and
#: the bits below. Others: `NATIVE` and twice the type, at most 255. Samples: `SAMPLE` and twice the event.
HAS_NO_TIME: int
HAS_BUILD_ID: int
NATIVE: int
SAMPLE: int

class Scanner:
    #: All events up to this time are there, as far as the ends of rounds say; -1 before that is known.
    complete: int
    #: The latest time so far, -1 for none.
    latest: int
    def __init__(
        self, events: SampledEvents, fixed_sizes: NDArray[int64], build_id_size: int
    ) -> None: ...
    def start(self) -> None: ...
    def threads(self, known: int) -> list[tuple[int, int]]: ...
    def scan(
        self, data: memoryview | bytes | NDArray[uint8], at: int, columns: OutputArrays, filled: int
    ) -> tuple[int, int, int]: ...

def row_numbers(class_id: NDArray[int32], row: NDArray[int32], counts: NDArray[int32]) -> None: ...
