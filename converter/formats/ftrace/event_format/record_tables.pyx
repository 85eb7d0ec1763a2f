# cython: language_level=3, boundscheck=False, wraparound=False
"""Tables of records: each batch has one a class, whose columns are gathered from the records when they are asked for."""

# Stub:
# from converter.ir.tables import Table
# from collections.abc import Callable, Sequence
# from numpy import dtype, integer
# from converter.formats.ftrace.event_format.syntax import EventFormat
# from converter.formats.ftrace.symbol_lookup import SymbolLookup
# from converter.ir.columns import Column
# from converter.kernels.batches.gather import Segments
# from converter.kernels.tables.strings import StringTable

import weakref

import numpy as np

from converter.ir.columns import take
from converter.ir.tables cimport Table, Together, TogetherColumn
from converter.kernels.batches.gather cimport Segments
from converter.kernels.tables.strings cimport StringTable


cdef class Records:
    """The records of one event class in a batch: where they are, and how to read them.

    `locate` gives location (int64) and size (uint32) of each; it is asked once. `format`, the kernel's `long_size`, and
    its `texts` by address are what their text is made with, where they have a format.
    """

    # Stub:
    # count: int
    # locate: Callable[[], tuple[NDArray[int64], NDArray[uint32]]]
    # segments: Segments
    # strings: StringTable
    # big_endian: bool
    # format: EventFormat | None
    # long_size: int
    # texts: SymbolLookup | None

    cdef object __weakref__
    cdef readonly Py_ssize_t count
    cdef readonly object locate
    cdef readonly Segments segments
    cdef readonly StringTable strings
    cdef readonly bint big_endian
    cdef readonly object format
    cdef readonly int long_size
    cdef readonly object texts
    cdef tuple _located

    def __cinit__(
        self,
        Py_ssize_t count,
        locate: Callable[[], tuple[NDArray[int64], NDArray[uint32]]],
        Segments segments not None,
        StringTable strings not None,
        *,
        bint big_endian,
        format: EventFormat | None = None,
        int long_size=8,
        texts: SymbolLookup | None = None,
    ):
        self.count = count
        self.locate = locate
        self.segments = segments
        self.strings = strings
        self.big_endian = big_endian
        self.format = format
        self.long_size = long_size
        self.texts = texts

    cdef tuple _places(self):
        if self._located is None:
            self._located = self.locate()
        return self._located

    @property
    def located(self) -> tuple[NDArray[int64], NDArray[uint32]]:
        """Location and size of each record."""
        return self._places()

    def select(self, rows: NDArray[integer[Any]]) -> Records:
        """Some of the records."""
        def locate():
            location, size = self._places()
            return location[rows], size[rows]

        return Records(
            len(rows),
            locate,
            self.segments,
            self.strings,
            big_endian=self.big_endian,
            format=self.format,
            long_size=self.long_size,
            texts=self.texts,
        )

    def record(self, Py_ssize_t row) -> bytes:
        """The bytes of one record."""
        location, size = self._places()
        offsets = np.array([0, size[row]], np.int64)
        data = np.empty(int(size[row]), np.uint8)
        self.segments.copy(location[row:row + 1], offsets, data)
        return data.tobytes()


cdef class RecordTable(Table):
    """A table that knows the records that it is made of, while not all of its columns are."""

    cdef object _records

    def __init__(self, Records records not None, columns: Sequence[Column | Callable[[], Column]]):
        self._length = records.count
        self._columns = list(columns)
        # A trace that is collected must not keep its file in memory beside its columns.
        self._records = weakref.ref(records)

    @property
    def records(self) -> Records | None:
        """The records, None when every column has been decoded."""
        return self._records()

    def select(self, rows: NDArray[integer[Any]]) -> Table:
        """The given rows, which know their records as long as this table does."""
        cdef Py_ssize_t index
        records = self._records()
        if records is None:
            return Table.select(self, rows)
        some = records.select(rows)
        # Columns keep the records until they are decoded.
        return RecordTable(some, [SelectedRows(self, index, rows, some) for index in range(len(self._columns))])


cdef class SelectedRows:
    """Some rows of a column of a table, when called; it keeps their records."""

    cdef Table _table
    cdef Py_ssize_t _index
    cdef object _rows
    cdef Records _some

    def __cinit__(self, Table table not None, Py_ssize_t index, rows, Records some not None):
        self._table = table
        self._index = index
        self._rows = rows
        self._some = some

    def __call__(self):
        return take(self._table.column(self._index), self._rows)


cdef class RecordColumns:
    """The way all columns of a class are made of records: decided once a class, done once a batch.

    Args:
        places: offset and width of the integers, as `Segments.gathered` takes them.
        text_places: of the texts that are gathered with them.
        dtypes: the integers' types.
        sources: for each column its number among the integers and the texts after them, or the function that makes
            it of records.
        format, long_size, texts: as records have them.
    """

    # Stub:
    # def table(
    #     self,
    #     length: int,
    #     locate: Callable[[], tuple[NDArray[int64], NDArray[uint32]]],
    #     segments: Segments,
    #     strings: StringTable,
    #     big_endian: bool,
    # ) -> RecordTable: ...

    cdef readonly object places
    cdef readonly object text_places
    cdef list _dtypes
    # The source of each column: a number among those that are gathered together, or the function that loads it.
    cdef list _sources
    cdef object _format
    cdef int _long_size
    cdef object _texts

    def __init__(
        self,
        places: NDArray[int64],
        text_places: NDArray[int64],
        dtypes: Sequence[dtype[Any]],
        sources: Sequence[int | Callable[[Records], Column]],
        format: EventFormat | None = None,
        int long_size=8,
        texts: SymbolLookup | None = None,
    ):
        self.places = places
        self.text_places = text_places
        self._dtypes = list(dtypes)
        self._sources = list(sources)
        self._format = format
        self._long_size = long_size
        self._texts = texts

    cpdef RecordTable table(
        self, Py_ssize_t length, locate, Segments segments, StringTable strings, bint big_endian
    ):
        """Return the table of `count` records; its columns are gathered when asked for."""
        cdef Records records = Records(
            length,
            locate,
            segments,
            strings,
            big_endian=big_endian,
            format=self._format,
            long_size=self._long_size,
            texts=self._texts,
        )
        cdef Together together = Together.__new__(Together, GatheredColumns.__new__(GatheredColumns, records, self))
        cdef list columns = []
        for source in self._sources:
            if isinstance(source, int):
                columns.append(TogetherColumn.__new__(TogetherColumn, together, source))
            else:
                columns.append(LoadedColumn.__new__(LoadedColumn, source, records))
        return RecordTable(records, columns)


cdef class GatheredColumns:
    """The columns that are gathered together, when called."""

    cdef Records _records
    cdef RecordColumns _columns

    def __cinit__(self, Records records not None, RecordColumns columns not None):
        self._records = records
        self._columns = columns

    def __call__(self):
        cdef Records records = self._records
        cdef RecordColumns of = self._columns
        location, size = records._places()
        return records.segments.gathered_with_texts(
            location, size, of.places, of.text_places, records.strings, records.big_endian, of._dtypes
        )


cdef class LoadedColumn:
    """A column that `load` makes of the records, when called."""

    cdef object _load
    cdef Records _records

    def __cinit__(self, load, Records records not None):
        self._load = load
        self._records = records

    def __call__(self):
        return self._load(self._records)


cdef class RecordClasses:
    """Classes by number, and how the columns of each are made."""

    cdef StringTable _strings
    cdef dict _columns

    def __init__(self, StringTable strings not None):
        self._strings = strings
        self._columns = {}

    def add_columns(self, id: int, RecordColumns columns not None) -> None:
        """Say how the columns of a class are made."""
        self._columns[id] = columns

    def table(
        self,
        id: int,
        Py_ssize_t length,
        locate: Callable[[], tuple[NDArray[int64], NDArray[uint32]]],
        Segments segments not None,
        *,
        bint big_endian,
    ) -> RecordTable:
        """Return the table of a class over `count` records; columns are gathered when asked for."""
        cdef RecordColumns columns = self._columns[id]
        return columns.table(length, locate, segments, self._strings, big_endian)
