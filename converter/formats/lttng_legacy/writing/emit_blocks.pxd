# Blocks under construction: one output a file, in which the last block is open.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from converter.formats.lttng_legacy.headers cimport HeaderForm
from converter.kernels.io.byte_order cimport store32, store64
from converter.kernels.io.output cimport Output, ensure, put_bytes, put_zeros

cdef enum:
    PAGE = 4096
    # Defects of an event.
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
    # Whole blocks, and the open one from `start` on; -1: none is open.
    Output out
    int64_t start
    int64_t blocks
    HeaderForm headers
    # The time that the next event header counts from, and the time of the last event.
    uint64_t tsc
    uint64_t last
    uint32_t lost
    uint32_t corrupt


# Finish the open block and start one at `ts`.
cdef inline int open_block(const BlockForm* form, Stream* stream, uint64_t ts) noexcept nogil:
    cdef int status = close_block(form, stream, False)
    if status != FINE:
        return status
    if not ensure(&stream.out, form.header_size, PAGE):
        return OUT_OF_MEMORY
    stream.start = stream.out.used
    put_bytes(&stream.out, form.header, form.header_size)
    store64(stream.out.data + stream.start + form.begin_at, ts, form.swap)
    stream.tsc = stream.last = ts
    return FINE


# Write the sizes, times and counts of the open block, and zeros up to its end. With `shrink` a stream's first block takes
# no more than the pages that it needs.
cdef inline int close_block(const BlockForm* form, Stream* stream, bint shrink) noexcept nogil:
    cdef uint8_t* block
    cdef int64_t fill = stream.out.used - stream.start
    cdef int64_t size = form.block_size
    if stream.start < 0:
        return FINE
    if form.own_sizes or (shrink and stream.blocks == 0):
        size = (fill + PAGE - 1) // PAGE * PAGE
    if not form.own_sizes and size > form.block_size:
        size = form.block_size
    if not ensure(&stream.out, size - fill, PAGE):
        return OUT_OF_MEMORY
    block = stream.out.data + stream.start
    store64(block + form.end_at, stream.last, form.swap)
    store32(block + form.size_at, <uint32_t>size, form.swap)
    store32(block + form.data_at, <uint32_t>(fill if form.own_sizes else size - fill), form.swap)
    if form.lost_at >= 0:
        store32(block + form.lost_at, stream.lost, form.swap)
        store32(block + form.lost_at + 4, stream.corrupt, form.swap)
    put_zeros(&stream.out, size - fill)
    stream.blocks += 1
    stream.start = -1
    return FINE
