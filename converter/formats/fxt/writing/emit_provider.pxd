# What is known of a provider whose records are written.

from libc.stdint cimport int64_t

from converter.formats.fxt.writing.emit_programs cimport Program
from converter.formats.fxt.writing.emit_slots cimport StringSlots, ThreadSlots
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.io.output cimport Blocks
from converter.kernels.tables.strings cimport StringTable


cdef class Provider:
    cdef StringTable names
    cdef StringSlots strings
    cdef ThreadSlots threads
    cdef bint big_endian
    cdef Program* programs
    cdef int64_t program_count
    cdef list _columns
    # Of all emitters, as one writes to what another has written and somebody has stored.
    cdef Blocks blocks
    # The columns of the events of the batch, and the number of events.
    cdef BoundColumns events
    cdef int64_t count

    cpdef int bind(self, int number, int64_t rows, list columns) except -1
    # Room for the slots of all strings there are.
    cdef int follow_strings(self) except -1
