from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.formats.ftrace.lines.scan.graph_lines import GraphClock
from converter.kernels.tables.strings import StringTable

#: What a line is: an event, a remark that starts with #, a report of lost events, any other text.
LINE_EVENT: int
LINE_COMMENT: int
LINE_LOST: int
LINE_OTHER: int
#: What lines say: what they usually do; no more than numbers of task, CPU, time and type (`raw`); no more than the
#: event (`nocontext-info`).
FORM_USUAL: int
FORM_RAW: int
FORM_BARE: int

class Lines:
    #: What each line is, and the positions of it, of its text and of the name of its task.
    kind: NDArray[uint8]
    ts: NDArray[int64]
    cpu: NDArray[int32]
    pid: NDArray[int32]
    tgid: NDArray[int32]
    flags: NDArray[int32]
    name: NDArray[int32]
    start: NDArray[int64]
    end: NDArray[int64]
    text: NDArray[int64]
    comm: NDArray[int64]
    comm_size: NDArray[int32]
    #: Numbers of names of buffers; -1 for none.
    buffer: NDArray[int32]
    count: int
    def __init__(
        self,
        capacity: int,
        names: StringTable,
        flags: bytes,
        *,
        ticks: bool,
        of_report: bool,
        form: int = 0,
        graph: GraphClock | None = None,
        buffers: StringTable | None = None,
    ) -> None: ...
    def scan(self, data: memoryview | bytes | NDArray[uint8], last_ts: int) -> None: ...

def count_lines(data: memoryview | bytes | NDArray[uint8]) -> int: ...
