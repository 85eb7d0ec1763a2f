# Bundles of kernel events (ftrace_event_bundle.proto): the events of one CPU, one after the other.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove

from converter.formats.perfetto.writing.kernels.emit cimport BAD_COLUMN, NO_MEMORY
from converter.formats.perfetto.writing.kernels.emit_compact cimport BUNDLE_EVENTS, KernelEvents, put_compact
from converter.formats.perfetto.writing.kernels.emit_instructions cimport Emission, failed, put_tag, run
from converter.formats.perfetto.writing.kernels.emit_output cimport (
    MARGIN, begin_at, close_at, end_at, ensure_at, put, put_size, put_tagged, put_time, varint_size,
)
from converter.formats.perfetto.writing.kernels.emit_programs cimport Program, fFTRACE, fLOST, fSWITCH
from converter.formats.perfetto.protobuf.fields cimport (
    BUNDLE_CPU, BUNDLE_EVENT, BUNDLE_EVENT_NOTES, BUNDLE_LOST_EVENTS,
    BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP, FLAG_NEEDS_INCREMENTAL_STATE, FTRACE_EVENT_PID,
    FTRACE_EVENT_TIMESTAMP, PACKET_FTRACE_EVENTS, PACKET_SEQUENCE_FLAGS,
    PACKET_TRUSTED_PACKET_SEQUENCE_ID, TRACE_PACKET,
)
from converter.kernels.protobuf.wire cimport WIRE_BYTES
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    # A bundle ends at this size, if it does not have BUNDLE_EVENTS before.
    BUNDLE_BYTES = 1 << 16
    # Bytes kept free for a bundle's size: it is moved where that takes fewer or more.
    BUNDLE_SIZE = 3


cdef inline uint8_t* open_bundle(Emission* to, int32_t cpu) noexcept nogil:
    cdef uint8_t* at = begin_at(&to.messages.out, 0)
    if at is NULL:
        return failed(to, NO_MEMORY)
    at += 2 + 2 * BUNDLE_SIZE
    at[0] = BUNDLE_CPU << 3
    return put(at + 1, <uint64_t>cpu)


# Sizes of bundle and packet, and the packet's sequence; false without memory.
cdef inline bint close_bundle(Emission* to, uint64_t sequence, uint8_t* at) noexcept nogil:
    cdef uint8_t* begin
    cdef uint8_t* content
    cdef int64_t size, whole
    cdef int inner, outer
    cdef uint8_t tail[16]
    cdef uint8_t* end = tail
    at = ensure_at(&to.messages.out, at, MARGIN)
    if at is NULL:
        to.status = NO_MEMORY
        return False
    begin = to.messages.out.data + to.messages.out.used
    content = begin + 2 + 2 * BUNDLE_SIZE
    size = at - content
    end[0] = PACKET_TRUSTED_PACKET_SEQUENCE_ID << 3
    end = put(end + 1, sequence)
    end[0] = PACKET_SEQUENCE_FLAGS << 3
    end[1] = FLAG_NEEDS_INCREMENTAL_STATE
    end += 2
    inner = varint_size(<uint64_t>size)
    whole = 1 + inner + size + (end - tail)
    outer = varint_size(<uint64_t>whole)
    if inner + outer != 2 * BUNDLE_SIZE:
        memmove(begin + 2 + inner + outer, content, size)
    begin[0] = TRACE_PACKET << 3 | WIRE_BYTES
    put_size(begin + 1, whole, outer)
    begin[1 + outer] = PACKET_FTRACE_EVENTS << 3 | WIRE_BYTES
    put_size(begin + 2 + outer, size, inner)
    at = begin + 2 + inner + outer + size
    memcpy(at, tail, end - tail)
    end_at(&to.messages.out, at + (end - tail))
    return True


# What importers would take for an event of its own in an FtraceEvent, or reject: flags, and that there is no thread.
cdef inline void note_event(Emission* to, KernelEvents* events) noexcept nogil:
    cdef uint64_t note = to.flags << 1 | <uint64_t>(not to.placed)
    cdef uint8_t* at
    if note:
        at = put(put(events.notes + events.notes_size, events.unnoted), note)
        events.notes_size = at - events.notes
        events.unnoted = 0
    else:
        events.unnoted += 1


# The field of the bundle with its notes (`layout.EVENT_NOTES`), if there are any; NULL without memory.
cdef inline uint8_t* put_notes(Emission* to, KernelEvents* events, uint8_t* at) noexcept nogil:
    if events.notes_size == 0:
        return at
    at = ensure_at(&to.messages.out, at, events.notes_size)
    if at is NULL:
        return failed(to, NO_MEMORY)
    at = put(put(at, BUNDLE_EVENT_NOTES << 3 | WIRE_BYTES), <uint64_t>events.notes_size)
    memcpy(at, events.notes, events.notes_size)
    return at + events.notes_size


# An FtraceEvent: timestamp, pid and then the event, which is the order that Perfetto reads fast.
cdef inline uint8_t* kernel_event(
    Emission* to, StringTable strings, KernelEvents* events, int64_t i, uint8_t* at
) noexcept nogil:
    cdef const Program* one = &events.programs[events.batch.class_id[i]]
    cdef int64_t thread = events.batch.thread[i]
    cdef int64_t row = events.batch.row[i]
    # Where the sizes of the event and of its message are, as offsets from the start of the output.
    cdef int64_t size, inner
    if thread >= events.threads or row < 0 or row >= one.rows:
        return failed(to, BAD_COLUMN)
    at = ensure_at(&to.messages.out, at, one.room)
    if at is NULL:
        return failed(to, NO_MEMORY)
    size = at + 1 - to.messages.out.data
    at[0] = BUNDLE_EVENT << 3 | WIRE_BYTES
    at[2] = FTRACE_EVENT_TIMESTAMP << 3
    at = put_time(&to.upper, at + 3, <uint64_t>events.batch.ts[i])
    to.placed = thread >= 0
    to.flags = 0
    at = put_tagged(at, FTRACE_EVENT_PID << 3, 1, <uint64_t>(<uint32_t>events.tids[thread]) if thread >= 0 else 0)
    if one.enclosed:
        at = put_tag(at, one.step)
        inner = at - to.messages.out.data
        at = run(to, strings, one, 1, one.steps - 1, row, at + 1)
        if at is NULL:
            return NULL
        at = close_at(&to.messages.out, inner, at)
    else:
        at = run(to, strings, one, 0, one.steps, row, at)
        if at is NULL:
            return NULL
    note_event(to, events)
    return close_at(&to.messages.out, size, at)


# The events lost before a bundle, which has fields of its own for them.
cdef inline uint8_t* lost_events(
    Emission* to, StringTable strings, KernelEvents* events, int64_t i, uint8_t* at
) noexcept nogil:
    cdef Program* one = &events.programs[events.batch.class_id[i]]
    at = ensure_at(&to.messages.out, at, one.room)
    if at is NULL:
        return failed(to, NO_MEMORY)
    at[0] = BUNDLE_LOST_EVENTS << 3
    at[1] = 1
    at += 2
    if events.batch.ts[i]:
        at[0] = BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP << 3
        at = put(at + 1, <uint64_t>events.batch.ts[i])
    if events.batch.row[i] < 0 or events.batch.row[i] >= one.rows:
        return failed(to, BAD_COLUMN)
    return run(to, strings, one, 0, one.steps, events.batch.row[i], at)


# A bundle from number `place` in the order of the events on, which becomes that of the next, or of the one that failed.
cdef inline bint put_bundle(
    Emission* to, StringTable strings, KernelEvents* events, uint64_t sequence, int64_t* place
) noexcept nogil:
    cdef int64_t at = place[0]
    cdef int64_t i = events.order[at]
    cdef int64_t most = at + BUNDLE_EVENTS
    cdef int32_t cpu = events.batch.cpu[i]
    cdef bint lost = events.programs[events.batch.class_id[i]].frame == fLOST
    cdef int frame
    cdef uint8_t* out = open_bundle(to, cpu)
    to.messages.depth = 0
    events.unnoted = events.notes_size = 0
    if out is NULL:
        return False
    if lost:
        at += 1
        if events.batch.ts[i] == 0:
            # Without the time at which the bundle before ended, it would be taken for that of the next event.
            most = at
    events.first = at
    events.compact = 0
    while (
        at < events.count and at < most and events.batch.cpu[events.order[at]] == cpu
        and out - (to.messages.out.data + to.messages.out.used) < BUNDLE_BYTES
    ):
        frame = events.programs[events.batch.class_id[events.order[at]]].frame
        if frame == fFTRACE:
            out = kernel_event(to, strings, events, events.order[at], out)
            if out is NULL:
                place[0] = at
                return False
        elif frame >= fSWITCH:
            events.compact += 1
        else:
            break
        at += 1
    if events.compact:
        out = put_compact(to, strings, events, at, out)
        if out is NULL:
            place[0] = events.first
            return False
    if lost:
        out = lost_events(to, strings, events, i, out)
        if out is NULL:
            return False
    out = put_notes(to, events, out)
    if out is NULL:
        return False
    if not close_bundle(to, sequence, out):
        return False
    place[0] = at
    return True
