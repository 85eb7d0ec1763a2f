from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy


# Return True if all bytes are below 128.
cdef inline bint is_ascii(const uint8_t* data, int64_t size) noexcept nogil:
    cdef uint64_t found = 0
    cdef uint64_t word
    cdef int64_t i = 0
    while i + 8 <= size:
        memcpy(&word, data + i, 8)
        found |= word
        i += 8
    while i < size:
        found |= data[i]
        i += 1
    return not found & <uint64_t>0x8080808080808080


# Return True if bytes are well-formed UTF-8 (Unicode 15, table 3-7: no surrogates, nothing overlong, nothing above
# U+10FFFF).
cdef inline bint is_utf8(const uint8_t* data, int64_t size) noexcept nogil:
    cdef int64_t i = 0
    cdef uint64_t word
    cdef uint32_t half
    cdef uint8_t first, low, high
    cdef int64_t more
    while i < size:
        if size - i >= 8:
            memcpy(&word, data + i, 8)
            if not word & <uint64_t>0x8080808080808080:
                i += 8
                continue
        elif size >= 8:
            # The last eight bytes, some of them once more.
            memcpy(&word, data + size - 8, 8)
            if not word & <uint64_t>0x8080808080808080:
                return True
        elif size - i >= 4:
            memcpy(&half, data + i, 4)
            if not half & <uint32_t>0x80808080:
                i += 4
                continue
        first = data[i]
        if first < 0x80:
            i += 1
            continue
        low = 0x80
        high = 0xBF
        if 0xC2 <= first <= 0xDF:
            more = 1
        elif 0xE0 <= first <= 0xEF:
            more = 2
            if first == 0xE0:
                low = 0xA0
            elif first == 0xED:
                high = 0x9F
        elif 0xF0 <= first <= 0xF4:
            more = 3
            if first == 0xF0:
                low = 0x90
            elif first == 0xF4:
                high = 0x8F
        else:
            return False
        if size - i <= more:
            return False
        if not low <= data[i + 1] <= high:
            return False
        if more > 1 and data[i + 2] & 0xC0 != 0x80:
            return False
        if more > 2 and data[i + 3] & 0xC0 != 0x80:
            return False
        i += more + 1
    return True
