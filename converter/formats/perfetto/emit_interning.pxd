# Interned texts: which a packet sequence has been given, and those that the packet under construction brings.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from converter.formats.perfetto.emit_output cimport MARGIN, Output, ensure, put, varint_size
from converter.kernels.strings cimport Entry, StringTable

cdef enum:
    # Categories, event names, names of annotations, strings: in order of their fields in InternedData.
    tCATEGORIES = 0
    tNAMES = 1
    tANNOTATIONS = 2
    tSTRINGS = 3
    TABLES = 4


cdef struct Interning:
    # By id of the string: a bit for each table that has it.
    uint8_t* seen
    int64_t room
    # How many strings there are.
    int64_t known
    # Of the packet under construction, by table.
    uint8_t* texts[TABLES]
    int64_t used[TABLES]
    int64_t size[TABLES]


# Room for all strings that there are; false without memory.
cdef inline bint follow_strings(Interning* interning, int64_t count) noexcept nogil:
    cdef uint8_t* moved
    if count > interning.room:
        moved = <uint8_t*>realloc(interning.seen, 2 * count)
        if moved is NULL:
            return False
        memset(moved + interning.room, 0, 2 * count - interning.room)
        interning.seen = moved
        interning.room = 2 * count
    interning.known = count
    return True


cdef inline void free_interning(Interning* interning) noexcept nogil:
    cdef int i
    free(interning.seen)
    for i in range(TABLES):
        free(interning.texts[i])


# Have the packet bring a text unless one before did; false without memory. The caller has checked the id.
cdef inline bint intern(Interning* interning, StringTable strings, int32_t id, int table) noexcept nogil:
    cdef Entry* entry
    cdef int64_t size, room
    cdef uint8_t* at
    if interning.seen[id] >> table & 1:
        return True
    entry = strings.entry(id)
    size = entry.size
    if interning.used[table] + size + MARGIN > interning.size[table]:
        room = 2 * (interning.used[table] + size) + 1024
        at = <uint8_t*>realloc(interning.texts[table], room)
        if at is NULL:
            return False
        interning.texts[table] = at
        interning.size[table] = room
    interning.seen[id] |= <uint8_t>(1 << table)
    at = interning.texts[table] + interning.used[table]
    at = put(at, (29 if table == tSTRINGS else table + 1) << 3 | 2)
    at = put(at, <uint64_t>(1 + varint_size(<uint64_t>id + 1) + 1 + varint_size(<uint64_t>size) + size))
    at[0] = 1 << 3
    at = put(at + 1, <uint64_t>id + 1)
    at[0] = 2 << 3 | 2
    at = put(at + 1, <uint64_t>size)
    if size:
        memcpy(at, entry.data, size)
    interning.used[table] = at + size - interning.texts[table]
    return True


# Forget what a packet that failed, or that is done, brought.
cdef inline void begin_interned(Interning* interning) noexcept nogil:
    cdef int i
    for i in range(TABLES):
        interning.used[i] = 0


# InternedData with the texts that the packet brings, if any; NULL without memory.
cdef inline uint8_t* put_interned(Interning* interning, Output* out, uint8_t* at) noexcept nogil:
    cdef int64_t size = 0
    cdef int i
    for i in range(TABLES):
        size += interning.used[i]
    if size == 0:
        return at
    at = ensure(out, at, size)
    if at is NULL:
        return NULL
    at[0] = 12 << 3 | 2
    at = put(at + 1, <uint64_t>size)
    for i in range(TABLES):
        if interning.used[i]:
            memcpy(at, interning.texts[i], interning.used[i])
            at += interning.used[i]
    return ensure(out, at, 0)
