# Contents of the payloads of a marker: its program, and the columns of one batch that it takes.
from libc.stdint cimport int32_t, int64_t, uint32_t

from converter.kernels.batches.column_view cimport ColumnView
from converter.kernels.batches.columns cimport BoundColumns

cdef enum:
    # Operations: (code, width, alignment, always big-endian).
    OP_INTEGER = 0
    OP_STRING = 1
    OP_RAW = 2  # bytes without an end of their own
    OP_INLINE = 3  # bits of a compact header
    OP_LOST = 4  # the two counts of a block's header
    OP_ID = 5  # the record's id, which is not the marker's
    MAX_OPERATIONS = 2048


cdef struct Operation:
    int32_t code
    int32_t width
    int32_t alignment
    int32_t big


cdef struct Rows:
    uint32_t id
    # The record's size is written even where it is known, for readers that do not know the marker.
    bint sized
    bint context
    int64_t largest
    Operation* operations
    int64_t count
    ColumnView* views
    int64_t length


cdef class MarkerProgram:
    # Without rows.
    cdef Rows _rows
    cdef readonly int64_t id


cdef class MarkerColumns:
    cdef MarkerProgram _program
    cdef BoundColumns _columns
    cdef Rows _rows
