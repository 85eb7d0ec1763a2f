# The state of a provider whose records are written.

from libc.stdint cimport int64_t

from converter.formats.fxt.writing.emit_arguments cimport COLUMNS
from converter.formats.fxt.writing.emit_programs cimport Program
from converter.formats.fxt.writing.emit_slots cimport StringSlots, ThreadSlots
from converter.kernels.batches.column_view cimport ColumnView
from converter.kernels.io.output cimport Blocks
from converter.kernels.batches.programs cimport ProgramSet


cdef class Provider(ProgramSet):
    cdef StringSlots strings
    cdef ThreadSlots threads
    cdef bint big_endian
    cdef Program* programs
    # Of all emitters, as one writes to what another has written and somebody has stored.
    cdef Blocks blocks
    # The columns of the batch's events, and the number of events.
    cdef ColumnView[COLUMNS] events
    cdef object _held
    cdef int64_t count

    cdef void _view(self, int column, void* data, int64_t width) noexcept
    # Room for the slots of all strings there are.
    cdef int follow_strings(self) except -1
