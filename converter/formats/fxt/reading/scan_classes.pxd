# The event classes that a scan of FXT meets: signatures, numbered in the order in which they come.
#
# A signature is the shape of the record, then (type << 32 | string id of the name) of each argument.

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy

from converter.formats.fxt.words cimport FACTOR, mixed
from converter.kernels.tables.numbers cimport FAILED

cdef enum:
    # For a shape and 15 arguments.
    MAX_SIGNATURE = 16


cdef struct Signature:
    uint64_t tag
    int64_t start
    int32_t length


cdef struct Classes:
    # All signatures in a row, the offset of each there, and a hash table of them.
    uint64_t* words
    int64_t word_count
    int64_t word_room
    Signature* entries
    # Events of each class in the window.
    int32_t* rows
    int64_t count
    int64_t room
    int32_t* slots
    uint64_t mask
    uint64_t seed
    # The signature of the record under way.
    uint64_t signature[MAX_SIGNATURE]


# The number of the class of the signature under way, added when new; FAILED without memory.
cdef inline int32_t classes_find(Classes* classes, int length) noexcept nogil:
    cdef uint64_t tag = classes.seed
    cdef uint64_t slot
    cdef Signature* entry
    cdef const uint64_t* known
    cdef int32_t found
    cdef int i
    if <uint64_t>classes.count * 2 >= classes.mask and not classes_spread(classes):
        return FAILED
    for i in range(length):
        tag = (tag ^ classes.signature[i]) * FACTOR
    tag = mixed(tag)
    slot = tag & classes.mask
    while True:
        found = classes.slots[slot] - 1
        if found < 0:
            return classes_add(classes, length, tag)
        entry = &classes.entries[found]
        if entry.tag == tag and entry.length == length:
            known = classes.words + entry.start
            i = 0
            while i < length and known[i] == classes.signature[i]:
                i += 1
            if i == length:
                return found
        slot = (slot + 1) & classes.mask


# A larger hash table; false without memory.
cdef inline bint classes_spread(Classes* classes) noexcept nogil:
    cdef uint64_t mask = classes.mask * 4 + 3 if classes.mask else 255
    cdef int32_t* slots = <int32_t*>calloc(mask + 1, sizeof(int32_t))
    cdef int64_t i
    if slots is NULL:
        return False
    free(classes.slots)
    classes.slots = slots
    classes.mask = mask
    for i in range(classes.count):
        classes_place(classes, <int32_t>i)
    return True


cdef inline void classes_place(Classes* classes, int32_t number) noexcept nogil:
    cdef uint64_t slot = classes.entries[number].tag & classes.mask
    while classes.slots[slot]:
        slot = (slot + 1) & classes.mask
    classes.slots[slot] = number + 1


cdef inline int32_t classes_add(Classes* classes, int length, uint64_t tag) noexcept nogil:
    cdef void* moved
    cdef int64_t room
    cdef Signature* entry
    if classes.count == classes.room:
        room = classes.room * 2 + 64
        if room > 0x3fffffff:
            return FAILED
        moved = realloc(classes.entries, room * sizeof(Signature))
        if moved is NULL:
            return FAILED
        classes.entries = <Signature*>moved
        moved = realloc(classes.rows, room * sizeof(int32_t))
        if moved is NULL:
            return FAILED
        classes.rows = <int32_t*>moved
        classes.room = room
    if classes.word_count + length > classes.word_room:
        room = classes.word_room * 2 + 1024
        moved = realloc(classes.words, room * sizeof(uint64_t))
        if moved is NULL:
            return FAILED
        classes.words = <uint64_t*>moved
        classes.word_room = room
    entry = &classes.entries[classes.count]
    entry.tag = tag
    entry.start = classes.word_count
    entry.length = length
    memcpy(classes.words + classes.word_count, classes.signature, length * sizeof(uint64_t))
    classes.word_count += length
    classes.rows[classes.count] = 0
    classes_place(classes, <int32_t>classes.count)
    classes.count += 1
    return <int32_t>(classes.count - 1)


cdef inline void classes_free(Classes* classes) noexcept nogil:
    free(classes.words)
    free(classes.entries)
    free(classes.rows)
    free(classes.slots)
