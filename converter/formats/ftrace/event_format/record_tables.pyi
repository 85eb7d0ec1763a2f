from collections.abc import Callable, Sequence
from typing import Any

from numpy import dtype, int64, integer, uint32
from numpy.typing import NDArray

from converter.formats.ftrace.event_format.syntax import EventFormat
from converter.formats.ftrace.symbol_lookup import SymbolLookup
from converter.ir.columns import Column
from converter.ir.tables import Table
from converter.kernels.batches.gather import Segments
from converter.kernels.tables.strings import StringTable

class Records:
    """The records of one event class in a batch: where they are, and how to read them.

    `locate` gives location (int64) and size (uint32) of each; it is asked once. `format`, the kernel's `long_size`, and
    its `texts` by address are what their text is made with, where they have a format.
    """

    count: int
    locate: Callable[[], tuple[NDArray[int64], NDArray[uint32]]]
    segments: Segments
    strings: StringTable
    big_endian: bool
    format: EventFormat | None
    long_size: int
    texts: SymbolLookup | None
    def __init__(
        self,
        count: int,
        locate: Callable[[], tuple[NDArray[int64], NDArray[uint32]]],
        segments: Segments,
        strings: StringTable,
        *,
        big_endian: bool,
        format: EventFormat | None = None,
        long_size: int = 8,
        texts: SymbolLookup | None = None,
    ) -> None: ...
    @property
    def located(self) -> tuple[NDArray[int64], NDArray[uint32]]:
        """Location and size of each record."""

    def select(self, rows: NDArray[integer[Any]]) -> Records:
        """Some of the records."""

    def record(self, row: int) -> bytes:
        """The bytes of one record."""

class RecordTable(Table):
    """A table that knows the records that it is made of, while not all of its columns are."""

    def __init__(
        self, records: Records, columns: Sequence[Column | Callable[[], Column]]
    ) -> None: ...
    @property
    def records(self) -> Records | None:
        """The records, None when every column has been decoded."""

    def select(self, rows: NDArray[integer[Any]]) -> Table:
        """The given rows, which know their records as long as this table does."""

class RecordColumns:
    """The way all columns of a class are made of records: decided once a class, done once a batch.

    Args:
        places: offset and width of the integers, as `Segments.gathered` takes them.
        text_places: of the texts that are gathered with them.
        dtypes: the integers' types.
        sources: for each column its number among the integers and the texts after them, or the function that makes
            it of records.
        format, long_size, texts: as records have them.
    """

    def __init__(
        self,
        places: NDArray[int64],
        text_places: NDArray[int64],
        dtypes: Sequence[dtype[Any]],
        sources: Sequence[int | Callable[[Records], Column]],
        format: EventFormat | None = None,
        long_size: int = 8,
        texts: SymbolLookup | None = None,
    ) -> None: ...
    def table(
        self,
        length: int,
        locate: Callable[[], tuple[NDArray[int64], NDArray[uint32]]],
        segments: Segments,
        strings: StringTable,
        big_endian: bool,
    ) -> RecordTable:
        """Return the table of `count` records; its columns are gathered when asked for."""

class RecordClasses:
    """Classes by number, and how the columns of each are made."""

    def __init__(self, strings: StringTable) -> None: ...
    def add_columns(self, id: int, columns: RecordColumns) -> None:
        """Say how the columns of a class are made."""

    def table(
        self,
        id: int,
        length: int,
        locate: Callable[[], tuple[NDArray[int64], NDArray[uint32]]],
        segments: Segments,
        *,
        big_endian: bool,
    ) -> RecordTable:
        """Return the table of a class over `count` records; columns are gathered when asked for."""
