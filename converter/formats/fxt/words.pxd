# What the kernels of FXT share: words, record types and shapes, and sets of pairs of numbers.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
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
    # Marks the reference to a string that stands in the record itself.
    INLINE = 0x8000
    # Slots that a provider has for strings and for threads; the first of each stands for none.
    STRING_SLOTS = 0x8000
    THREAD_SLOTS = 0x100
    # Bytes of a record, and of the text of a string record, at most.
    MAX_RECORD = 32760
    MAX_TEXT = 32752
    MAX_PROVIDERS = 4096
    # Sets of pairs grow up to less than 2**30.
    MAX_PAIRS = (1 << 29) - 64
    FAILED = -2

    METADATA = 0
    INITIALIZATION = 1
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


# A set of pairs of numbers, each with the position at which it was added.
cdef struct Pairs:
    uint64_t* keys
    int32_t* slots
    uint64_t mask
    uint64_t seed
    int64_t count
    int64_t capacity


# Mixed once more in the end: pairs that differ in the uppermost bits alone, whatever the seed, would else share a slot.
cdef inline uint64_t pairs_slot(Pairs* pairs, uint64_t first, uint64_t second) noexcept nogil:
    return mixed(mixed(mixed(first ^ pairs.seed) ^ second) + pairs.seed) & pairs.mask


# The position of a pair, added when new; FAILED without memory. Twice a position fits into 32 bits.
cdef inline int32_t pairs_find(Pairs* pairs, uint64_t first, uint64_t second) noexcept nogil:
    cdef uint64_t slot
    cdef int32_t found
    cdef void* moved
    cdef uint64_t wanted
    cdef int64_t i
    if <uint64_t>pairs.count * 2 >= pairs.mask:
        wanted = pairs.mask * 4 + 3 if pairs.mask else 255
        moved = calloc(wanted + 1, sizeof(int32_t))
        if moved is NULL:
            return FAILED
        free(pairs.slots)
        pairs.slots = <int32_t*>moved
        pairs.mask = wanted
        for i in range(pairs.count):
            slot = pairs_slot(pairs, pairs.keys[2 * i], pairs.keys[2 * i + 1])
            while pairs.slots[slot]:
                slot = (slot + 1) & wanted
            pairs.slots[slot] = <int32_t>(i + 1)
    slot = pairs_slot(pairs, first, second)
    while True:
        found = pairs.slots[slot] - 1
        if found < 0:
            break
        if pairs.keys[2 * found] == first and pairs.keys[2 * found + 1] == second:
            return found
        slot = (slot + 1) & pairs.mask
    if pairs.count == pairs.capacity:
        if pairs.capacity >= MAX_PAIRS:
            return FAILED
        moved = realloc(pairs.keys, (pairs.capacity * 2 + 64) * 2 * sizeof(uint64_t))
        if moved is NULL:
            return FAILED
        pairs.keys = <uint64_t*>moved
        pairs.capacity = pairs.capacity * 2 + 64
    pairs.keys[2 * pairs.count] = first
    pairs.keys[2 * pairs.count + 1] = second
    pairs.count += 1
    pairs.slots[slot] = <int32_t>pairs.count
    return <int32_t>(pairs.count - 1)


cdef inline void pairs_free(Pairs* pairs) noexcept nogil:
    free(pairs.keys)
    free(pairs.slots)
