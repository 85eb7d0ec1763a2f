# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns bound to a program, and other buffers that kernels read: what is bound stays where it is, and has the shape
that was checked.
"""

# Stub:
# from collections.abc import Sequence

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_STRIDED_RO, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT64_MAX, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from converter.kernels.batches.column_view cimport (
    ColumnView, Takes, TAKES_BYTES, TAKES_LIST, TAKES_NOTHING, TAKES_TEXT, TAKES_UNION, TAKES_VALIDITY,
)


cdef class BoundColumns:
    """The columns that the program of a class takes in one batch, kept alive; other kernels use it.

    What `bind` is given for an operation: an array of its width; for texts an array of int32 ids, or (uint8 values,
    int64 offsets); for bytes (values, offsets); for lists int64 offsets; for what may be missing an array of a byte
    each; for unions (int16 types, int32 rows). It raises ValueError for any other, and for fewer than `rows` rows.
    """

    def __cinit__(self, int64_t count):
        self.views = <ColumnView*>calloc(count + 1, sizeof(ColumnView))
        # A column has two buffers at most.
        self._buffers = <Py_buffer*>calloc(2 * count + 1, sizeof(Py_buffer))
        self._needs = <Need*>calloc(count + 1, sizeof(Need))
        if self.views is NULL or self._buffers is NULL or self._needs is NULL:
            raise MemoryError
        self.count = count

    def __dealloc__(self):
        self.release()
        free(self.views)
        free(self._buffers)
        free(self._needs)

    cdef void release(self):
        # Without a column there is no row.
        memset(self.views, 0, self.count * sizeof(ColumnView))
        while self._held:
            self._held -= 1
            PyBuffer_Release(&self._buffers[self._held])

    cdef int need(self, int64_t i, Takes takes, int64_t width) except -1:
        if not 0 <= i < self.count or self._needs[i].takes != TAKES_NOTHING:
            raise ValueError(f"column {i} is not one operation's")
        self._needs[i] = Need(takes, width)
        return 0

    cdef int bind_all(self, columns) except -1:
        cdef int64_t i
        self.release()
        if len(columns) != self.count:
            raise ValueError(f"{len(columns)} columns for {self.count} fields")
        for i in range(self.count):
            self.bind(i, self._needs[i].takes, self._needs[i].width, columns[i], 0)
        return 0

    cdef int check_rows(self, int64_t rows) except -1:
        cdef int64_t i
        for i in range(self.count):
            if self.views[i].length < rows:
                raise ValueError(f"column {i} has {self.views[i].length} values for {rows} rows")
        return 0

    cdef ColumnView* bind(self, int64_t i, Takes takes, int64_t width, given, int64_t rows) except NULL:
        """`width` is that of a value or an element, 0 for any."""
        cdef ColumnView* view = &self.views[i]
        cdef Py_buffer* held
        memset(view, 0, sizeof(ColumnView))
        if takes == TAKES_NOTHING:
            # There is no row that it lacks.
            view.length = INT64_MAX
            return view
        if takes == TAKES_LIST or takes == TAKES_BYTES or (takes == TAKES_TEXT and isinstance(given, tuple)):
            if takes != TAKES_LIST:
                if not isinstance(given, tuple):
                    raise ValueError(f"column {i} is no list")
                values, given = given
                held = self._hold(values, 1 if takes == TAKES_TEXT else width, True)
                view.data = <const uint8_t*>held.buf
                view.width = held.itemsize
                view.extent = held.shape[0]
            held = self._hold(given, 8, True)
            view.offsets = <const int64_t*>held.buf
            view.length = held.shape[0] - 1
        else:
            if isinstance(given, tuple) != (takes == TAKES_UNION):
                raise ValueError(f"column {i} is a list, where one of values is needed")
            if takes == TAKES_UNION:
                given, chosen = given
                held = self._hold(chosen, 4, False)
                view.rows = <const uint8_t*>held.buf
                view.rows_stride = held.strides[0]
                view.length = held.shape[0]
            if takes == TAKES_TEXT or takes == TAKES_VALIDITY or takes == TAKES_UNION:
                width = 4 if takes == TAKES_TEXT else 1 if takes == TAKES_VALIDITY else 2
            held = self._hold(given, width, False)
            if takes == TAKES_UNION and view.length != held.shape[0]:
                raise ValueError(f"column {i} has not a row for each type")
            view.data = <const uint8_t*>held.buf
            view.stride = held.strides[0]
            view.length = held.shape[0]
            view.width = held.itemsize
        if view.length < rows:
            raise ValueError(f"column {i} has {view.length} values for {rows} rows")
        return view

    cdef Py_buffer* _hold(self, array, int64_t width, bint adjoining) except NULL:
        cdef Py_buffer* held = &self._buffers[self._held]
        if self._held == 2 * self.count:
            raise ValueError("columns are bound twice")
        PyObject_GetBuffer(array, held, PyBUF_STRIDED_RO)
        self._held += 1
        if held.ndim != 1:
            raise ValueError("a column has one dimension")
        if width and held.itemsize != width:
            raise ValueError(f"a column with elements of {held.itemsize} bytes where {width} are needed")
        if adjoining and held.shape[0] > 1 and held.strides[0] != held.itemsize:
            raise ValueError("a column is not contiguous")
        return held

    cdef int check_list(self, int64_t i) except -1:
        """Raise ValueError unless all lists of a column lie inside its values."""
        cdef const ColumnView* view = &self.views[i]
        cdef int64_t k
        cdef bint fits = view.offsets[0] >= 0 and view.offsets[view.length] <= view.extent
        with nogil:
            for k in range(view.length):
                fits &= view.offsets[k] <= view.offsets[k + 1]
        if not fits:
            raise ValueError("a list lies outside its values")
        return 0


cdef class HeldBuffers:
    """Some contiguous buffers, kept alive."""

    def __cinit__(self, buffers: Sequence[memoryview | bytes | NDArray[uint8]]):
        cdef int64_t room = len(buffers)
        self._views = <Py_buffer*>calloc(room + 1, sizeof(Py_buffer))
        self.data = <const uint8_t**>calloc(room + 1, sizeof(uint8_t*))
        self.sizes = <int64_t*>calloc(room + 1, sizeof(int64_t))
        if self._views is NULL or self.data is NULL or self.sizes is NULL:
            raise MemoryError
        for buffer in buffers:
            if self.count == room:
                raise ValueError("there are more buffers than were counted")
            PyObject_GetBuffer(buffer, &self._views[self.count], PyBUF_SIMPLE)
            self.data[self.count] = <const uint8_t*>self._views[self.count].buf
            self.sizes[self.count] = self._views[self.count].len
            self.count += 1

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.count):
            PyBuffer_Release(&self._views[i])
        free(self._views)
        free(self.data)
        free(self.sizes)

    def __len__(self) -> int:
        return self.count
