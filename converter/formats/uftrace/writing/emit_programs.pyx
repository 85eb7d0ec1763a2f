# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Programs that write the records of event classes: what a record's head is followed by, and the columns it is from."""

# Stub:
# from collections.abc import Sequence
# from typing import TypeAlias
# from converter.kernels.batches.programs import ProgramSet
#
# Column: TypeAlias = NDArray[Any] | tuple[NDArray[Any], NDArray[int64]]

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from converter.formats.uftrace.arguments.values cimport padded
from converter.formats.uftrace.writing.emit_tasks cimport RECORD_SIZE
from converter.kernels.io.byte_order cimport HOST_IS_BIG, store16
from converter.kernels.batches.column_view cimport (
    ColumnView, Takes, TAKES_BYTES, TAKES_SCALAR, TAKES_TEXT, put_number, text_of,
)
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.io.output cimport Output, put16, put_bytes, put_zeros
from converter.formats.uftrace.writing.emit_tasks cimport RECORD_SIZE
from converter.formats.uftrace.arguments.values cimport padded

# The input that each operation takes.
cdef Takes[O_BYTES + 1] TAKES
TAKES[:] = [TAKES_SCALAR, TAKES_TEXT, TAKES_BYTES]


cdef class Programs(ProgramSet):
    """The programs of event classes, and the columns that they run over: what `Emitter` is based on.

    Columns are arrays of the operations' widths, int32 ids, or (values, offsets) of lists.
    """

    def add_program(
        self, int32_t record, bint named, operations: Sequence[tuple[int, int]], int64_t event=0, *, bint placed=False
    ) -> int:
        """A program for a class; its number. Raises ValueError for records that cannot be.

        The columns of a `named` one begin with the ids of name and category; of a `placed` one, that of the function's
        place in the source follows.
        """
        cdef Program* program
        cdef BoundColumns columns
        cdef Operation* operation
        cdef int64_t i
        cdef int64_t leading = (2 if named else 0) + placed
        if not P_ENTRY <= record <= P_VARIABLE or len(operations) > MAX_OPERATIONS or not 0 <= event < 1 << 48:
            raise ValueError("no record is like this")
        if record in (P_ENTRY, P_USER_EVENT, P_VARIABLE) and not named:
            raise ValueError("the record has a name")
        if placed and record != P_ENTRY:
            raise ValueError("only entries have a place in the source")
        if record == P_USER_EVENT and len(operations) > 1:
            raise ValueError("an event has one value at most")
        if record in (P_LOST, P_RAW, P_VARIABLE):
            if named != (record == P_VARIABLE) or len(operations) != 1:
                raise ValueError("the record has one value")
        for code, width in operations:
            if not O_VALUE <= code <= O_BYTES or not 0 <= width <= MAX_TEXT:
                raise ValueError(f"no operation {code} of width {width}")
            if code == O_VALUE and width not in (1, 2, 4, 8):
                raise ValueError(f"no value of {width} bytes")
            if code != (O_BYTES if record in (P_RAW, P_USER_EVENT) else O_VALUE) and record not in (P_ENTRY, P_EXIT):
                raise ValueError("only functions have texts")
        if record == P_LOST and operations[0][1] != 8:
            raise ValueError("a count has 8 bytes")
        columns = BoundColumns(leading + len(operations))
        program = <Program*>self.add(sizeof(Program), columns, len(operations) * sizeof(Operation))
        self._programs = <Program*>self._programs_memory
        program.record = record
        program.named = named
        program.leading = leading
        program.event = event
        program.count = len(operations)
        for i in range(leading):
            # Names are ids, whatever else texts may be.
            columns.need(i, TAKES_SCALAR, 4)
        for i in range(program.count):
            operation = &program.operations[i]
            operation.code, operation.width = operations[i]
            columns.need(leading + i, TAKES[operation.code], operation.width if operation.code == O_VALUE else 1)
        return self._program_count - 1

    cdef int64_t _bound(self, int64_t number, int64_t rows, BoundColumns columns) except -1:
        cdef int64_t i
        for i in range(columns.count):
            if columns.views[i].length != rows:
                raise ValueError(f"column {i} has {columns.views[i].length} values for {rows} rows")
            if columns.views[i].offsets is not NULL:
                columns.check_list(i)
        return rows

    cdef int _measure(self, Program* program, int64_t row, int64_t* size) noexcept nogil:
        cdef const uint8_t* data = NULL
        cdef int64_t length = 0
        cdef int64_t sum = 0
        cdef int64_t i
        cdef int64_t leading = program.leading
        cdef Operation* operation
        cdef bint function = program.record == P_ENTRY or program.record == P_EXIT
        for i in range(program.count):
            operation = &program.operations[i]
            if operation.code == O_VALUE:
                sum += padded(operation.width, 4) if function else operation.width
                continue
            if not text_of(&program.views[leading + i], self._strings, self._strings_count, row, &data, &length):
                return S_BAD_COLUMN
            if program.record == P_RAW:
                if length < RECORD_SIZE or length % 8:
                    return S_BAD_VALUE
                sum = length
            elif program.record == P_USER_EVENT:
                if length > MAX_TEXT:
                    return S_TEXT_TOO_LONG
                sum = 2 + length
            elif operation.code == O_TEXT:
                if length > MAX_TEXT:
                    return S_TEXT_TOO_LONG
                sum += padded(2 + length, 4)
            else:
                if length != operation.width:
                    return S_BAD_VALUE
                sum += padded(length, 4)
        if program.record == P_LOST:
            sum = 0
        elif program.record == P_EVENT:
            sum += 2
        elif program.record == P_VARIABLE:
            sum += 2 + ADDRESS_SIZE
        size[0] = padded(sum, 8)
        return S_OK

    cdef void _put_values(self, Output* out, Program* program, int64_t row, int64_t size) noexcept nogil:
        cdef int64_t end = out.used + size
        cdef const uint8_t* data = NULL
        cdef int64_t length = 0
        cdef int64_t i
        cdef int64_t leading = program.leading
        cdef const Operation* operation
        cdef const ColumnView* view
        if not size:
            return
        for i in range(program.count):
            operation = &program.operations[i]
            view = &program.views[leading + i]
            if operation.code == O_VALUE:
                length = operation.width
                put_number(out, view, row, operation.width, HOST_IS_BIG)
            else:
                text_of(view, self._strings, self._strings_count, row, &data, &length)
                if operation.code == O_TEXT:
                    put16(out, <uint16_t>length, HOST_IS_BIG)
                put_bytes(out, data, length)
                if operation.code == O_TEXT:
                    length += 2
            if length & 3:
                put_zeros(out, -length & 3)
        put_zeros(out, end - out.used)

    cdef void _put_data(
        self, Output* out, Program* program, int64_t row, int64_t size, int64_t length
    ) noexcept nogil:
        cdef int64_t first = out.used
        cdef int64_t i
        cdef int64_t leading = program.leading
        if not size:
            return
        out.used += 2 + length
        for i in range(program.count):
            put_number(out, &program.views[leading + i], row, program.operations[i].width, HOST_IS_BIG)
        store16(out.data + first, <uint16_t>(out.used - first - 2), HOST_IS_BIG)
        put_zeros(out, first + size - out.used)
