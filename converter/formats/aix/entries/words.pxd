# cython: language_level=3
"""One entry of a raw AIX trace stream, as the trcfmt document has it ("I. General Information", A to C)."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from converter.kernels.io.byte_order cimport HOST_IS_LITTLE, load16, load32, load64

cdef enum:
    # Results of reading an entry, or a record of several.
    ENTRY_OK = 0
    ENTRY_SHORT = 1
    ENTRY_BAD = 2

    FLAG_TIMED = 0x8000
    FLAG_GENERIC = 0x4000
    FLAG_NARROW = 0x2000

    # Fields of 32-bit hook words: the bit for a time stamp, then the number of data words.
    TYPE_TIMED = 8
    TYPE_GENERIC = 0
    TYPE_0_WORDS = 1
    TYPE_1_WORD = 2
    TYPE_5_WORDS = 6

    HOOK_64_ON_32 = 0x00B0


# The form that templates are applied to begins at `place`, hook word included, and has `shown` bytes. `data` is where
# data words begin (the generic data word first), `length` what the hook word says of their size.
cdef struct Entry:
    int64_t size
    int64_t place
    int64_t shown
    int64_t data
    int64_t length
    uint32_t hook
    uint32_t sub
    bint generic
    bint wide
    bint timed
    uint64_t tid
    uint64_t ts


cdef inline uint32_t big16(const uint8_t* data) noexcept nogil:
    return load16(data, HOST_IS_LITTLE)


cdef inline uint32_t big32(const uint8_t* data) noexcept nogil:
    return load32(data, HOST_IS_LITTLE)


cdef inline uint64_t big64(const uint8_t* data) noexcept nogil:
    return load64(data, HOST_IS_LITTLE)


cdef inline int read_entry_64(const uint8_t* data, int64_t left, Entry* entry) noexcept nogil:
    # ENTRY_SHORT leaves in `size` how many bytes there must be.
    cdef uint32_t flags
    cdef int64_t body
    entry.size = 8
    if left < 8:
        return ENTRY_SHORT
    flags = big16(data)
    entry.length = big16(data + 2)
    entry.hook = big16(data + 4)
    entry.sub = big16(data + 6)
    entry.generic = flags & FLAG_GENERIC != 0
    entry.wide = flags & FLAG_NARROW == 0
    entry.timed = flags & FLAG_TIMED != 0
    body = entry.length
    if entry.generic:
        body += 8 if entry.wide else 4
    entry.place = 0 if entry.wide else 4
    entry.data = 8
    entry.shown = 8 - entry.place + body
    body = (body + 7) & ~<int64_t>7
    entry.size = 16 + body + (8 if entry.timed else 0)
    if left < entry.size:
        return ENTRY_SHORT
    entry.tid = big64(data + 8 + body)
    entry.ts = big64(data + 16 + body) if entry.timed else 0
    return ENTRY_OK


cdef inline int read_entry_32(const uint8_t* data, int64_t left, Entry* entry) noexcept nogil:
    cdef uint32_t word, kind, flags
    cdef int64_t body
    entry.size = 4
    if left < 4:
        return ENTRY_SHORT
    word = big32(data)
    entry.hook = (word >> 20) << 4
    kind = word >> 16 & 15
    entry.sub = word & 0xFFFF
    entry.timed = kind & TYPE_TIMED != 0
    entry.generic = kind & 7 == TYPE_GENERIC
    entry.wide = False
    entry.place = 0
    entry.data = 4
    if entry.generic:
        entry.length = entry.sub
        body = 4 + entry.length
    elif kind & 7 == TYPE_0_WORDS:
        entry.length = body = 0
    elif kind & 7 == TYPE_1_WORD:
        entry.length = body = 4
    elif kind & 7 == TYPE_5_WORDS:
        entry.length = body = 20
    else:
        return ENTRY_BAD
    entry.shown = 4 + body
    body = (body + 3) & ~<int64_t>3
    entry.size = 8 + body + (4 if entry.timed else 0)
    if left < entry.size:
        return ENTRY_SHORT
    entry.tid = big32(data + 4 + body)
    entry.ts = big32(data + 8 + body) if entry.timed else 0
    if entry.hook == HOOK_64_ON_32 and entry.generic and entry.length >= 4:
        # From a 64-bit application: its hook word is in the data word and the first 4 bytes after it.
        flags = big16(data + 4)
        body = big16(data + 6) + (8 if flags & FLAG_GENERIC else 0)
        if flags & FLAG_NARROW == 0 and body == entry.length - 4:
            entry.length = big16(data + 6)
            entry.hook = big16(data + 8)
            entry.sub = big16(data + 10)
            entry.generic = flags & FLAG_GENERIC != 0
            entry.wide = True
            entry.place = 4
            entry.data = 12
            entry.shown = 8 + body
    return ENTRY_OK


cdef inline int read_entry(int bits, const uint8_t* data, int64_t left, Entry* entry) noexcept nogil:
    return read_entry_64(data, left, entry) if bits == 64 else read_entry_32(data, left, entry)
