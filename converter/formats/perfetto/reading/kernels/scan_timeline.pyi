from typing import NamedTuple

from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

from converter.formats.perfetto.reading.kernels.scan_sequences import Sequences
from converter.kernels.tables.strings import StringTable

class TrackEvents(NamedTuple):
    packet: NDArray[int32]
    signature: NDArray[int32]
    name: NDArray[int32]
    category: NDArray[int32]
    place: NDArray[uint64]
    space: NDArray[uint8]
    first_word: NDArray[int64]
    words: NDArray[uint64]
    flows: NDArray[uint64]
    remainder: NDArray[uint8]

class Timeline(Sequences):
    def __init__(
        self, strings: StringTable, messages: StringTable, signatures: StringTable
    ) -> None: ...
    def run(
        self,
        data: memoryview | bytes | NDArray[uint8],
        rows: NDArray[int64],
        begin: int,
        end: int,
        ts: NDArray[int64],
        clock: NDArray[int64],
        scope: NDArray[int64],
        unread: NDArray[uint8],
    ) -> None: ...
    def take(self) -> TrackEvents: ...
