# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Buffers of Python objects that kernels read: what is bound here stays where it is, and has the size that was checked."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_STRIDED_RO, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free


cdef class HeldColumn:
    """A column: `length` elements of `width` bytes each, `stride` bytes apart."""

    def __cinit__(self, array, int64_t width=0, int64_t least=0):
        """Raises ValueError unless it has elements of `width` bytes (0: of any), and `least` of them or more."""
        PyObject_GetBuffer(array, &self._view, PyBUF_STRIDED_RO)
        self._filled = True
        if self._view.ndim != 1:
            raise ValueError("a column has one dimension")
        if width and self._view.itemsize != width:
            raise ValueError(f"a column with elements of {self._view.itemsize} bytes where {width} are needed")
        if self._view.shape[0] < least:
            raise ValueError(f"a column of {self._view.shape[0]} elements where {least} are needed")
        self.data = <const uint8_t*>self._view.buf
        self.length = self._view.shape[0]
        self.width = self._view.itemsize
        self.stride = self._view.strides[0]

    def __dealloc__(self):
        if self._filled:
            PyBuffer_Release(&self._view)

    cdef int adjoin(self) except -1:
        """Raise ValueError where there is space between the elements."""
        if self.length > 1 and self.stride != self.width:
            raise ValueError("a column is not contiguous")
        return 0

    cdef const int64_t* offsets(self) except NULL:
        """The elements as offsets, of which there is one at least."""
        self.adjoin()
        if self.width != 8 or self.length == 0:
            raise ValueError("a column is none of offsets")
        return <const int64_t*>self.data


cdef class HeldList:
    """A column of lists: that of row i begins at element ``offsets[i]`` and ends at ``offsets[i + 1]``, of `length`."""

    def __cinit__(self, offsets, values, int64_t rows, int64_t width=1):
        """`width` is that of an element. Raises ValueError for offsets that are not ascending, or beyond the values."""
        cdef int64_t i
        cdef bint fits
        PyObject_GetBuffer(offsets, &self._ends, PyBUF_SIMPLE)
        self._filled = 1
        PyObject_GetBuffer(values, &self._values, PyBUF_SIMPLE)
        self._filled = 2
        if rows < 0 or self._ends.len != 8 * (rows + 1):
            raise ValueError("a list has not a value for each row")
        self.offsets = <const int64_t*>self._ends.buf
        self.data = <const uint8_t*>self._values.buf
        self.length = self._values.len // width
        fits = self.offsets[0] >= 0 and self.offsets[rows] <= self.length
        with nogil:
            for i in range(rows):
                fits &= self.offsets[i] <= self.offsets[i + 1]
        if not fits:
            raise ValueError("a list lies outside its values")

    def __dealloc__(self):
        if self._filled > 0:
            PyBuffer_Release(&self._ends)
        if self._filled > 1:
            PyBuffer_Release(&self._values)


cdef class HeldBuffers:
    """Some contiguous buffers: the bytes of number i are the `sizes[i]` at `data[i]`."""

    def __cinit__(self, buffers):
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

    def __len__(self):
        return self.count
