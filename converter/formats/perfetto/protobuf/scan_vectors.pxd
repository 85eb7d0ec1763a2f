# Buffers that grow, and repeated fields as their words.
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load64
from converter.kernels.protobuf.wire cimport WIRE_BYTES, WireField, read_varint

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy


cdef struct Vector:
    uint8_t* data
    int64_t size
    int64_t room


cdef inline int reserve(Vector* vector, int64_t more) noexcept nogil:
    cdef uint8_t* grown
    cdef int64_t room
    if vector.room - vector.size >= more:
        return 0
    room = 2 * (vector.size + more) + 256
    grown = <uint8_t*>realloc(vector.data, room)
    if grown is NULL:
        return -1
    vector.data = grown
    vector.room = room
    return 0


cdef inline int push_bytes(Vector* vector, const uint8_t* data, int64_t size) noexcept nogil:
    if reserve(vector, size) < 0:
        return -1
    memcpy(vector.data + vector.size, data, size)
    vector.size += size
    return 0


cdef inline int push_word(Vector* vector, uint64_t value) noexcept nogil:
    if reserve(vector, 8) < 0:
        return -1
    (<uint64_t*>(vector.data + vector.size))[0] = value
    vector.size += 8
    return 0


cdef inline int push_id(Vector* vector, int32_t value) noexcept nogil:
    if reserve(vector, 4) < 0:
        return -1
    (<int32_t*>(vector.data + vector.size))[0] = value
    vector.size += 4
    return 0


# Append a repeated field of numbers, packed or not, to the vector as 64-bit words; -1 when memory runs out, 1 where a
# number continues after the field.
cdef inline int push_repeated(Vector* vector, const uint8_t* data, WireField* field, bint fixed) noexcept nogil:
    cdef int64_t at, end
    cdef uint64_t value = 0
    if field.wire != WIRE_BYTES:
        return push_word(vector, field.value)
    at = field.start
    end = field.start + field.size
    while at < end:
        if fixed:
            if end - at < 8:
                return 1
            value = load64(data + at, HOST_IS_BIG)
            at += 8
        else:
            at = read_varint(data, at, end, &value)
            if at < 0:
                return 1
        if push_word(vector, value) < 0:
            return -1
    return 0
