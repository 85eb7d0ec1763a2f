from numpy import int32, int64, uint8, uint32, uint64
from numpy.typing import NDArray

from converter.kernels.event_arrays import OutputArrays
from converter.kernels.tables.tasks import TaskTable

def scan_pages(
    data: memoryview | bytes | NDArray[uint8],
    geometry: tuple[int, int, bool],
    classes: tuple[NDArray[int32], int],
    tasks: TaskTable,
    common_fields: tuple[int, int],
    scale: tuple[int, int, int],
    events: OutputArrays,
) -> tuple[int, int, int]:
    """Walk whole pages into columns: (records, damaged pages, where the first damage is or -1).

    `geometry` is the size of pages and of longs, and whether the kernel is big-endian; `classes` are `class_of_type`
    and `class_of_missed`; `common_fields` are the offsets of type and pid in a record; `scale` is multiplier, shift and
    time offset. The columns are ts, class_id, thread, and start and size (uint32).

    `class_of_type` has 65,536 entries; records whose entry is -1 are left out. Record i's payload is
    ``data[start[i]:start[i] + size[i]]``. A page with the missed-events flag first gives a record of
    `class_of_missed` (unless -1) at the page's time, whose payload is the count, or empty if it is not known.
    Times are ``(raw * multiplier >> shift) + time_offset``; a multiplier of 0 means raw. The columns must have room
    for `most_records_in` records. A page is left at its first record that makes no sense; the last page may be cut.
    Raises ValueError for columns that are too short and impossible geometry. Releases the GIL.
    """

def find_chunks(
    block: memoryview | bytes | NDArray[uint8],
    limit: int,
    big_endian: bool,
    page_size: int,
    wanted: tuple[int, int, int],
    magic: bytes,
    chunks: NDArray[int64],
) -> tuple[int, int, int]:
    """Find the compressed chunks at the start of a block, each after its two sizes: (how many, where they end, need).

    `wanted` are `most`, `target` and `most_odd`. At least `target` bytes of whole pages are found, or `most_odd` more
    of data that are no whole pages, but at most `most` chunks. A row of `chunks` (int64, n x 3) is the offset of a
    chunk's data, its size there, and decompressed. `need` says what more would take: a block of that many bytes, or
    room for more chunks (-2); the next chunk does not end before `limit`, or begin with `magic` (-1); or nothing (0).
    Releases the GIL.
    """

def page_begins(data: bytes | NDArray[uint8], long_size: int, big_endian: bool) -> bool:
    """Return True if data of the size of a page begin as a page does; the data after the first record may be damaged."""

def follow_pages(
    data: bytes | NDArray[uint8],
    page_size: int,
    long_size: int,
    big_endian: bool,
    at: int,
    after: int,
) -> tuple[int, int]:
    """Find whole pages, one after the other, from `at` on: (where they end, the time of the last of them).

    Their times rise, from `after` on.
    """

def find_page(
    data: bytes | NDArray[uint8],
    page_size: int,
    long_size: int,
    big_endian: bool,
    at: int,
    after: int,
) -> int:
    """Return the first offset from `at` on of a whole page of a time from `after` on; -1 if there is none.

    Another page that is not earlier follows it, or the end of the data.
    """

def most_records_in(total: int, page_size: int) -> int:
    """Entries that the columns of `scan_pages` must have for `total` bytes of pages."""

def scan_symbols(
    text: memoryview | bytes | NDArray[uint8],
    address: NDArray[uint64],
    name_start: NDArray[uint32],
    name_size: NDArray[uint32],
) -> int:
    """The symbols of a kallsyms text, in its order, into the columns: how many (no more than there is room for).

    Left out are lines that are no symbol, absolute symbols (type a or A) and ARM's mapping symbols ("$...").
    Releases the GIL.
    """
