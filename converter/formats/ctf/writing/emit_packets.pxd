# Data streams under construction: packets laid out as LTTng does, one after the other (CTF 1.8.3, 5).
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memset

from converter.formats.ctf.writing.emit cimport DONE, OUT_OF_MEMORY
from converter.kernels.io.byte_order cimport HOST_IS_BIG, store16, store32, store64
from converter.kernels.io.output cimport Output, ensure, put8, put64, put_bytes, put_zeros

cdef enum:
    MAGIC = 0xC1FC1FC1
    HEADER = 32
    CONTEXT = 48
    # Of the context: its two times.
    TIMES = 16
    # LTTng's packets are whole pages.
    PAGE = 4096
    # The id of the large event header that says that a larger one follows.
    EXTENDED = 0xFFFF
    # The spare room of an output whenever it grows.
    MARGIN = 1 << 16


cdef struct Packet:
    int64_t size
    int64_t content
    uint64_t begin
    uint64_t end
    uint64_t discarded
    uint64_t number


cdef struct Stream:
    Output out
    # The start of the open packet; -1: none is open.
    int64_t start
    uint8_t[16] uuid
    uint32_t class_id
    uint64_t instance
    # -1 where the class of the stream has none.
    int32_t cpu
    bint tracked
    # Events have a time.
    bint timed
    uint64_t begin
    uint64_t last
    uint64_t discarded
    uint64_t number
    Packet* packets
    int64_t packet_count
    int64_t packet_room


cdef struct ThreadContext:
    int64_t pid
    int64_t tid
    const uint8_t* name
    int64_t name_size


# Begin a packet at a time; there is no open one.
cdef inline int open_packet(Stream* to, uint64_t ts) noexcept nogil:
    cdef uint8_t* at
    cdef int64_t size = HEADER + CONTEXT - (0 if to.timed else TIMES) + (4 if to.cpu >= 0 else 0)
    if not ensure(&to.out, size, MARGIN):
        return OUT_OF_MEMORY
    at = to.out.data + to.out.used
    memset(at, 0, size)
    store32(at, <uint32_t>MAGIC, HOST_IS_BIG)
    memcpy(at + 4, to.uuid, 16)
    store32(at + 20, to.class_id, HOST_IS_BIG)
    store64(at + 24, to.instance, HOST_IS_BIG)
    to.start = to.out.used
    to.out.used += size
    to.begin = to.last = ts
    return DONE


# End the open packet, if there is one, with the context that is known now.
cdef inline int close_packet(Stream* to) noexcept nogil:
    cdef uint8_t* at
    cdef int64_t content, size
    cdef Packet* grown
    if to.start < 0:
        return DONE
    content = to.out.used - to.start
    size = (content + PAGE - 1) // PAGE * PAGE
    if not ensure(&to.out, size - content, MARGIN):
        return OUT_OF_MEMORY
    if to.packet_count == to.packet_room:
        grown = <Packet*>realloc(to.packets, (2 * to.packet_room + 8) * sizeof(Packet))
        if grown is NULL:
            return OUT_OF_MEMORY
        to.packets = grown
        to.packet_room = 2 * to.packet_room + 8
    put_zeros(&to.out, size - content)
    at = to.out.data + to.start + HEADER
    if to.timed:
        store64(at, to.begin, HOST_IS_BIG)
        store64(at + 8, to.last, HOST_IS_BIG)
        at += TIMES
    store64(at, 8 * <uint64_t>content, HOST_IS_BIG)
    store64(at + 8, 8 * <uint64_t>size, HOST_IS_BIG)
    store64(at + 16, to.number, HOST_IS_BIG)
    store64(at + 24, to.discarded, HOST_IS_BIG)
    if to.cpu >= 0:
        store32(at + 32, <uint32_t>to.cpu, HOST_IS_BIG)
    to.packets[to.packet_count] = Packet(size, content, to.begin, to.last, to.discarded, to.number)
    to.packet_count += 1
    to.number += 1
    to.start = -1
    return DONE


# The header of an event record, LTTng's large one where it has a time.
cdef inline int put_header(Stream* to, uint32_t id, uint64_t ts) noexcept nogil:
    cdef uint8_t* at
    if not ensure(&to.out, 14, MARGIN):
        return OUT_OF_MEMORY
    at = to.out.data + to.out.used
    # The short time is that since the event before, modulo 2^32.
    if not to.timed:
        store32(at, id, HOST_IS_BIG)
        at += 4
    elif id < EXTENDED and ts - to.last < <uint64_t>1 << 32:
        store16(at, <uint16_t>id, HOST_IS_BIG)
        store32(at + 2, <uint32_t>ts, HOST_IS_BIG)
        at += 6
    else:
        store16(at, EXTENDED, HOST_IS_BIG)
        store32(at + 2, id, HOST_IS_BIG)
        store64(at + 6, ts, HOST_IS_BIG)
        at += 14
    to.out.used = at - to.out.data
    return DONE


# Parts of a thread: its process (2), its ID (1), its name (4).
cdef inline int put_thread(Output* to, const ThreadContext* thread, int32_t parts) noexcept nogil:
    if not ensure(to, 17 + thread.name_size, MARGIN):
        return OUT_OF_MEMORY
    if parts & 2:
        put64(to, <uint64_t>thread.pid, HOST_IS_BIG)
    if parts & 1:
        put64(to, <uint64_t>thread.tid, HOST_IS_BIG)
    if parts & 4:
        put_bytes(to, thread.name, thread.name_size)
        put8(to, 0)
    return DONE
