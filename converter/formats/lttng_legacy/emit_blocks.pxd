# Blocks under construction: one growing buffer a file, in which the last block is open.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memset

from converter.kernels.byte_order cimport store32, store64
from converter.formats.lttng_legacy.headers cimport HeaderForm

cdef enum:
    PAGE = 4096
    # What is wrong with an event.
    FINE = 0
    TOO_LARGE = 1
    OUT_OF_MEMORY = 2
    OUT_OF_RANGE = 3
    UNREPRESENTABLE = 4


cdef struct BlockForm:
    # A header, but for the members that differ from block to block, and where these are; lost_at is -1 where headers do
    # not count lost events.
    const uint8_t* header
    int64_t header_size
    int64_t begin_at
    int64_t end_at
    int64_t data_at
    int64_t size_at
    int64_t lost_at
    # Blocks are as large as they must be, of whole pages; otherwise all have `block_size`.
    bint own_sizes
    int64_t block_size
    bint swap


cdef struct Stream:
    # Blocks: `done` bytes of whole ones, then the open one if `fill` >= 0, which counts its header.
    uint8_t* data
    int64_t room
    int64_t done
    int64_t fill
    int64_t blocks
    HeaderForm headers
    # The time that the next event header counts from, and the time of the last event.
    uint64_t tsc
    uint64_t last
    uint32_t lost
    uint32_t corrupt


# Room for so many bytes of a stream in all.
cdef inline int grow(Stream* stream, int64_t needed) noexcept nogil:
    cdef uint8_t* grown
    cdef int64_t room = needed + needed // 2 + PAGE
    if needed <= stream.room:
        return FINE
    grown = <uint8_t*>realloc(stream.data, room)
    if grown is NULL:
        return OUT_OF_MEMORY
    stream.data = grown
    stream.room = room
    return FINE


# Finish the open block and start one at `ts`.
cdef inline int open_block(const BlockForm* form, Stream* stream, uint64_t ts) noexcept nogil:
    cdef uint8_t* block
    cdef int status = close_block(form, stream, False)
    if status == FINE:
        status = grow(stream, stream.done + form.header_size)
    if status != FINE:
        return status
    block = stream.data + stream.done
    memcpy(block, form.header, form.header_size)
    store64(block + form.begin_at, ts, form.swap)
    stream.fill = form.header_size
    stream.tsc = stream.last = ts
    return FINE


# Write the sizes, times and counts of the open block, and zeros up to its end. With `shrink` a stream's first block takes
# no more than the pages that it needs.
cdef inline int close_block(const BlockForm* form, Stream* stream, bint shrink) noexcept nogil:
    cdef uint8_t* block
    cdef int64_t size = form.block_size
    if stream.fill < 0:
        return FINE
    if form.own_sizes or (shrink and stream.blocks == 0):
        size = (stream.fill + PAGE - 1) // PAGE * PAGE
    if not form.own_sizes and size > form.block_size:
        size = form.block_size
    if grow(stream, stream.done + size) != FINE:
        return OUT_OF_MEMORY
    block = stream.data + stream.done
    store64(block + form.end_at, stream.last, form.swap)
    store32(block + form.size_at, <uint32_t>size, form.swap)
    store32(block + form.data_at, <uint32_t>(stream.fill if form.own_sizes else size - stream.fill), form.swap)
    if form.lost_at >= 0:
        store32(block + form.lost_at, stream.lost, form.swap)
        store32(block + form.lost_at + 4, stream.corrupt, form.swap)
    memset(block + stream.fill, 0, size - stream.fill)
    stream.done += size
    stream.blocks += 1
    stream.fill = -1
    return FINE
