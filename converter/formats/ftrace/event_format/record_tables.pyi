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
    def located(self) -> tuple[NDArray[int64], NDArray[uint32]]: ...
    def select(self, rows: NDArray[integer[Any]]) -> Records: ...
    def record(self, row: int) -> bytes: ...

class RecordTable(Table):
    def __init__(
        self, records: Records, columns: Sequence[Column | Callable[[], Column]]
    ) -> None: ...
    @property
    def records(self) -> Records | None: ...
    def select(self, rows: NDArray[integer[Any]]) -> Table: ...

class SelectedRows:
    def __init__(self, table: Table, index: int, rows: Any, some: Records) -> None: ...
    def __call__(self) -> Any: ...

class RecordColumns:
    def table(
        self,
        length: int,
        locate: Callable[[], tuple[NDArray[int64], NDArray[uint32]]],
        segments: Segments,
        strings: StringTable,
        big_endian: bool,
    ) -> RecordTable: ...
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

class GatheredColumns:
    def __init__(self, records: Records, columns: RecordColumns) -> None: ...
    def __call__(self) -> Any: ...

class LoadedColumn:
    def __init__(self, load: Any, records: Records) -> None: ...
    def __call__(self) -> Any: ...

class RecordClasses:
    def __init__(self, strings: StringTable) -> None: ...
    def add_columns(self, id: int, columns: RecordColumns) -> None: ...
    def table(
        self,
        id: int,
        length: int,
        locate: Callable[[], tuple[NDArray[int64], NDArray[uint32]]],
        segments: Segments,
        *,
        big_endian: bool,
    ) -> RecordTable: ...
