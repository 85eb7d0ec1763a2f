# CompactSched (ftrace_event_bundle.proto): switches and wakings as lists, one for each field, of varints.

from converter.formats.perfetto.protobuf.fields cimport (
    SCHED_FIELDS, SCHED_INTERN_TABLE, SCHED_SWITCH_TIMESTAMP, SCHED_WAKING_TIMESTAMP, SWITCH_NEXT_COMM,
    SWITCH_NEXT_PID, SWITCH_NEXT_PRIO,
)
from converter.kernels.protobuf.wire cimport WIRE_BYTES, WIRE_VARINT, WireField, next_field, read_varint
from converter.kernels.tables.strings cimport StringTable

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport malloc


cdef inline int64_t count_varints(const uint8_t* data, int64_t at, int64_t end) noexcept nogil:
    cdef int64_t count = 0
    while at < end:
        count += data[at] < 0x80
        at += 1
    return count


# Numbers of switches and wakings: those of the timestamps. -1 where the message is damaged, 1 where it
# has further fields.
cdef inline int count_compact(
    const uint8_t* data, int64_t at, int64_t end, int64_t* switches, int64_t* wakings
) noexcept nogil:
    cdef WireField field
    cdef int64_t count
    cdef int further = 0
    while at < end:
        at = next_field(data, at, end, &field)
        if at < 0:
            return -1
        if field.number == SCHED_SWITCH_TIMESTAMP or field.number == SCHED_WAKING_TIMESTAMP:
            count = count_varints(data, field.start, field.start + field.size) if field.wire == WIRE_BYTES else 1
            if field.number == SCHED_SWITCH_TIMESTAMP:
                switches[0] += count
            else:
                wakings[0] += count
        elif field.number >= SCHED_FIELDS:
            further = 1
    return further


# One packed (or unpacked) repeated varint field of CompactSched, read value by value.
cdef struct Cursor:
    int64_t at
    int64_t end


cdef inline uint64_t advance(const uint8_t* data, Cursor* cursor) noexcept nogil:
    cdef uint64_t value = 0
    cdef int64_t at
    if cursor.at >= cursor.end:
        return 0
    at = read_varint(data, cursor.at, cursor.end, &value)
    cursor.at = cursor.end if at < 0 else at
    return value


cdef inline int64_t count_left(const uint8_t* data, const Cursor* cursor) noexcept nogil:
    return count_varints(data, cursor.at, cursor.end)


cdef struct Compact:
    # By field number.
    Cursor cursors[SCHED_FIELDS]
    int32_t* comms
    int64_t comm_count
    int64_t switches_left
    int64_t wakings_left
    int64_t switch_ts
    int64_t waking_ts


# Point the cursors at the packed fields of the message at `start`, which has as many timestamps of switches and of
# wakings as counted, and intern the table of comms; -1 when memory runs out.
cdef inline int open_compact(
    const uint8_t* data, int64_t start, int64_t size, int64_t switches, int64_t wakings, Compact* compact,
    StringTable strings,
) noexcept nogil:
    cdef WireField field
    cdef int64_t at = start
    cdef int64_t end = at + size
    cdef int64_t comms = 0
    cdef int i
    for i in range(SCHED_FIELDS):
        compact.cursors[i].at = 0
        compact.cursors[i].end = 0
    compact.comms = NULL
    compact.comm_count = 0
    compact.switches_left = switches
    compact.wakings_left = wakings
    compact.switch_ts = 0
    compact.waking_ts = 0
    if size == 0:
        return 0
    while at < end:
        at = next_field(data, at, end, &field)
        if at < 0:
            break
        if field.wire == WIRE_BYTES and field.number == SCHED_INTERN_TABLE:
            comms += 1
        elif field.wire == WIRE_BYTES and field.number < SCHED_FIELDS:
            compact.cursors[field.number].at = field.start
            compact.cursors[field.number].end = field.start + field.size
    compact.comms = <int32_t*>malloc((comms + 1) * sizeof(int32_t))
    if compact.comms is NULL:
        return -1
    at = start
    strings.lock()
    while at < end:
        at = next_field(data, at, end, &field)
        if at < 0:
            break
        if field.wire == WIRE_BYTES and field.number == SCHED_INTERN_TABLE:
            compact.comms[compact.comm_count] = strings.find_or_add(&data[field.start], <uint32_t>field.size)
            if compact.comms[compact.comm_count] < 0:
                strings.unlock()
                return -1
            compact.comm_count += 1
    strings.unlock()
    # Counted again: what counts is what the cursors can give.
    compact.switches_left = count_left(data, &compact.cursors[SCHED_SWITCH_TIMESTAMP])
    compact.wakings_left = count_left(data, &compact.cursors[SCHED_WAKING_TIMESTAMP])
    if compact.switches_left > switches:
        compact.switches_left = switches
    if compact.wakings_left > wakings:
        compact.wakings_left = wakings
    if compact.switches_left:
        compact.switch_ts = <int64_t>advance(data, &compact.cursors[SCHED_SWITCH_TIMESTAMP])
    if compact.wakings_left:
        compact.waking_ts = <int64_t>advance(data, &compact.cursors[SCHED_WAKING_TIMESTAMP])
    return 0


cdef inline int64_t comm_of(Compact* compact, uint64_t index) noexcept nogil:
    return compact.comms[index] if index < <uint64_t>compact.comm_count else 0


# The task that a CPU runs: what switches leave out of the task before, and wakings of the one that wakes.
cdef struct CpuState:
    int64_t pid
    int64_t priority
    int64_t comm
    int32_t known


# What the last switch before compact events says, which is an event of its own: -1 when memory runs out.
cdef inline int note_switch(
    const uint8_t* data, int64_t at, int64_t size, CpuState* state, StringTable strings
) noexcept nogil:
    cdef WireField field
    cdef int64_t end = at + size
    state.known = 1
    state.pid = state.priority = state.comm = 0
    while at < end:
        at = next_field(data, at, end, &field)
        if at < 0:
            break
        if field.wire == WIRE_VARINT and field.number == SWITCH_NEXT_PID:
            state.pid = <int32_t>field.value
        elif field.wire == WIRE_VARINT and field.number == SWITCH_NEXT_PRIO:
            state.priority = <int32_t>field.value
        elif field.wire == WIRE_BYTES and field.number == SWITCH_NEXT_COMM:
            strings.lock()
            state.comm = strings.find_or_add(&data[field.start], <uint32_t>field.size)
            strings.unlock()
            if state.comm < 0:
                return -1
    return 0
