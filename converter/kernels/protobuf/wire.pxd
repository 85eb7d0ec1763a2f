# Protocol buffers on the wire (protobuf.dev, "Encoding"): varints and fields, every length checked before it is used.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from converter.kernels.io.byte_order cimport HOST_IS_BIG, load32, load64

cdef enum:
    WIRE_VARINT = 0
    WIRE_FIXED64 = 1
    WIRE_BYTES = 2
    WIRE_FIXED32 = 5
    MAX_FIELD_NUMBER = (1 << 29) - 1


cdef struct WireField:
    uint32_t number
    uint32_t wire
    # For varints and fixed-width fields.
    uint64_t value
    # For length-delimited fields.
    int64_t start
    int64_t size


cdef extern from *:
    int __builtin_ctzll(unsigned long long) noexcept nogil


# Read the varint at `at`; return the position after it, or -1 where it is cut off or longer than ten bytes.
cdef inline int64_t read_varint(const uint8_t* data, int64_t at, int64_t end, uint64_t* value) noexcept nogil:
    cdef uint64_t result, last
    cdef uint8_t byte
    cdef int shift
    if at >= end:
        return -1
    byte = data[at]
    if byte < 0x80:
        value[0] = byte
        return at + 1
    if end - at >= 8:
        result = load64(data + at, HOST_IS_BIG)
        # The byte that ends a varint lacks the highest bit; the bytes after it belong to other fields.
        last = ~result & <uint64_t>0x8080808080808080
        if last:
            result &= (last ^ (last - 1)) & <uint64_t>0x7F7F7F7F7F7F7F7F
            # Seven bits of each byte, put together in twos, fours and eights.
            result = (result & <uint64_t>0x007F007F007F007F) | (result & <uint64_t>0x7F007F007F007F00) >> 1
            result = (result & <uint64_t>0x00003FFF00003FFF) | (result & <uint64_t>0x3FFF00003FFF0000) >> 2
            value[0] = (result & <uint64_t>0x0FFFFFFF) | (result & <uint64_t>0x0FFFFFFF00000000) >> 4
            return at + (__builtin_ctzll(last) >> 3) + 1
    result = 0
    shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        result |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            value[0] = result
            return at
        shift += 7
    return -1


# The same of a number that mostly takes two or three bytes.
cdef inline int64_t read_short_varint(const uint8_t* data, int64_t at, int64_t end, uint64_t* value) noexcept nogil:
    if end - at >= 3 and data[at] >= 0x80:
        if data[at + 1] < 0x80:
            value[0] = (data[at] & 0x7F) | <uint64_t>data[at + 1] << 7
            return at + 2
        if data[at + 2] < 0x80:
            value[0] = (data[at] & 0x7F) | <uint64_t>(data[at + 1] & 0x7F) << 7 | <uint64_t>data[at + 2] << 14
            return at + 3
    return read_varint(data, at, end, value)


# Read the field at `at`; return the position after it, or -1 where the data is damaged (groups count as damage: nobody
# uses them).
cdef inline int64_t next_field(const uint8_t* data, int64_t at, int64_t end, WireField* field) noexcept nogil:
    cdef uint64_t tag
    cdef uint64_t value
    at = read_varint(data, at, end, &tag)
    if at < 0 or tag >> 3 == 0 or tag >> 3 > MAX_FIELD_NUMBER:
        return -1
    field.number = <uint32_t>(tag >> 3)
    field.wire = <uint32_t>(tag & 7)
    if field.wire == WIRE_VARINT:
        return read_varint(data, at, end, &field.value)
    if field.wire == WIRE_BYTES:
        at = read_varint(data, at, end, &value)
        if at < 0 or value > <uint64_t>(end - at):
            return -1
        field.start = at
        field.size = <int64_t>value
        return at + field.size
    if field.wire == WIRE_FIXED64:
        if end - at < 8:
            return -1
        field.value = load64(data + at, HOST_IS_BIG)
        return at + 8
    if field.wire == WIRE_FIXED32:
        if end - at < 4:
            return -1
        field.value = load32(data + at, HOST_IS_BIG)
        return at + 4
    return -1


# Read the size of a length-delimited field after its tag; return the position of its bytes, -1 where it is cut off.
cdef inline int64_t read_size(const uint8_t* data, int64_t at, int64_t end, int64_t* size) noexcept nogil:
    cdef uint64_t value
    at = read_varint(data, at, end, &value)
    if at < 0 or value > <uint64_t>(end - at):
        return -1
    size[0] = <int64_t>value
    return at


# Return the position after a varint, whatever its value; -1 where it is cut off or longer than ten bytes.
cdef inline int64_t skip_varint(const uint8_t* data, int64_t at, int64_t end) noexcept nogil:
    cdef uint64_t word
    if at < end and data[at] < 0x80:
        return at + 1
    if end - at >= 8:
        # The byte that ends a varint lacks the highest bit.
        word = ~load64(data + at, HOST_IS_BIG) & <uint64_t>0x8080808080808080
        if word:
            return at + (__builtin_ctzll(word) >> 3) + 1
    if end - at > 10:
        end = at + 10
    while at < end:
        at += 1
        if data[at - 1] < 0x80:
            return at
    return -1


# Raise ValueError where a message lies outside the data, which ends there.
cdef inline int check_spans(int64_t end, const int64_t[:] starts, const int64_t[:] sizes) except -1:
    cdef int64_t i
    if sizes.shape[0] != starts.shape[0]:
        raise ValueError("starts and sizes differ in length")
    for i in range(starts.shape[0]):
        if starts[i] < 0 or sizes[i] < 0 or starts[i] > end or sizes[i] > end - starts[i]:
            raise ValueError(f"message {i} lies outside the data")
    return 0
