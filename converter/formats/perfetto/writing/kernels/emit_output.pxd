# Packets as varints, and messages whose size is put before them once they are done. Output under construction ends at a
# position `at`, which each function takes and returns; `used` is where it begins.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove

from converter.kernels.io.byte_order cimport HOST_IS_BIG, store32, store64
from converter.kernels.io.output cimport Output, grow

cdef extern from *:
    int __builtin_clzll(unsigned long long) nogil
    long __builtin_expect(long, long) nogil

cdef enum:
    # Room for the scalars of a step, after all that `ensure` was called for.
    MARGIN = 64
    # An output larger than this is to be taken.
    BLOCK = 1 << 20
    MAX_OPEN = 128


cdef struct Messages:
    Output out
    # Messages under construction: where the byte for their size is.
    int64_t opened[MAX_OPEN]
    int depth


# 28 bits as seven a byte, by moving ever smaller groups apart.
cdef inline uint32_t spread(uint32_t value) noexcept nogil:
    value = (value & <uint32_t>0x3FFF) | ((value & <uint32_t>0x0FFFC000) << 2)
    return (value & <uint32_t>0x007F007F) | ((value & <uint32_t>0x3F803F80) << 1)


# The same for 56 bits.
cdef inline uint64_t spread56(uint64_t value) noexcept nogil:
    value = (value & <uint64_t>0x0FFFFFFF) | ((value & <uint64_t>0x00FFFFFFF0000000) << 4)
    value = (value & <uint64_t>0x00003FFF00003FFF) | ((value & <uint64_t>0x0FFFC0000FFFC000) << 2)
    return (value & <uint64_t>0x007F007F007F007F) | ((value & <uint64_t>0x3F803F803F803F80) << 1)


# Put a varint; return the position after it. Writes up to ten bytes.
cdef inline uint8_t* put(uint8_t* at, uint64_t value) noexcept nogil:
    cdef int size
    if value < 0x80:
        at[0] = <uint8_t>value
        return at + 1
    if value < 0x4000:
        at[0] = <uint8_t>(value | 0x80)
        at[1] = <uint8_t>(value >> 7)
        return at + 2
    if value >> 28 == 0:
        size = 3 + (value >> 21 != 0)
        store32(at, spread(<uint32_t>value) | <uint32_t>0x808080 >> (8 * (4 - size)), HOST_IS_BIG)
        return at + size
    return put_long(at, value)


# One of more than 28 bits.
cdef inline uint8_t* put_long(uint8_t* at, uint64_t value) noexcept nogil:
    cdef uint64_t low = spread56(value)
    cdef int size
    if value >> 56 == 0:
        size = (70 - __builtin_clzll(value)) // 7
        store64(at, low | <uint64_t>0x8080808080808080 >> (72 - 8 * size), HOST_IS_BIG)
        return at + size
    store64(at, low | <uint64_t>0x8080808080808080, HOST_IS_BIG)
    at[8] = <uint8_t>(value >> 56)
    # Its highest bit says that one more byte follows.
    at[9] = 1
    return at + 9 + (value >> 63)


# Put a number after its tag, both in one write where the number is short; return the position after it. Writes up to
# ten bytes after the tag, which has no more than five.
cdef inline uint8_t* put_tagged(uint8_t* at, uint64_t tag, int tag_size, uint64_t value) noexcept nogil:
    if value < 0x80:
        store64(at, tag | value << (8 * tag_size), HOST_IS_BIG)
        return at + tag_size + 1
    return put_tagged_long(at, tag, tag_size, value)


# One that takes more than a byte. What `put` does is written out: through that an event takes 3 to 5 % more instructions
# of a whole conversion.
cdef inline uint8_t* put_tagged_long(uint8_t* at, uint64_t tag, int tag_size, uint64_t value) noexcept nogil:
    if value < 0x4000:
        # The bits from the eighth on move up by one.
        value = value + (value & 0x3F80) | 0x80
        store64(at, tag | value << (8 * tag_size), HOST_IS_BIG)
        return at + tag_size + 2
    store64(at, tag, HOST_IS_BIG)
    at += tag_size
    if value < 0x200000:
        store32(at, spread(<uint32_t>value) | 0x8080, HOST_IS_BIG)
        return at + 3
    if value < 0x10000000:
        store32(at, spread(<uint32_t>value) | 0x808080, HOST_IS_BIG)
        return at + 4
    return put_long(at, value)


# The upper bits of a time, and what is written of them: they stay as they are for many events.
cdef struct UpperBits:
    uint64_t value
    uint8_t data[8]
    int size


# Put a time as a varint, with the upper bits kept from the last one.
cdef inline uint8_t* put_time(UpperBits* upper, uint8_t* at, uint64_t ts) noexcept nogil:
    cdef uint64_t above = ts >> 28
    if above == 0:
        return put(at, ts)
    if above != upper.value:
        upper.value = above
        upper.size = <int>(put(upper.data, above) - upper.data)
    store32(at, spread(<uint32_t>(ts & <uint64_t>0x0FFFFFFF)) | <uint32_t>0x80808080, HOST_IS_BIG)
    memcpy(at + 4, upper.data, 8)
    return at + 4 + upper.size


cdef inline int varint_size(uint64_t value) noexcept nogil:
    return 1 if value < 0x80 else (70 - __builtin_clzll(value)) // 7


# A size in exactly the bytes that there are for it.
cdef inline void put_size(uint8_t* place, int64_t size, int width) noexcept nogil:
    cdef int i
    for i in range(width):
        place[i] = <uint8_t>((size >> 7 * i & 0x7F) | (0x80 if i < width - 1 else 0))


# Room for `size` bytes and MARGIN at `at`, which is moved with the output; NULL without memory.
cdef inline uint8_t* ensure_at(Output* out, uint8_t* at, int64_t size) noexcept nogil:
    if __builtin_expect(out.data + out.room - at >= size + MARGIN, 1):
        return at
    return grow_at(out, at, size)


cdef inline uint8_t* grow_at(Output* out, const uint8_t* at, int64_t size) noexcept nogil:
    cdef int64_t place = at - out.data
    return out.data + place if grow(out, place + size + MARGIN, 2 * BLOCK) else NULL


# Return the position after all output, with room as `ensure_at` makes it; NULL without memory.
cdef inline uint8_t* begin_at(Output* out, int64_t size) noexcept nogil:
    return ensure_at(out, out.data + out.used, size)


# All up to `at` is done.
cdef inline void end_at(Output* out, const uint8_t* at) noexcept nogil:
    out.used = at - out.data


# Begin a length-delimited message: a byte is kept for its size. No program opens more than MAX_OPEN.
cdef inline uint8_t* open_message(Messages* to, uint8_t* at) noexcept nogil:
    to.opened[to.depth] = at - to.out.data
    to.depth += 1
    return at + 1


# End a message whose size is stored at `place`, an offset from the start of the output. It takes up to four bytes more.
cdef inline uint8_t* close_at(Output* out, int64_t place, uint8_t* at) noexcept nogil:
    cdef uint8_t* begin = out.data + place
    cdef int64_t size = at - begin - 1
    cdef int more
    if size < 0x80:
        begin[0] = <uint8_t>size
        return at
    more = varint_size(<uint64_t>size) - 1
    memmove(begin + 1 + more, begin + 1, size)
    put_size(begin, size, 1 + more)
    return at + more


# End the message that was started last.
cdef inline uint8_t* close_message(Messages* to, uint8_t* at) noexcept nogil:
    to.depth -= 1
    return close_at(&to.out, to.opened[to.depth], at)
