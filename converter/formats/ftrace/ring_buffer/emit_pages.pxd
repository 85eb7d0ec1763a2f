# Pages of the kernel's ring buffer under construction: one growing buffer a stream, in which the last page is open.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from converter.formats.ftrace.ring_buffer.emit_results cimport DONE, OUT_OF_MEMORY, TOO_LARGE
from converter.formats.ftrace.ring_buffer.scan cimport (
    LENGTH_FOLLOWS, MISSED_EVENTS, MISSED_STORED, RECORD, TIME_STAMP, PageCursor, next_record,
)
from converter.kernels.io.byte_order cimport load32, load64, store32, store64
from converter.kernels.io.output cimport Output, ensure

cdef enum:
    # The longest payload whose length is in the record's word.
    MAX_SHORT = 112
    MAX_PAGE = 1 << 26


cdef struct PageForm:
    int64_t size
    int64_t long_size
    # The bytes before the first record.
    int64_t header
    bint big_endian
    bint swap


cdef struct Stream:
    # Whole pages, then, in its room, the open one if `fill` >= 0, which counts from its header's end.
    Output out
    int64_t fill
    uint64_t ts
    # Flags of the open page's commit word, and what it keeps free for the count of missed events.
    uint32_t flags
    int64_t kept
    int64_t missed


# Return the position of the open page, or of the next one.
cdef inline uint8_t* open_place(Stream* stream) noexcept nogil:
    return stream.out.data + stream.out.used


# Finish the open page and start one at `ts`.
cdef inline int start_page(const PageForm* form, Stream* stream, uint64_t ts) noexcept nogil:
    close_page(form, stream)
    if not ensure(&stream.out, form.size, 16 * form.size):
        return OUT_OF_MEMORY
    store64(open_place(stream), ts, form.swap)
    stream.fill = 0
    stream.ts = ts
    stream.flags = 0
    stream.kept = 0
    return DONE


# The same after `missed` lost events, -1 if their number is unknown.
cdef inline int start_after_missed(const PageForm* form, Stream* stream, uint64_t ts, int64_t missed) noexcept nogil:
    cdef int status = start_page(form, stream, ts)
    if status != DONE:
        return status
    stream.missed = missed
    stream.flags = <uint32_t>MISSED_EVENTS
    if missed != -1:
        stream.flags |= <uint32_t>MISSED_STORED
        stream.kept = form.long_size
    return DONE


# Write the open page's length, count of missed events and zeros up to its end.
cdef inline void close_page(const PageForm* form, Stream* stream) noexcept nogil:
    cdef uint8_t* page = open_place(stream)
    cdef int64_t end = form.header + stream.fill
    if stream.fill < 0:
        return
    if form.long_size == 8:
        store64(page + 8, stream.flags | <uint64_t>stream.fill, form.swap)
    else:
        store32(page + 8, stream.flags | <uint32_t>stream.fill, form.swap)
    memset(page + end, 0, form.size - end)
    if stream.flags & <uint32_t>MISSED_STORED:
        if form.long_size == 8:
            store64(page + end, <uint64_t>stream.missed, form.swap)
        else:
            store32(page + end, <uint32_t>stream.missed, form.swap)
    stream.out.used += form.size
    stream.fill = -1


cdef inline void put_word(const PageForm* form, uint8_t* to, uint32_t type_len, uint32_t delta) noexcept nogil:
    store32(to, type_len << 27 | delta if form.big_endian else delta << 5 | type_len, form.swap)


# A time stamp before a record of `following` bytes in all; the page ends where a stamp cannot say it.
cdef inline void put_stamp(const PageForm* form, Stream* stream, uint64_t ts, int64_t following) noexcept nogil:
    cdef uint8_t* to
    if (ts ^ stream.ts) >> 59 or stream.fill + 8 + following > form.size - form.header - stream.kept:
        close_page(form, stream)
        return
    to = open_place(stream) + form.header + stream.fill
    put_word(form, to, TIME_STAMP, <uint32_t>(ts & 0x7ffffff))
    store32(to + 4, <uint32_t>(ts >> 27), form.swap)
    stream.fill += 8
    stream.ts = ts


# Room for a record with a payload of `size` bytes, a multiple of 4; its word is written. TOO_LARGE leaves in `needed`
# the bytes that a page would have to have.
cdef inline int reserve(
    const PageForm* form, Stream* stream, uint64_t ts, int64_t size, uint8_t** record, int64_t* needed
) noexcept nogil:
    cdef int64_t head = 4 if size <= MAX_SHORT else 8
    cdef uint64_t delta = 0
    cdef uint8_t* to
    cdef int status
    if stream.fill >= 0:
        delta = ts - stream.ts
        if delta >> 27:
            put_stamp(form, stream, ts, head + size)
            delta = 0
    if stream.fill < 0 or stream.fill + head + size > form.size - form.header - stream.kept:
        if head + size > form.size - form.header:
            needed[0] = head + size + form.header
            return TOO_LARGE
        status = start_page(form, stream, ts)
        if status != DONE:
            return status
        delta = 0
    to = open_place(stream) + form.header + stream.fill
    if head == 4:
        put_word(form, to, <uint32_t>(size >> 2), <uint32_t>delta)
    else:
        put_word(form, to, LENGTH_FOLLOWS, <uint32_t>delta)
        store32(to + 4, <uint32_t>(size + 4), form.swap)
    # The last word holds whatever the payload does not fill.
    memset(to + head + size - 4, 0, 4)
    record[0] = to + head
    stream.fill += head + size
    stream.ts = ts
    return DONE


# Append the records of a page as a run: their times count from the page's, which a time stamp before them gives.
cdef inline int append_page(
    const PageForm* form, Stream* stream, PageCursor* cursor, int64_t available
) noexcept nogil:
    cdef const uint8_t* records = cursor.page + cursor.at
    cdef uint64_t ts = cursor.ts
    cdef int64_t size
    cdef int status
    # Up to the last record that makes sense; the walk also gives its time.
    while next_record(cursor) == RECORD:
        pass
    size = cursor.at - form.header
    if stream.fill >= 0 and not cursor.flags:
        put_stamp(form, stream, ts, size)
    if stream.fill < 0 or cursor.flags:
        status = start_page(form, stream, ts)
        if status != DONE:
            return status
    if cursor.flags:
        stream.flags = <uint32_t>MISSED_EVENTS
        if cursor.flags & <uint32_t>MISSED_STORED and cursor.end + form.long_size <= available:
            stream.flags |= <uint32_t>MISSED_STORED
            stream.kept = form.long_size
            if form.long_size == 8:
                stream.missed = <int64_t>load64(cursor.page + cursor.end, form.swap)
            else:
                stream.missed = load32(cursor.page + cursor.end, form.swap)
    memcpy(open_place(stream) + form.header + stream.fill, records, size)
    stream.fill += size
    stream.ts = cursor.ts
    return DONE
