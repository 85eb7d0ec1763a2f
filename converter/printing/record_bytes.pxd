# Values in the bytes of a record. Of what is not in it nothing is read.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from converter.kernels.io.byte_order cimport HOST_IS_BIG
from converter.kernels.io.output cimport Output, append
from converter.printing.forms cimport put_decimal, put_hexadecimal

cdef extern from *:
    """
    #include <stdint.h>
    typedef unsigned __int128 traceconv_place;
    static inline uint64_t scaled_place(uint64_t start, uint64_t index, uint64_t size)
    {
        /* A place beyond all memory stays there. */
        traceconv_place place = (traceconv_place)index * size + start;
        return place > ((uint64_t)1 << 62) ? (uint64_t)1 << 62 : (uint64_t)place;
    }
    """
    uint64_t scaled_place(uint64_t start, uint64_t index, uint64_t size) noexcept nogil
    uint32_t __builtin_bswap32(uint32_t) noexcept nogil
    uint64_t __builtin_bswap64(uint64_t) noexcept nogil


cdef struct Record:
    const uint8_t* data
    int64_t size


cdef inline int64_t clip(const Record* record, uint64_t offset, uint64_t length, const uint8_t** data) noexcept nogil:
    """The bytes of a place in a record, as far as they are in it."""
    if offset >= <uint64_t>record.size:
        data[0] = record.data
        return 0
    data[0] = record.data + offset
    return min(<uint64_t>record.size - offset, length)


cdef inline uint64_t integer_in(const uint8_t* data, int64_t size, bint big_endian) noexcept nogil:
    cdef uint64_t value = 0
    cdef int64_t i
    for i in range(size):
        value = value << 8 | data[i if big_endian else size - 1 - i]
    return value


cdef inline uint64_t number_at(
    const Record* record, uint64_t offset, uint64_t length, bint big_endian, bint partial
) noexcept nogil:
    """The bytes of a place as a number; 0 unless all of them are in the record, or those that are, if asked."""
    cdef const uint8_t* data
    cdef int64_t size = clip(record, offset, length, &data)
    if size > 8 or (<uint64_t>size != length and not partial):
        return 0
    return integer_in(data, size, big_endian)


cdef inline uint64_t read(const Record* record, int64_t offset, int64_t size, bint swap) noexcept nogil:
    """An integer of 1, 2, 4 or 8 bytes; 0 where the record ends before, and for other sizes."""
    cdef uint64_t wide
    cdef uint32_t word
    cdef const uint8_t* data
    if offset > record.size - size:
        return 0
    data = record.data + offset
    if size == 4:
        memcpy(&word, data, 4)
        return __builtin_bswap32(word) if swap else word
    if size == 8:
        memcpy(&wide, data, 8)
        return __builtin_bswap64(wide) if swap else wide
    if size == 1:
        return data[0]
    if size == 2:
        return integer_in(data, 2, swap != HOST_IS_BIG)
    return 0


cdef inline uint64_t bits_at(const Record* record, uint64_t start, int64_t count) noexcept nogil:
    """Up to 64 bits from a place that is counted in bits; 0 unless all of them are in the record."""
    cdef uint64_t value = 0
    cdef uint64_t size = <uint64_t>record.size * 8
    cdef int64_t i
    if start > size or <uint64_t>count > size - start:
        return 0
    for i in range(count):
        value = value << 1 | (record.data[(start + i) >> 3] >> (7 - ((start + i) & 7)) & 1)
    return value


cdef inline uint64_t plain(const Record* record, uint64_t offset, uint64_t length, bint ends) noexcept nogil:
    """One more than the bytes of a place that are in the record, up to a NUL if that ends it; 0 unless they print."""
    cdef const uint8_t* data
    cdef int64_t size = clip(record, offset, length, &data)
    cdef int64_t i
    for i in range(size):
        if data[i] == 0 and ends:
            return i + 1
        if not c' ' <= data[i] < 127:
            return 0
    return size + 1


cdef inline void extent(
    const Record* record, int64_t offset, int64_t size, bint relative, bint swap, uint64_t* to
) noexcept nogil:
    """Follow a location word: set position and length; nowhere where that is not in the record."""
    cdef uint64_t word = read(record, offset, size, swap)
    cdef uint64_t start = (word & 0xFFFF) + (<uint64_t>offset + <uint64_t>size if relative else 0)
    cdef uint64_t length
    to[0] = to[1] = 0
    if start > <uint64_t>record.size:
        return
    # The oldest kind is an offset only.
    length = word >> 16 & 0xFFFF if size != 2 else record.size - start
    to[0] = start
    to[1] = length if start + length <= <uint64_t>record.size else 0


cdef inline bint put_array(
    Output* out, const Record* record, const uint64_t* given, bint dynamic, bint swap
) noexcept nogil:
    """Elements of an array in braces; `given` are place, length, the number of elements unless `dynamic`, their size."""
    cdef uint64_t size = given[2 if dynamic else 3] & <uint64_t>0xFFFFFFFF
    cdef uint64_t step = size if size == 1 or size == 2 or size == 4 or size == 8 else 1
    cdef uint64_t count = given[1] // step if dynamic else given[2] & <uint64_t>0xFFFFFFFF
    cdef uint64_t start = given[0]
    cdef uint64_t end
    cdef bint begun = False
    if count >> 31 or start > <uint64_t>record.size:
        start = count = 0
    end = min(<uint64_t>record.size, start + step * count)
    if not append(out, b"{", 1):
        return False
    while start + step <= end:
        if begun and not append(out, b",", 1):
            return False
        begun = True
        if size != step and not (append(out, b"BAD SIZE:", 9) and put_decimal(out, size, False) and append(out, b" ", 1)):
            return False
        if not (append(out, b"0x", 2) and put_hexadecimal(out, read(record, start, step, swap))):
            return False
        start += step
    return append(out, b"}", 1)
