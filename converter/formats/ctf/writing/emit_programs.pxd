# Writes the rows of a class into a stream as its program says, little-endian and from whole bytes on.
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memchr, memcpy

from converter.formats.ctf.writing.emit cimport (
    DONE, OP_ARRAY, OP_BYTES, OP_LIST, OP_OPTIONAL, OP_SCALAR, OP_STRING, OP_THREAD, OP_UNION, OUT_OF_MEMORY,
    OUT_OF_RANGE, WRONG_LENGTH,
)
from converter.formats.ctf.writing.emit_packets cimport MARGIN, ThreadContext, put_thread
from converter.kernels.batches.column_view cimport ColumnView, elements_of, option_of, text_of, value_at
from converter.kernels.io.byte_order cimport HOST_IS_BIG
from converter.kernels.io.output cimport Output, ensure, put8, put16, put32, put_bytes
from converter.kernels.tables.strings cimport StringTable


cdef struct Operation:
    int32_t code
    int32_t width
    # Operations of nested fields after it.
    int32_t inner


# Begins as all programs do: see `programs.ProgramHead`.
cdef struct Program:
    int64_t rows
    ColumnView* views
    Operation* operations
    uint32_t id
    # 0, or what its column counts: DISCARDS_EVENTS or DISCARDS_PACKETS.
    int discards
    int32_t count
    # The operations of the common context, which come first.
    int32_t context


# The elements of a list from `first` to `last`.
cdef inline int put_scalars(
    Output* to, const Operation* operation, const ColumnView* view, int64_t first, int64_t last
) noexcept nogil:
    cdef int64_t width = operation.width
    cdef int64_t k
    if last > view.length:
        return OUT_OF_RANGE
    if not ensure(to, (last - first) * width, MARGIN):
        return OUT_OF_MEMORY
    if view.stride == width:
        put_bytes(to, value_at(view, first), (last - first) * width)
        return DONE
    for k in range(first, last):
        put_bytes(to, value_at(view, k), width)
    return DONE


# A string or bytes; `known` is the number of strings.
cdef inline int put_text(
    Output* to, const Operation* operation, const ColumnView* view, StringTable strings, int64_t known, int64_t row
) noexcept nogil:
    cdef const uint8_t* data = NULL
    cdef const uint8_t* nul
    cdef int64_t size = 0
    if row >= view.length or not text_of(view, strings, known, row, &data, &size) or size >> 32:
        return OUT_OF_RANGE
    if not ensure(to, size + 5, MARGIN):
        return OUT_OF_MEMORY
    if operation.code == OP_STRING:
        if size:
            nul = <const uint8_t*>memchr(data, 0, size)
            if nul is not NULL:
                size = nul - data
        put_bytes(to, data, size)
        put8(to, 0)
    else:
        put32(to, <uint32_t>size, HOST_IS_BIG)
        put_bytes(to, data, size)
    return DONE


# Write a row by the operations from `begin` on, up to `end`.
cdef inline int run(
    Output* to, const Program* program, StringTable strings, int64_t known, int32_t begin, int32_t end, int64_t row,
    const ThreadContext* thread
) noexcept nogil:
    cdef const Operation* operation
    cdef const ColumnView* view
    cdef int32_t i = begin
    cdef int32_t option
    cdef int64_t k, first, last
    cdef int16_t tag
    cdef int32_t chosen
    cdef int status
    while i < end:
        operation = &program.operations[i]
        view = &program.views[i]
        if row >= view.length:
            return OUT_OF_RANGE
        if not ensure(to, 8, MARGIN):
            return OUT_OF_MEMORY
        if operation.code == OP_SCALAR:
            # The usual widths at compile time, so that each is one load and one store.
            if operation.width == 4:
                memcpy(to.data + to.used, value_at(view, row), 4)
            elif operation.width == 8:
                memcpy(to.data + to.used, value_at(view, row), 8)
            else:
                memcpy(to.data + to.used, value_at(view, row), operation.width)
            to.used += operation.width
        elif operation.code == OP_STRING or operation.code == OP_BYTES:
            status = put_text(to, operation, view, strings, known, row)
            if status != DONE:
                return status
        elif operation.code == OP_LIST or operation.code == OP_ARRAY:
            if not elements_of(view, row, &first, &last) or (last - first) >> 32:
                return OUT_OF_RANGE
            if operation.code == OP_LIST:
                if not operation.width:
                    put32(to, <uint32_t>(last - first), HOST_IS_BIG)
            elif last - first != operation.width:
                return WRONG_LENGTH
            if operation.inner == 1 and program.operations[i + 1].code == OP_SCALAR:
                status = put_scalars(to, &program.operations[i + 1], &program.views[i + 1], first, last)
                if status != DONE:
                    return status
                first = last
            for k in range(first, last):
                status = run(to, program, strings, known, i + 1, i + 1 + operation.inner, k, thread)
                if status != DONE:
                    return status
        elif operation.code == OP_UNION:
            if not option_of(view, row, &tag, &chosen):
                return OUT_OF_RANGE
            if operation.width == 1:
                put8(to, <uint8_t>tag)
            else:
                put16(to, <uint16_t>tag, HOST_IS_BIG)
            option = i + 1
            while tag > 0 and option < i + 1 + operation.inner:
                option += 1 + program.operations[option].inner
                tag -= 1
            if option >= i + 1 + operation.inner:
                return OUT_OF_RANGE
            status = run(
                to, program, strings, known, option + 1, option + 1 + program.operations[option].inner, chosen, thread
            )
            if status != DONE:
                return status
        elif operation.code == OP_OPTIONAL:
            put8(to, value_at(view, row)[0] != 0)
            if value_at(view, row)[0]:
                status = run(to, program, strings, known, i + 1, i + 1 + operation.inner, row, thread)
                if status != DONE:
                    return status
        elif operation.code == OP_THREAD:
            status = put_thread(to, thread, operation.width)
            if status != DONE:
                return status
        i += 1 + operation.inner
    return DONE
