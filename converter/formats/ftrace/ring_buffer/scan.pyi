from numpy import int32, int64, uint8, uint32, uint64
from numpy.typing import NDArray

from converter.kernels.batches.event_arrays import OutputArrays
from converter.kernels.tables.tasks import TaskTable

def scan_pages(
    data: memoryview | bytes | NDArray[uint8],
    geometry: tuple[int, int, bool],
    classes: tuple[NDArray[int32], int],
    tasks: TaskTable,
    common_fields: tuple[int, int],
    scale: tuple[int, int, int],
    events: OutputArrays,
) -> tuple[int, int, int]: ...
def page_begins(
    data: memoryview | bytes | NDArray[uint8], long_size: int, big_endian: bool
) -> bool: ...
def follow_pages(
    data: memoryview | bytes | NDArray[uint8],
    page_size: int,
    long_size: int,
    big_endian: bool,
    at: int,
    after: int,
) -> tuple[int, int]: ...
def find_page(
    data: memoryview | bytes | NDArray[uint8],
    page_size: int,
    long_size: int,
    big_endian: bool,
    at: int,
    after: int,
) -> int: ...
def find_chunks(
    block: memoryview | bytes | NDArray[uint8],
    limit: int,
    big_endian: bool,
    page_size: int,
    wanted: tuple[int, int, int],
    magic: memoryview | bytes | NDArray[uint8],
    chunks: NDArray[int64],
) -> tuple[int, int, int]: ...
def most_records_in(total: int, page_size: int) -> int: ...
def scan_symbols(
    text: memoryview | bytes | NDArray[uint8],
    address: NDArray[uint64],
    name_start: NDArray[uint32],
    name_size: NDArray[uint32],
) -> int: ...
