# Event headers of all versions, in both directions: how much of the time they say, ids and sizes, and paddings.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from converter.formats.lttng_legacy.payload cimport padding
from converter.kernels.io.byte_order cimport load16, load32, load64, store16, store32, store64

cdef enum:
    # Forms of event headers.
    HEADER_32 = 0  # version 1.0 with heartbeats: 32 bits of time, id, size
    HEADER_64 = 1  # version 1.0 without: 64 bits of time, id, size
    HEADER_COMPACT = 2  # version 1.0, compact channels: one word
    HEADER_2 = 3  # version 2: one word, extended by ids 29 to 31
    ID_SIZE_TSC = 29
    ID_SIZE = 30
    ID_ONLY = 31
    # A size that a header's 16 bits do not hold.
    LONG_SIZE = 0xffff
    # The event whose payload has all bits of the time (version 1.0).
    HEARTBEAT_64_ID = 3
    # The most bytes of an event header, paddings included.
    MOST_HEADER = 64
    # The time of an event of version 2.
    TIME_BITS = 27


cdef struct HeaderForm:
    int form
    bint swap
    # Ids by the document of version 1.0 are of two bytes, in this order whatever that of the trace is.
    bint ids_swap
    int64_t alignment
    int64_t arch_size
    # Fields of compact headers: bits of the time, the position of the data, and the lowest bits that the time lacks.
    uint32_t tscbits
    uint32_t shift
    uint32_t truncate


cdef struct EventHeader:
    uint64_t tsc
    uint32_t id
    # Nothing but zeros: the content of a block that the tracer never closed after its last event.
    bint blank
    # All bits of the time, not only the lowest.
    bint whole
    # The size of the payload, -1 where the header does not say it.
    int64_t size


# The time whose low `bits` bits are these, from the time `before` on; at most one wrap lies between.
cdef inline uint64_t later(uint64_t before, uint64_t low, uint32_t bits) noexcept nogil:
    cdef uint64_t mask = (<uint64_t>1 << bits) - 1
    cdef uint64_t tsc = (before & ~mask) | low
    if low < (before & mask):
        tsc += mask + 1
    return tsc


# Return the period of the time's bits, after which they start again from 0; 0 where they are all.
cdef inline uint64_t period(const HeaderForm* form) noexcept nogil:
    if form.form == HEADER_64:
        return 0
    if form.form == HEADER_32:
        return <uint64_t>1 << 32
    if form.form == HEADER_2:
        return 1 << TIME_BITS
    return <uint64_t>1 << (form.tscbits + form.truncate)


# Read the header at `at` of the window, `inside` bytes into its block, after an event at the time `before`. Returns the
# position after it (in version 1.0 that of the payload), or -1 where it does not end before `limit`.
cdef inline int64_t read_header(
    const HeaderForm* form,
    const uint8_t* window,
    int64_t at,
    int64_t limit,
    int64_t inside,
    uint64_t before,
    EventHeader* header,
) noexcept nogil:
    cdef int64_t begin = at
    cdef uint32_t word, kind
    header.size = -1
    header.whole = form.form == HEADER_64
    if form.form == HEADER_2:
        at += padding(inside, 4, form.alignment)
        if limit - at < 4:
            return -1
        word = load32(window + at, form.swap)
        at += 4
        kind = word >> TIME_BITS
        header.blank = word == 0
        header.id = kind
        header.tsc = later(before, word & ((1 << TIME_BITS) - 1), TIME_BITS)
        if kind < ID_SIZE_TSC:
            return at
        if limit - at < 2:
            return -1
        header.id = load16(window + at, form.swap)
        at += 2
        if kind == ID_ONLY:
            return at
        if limit - at < 2:
            return -1
        header.size = load16(window + at, form.swap)
        at += 2
        if header.size == LONG_SIZE:
            if limit - at < 4:
                return -1
            header.size = load32(window + at, form.swap)
            at += 4
        if kind == ID_SIZE_TSC:
            at += padding(inside + at - begin, 8, form.alignment)
            if limit - at < 8:
                return -1
            header.tsc = load64(window + at, form.swap)
            header.whole = True
            at += 8
        return at
    if form.form == HEADER_COMPACT:
        at += padding(inside, 4, form.alignment)
        if limit - at < 4:
            return -1
        word = load32(window + at, form.swap)
        header.blank = word == 0
        header.id = <uint32_t>(<uint64_t>word >> form.tscbits & ((<uint64_t>1 << (form.shift - form.tscbits)) - 1))
        header.tsc = later(
            before >> form.truncate, word & ((<uint64_t>1 << form.tscbits) - 1), form.tscbits
        ) << form.truncate
        return at + 4
    at += padding(inside, form.arch_size, form.alignment)
    if limit - at < (8 if form.form == HEADER_32 else 12):
        return -1
    if form.form == HEADER_32:
        header.tsc = later(before, load32(window + at, form.swap), 32)
        at += 4
    else:
        header.tsc = load64(window + at, form.swap)
        at += 8
    header.id = load16(window + at, form.ids_swap)
    header.size = load16(window + at + 2, form.swap)
    header.blank = header.id == 0 and header.size == 0
    if header.size == LONG_SIZE:
        header.size = -1
    at += 4
    return at + padding(inside + at - begin, form.arch_size, form.alignment)


# Return True if headers of this layout can express the time `ts` after an event at the time `before`. Those of version
# 2 always can: where this is false they have all bits.
cdef inline bint reaches(const HeaderForm* form, uint64_t before, uint64_t ts) noexcept nogil:
    if form.form == HEADER_64:
        return True
    if form.form == HEADER_32:
        return ts >= before and ts - before < <uint64_t>1 << 32
    if form.form == HEADER_2:
        return ts >= before and ts - before < 1 << TIME_BITS
    before >>= form.truncate
    ts >>= form.truncate
    return ts >= before and ts - before < <uint64_t>1 << form.tscbits


# Write a header at `at` of a block that has room for MOST_HEADER bytes there, for a payload of `size` bytes whose largest
# member has `largest`. With `sized` it says the size although readers know it, `inside` are the data in a compact one.
# Returns the place of the payload, or -1 where the header cannot hold all this.
cdef inline int64_t write_header(
    const HeaderForm* form,
    uint8_t* block,
    int64_t at,
    const EventHeader* header,
    uint64_t before,
    bint sized,
    int64_t largest,
    uint32_t inside,
) noexcept nogil:
    cdef uint32_t low = <uint32_t>(header.tsc & ((1 << TIME_BITS) - 1))
    cdef bint short = not sized and reaches(form, before, header.tsc)
    # Paddings are zeros.
    memset(block + at, 0, MOST_HEADER)
    if form.form == HEADER_2:
        at += padding(at, 4, form.alignment)
        if short and header.id < ID_SIZE_TSC:
            store32(block + at, header.id << TIME_BITS | low, form.swap)
            at += 4
        elif short:
            store32(block + at, <uint32_t>ID_ONLY << TIME_BITS | low, form.swap)
            store16(block + at + 4, <uint16_t>header.id, form.swap)
            at += 6
        else:
            store32(block + at, <uint32_t>ID_SIZE_TSC << TIME_BITS | low, form.swap)
            store16(block + at + 4, <uint16_t>header.id, form.swap)
            store16(block + at + 6, <uint16_t>min(header.size, LONG_SIZE), form.swap)
            at += 8
            if header.size >= LONG_SIZE:
                store32(block + at, <uint32_t>header.size, form.swap)
                at += 4
            at += padding(at, 8, form.alignment)
            store64(block + at, header.tsc, form.swap)
            at += 8
        return at + padding(at, largest, largest)
    if form.form == HEADER_COMPACT:
        if header.id >> (form.shift - form.tscbits) or <uint64_t>inside >> (32 - form.shift):
            return -1
        at += padding(at, 4, form.alignment)
        store32(
            block + at,
            <uint32_t>((header.tsc >> form.truncate) & ((<uint64_t>1 << form.tscbits) - 1))
            | <uint32_t>(<uint64_t>header.id << form.tscbits) | <uint32_t>(<uint64_t>inside << form.shift),
            form.swap,
        )
        return at + 4
    at += padding(at, form.arch_size, form.alignment)
    if form.form == HEADER_32:
        store32(block + at, <uint32_t>header.tsc, form.swap)
        at += 4
    else:
        store64(block + at, header.tsc, form.swap)
        at += 8
    store16(block + at, <uint16_t>header.id, form.ids_swap)
    store16(block + at + 2, <uint16_t>min(header.size, LONG_SIZE), form.swap)
    at += 4
    return at + padding(at, form.arch_size, form.alignment)
