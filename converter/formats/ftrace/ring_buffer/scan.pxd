# The walk over one page of the kernel's ring buffer, inline so that each loop over records compiles around it.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from converter.kernels.io.byte_order cimport load32, load64


cdef enum:
    # Results of `next_record`.
    PAGE_END = 0
    RECORD = 1
    DAMAGED = 2

cdef enum:
    # Flags beside the length in a page's commit word.
    MISSED_EVENTS = 1 << 31
    MISSED_STORED = 1 << 30
    COMMIT_MASK = (1 << 27) - 1
    # The most zeros after the last record of a page.
    MOST_ZEROS = 512

cdef enum:
    # Values of a record's type_len that are not a length in words.
    LENGTH_FOLLOWS = 0
    PADDING = 29
    TIME_EXTEND = 30
    TIME_STAMP = 31


# The number of damaged ranges, and the first of them, -1 for none.
cdef struct PageDamage:
    int64_t count
    int64_t first


cdef struct PageCursor:
    const uint8_t* page
    # The next record's place in the page, and the end of what is committed.
    int64_t at
    int64_t end
    uint64_t ts
    # The payload of the record that `next_record` found, within the page.
    int64_t start
    int64_t size
    # The commit word's flags, and whether it claims more than there is.
    uint32_t flags
    bint clipped
    # The length that the commit word states, with that of the header.
    int64_t stated
    bint swap
    bint big_endian
    # The result of `next_of_any`.
    int found


# A place where pages make no sense.
cdef inline void note_damage(PageDamage* damage, int64_t place) noexcept nogil:
    if damage.count == 0:
        damage.first = place
    damage.count += 1


# Start on a page, `available` bytes of which are there; False when its header is not whole.
cdef inline bint open_page(
    PageCursor* cursor, const uint8_t* page, int64_t available, int64_t long_size
) noexcept nogil:
    cdef int64_t header = 8 + long_size
    cdef uint32_t commit
    if available < header:
        return False
    cursor.page = page
    cursor.ts = load64(page, cursor.swap)
    # A 64-bit kernel sign-extends the flags: only the low 32 bits count.
    if long_size == 8:
        commit = <uint32_t>load64(page + 8, cursor.swap)
    else:
        commit = load32(page + 8, cursor.swap)
    cursor.flags = commit & (<uint32_t>MISSED_EVENTS | <uint32_t>MISSED_STORED)
    cursor.at = cursor.start = header
    cursor.size = 0
    cursor.found = PAGE_END
    cursor.end = header + (commit & <uint32_t>COMMIT_MASK)
    cursor.stated = cursor.end
    cursor.clipped = cursor.end > available
    if cursor.clipped:
        cursor.end = available
    return True


# Return True if the bytes at the start of a page are no header: longer than a page, or zeros.
cdef inline bint no_header(const PageCursor* cursor, int64_t page_size) noexcept nogil:
    return cursor.stated > page_size or (cursor.ts == 0 and cursor.stated == cursor.at and not cursor.flags)


# Go to the next record with data. After DAMAGED, `cursor.at` is where the page stops making sense.
#
# Almost all records are of the first kind: small enough to be compiled into each loop. Others are left to a function
# that takes the cursor by value and returns it: as its address is never taken, loops have it in the processor's
# registers.
cdef inline int next_record(PageCursor* cursor) noexcept nogil:
    cdef int64_t left = cursor.end - cursor.at - 4
    cdef uint32_t word
    cdef int64_t size
    if left >= 0:
        word = load32(cursor.page + cursor.at, cursor.swap)
        size = 4 * <int64_t>(word >> 27 if cursor.big_endian else word & 31)
        if 0 < size < 4 * PADDING and size <= left:
            cursor.ts += word & 0x7ffffff if cursor.big_endian else word >> 5
            cursor.start = cursor.at + 4
            cursor.size = size
            cursor.at += 4 + size
            return RECORD
    cursor[0] = next_of_any(cursor[0])
    return cursor.found


# The same for any record that follows.
cdef inline PageCursor next_of_any(PageCursor cursor) noexcept nogil:
    cdef uint32_t word, kind, extra
    cdef uint64_t delta, absolute
    cdef int64_t size
    cursor.found = DAMAGED
    while True:
        if cursor.end - cursor.at < 4:
            cursor.found = PAGE_END
            return cursor
        word = load32(cursor.page + cursor.at, cursor.swap)
        if cursor.big_endian:
            kind = word >> 27
            delta = word & 0x7ffffff
        else:
            kind = word & 31
            delta = word >> 5
        if 0 < kind < PADDING:
            size = <int64_t>kind * 4
            if size > cursor.end - cursor.at - 4:
                return cursor
            cursor.ts += delta
            cursor.start = cursor.at + 4
            cursor.size = size
            cursor.at += 4 + size
            cursor.found = RECORD
            return cursor
        if kind == PADDING and delta == 0:
            # The rest of the page is unused.
            cursor.found = PAGE_END
            return cursor
        if cursor.end - cursor.at < 8:
            return cursor
        extra = load32(cursor.page + cursor.at + 4, cursor.swap)
        if kind == TIME_EXTEND:
            cursor.ts += (<uint64_t>extra << 27) + delta
            cursor.at += 8
        elif kind == TIME_STAMP:
            # 59 bits are stored; the five above them stay those of the time so far.
            absolute = (<uint64_t>extra << 27) + delta
            cursor.ts = (cursor.ts & (<uint64_t>0xf8 << 56)) | absolute
            cursor.at += 8
        elif kind == PADDING:
            # A record that was discarded: its time counts, its length is that of the word and of what follows.
            if extra < 4 or extra > cursor.end - cursor.at - 4:
                return cursor
            cursor.ts += delta
            cursor.at += 4 + <int64_t>extra
        else:
            # Some 4.19 kernels commit the zeros after the last record too.
            if extra == 0 and delta == 0:
                cursor.found = PAGE_END
                return cursor
            if extra < 4 or extra > cursor.end - cursor.at - 4:
                return cursor
            cursor.ts += delta
            cursor.start = cursor.at + 8
            cursor.size = <int64_t>extra - 4
            cursor.at += 4 + ((<int64_t>extra + 3) & ~<int64_t>3)
            if cursor.at > cursor.end:
                cursor.at = cursor.end
            cursor.found = RECORD
            return cursor


# Return True if zeros were taken for the end of a page that holds more: a few follow the last record of some kernels.
cdef inline bint cut_by_zeros(PageCursor cursor) noexcept nogil:
    cdef int64_t at = cursor.at
    if cursor.end - at < 4 or load32(cursor.page + at, cursor.swap) != 0:
        return False
    while at < cursor.end and cursor.page[at] == 0:
        at += 1
    return at < cursor.end or at - cursor.at > MOST_ZEROS


cdef inline int check_geometry(int64_t total, int64_t page_size, int64_t long_size, uint32_t shift) except -1:
    if page_size < 16 or page_size > 1 << 30:
        raise ValueError(f"pages of {page_size} bytes")
    if long_size != 4 and long_size != 8:
        raise ValueError(f"longs of {long_size} bytes")
    if total > 0xffffffff:
        raise ValueError("more than 4 GiB of pages at once")
    if shift > 32:
        raise ValueError(f"a shift of {shift} bits")
    return 0
