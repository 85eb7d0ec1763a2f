# CompactSched (ftrace_event_bundle.proto): the switches and wakings of a bundle as lists, one for each field.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from converter.formats.perfetto.writing.kernels.emit cimport BAD_COLUMN, NO_MEMORY, TOO_LARGE
from converter.formats.perfetto.writing.kernels.emit_instructions cimport Emission, failed, value_of
from converter.formats.perfetto.writing.kernels.emit_output cimport close_at, ensure_at, put
from converter.formats.perfetto.writing.kernels.emit_programs cimport (
    Program, Step, fSWITCH, fWAKING, sI32, sI64, sTEXT, sU32,
)
from converter.formats.perfetto.protobuf.fields cimport (
    BUNDLE_COMPACT_SCHED, SCHED_INTERN_TABLE, SCHED_SWITCH_TIMESTAMP, SCHED_WAKING_TIMESTAMP,
)
from converter.kernels.batches.event_arrays cimport Events
from converter.kernels.io.byte_order cimport load32, load64
from converter.kernels.protobuf.wire cimport WIRE_BYTES
from converter.kernels.tables.strings cimport Entry, StringTable

cdef enum:
    # The most events of a bundle.
    BUNDLE_EVENTS = 1024
    # A note: the number of events since the one before, and flags.
    NOTE_BYTES = 8
    # The step with the name of a task, in both programs.
    COMM = 3
    # Bytes of a varint at most.
    VARINT_BYTES = 10


# The events of a batch, and what their programs and threads are. The caller has checked programs and lengths.
cdef struct KernelEvents:
    Events batch
    # Kernel events by CPU, each CPU's in order.
    const int32_t* order
    int64_t count
    Program* programs
    const int64_t* tids
    int64_t threads
    # The bundle under construction: the number of events since the last one that has a note, and all notes.
    uint64_t unnoted
    int64_t notes_size
    uint8_t notes[BUNDLE_EVENTS * NOTE_BYTES]
    # Its first event, the number of those in compact_sched, their names of tasks, and which of these each has.
    int64_t first
    int64_t compact
    int32_t comms[BUNDLE_EVENTS]
    int32_t comm_of[BUNDLE_EVENTS]


# True if a program has the columns of compact_sched: each is the list of its tag, names are numbers of the table.
cdef inline bint is_compact(const Program* one) noexcept nogil:
    if one.frame == fSWITCH:
        return one.steps == 4 and (
            one.step[0].op == sI64 and one.step[1].op == sI32 and one.step[2].op == sI32 and one.step[3].op == sTEXT
        )
    return one.steps == 5 and (
        one.step[0].op == sI32 and one.step[1].op == sI32 and one.step[2].op == sI32 and one.step[3].op == sTEXT
        and one.step[4].op == sU32
    )


# The program of an event of the bundle, if it is of a frame; else NULL.
cdef inline const Program* program_at(const KernelEvents* events, int64_t at, int frame) noexcept nogil:
    cdef const Program* one = &events.programs[events.batch.class_id[events.order[at]]]
    return one if one.frame == frame else NULL


# The table of names, and which each event has; NULL where that fails.
cdef inline uint8_t* put_comms(
    Emission* to, StringTable strings, KernelEvents* events, int64_t end, uint8_t* at
) noexcept nogil:
    cdef const Program* one
    cdef Entry* entry
    cdef int64_t i, row
    cdef int32_t id
    cdef int known = 0
    cdef int number
    for i in range(events.first, end):
        one = &events.programs[events.batch.class_id[events.order[i]]]
        if one.frame < fSWITCH:
            continue
        row = events.batch.row[events.order[i]]
        if row < 0 or row >= one.rows or one.step[COMM].view.offsets is not NULL:
            return failed(to, BAD_COLUMN)
        id = <int32_t>load32(value_of(&one.step[COMM], row), False)
        if id < 0 or id >= to.interning.known:
            return failed(to, BAD_COLUMN)
        number = 0
        while number < known and events.comms[number] != id:
            number += 1
        if number == known:
            events.comms[known] = id
            known += 1
            entry = strings.entry(id)
            if entry.size >> 31:
                return failed(to, TOO_LARGE)
            at = ensure_at(&to.messages.out, at, <int64_t>entry.size + 1 + VARINT_BYTES)
            if at is NULL:
                return failed(to, NO_MEMORY)
            at[0] = SCHED_INTERN_TABLE << 3 | WIRE_BYTES
            at = put(at + 1, entry.size)
            memcpy(at, entry.data, entry.size)
            at += entry.size
        events.comm_of[i - events.first] = number
    return at


# The list of a field: of times (step -1), of the events of a frame. NULL without memory.
cdef inline uint8_t* put_list(
    Emission* to, const KernelEvents* events, int64_t end, int frame, int step, uint8_t* at
) noexcept nogil:
    cdef const Program* one
    cdef int64_t size = -1
    cdef int64_t before = 0
    cdef int64_t i, row, event
    cdef uint64_t value
    cdef const uint8_t* data
    for i in range(events.first, end):
        one = program_at(events, i, frame)
        if one is NULL:
            continue
        at = ensure_at(&to.messages.out, at, 2 + VARINT_BYTES)
        if at is NULL:
            return failed(to, NO_MEMORY)
        if size < 0:
            if step >= 0:
                at[0] = <uint8_t>(one.step[step].tag & 0xFF)
            else:
                at[0] = (SCHED_SWITCH_TIMESTAMP if frame == fSWITCH else SCHED_WAKING_TIMESTAMP) << 3 | WIRE_BYTES
            size = at + 1 - to.messages.out.data
            at += 2
        event = events.order[i]
        row = events.batch.row[event]
        if step < 0:
            value = <uint64_t>(events.batch.ts[event] - before)
            before = events.batch.ts[event]
        elif step == COMM:
            value = <uint64_t>events.comm_of[i - events.first]
        else:
            data = value_of(&one.step[step], row)
            if one.step[step].op == sI64:
                value = load64(data, False)
            elif one.step[step].op == sU32:
                value = load32(data, False)
            else:
                value = <uint64_t><int64_t><int32_t>load32(data, False)
        at = put(at, value)
    return at if size < 0 else close_at(&to.messages.out, size, at)


# The field of the bundle with its switches and wakings; NULL where that fails.
cdef inline uint8_t* put_compact(
    Emission* to, StringTable strings, KernelEvents* events, int64_t end, uint8_t* at
) noexcept nogil:
    cdef int64_t size
    cdef int step
    at = ensure_at(&to.messages.out, at, 2)
    if at is NULL:
        return failed(to, NO_MEMORY)
    at[0] = BUNDLE_COMPACT_SCHED << 3 | WIRE_BYTES
    size = at + 1 - to.messages.out.data
    at = put_comms(to, strings, events, end, at + 2)
    if at is NULL:
        return NULL
    for step in range(-1, 4):
        at = put_list(to, events, end, fSWITCH, step, at)
        if at is NULL:
            return NULL
    for step in range(-1, 5):
        at = put_list(to, events, end, fWAKING, step, at)
        if at is NULL:
            return NULL
    at = ensure_at(&to.messages.out, at, VARINT_BYTES)
    return failed(to, NO_MEMORY) if at is NULL else close_at(&to.messages.out, size, at)
