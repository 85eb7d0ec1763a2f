# What a program says of each row of a class is written into a stream, little-endian and from whole bytes on.
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memchr, memcpy

from converter.formats.ctf.emit cimport (
    DONE, OP_ARRAY, OP_LIST, OP_OPTIONAL, OP_SCALAR, OP_STRING, OP_BYTES, OP_UNION, OUT_OF_MEMORY, OUT_OF_RANGE,
    WRONG_LENGTH,
)
from converter.formats.ctf.emit_packets cimport Stream, ensure, store16, store32
from converter.kernels.strings cimport Entry, StringTable


cdef struct Operation:
    int32_t code
    int32_t width
    # Operations of nested fields behind it.
    int32_t inner


cdef struct View:
    const uint8_t* data
    int64_t stride
    int64_t length
    # Of lists, the bounds of the values; of unions, the rows.
    const uint8_t* more


cdef struct Program:
    uint32_t id
    bint discards
    int32_t count
    int64_t rows
    Operation* operations
    View* views


# The elements of a list from `first` to `last`.
cdef inline int put_scalars(
    Stream* to, const Operation* operation, const View* view, int64_t first, int64_t last
) noexcept nogil:
    cdef int64_t width = operation.width
    cdef int64_t k
    if last > view.length:
        return OUT_OF_RANGE
    if not ensure(to, (last - first) * width):
        return OUT_OF_MEMORY
    if view.stride == width:
        if last > first:
            memcpy(to.data + to.used, view.data + first * width, (last - first) * width)
    else:
        for k in range(last - first):
            memcpy(to.data + to.used + k * width, view.data + (first + k) * view.stride, width)
    to.used += (last - first) * width
    return DONE


# A string or bytes; `known` is the number of strings.
cdef inline int put_bytes(
    Stream* to, const Operation* operation, const View* view, StringTable strings, int64_t known, int64_t row
) noexcept nogil:
    cdef const uint8_t* data
    cdef const uint8_t* nul
    cdef int64_t size, first, last
    cdef int32_t id
    cdef const Entry* entry
    if row >= view.length:
        return OUT_OF_RANGE
    if view.more is NULL:
        memcpy(&id, view.data + row * view.stride, 4)
        if id < 0 or id >= known:
            return OUT_OF_RANGE
        entry = strings.entry(id)
        data, size = entry.data, entry.size
    else:
        memcpy(&first, view.more + 8 * row, 8)
        memcpy(&last, view.more + 8 * row + 8, 8)
        # The stride is here the number of bytes.
        if first < 0 or last < first or last > view.stride or (last - first) >> 32:
            return OUT_OF_RANGE
        data, size = view.data + first, last - first
    if not ensure(to, size + 5):
        return OUT_OF_MEMORY
    if operation.code == OP_STRING:
        if size:
            nul = <const uint8_t*>memchr(data, 0, size)
            if nul is not NULL:
                size = nul - data
            memcpy(to.data + to.used, data, size)
        to.data[to.used + size] = 0
        to.used += size + 1
    else:
        store32(to.data + to.used, <uint32_t>size)
        if size:
            memcpy(to.data + to.used + 4, data, size)
        to.used += size + 4
    return DONE


# Write a row by the operations from `begin` on, up to `end`.
cdef inline int run(
    Stream* to, const Program* program, StringTable strings, int64_t known, int32_t begin, int32_t end, int64_t row
) noexcept nogil:
    cdef const Operation* operation
    cdef const View* view
    cdef int32_t i = begin
    cdef int32_t option
    cdef int64_t k, first, last
    cdef int16_t tag
    cdef int32_t chosen
    cdef int status
    while i < end:
        operation = &program.operations[i]
        view = &program.views[i]
        if operation.code == OP_SCALAR:
            if row >= view.length or not ensure(to, 8):
                return OUT_OF_RANGE if row >= view.length else OUT_OF_MEMORY
            if operation.width == 4:
                memcpy(to.data + to.used, view.data + row * view.stride, 4)
            elif operation.width == 8:
                memcpy(to.data + to.used, view.data + row * view.stride, 8)
            else:
                memcpy(to.data + to.used, view.data + row * view.stride, operation.width)
            to.used += operation.width
        elif operation.code == OP_STRING or operation.code == OP_BYTES:
            status = put_bytes(to, operation, view, strings, known, row)
            if status != DONE:
                return status
        elif operation.code == OP_LIST or operation.code == OP_ARRAY:
            if row >= view.length:
                return OUT_OF_RANGE
            memcpy(&first, view.more + 8 * row, 8)
            memcpy(&last, view.more + 8 * row + 8, 8)
            if first < 0 or last < first or (last - first) >> 32:
                return OUT_OF_RANGE
            if operation.code == OP_LIST:
                if not ensure(to, 4):
                    return OUT_OF_MEMORY
                store32(to.data + to.used, <uint32_t>(last - first))
                to.used += 4
            elif last - first != operation.width:
                return WRONG_LENGTH
            if operation.inner == 1 and program.operations[i + 1].code == OP_SCALAR:
                status = put_scalars(to, &program.operations[i + 1], &program.views[i + 1], first, last)
                if status != DONE:
                    return status
                first = last
            for k in range(first, last):
                status = run(to, program, strings, known, i + 1, i + 1 + operation.inner, k)
                if status != DONE:
                    return status
        elif operation.code == OP_UNION:
            if row >= view.length or not ensure(to, 2):
                return OUT_OF_RANGE if row >= view.length else OUT_OF_MEMORY
            memcpy(&tag, view.data + row * view.stride, 2)
            memcpy(&chosen, view.more + 4 * row, 4)
            store16(to.data + to.used, <uint16_t>tag)
            to.used += operation.width
            option = i + 1
            while tag > 0 and option < i + 1 + operation.inner:
                option += 1 + program.operations[option].inner
                tag -= 1
            if tag < 0 or chosen < 0 or option >= i + 1 + operation.inner:
                return OUT_OF_RANGE
            status = run(to, program, strings, known, option + 1, option + 1 + program.operations[option].inner, chosen)
            if status != DONE:
                return status
        elif operation.code == OP_OPTIONAL:
            if row >= view.length or not ensure(to, 1):
                return OUT_OF_RANGE if row >= view.length else OUT_OF_MEMORY
            to.data[to.used] = 1 if view.data[row * view.stride] else 0
            to.used += 1
            if view.data[row * view.stride]:
                status = run(to, program, strings, known, i + 1, i + 1 + operation.inner, row)
                if status != DONE:
                    return status
        i += 1 + operation.inner
    return DONE
