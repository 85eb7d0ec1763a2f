# Interned texts: which a packet sequence has been given, and those that the packet under construction brings.
#
# One thread at a time adds texts: the one that emits the events that follow all that were emitted. Others see the texts
# added so far.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from converter.formats.perfetto.protobuf.fields cimport (
    INTERNED_DEBUG_ANNOTATION_STRING_VALUES, INTERNED_IID, INTERNED_TEXT, PACKET_INTERNED_DATA,
)
from converter.kernels.protobuf.wire cimport WIRE_BYTES
from converter.formats.perfetto.writing.kernels.emit_output cimport MARGIN, end_at, ensure_at, put, varint_size
from converter.kernels.io.output cimport Output, ensure
from converter.kernels.tables.strings cimport Entry, StringTable

cdef extern from *:
    uint8_t __atomic_load_n(const uint8_t*, int) noexcept nogil
    void __atomic_store_n(uint8_t*, uint8_t, int) noexcept nogil
    int __ATOMIC_ACQUIRE
    int __ATOMIC_RELEASE

cdef enum:
    # Categories, event names, names of annotations, strings: in order of their fields in InternedData.
    tCATEGORIES = 0
    tNAMES = 1
    tANNOTATIONS = 2
    tSTRINGS = 3
    TABLES = 4


cdef struct Interning:
    # By id of the string: a bit for each table that has it, and its number, which all tables share. Numbers are in the
    # order of their first use in the output; ids depend on what else is interning meanwhile. Of several writers of an
    # output, each takes those that the others leave.
    uint8_t* seen
    uint64_t* numbers
    uint64_t last
    uint64_t step
    int64_t room
    # The number of strings.
    int64_t known


# The texts that the packet under construction brings, by table.
cdef struct Interned:
    Output texts[TABLES]


# Room for all strings that there are; false without memory.
cdef inline bint follow_strings(Interning* interning, int64_t count) noexcept nogil:
    cdef void* moved
    if count > interning.room:
        moved = realloc(interning.seen, 2 * count)
        if moved is NULL:
            return False
        interning.seen = <uint8_t*>moved
        memset(interning.seen + interning.room, 0, 2 * count - interning.room)
        moved = realloc(interning.numbers, 2 * count * sizeof(uint64_t))
        if moved is NULL:
            return False
        interning.numbers = <uint64_t*>moved
        memset(interning.numbers + interning.room, 0, (2 * count - interning.room) * sizeof(uint64_t))
        interning.room = 2 * count
    interning.known = count
    return True


cdef inline void free_interning(Interning* interning) noexcept nogil:
    free(interning.seen)
    free(interning.numbers)


cdef inline void free_interned(Interned* interned) noexcept nogil:
    cdef int i
    for i in range(TABLES):
        free(interned.texts[i].data)


# Return True if a packet before brought a text. The caller has checked the id.
cdef inline bint is_interned(const Interning* interning, int32_t id, int table) noexcept nogil:
    # Its number was written before this.
    return __atomic_load_n(&interning.seen[id], __ATOMIC_ACQUIRE) >> table & 1


# Have the packet bring a text that none before did; false without memory.
cdef inline bint intern(
    Interning* interning, Interned* interned, StringTable strings, int32_t id, int table
) noexcept nogil:
    cdef Output* texts = &interned.texts[table]
    cdef Entry* entry
    cdef int64_t size
    cdef uint64_t number
    cdef uint8_t* at
    entry = strings.entry(id)
    size = entry.size
    if not ensure(texts, size + MARGIN):
        return False
    if interning.numbers[id] == 0:
        interning.numbers[id] = interning.last
        interning.last += interning.step
    number = interning.numbers[id]
    __atomic_store_n(&interning.seen[id], interning.seen[id] | <uint8_t>(1 << table), __ATOMIC_RELEASE)
    at = texts.data + texts.used
    at = put(at, (INTERNED_DEBUG_ANNOTATION_STRING_VALUES if table == tSTRINGS else table + 1) << 3 | WIRE_BYTES)
    at = put(at, <uint64_t>(1 + varint_size(number) + 1 + varint_size(<uint64_t>size) + size))
    at[0] = INTERNED_IID << 3
    at = put(at + 1, number)
    at[0] = INTERNED_TEXT << 3 | WIRE_BYTES
    at = put(at + 1, <uint64_t>size)
    if size:
        memcpy(at, entry.data, size)
    end_at(texts, at + size)
    return True


# Forget what a packet that failed, or that is done, brought.
cdef inline void begin_interned(Interned* interned) noexcept nogil:
    cdef int i
    for i in range(TABLES):
        interned.texts[i].used = 0


# InternedData with the texts that the packet brings, if any; NULL without memory.
cdef inline uint8_t* put_interned(const Interned* interned, Output* out, uint8_t* at) noexcept nogil:
    cdef int64_t size = 0
    cdef int i
    for i in range(TABLES):
        size += interned.texts[i].used
    if size == 0:
        return at
    at = ensure_at(out, at, size)
    if at is NULL:
        return NULL
    at[0] = PACKET_INTERNED_DATA << 3 | WIRE_BYTES
    at = put(at + 1, <uint64_t>size)
    for i in range(TABLES):
        if interned.texts[i].used:
            memcpy(at, interned.texts[i].data, interned.texts[i].used)
            at += interned.texts[i].used
    return ensure_at(out, at, 0)
