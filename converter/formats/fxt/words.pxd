# Shared definitions of the FXT kernels: words, record types and shapes.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #define fxt_swap64(x) __builtin_bswap64(x)
    /* 2**64 over the golden ratio: an odd number without pattern. */
    #define FXT_FACTOR 0x9E3779B97F4A7C15ULL
    #define FXT_SPAN (1ULL << 63)
    #define fxt_rarely(x) __builtin_expect(!!(x), 0)
    """
    const uint64_t FACTOR "FXT_FACTOR"
    # Marks a value word that holds the place of a text or of bytes in the window.
    const uint64_t SPAN "FXT_SPAN"
    uint64_t fxt_swap64(uint64_t) noexcept nogil
    # A condition that keeps what follows from it out of the way of a hot loop.
    bint rarely "fxt_rarely"(bint) noexcept nogil

cdef enum:
    NANOSECONDS = 1000000000
    # Marks the reference to a string that is stored in the record itself.
    INLINE = 0x8000
    # Slots that a provider has for strings and for threads; the first of each means none.
    STRING_SLOTS = 0x8000
    THREAD_SLOTS = 0x100
    # Bytes of a record, and of the text of a string record, at most.
    MAX_RECORD = 32760
    MAX_TEXT = 32752
    MAX_PROVIDERS = 4096

    METADATA = 0
    INITIALIZATION = 1
    # Words of an initialization record after its header: the rate, and what this project and others add.
    MOST_INITIALIZATION = 7
    STRING = 2
    THREAD = 3
    EVENT = 4
    BLOB = 5
    USERSPACE_OBJECT = 6
    KERNEL_OBJECT = 7
    SCHEDULING = 8
    LOG = 9
    PROFILER = 10
    LARGE = 15

    # Shapes: which record holds an event, record type << 4 | subtype (`mapping.Shape`). Those of EVENT and SCHEDULING
    # are computed.
    SHAPE_DISCARDED = 0x03
    SHAPE_BLOB = 0x50
    SHAPE_USERSPACE_OBJECT = 0x60
    SHAPE_KERNEL_OBJECT = 0x70
    SHAPE_LEGACY_SWITCH = 0x80
    SHAPE_SWITCH = 0x81
    SHAPE_WAKEUP = 0x82
    SHAPE_LOG = 0x90
    SHAPE_MODULE = 0xa0
    SHAPE_MAPPING = 0xa1
    SHAPE_SAMPLE = 0xa2
    SHAPE_LARGE_TIMED = 0xf0
    SHAPE_LARGE = 0xf1
    SHAPE_NATIVE = 0x100
    # Words follow that the record's declaration does not account for.
    SHAPE_EXTENDED = 0x1000


cdef inline uint64_t load(const uint8_t* at, bint swap) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, at, 8)
    return fxt_swap64(word) if swap else word


cdef inline int64_t padded(int64_t length) noexcept nogil:
    return (length + 7) & ~<int64_t>7


cdef inline uint64_t mixed(uint64_t value) noexcept nogil:
    value = value ^ (value >> 32)
    value = value * FACTOR
    return value ^ (value >> 29)


cdef inline uint64_t span(int64_t offset, int64_t length) noexcept nogil:
    return SPAN | <uint64_t>offset << 15 | <uint64_t>length
