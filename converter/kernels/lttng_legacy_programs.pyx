# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The programs by which `lttng_legacy_emit` makes payloads: one operation a column, checked against what it is given."""

from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free

from converter.kernels.buffers cimport HeldColumn, HeldList

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
        cdef int64_t i
        cdef ColumnView* view
        cdef Operation* operation
        cdef HeldColumn held
        cdef HeldList listed
        if self._views is not NULL:
            raise TypeError("columns cannot be set anew")
        if len(columns) != program._count:
            raise ValueError("a marker's program has not a column for each operation")
        self._program = program
        self._held = []
        self._views = <ColumnView*>calloc(program._count + 1, sizeof(ColumnView))
        if self._views is NULL:
            raise MemoryError
        for i in range(program._count):
            view = &self._views[i]
            operation = &program._operations[i]
            column = columns[i]
            if isinstance(column, tuple):
                if operation.code not in (OP_STRING, OP_RAW):
                    raise ValueError("a list where a number is expected")
                offsets, values = column
                listed = HeldList(offsets, values, length)
                self._held.append(listed)
                view.offsets = listed.offsets
                view.data = listed.data
                continue
            if operation.code == OP_RAW:
                raise ValueError("bytes that are no list")
            held = HeldColumn(column, 4 if operation.code == OP_STRING else operation.width)
            if held.length != length:
                raise ValueError("the columns differ in length")
            self._held.append(held)
            view.data = held.data
            view.stride = held.stride
        self.rows.id = <uint32_t>program.id
        self.rows.sized = program._sized
        self.rows.context = program._context
        self.rows.largest = program._largest
        self.rows.operations = program._operations
        self.rows.count = program._count
        self.rows.views = self._views
        self.rows.length = length

    def __dealloc__(self):
        free(self._views)
