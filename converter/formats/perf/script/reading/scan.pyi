from typing import Any

from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.formats.ftrace.lines.scan.line_scan import Lines
from converter.formats.perf.script.reading.frames import StackTexts
from converter.kernels.tables.strings import StringTable

#: What a line is in addition to those of ftrace: a sample that is no tracepoint, and a record that is no sample.
LINE_SAMPLE: int
LINE_RECORD: int

class TaskTexts:
    tid: NDArray[int32]
    tgid: NDArray[int32]
    name: NDArray[int64]
    name_size: NDArray[int32]
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def reserve(self, more: int) -> None: ...

def grown(array: Any, size: Any) -> Any: ...

class ScriptLines(Lines):
    #: -1 where there is none; `before` and `after` are the texts before and after address and function of a sample.
    period: NDArray[int64]
    stack: NDArray[int32]
    task: NDArray[int32]
    last: NDArray[int64]
    misc: NDArray[int64]
    misc_size: NDArray[int32]
    before: NDArray[int64]
    before_size: NDArray[int32]
    after: NDArray[int64]
    after_size: NDArray[int32]
    def __init__(
        self,
        capacity: int,
        names: StringTable,
        tasks: TaskTexts,
        stacks: StackTexts,
        tracepoint: NDArray[uint8],
        *,
        timed: bool,
    ) -> None: ...
    def scan(self, data: memoryview | bytes | NDArray[uint8], last_ts: int) -> None: ...
