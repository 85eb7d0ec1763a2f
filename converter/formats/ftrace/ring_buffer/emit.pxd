# The records of event classes, which other containers of the kernel's records emit as well (perf.data).

from converter.formats.ftrace.ring_buffer.emit_records cimport Operation, Rows
from converter.kernels.batches.columns cimport BoundColumns


cdef class RecordLayout:
    # Values that are the same for all batches.
    cdef Rows _rows
    cdef bytes _template
    cdef Operation* _operations


cdef class RecordColumns:
    cdef RecordLayout _layout
    cdef BoundColumns _columns
    cdef Rows rows
