# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The programs by which `lttng_legacy_emit` makes payloads: one operation a column, checked against what it is given."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_STRIDED_RO, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free

INTEGER = OP_INTEGER
STRING = OP_STRING
RAW = OP_RAW
INLINE = OP_INLINE
LOST = OP_LOST
RECORD_ID = OP_ID


cdef class MarkerProgram:
    def __init__(self, int64_t id, const int32_t[:, ::1] operations, int64_t largest, bint context, bint sized):
        cdef int64_t i
        cdef Operation* operation
        if self._operations is not NULL:
            raise TypeError("a program cannot be set anew")
        if operations.shape[0] > MAX_OPERATIONS or (operations.shape[0] and operations.shape[1] != 4):
            raise ValueError("a marker's program has at most 2,048 operations of four numbers")
        if not 0 <= id < 65536 or not 0 < largest <= 16 or largest & (largest - 1):
            raise ValueError("no marker has such an id or alignment")
        self._operations = <Operation*>calloc(operations.shape[0] + 1, sizeof(Operation))
        if self._operations is NULL:
            raise MemoryError
        for i in range(operations.shape[0]):
            operation = &self._operations[i]
            operation.code = operations[i, 0]
            operation.width = operations[i, 1]
            operation.alignment = operations[i, 2]
            operation.big = operations[i, 3]
            if not OP_INTEGER <= operation.code <= OP_ID:
                raise ValueError(f"no operation {operation.code}")
            if operation.code == OP_ID and operation.width != 2 or operation.code == OP_LOST and operation.width != 4:
                raise ValueError("ids have two bytes, counts four")
            if operation.width not in (1, 2, 4, 8) or operation.alignment not in (1, 2, 4, 8, 16):
                raise ValueError(f"a field of {operation.width} bytes, aligned to {operation.alignment}")
        self._count = operations.shape[0]
        self.id = id
        self._largest = largest
        self._context = context
        self._sized = sized

    def __dealloc__(self):
        free(self._operations)


cdef class MarkerColumns:
    def __init__(self, MarkerProgram program not None, columns, int64_t length):
        cdef int64_t i, j
        cdef ColumnView* view
        cdef Operation* operation
        cdef Py_buffer* buffer
        cdef bint fits
        if self._views is not NULL:
            raise TypeError("columns cannot be set anew")
        if len(columns) != program._count:
            raise ValueError("a marker's program has not a column for each operation")
        self._program = program
        self._views = <ColumnView*>calloc(program._count + 1, sizeof(ColumnView))
        self._buffers = <Py_buffer*>calloc(2 * program._count + 1, sizeof(Py_buffer))
        if self._views is NULL or self._buffers is NULL:
            raise MemoryError
        for i in range(program._count):
            view = &self._views[i]
            operation = &program._operations[i]
            column = columns[i]
            if isinstance(column, tuple):
                offsets, values = column
                buffer = self._hold(offsets, PyBUF_SIMPLE)
                if buffer.len != 8 * (length + 1) or operation.code not in (OP_STRING, OP_RAW):
                    raise ValueError("a list has not a value for each row, or is no text")
                view.offsets = <const int64_t*>buffer.buf
                buffer = self._hold(values, PyBUF_SIMPLE)
                view.data = <const uint8_t*>buffer.buf
                fits = view.offsets[0] >= 0 and view.offsets[length] <= buffer.len
                for j in range(length):
                    fits &= view.offsets[j] <= view.offsets[j + 1]
                if not fits:
                    raise ValueError("a list lies outside its values")
                continue
            buffer = self._hold(column, PyBUF_STRIDED_RO)
            if buffer.ndim != 1 or buffer.shape[0] != length or operation.code == OP_RAW:
                raise ValueError("the columns differ in length")
            if buffer.itemsize != (4 if operation.code == OP_STRING else operation.width):
                raise ValueError(f"a column of {buffer.itemsize} bytes for a field of {operation.width}")
            view.data = <const uint8_t*>buffer.buf
            view.stride = buffer.strides[0]
        self.rows.id = <uint32_t>program.id
        self.rows.sized = program._sized
        self.rows.context = program._context
        self.rows.largest = program._largest
        self.rows.operations = program._operations
        self.rows.count = program._count
        self.rows.views = self._views
        self.rows.length = length

    cdef Py_buffer* _hold(self, column, int flags) except NULL:
        cdef Py_buffer* buffer = &self._buffers[self._buffer_count]
        PyObject_GetBuffer(column, buffer, flags)
        self._buffer_count += 1
        return buffer

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._buffer_count):
            PyBuffer_Release(&self._buffers[i])
        free(self._buffers)
        free(self._views)
