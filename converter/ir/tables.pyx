# cython: language_level=3, boundscheck=False, wraparound=False
"""The columns of a class within a batch, decoded when asked for: compiled, as every column of every batch passes here
several times, from the table that was read through those that are derived from it.

Any thread may ask. Who asks for what another is decoding waits for it: tables hold a lock while they decode, that of a
derived table before that of the one below it.
"""

# Stub:
# from collections.abc import Callable, Sequence
# from typing import TypeAlias
# from numpy import dtype, generic, integer
# from converter.ir.columns import Column
#
# #: A column of the table by its index, a constant, or what is computed of such.
# RecipePart: TypeAlias = int | Constant | Computation

from cpython.pythread cimport (
    NOWAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_get_thread_ident,
    PyThread_release_lock, PyThread_type_lock, WAIT_LOCK,
)

from numpy import ndarray

from converter.errors.guarding import guarded
from converter.ir.columns import constant_column, take


cdef class Table:
    """The columns of one event class within a batch; each is decoded when first asked for, and kept."""

    # Stub:
    # def column(self, index: int) -> Column: ...
    # def made(self, part: RecipePart, context: Any) -> Column | Callable[[], Column]: ...
    # def settled(self, parts: Sequence[RecipePart | None], context: Any) -> tuple[Column | None, ...]: ...
    # def derived(self, recipe: Sequence[RecipePart], context: Any) -> Table: ...

    def __cinit__(self, *_arguments, **_named):
        self._lock = PyThread_allocate_lock()
        if self._lock is NULL:
            raise MemoryError

    def __dealloc__(self):
        if self._lock is not NULL:
            PyThread_free_lock(self._lock)

    def __init__(self, Py_ssize_t length, columns: Sequence[Column | Callable[[], Column]]):
        self._length = length
        self._columns = list(columns)

    def __len__(self) -> int:
        return self._length

    def __repr__(self):
        return f"<Table of {self._length} rows, {len(self._columns)} columns>"

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self._columns)

    cpdef object column(self, Py_ssize_t index):
        """Column `index`: the values of field `index` of the class, a value a row."""
        if not 0 <= index < len(self._columns):
            raise IndexError(f"no column {index} of {len(self._columns)}")
        column = self._columns[index]
        if callable(column):
            self._enter()
            try:
                column = self._columns[index]
                if callable(column):
                    # A reader decodes it only now.
                    with guarded():
                        column = column()
                    self._columns[index] = column
            finally:
                self._leave()
        return column

    def columns(self) -> list[Column]:
        """All of them, decoded."""
        cdef Py_ssize_t index
        return [self.column(index) for index in range(len(self._columns))]

    cdef int _enter(self) except -1:
        cdef unsigned long me = PyThread_get_thread_ident()
        # No other thread sets it to this one.
        if self._holder == me:
            self._held += 1
            return 0
        if not PyThread_acquire_lock(self._lock, NOWAIT_LOCK):
            with nogil:
                PyThread_acquire_lock(self._lock, WAIT_LOCK)
        self._holder = me
        self._held = 1
        return 0

    cdef int _leave(self) except -1:
        self._held -= 1
        if not self._held:
            self._holder = 0
            PyThread_release_lock(self._lock)
        return 0

    @property
    def is_undecoded(self) -> bool:
        """Return True if no column has been asked for, and none was there from the beginning."""
        return all([callable(column) for column in self._columns])

    def stored(self, Py_ssize_t index) -> Column | Callable[[], Column]:
        """Column `index` as it is held: as what makes it, while nobody has asked for it."""
        if not 0 <= index < len(self._columns):
            raise IndexError(f"no column {index} of {len(self._columns)}")
        return self._columns[index]

    def lazy(self, Py_ssize_t index) -> Callable[[], Column]:
        """Column `index` when called: what a table derived from this one holds, so that laziness survives."""
        return LazyColumn.__new__(LazyColumn, self, index)

    def lazy_columns(self) -> list[Column | Callable[[], Column]]:
        """All columns so."""
        cdef Py_ssize_t index
        return [LazyColumn.__new__(LazyColumn, self, index) for index in range(len(self._columns))]

    cpdef Table derived(self, recipe, context):
        """As many rows, with columns that a recipe makes of this table's; `context` goes to its computations."""
        cdef Table table = Table.__new__(Table)
        table._length = self._length
        table._columns = [Table.made(self, part, context) for part in recipe]
        return table

    cpdef tuple settled(self, parts, context):
        """Return the results of `made` for each of these, computed at once, one after the other; None for None."""
        return tuple([None if part is None else _given(Table.made(self, part, context)) for part in parts])

    cpdef object made(self, part, context):
        """The column that part of a recipe makes of this table's, still decoded on demand."""
        cdef Computation computation
        if isinstance(part, int):
            return LazyColumn.__new__(LazyColumn, self, part)
        if isinstance(part, Constant):
            return (<Constant>part).column(self._length)
        computation = part
        columns = tuple([Table.made(self, column, context) for column in computation.columns])
        return ComputedColumn.__new__(ComputedColumn, computation.function, columns, context)

    def select(self, rows: NDArray[integer[Any]]) -> Table:
        """The given rows of every column, still decoded on demand."""
        cdef Py_ssize_t index
        return Table(
            len(rows),
            [SelectedColumn.__new__(SelectedColumn, self, index, rows) for index in range(len(self._columns))],
        )

    def ends(self, rows: NDArray[integer[Any]], columns: Sequence[Column]) -> Table:
        """The ends, with these columns, of what the given rows begin: for formats that know more of an end."""
        return Table(len(rows), columns)


cdef object _given(column):
    return column() if callable(column) else column


cdef class LazyColumn:
    """A column of a table, when called."""

    # Stub:
    # table: Table
    # index: int

    def __cinit__(self, Table table not None, Py_ssize_t index):
        self.table = table
        self.index = index

    def __call__(self) -> Column:
        return self.table.column(self.index)


cdef class WholeColumn:
    """Column `index` of a table, when called with that."""

    cdef Py_ssize_t _index

    def __cinit__(self, Py_ssize_t index):
        self._index = index

    def __call__(self, Table table not None) -> Column:
        return table.column(self._index)


cdef class ConvertedColumn:
    """The column that `getter` returns for a table: as `convert` makes it where it is no array of
    the type `dtype`.
    """

    cdef object _getter
    cdef object _dtype
    cdef object _convert

    def __cinit__(self, getter: Callable[[Table], Column], dtype: dtype[Any] | None, convert: Callable[[Column], Any]):
        self._getter = getter
        self._dtype = dtype
        self._convert = convert

    def __call__(self, table: Table) -> Any:
        column = self._getter(table)
        if isinstance(column, ndarray):
            # Arrays of one type mostly share the object that says so; any other is left to the caller.
            dtype = column.dtype
            if dtype is self._dtype or dtype == self._dtype:
                return column
        return self._convert(column)


cdef class ComputedColumn:
    """A column computed of others, when called: `function(context, *columns)`."""

    # Stub:
    # function: Callable[..., Column]
    # columns: tuple[Column | Callable[[], Column], ...]
    # context: Any

    def __cinit__(
        self,
        function: Callable[..., Column],
        tuple columns not None: tuple[Column | Callable[[], Column], ...],
        context,
    ):
        self.function = function
        self.columns = columns
        self.context = context

    def __call__(self) -> Column:
        if len(self.columns) == 1:
            return self.function(self.context, _given(self.columns[0]))
        return self.function(self.context, *[_given(column) for column in self.columns])


cdef class Constant:
    """A column of any table that has the same value in all rows."""

    # Stub:
    # def column(self, length: int) -> NDArray[Any]: ...

    # As many as were ever asked for.
    cdef object _longest

    def __cinit__(self, value: generic):
        self._longest = constant_column(value, 1)

    @property
    def value(self) -> generic:
        return self._longest[0]

    cpdef object column(self, Py_ssize_t length):
        """As often as that: a read-only array of stride 0."""
        longest = self._longest
        if len(longest) < length:
            longest = self._longest = constant_column(longest[0], length)
        return longest[:length]


cdef class Computation:
    """A computed column of any table: `columns` are parts of a recipe."""

    # Stub:
    # function: Callable[..., Column]
    # columns: tuple[RecipePart, ...]

    cdef readonly object function
    cdef readonly tuple columns

    def __cinit__(self, function: Callable[..., Column], tuple columns not None: tuple[RecipePart, ...]):
        self.function = function
        self.columns = columns


cdef class Together:
    """Columns of one table that are made at once, when the first of them is asked for."""

    def __cinit__(self, make: Callable[[], Sequence[Column]]):
        self._make = make

    def column(self, Py_ssize_t number) -> Callable[[], Column]:
        """One of them, when called."""
        return TogetherColumn.__new__(TogetherColumn, self, number)

    def columns(self, Py_ssize_t count) -> list[Callable[[], Column]]:
        """The first ones, each when called."""
        cdef Py_ssize_t number
        return [TogetherColumn.__new__(TogetherColumn, self, number) for number in range(count)]

    cdef object made(self, Py_ssize_t number):
        if self._columns is None:
            self._columns = list(self._make())
        if not 0 <= number < len(self._columns):
            raise IndexError(f"no column {number} of {len(self._columns)}")
        return self._columns[number]


cdef class TogetherColumn:
    """One of them, when called."""

    def __cinit__(self, Together together not None, Py_ssize_t number):
        self._together = together
        self._number = number

    def __call__(self):
        return self._together.made(self._number)


cdef class SelectedColumn:
    """Some rows of a column of a table, when called."""

    cdef Table _table
    cdef Py_ssize_t _index
    cdef object _rows

    def __cinit__(self, Table table not None, Py_ssize_t index, rows):
        self._table = table
        self._index = index
        self._rows = rows

    def __call__(self):
        return take(self._table.column(self._index), self._rows)
