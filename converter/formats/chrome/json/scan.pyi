from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.formats.chrome.json.scan_values import ValueScanner
from converter.kernels.tables.strings import StringTable

class EventScanner(ValueScanner):
    def __init__(
        self,
        strings: StringTable,
        names: StringTable,
        shapes: StringTable,
        keys: StringTable,
        threads: StringTable,
        phases: bytes,
        digits: int,
        records: bool = False,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def rounded(self) -> int: ...
    @property
    def beyond(self) -> int: ...
    @property
    def places(self) -> int: ...
    @property
    def largest(self) -> int: ...
    def scan(
        self, data: memoryview | bytes | NDArray[uint8], at: int, limit: int
    ) -> tuple[int, int]: ...
    def take(
        self,
    ) -> tuple[
        NDArray[int64],
        NDArray[int32],
        NDArray[int32],
        NDArray[int32],
        NDArray[int64],
        NDArray[int64],
        NDArray[uint8],
    ]: ...
    def take_metadata(self) -> bytes: ...
