# cython: language_level=3, boundscheck=False, wraparound=False
"""The columns of a class within a batch, decoded when asked for: compiled, as every column of every batch passes here
several times, from the table that was read through those that are derived from it.

Any thread may ask. Who asks for what another is decoding waits for it: tables hold a lock while they decode, that of a
derived table before that of the one below it.
"""

from cpython.pythread cimport (
    NOWAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_get_thread_ident,
    PyThread_release_lock, PyThread_type_lock, WAIT_LOCK,
)

from numpy import ndarray

from converter.ir.columns import constant_column, take


cdef class Table:
    def __cinit__(self, *_arguments, **_named):
        self._lock = PyThread_allocate_lock()
        if self._lock is NULL:
            raise MemoryError

    def __dealloc__(self):
        if self._lock is not NULL:
            PyThread_free_lock(self._lock)

    def __init__(self, Py_ssize_t length, columns):
        self._length = length
        self._columns = list(columns)

    def __len__(self):
        return self._length

    def __repr__(self):
        return f"<Table of {self._length} rows, {len(self._columns)} columns>"

    @property
    def width(self):
        return len(self._columns)

    cpdef object column(self, Py_ssize_t index):
        if not 0 <= index < len(self._columns):
            raise IndexError(f"no column {index} of {len(self._columns)}")
        column = self._columns[index]
        if callable(column):
            self._enter()
            try:
                column = self._columns[index]
                if callable(column):
                    column = self._columns[index] = column()
            finally:
                self._leave()
        return column

    def columns(self):
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
    def is_undecoded(self):
        return all([callable(column) for column in self._columns])

    def stored(self, Py_ssize_t index):
        if not 0 <= index < len(self._columns):
            raise IndexError(f"no column {index} of {len(self._columns)}")
        return self._columns[index]

    def lazy(self, Py_ssize_t index):
        return LazyColumn.__new__(LazyColumn, self, index)

    def lazy_columns(self):
        cdef Py_ssize_t index
        return [LazyColumn.__new__(LazyColumn, self, index) for index in range(len(self._columns))]

    cpdef Table derived(self, recipe, context):
        cdef Table table = Table.__new__(Table)
        table._length = self._length
        table._columns = [Table.made(self, part, context) for part in recipe]
        return table

    cpdef tuple settled(self, parts, context):
        return tuple([None if part is None else _given(Table.made(self, part, context)) for part in parts])

    cpdef object made(self, part, context):
        cdef Computation computation
        if isinstance(part, int):
            return LazyColumn.__new__(LazyColumn, self, part)
        if isinstance(part, Constant):
            return (<Constant>part).column(self._length)
        computation = part
        columns = tuple([Table.made(self, column, context) for column in computation.columns])
        return ComputedColumn.__new__(ComputedColumn, computation.function, columns, context)

    def select(self, rows):
        cdef Py_ssize_t index
        return Table(
            len(rows),
            [SelectedColumn.__new__(SelectedColumn, self, index, rows) for index in range(len(self._columns))],
        )


cdef object _given(column):
    return column() if callable(column) else column


cdef class LazyColumn:
    """A column of a table, when called."""

    def __cinit__(self, Table table not None, Py_ssize_t index):
        self.table = table
        self.index = index

    def __call__(self):
        return self.table.column(self.index)


cdef class WholeColumn:
    """A column of whichever table it is called with."""

    cdef Py_ssize_t _index

    def __cinit__(self, Py_ssize_t index):
        self._index = index

    def __call__(self, Table table not None):
        return table.column(self._index)


cdef class ConvertedColumn:
    """The result of a function for a table, when called with one: as it is where it has a type already."""

    cdef object _getter
    cdef object _dtype
    cdef object _convert

    def __cinit__(self, getter, dtype, convert):
        self._getter = getter
        self._dtype = dtype
        self._convert = convert

    def __call__(self, table):
        column = self._getter(table)
        if isinstance(column, ndarray):
            # Arrays of one type mostly share the object that says so; any other is left to the caller.
            dtype = column.dtype
            if dtype is self._dtype or dtype == self._dtype:
                return column
        return self._convert(column)


cdef class ComputedColumn:
    """A column computed of others, when called."""

    def __cinit__(self, function, tuple columns not None, context):
        self.function = function
        self.columns = columns
        self.context = context

    def __call__(self):
        if len(self.columns) == 1:
            return self.function(self.context, _given(self.columns[0]))
        return self.function(self.context, *[_given(column) for column in self.columns])


cdef class Constant:
    """A value in all rows of any table."""

    # As many as were ever asked for.
    cdef object _longest

    def __cinit__(self, value):
        self._longest = constant_column(value, 1)

    @property
    def value(self):
        return self._longest[0]

    cpdef object column(self, Py_ssize_t length):
        longest = self._longest
        if len(longest) < length:
            longest = self._longest = constant_column(longest[0], length)
        return longest[:length]


cdef class Computation:
    """The same of any table: parts of a recipe in place of columns."""

    cdef readonly object function
    cdef readonly tuple columns

    def __cinit__(self, function, tuple columns not None):
        self.function = function
        self.columns = columns


cdef class Together:
    """Columns that are made at once, when the first of them is asked for."""

    def __cinit__(self, make):
        self._make = make

    def column(self, Py_ssize_t number):
        return TogetherColumn.__new__(TogetherColumn, self, number)

    def columns(self, Py_ssize_t count):
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
