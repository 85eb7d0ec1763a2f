# cython: language_level=3
"""The events of a raw AIX trace stream, each with all entries that belong to it.

Those are continuations of its data, and the documented hook that repeats it; only this converter's own events have any.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from converter.formats.aix.entries.own_hooks cimport (
    CONTEXT_SIZE, FOLLOWED, LAST_HOOK, MAX_REST, METADATA_HOOK, REST_PLACE,
)
from converter.formats.aix.entries.words cimport ENTRY_BAD, ENTRY_OK, Entry, big32, big64, read_entry

cdef enum:
    # The hook of utilities, and its subhook of how to convert ticks.
    UTIL_HOOK = 0x00A0
    CONVERSION = 0x025C

    # Flags of 64-bit hook words that nothing sets.
    UNUSED_FLAGS = 0x1FFF

    RECORD_NATIVE = 0
    RECORD_OWN = 1
    RECORD_METADATA = 2


cdef struct Record:
    # The first entry.
    Entry entry
    int kind
    # For all entries.
    int64_t size
    # From here on for this converter's own entries: the data word and the data after it; for an event, the data of its
    # fields.
    uint64_t word
    int64_t payload
    int64_t payload_size
    uint32_t own_class
    uint32_t cpu
    uint32_t thread
    uint32_t track
    uint32_t rest


cdef inline int64_t word_size(const Entry* entry) noexcept nogil:
    return 8 if entry.wide else 4


# One of ENTRY_*; what is read was checked to be there. `own` says that this converter wrote the stream.
cdef inline int read_record(int bits, bint own, const uint8_t* data, int64_t left, Record* record) noexcept nogil:
    cdef Entry* entry = &record.entry
    cdef Entry more
    cdef int64_t missing
    cdef const uint8_t* at
    cdef int status = read_entry(bits, data, left, entry)
    record.size = entry.size
    record.kind = RECORD_NATIVE
    if status != ENTRY_OK or not own or not entry.generic or entry.hook & 15:
        return status
    if entry.hook < METADATA_HOOK or entry.hook > LAST_HOOK:
        if entry.hook == UTIL_HOOK and big32(data + entry.data + (4 if entry.wide else 0)) == CONVERSION:
            record.kind = RECORD_METADATA
            record.word = CONVERSION
            record.payload = entry.data + word_size(entry)
            record.payload_size = entry.length
        return ENTRY_OK
    record.word = big64(data + entry.data) if entry.wide else big32(data + entry.data)
    record.payload = entry.data + word_size(entry)
    record.payload_size = entry.length
    if entry.hook == METADATA_HOOK:
        record.kind = RECORD_METADATA
        return ENTRY_OK
    if entry.length < CONTEXT_SIZE:
        return ENTRY_OK
    at = data + record.payload
    record.kind = RECORD_OWN
    record.own_class = big32(at)
    record.cpu = big32(at + 4)
    record.thread = big32(at + 8)
    record.track = big32(at + 12)
    record.rest = big32(at + REST_PLACE)
    record.payload += CONTEXT_SIZE
    record.payload_size -= CONTEXT_SIZE
    if record.rest > MAX_REST:
        return ENTRY_BAD
    missing = record.rest
    while missing:
        status = read_entry(bits, data + record.size, left - record.size, &more)
        if status == ENTRY_OK and (
            more.hook != METADATA_HOOK or not more.generic or not 0 < more.length <= missing
        ):
            return ENTRY_BAD
        record.size += more.size
        if status != ENTRY_OK:
            return status
        missing -= more.length
    if record.own_class & FOLLOWED:
        record.own_class &= ~<uint32_t>FOLLOWED
        if bits == 64 and left - record.size >= 2 and big32(data + record.size - 2) & UNUSED_FLAGS:
            return ENTRY_BAD
        status = read_entry(bits, data + record.size, left - record.size, &more)
        record.size += more.size
        return status
    return ENTRY_OK


# Join the parts of an event's data at `to`. The record was read from `data`.
cdef inline void join_parts(int bits, const uint8_t* data, const Record* record, uint8_t* to) noexcept nogil:
    cdef int64_t at = record.entry.size
    cdef int64_t left = record.rest
    cdef Entry more
    memcpy(to, data + record.payload, record.payload_size)
    to += record.payload_size
    while left > 0:
        # All of these were read by `read_record`.
        read_entry(bits, data + at, record.size - at, &more)
        memcpy(to, data + at + more.data + word_size(&more), more.length)
        to += more.length
        left -= more.length
        at += more.size
