from numpy import int32, int64, uint8, uint32
from numpy.typing import NDArray

from converter.kernels.event_arrays import OutputArrays
from converter.kernels.tables.tasks import TaskTable

def scan_perf(
    data: memoryview | NDArray[uint8],
    big_endian: bool,
    class_of_type: NDArray[int32],
    tasks: TaskTable,
    events: OutputArrays,
) -> tuple[int, int, bool]:
    """Walk the records of a perf-cpuN.dat into columns: (events, bytes consumed, whether there the data is damaged).

    The columns are ts, class_id, thread, and start and size (uint32). `class_of_type` has an entry for each of the
    types 0 to 31; records of other types, and of those whose entry is -1, are left out. The payload of a record is the
    whole record. The thread of a context switch is -1, that of a fork the parent. Stops where the columns are full,
    where the rest is no whole record, and at damage. Releases the GIL.
    """

def survey_perf(
    data: memoryview | NDArray[uint8],
    big_endian: bool,
    tasks: TaskTable,
    counts: NDArray[int64],
) -> tuple[int, bool]:
    """Collect what the records say about tasks, and count them by type (32): (bytes consumed, damaged)."""

def scan_lines(
    data: memoryview | NDArray[uint8],
    final: bool,
    ts: NDArray[int64],
    start: NDArray[uint32],
    size: NDArray[uint32],
) -> tuple[int, int, int]:
    """Split the lines "SECONDS.NANOSECONDS message" of extern.dat: (events, bytes consumed, first line that is none).

    The payload is the message. Comments ("#") and empty lines are left out, as are lines without a time, of which the
    first's offset is given (-1: none). The last line counts, without its end, if `final`. Releases the GIL.
    """
