# Names that kernel events give to tasks, found while passing over bundles, without decoding other events.

from cython cimport final
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from converter.formats.perfetto.protobuf.fields cimport (
    FTRACE_EVENT_PID, FTRACE_EVENT_TIMESTAMP,
)
from converter.kernels.protobuf.wire cimport (
    WIRE_BYTES, WIRE_VARINT, WireField, __builtin_ctzll, skip_varint, next_field, read_short_varint, read_varint,
)
from converter.formats.perfetto.reading.kernels.scan_compact cimport Compact, advance, comm_of, open_compact
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load64
from converter.kernels.tables.strings cimport StringTable
from converter.kernels.tables.task_names cimport TaskNames

cdef enum:
    # Field numbers of events end here, as in `scan_ftrace`.
    NAMING_EVENTS = 131073
    # Different events that name tasks, and the tasks that one names.
    MOST_NAMING = 255
    MOST_NAMED = 2
    # Fields whose number takes one byte with its wire type, the first byte that is such a tag, and what one says.
    FEW_FIELDS = 16
    FIRST_TAG = 1 << 3
    SAYS_NOTHING = 0
    SAYS_TID = 1
    SAYS_NAME = SAYS_TID + MOST_NAMED
    # Tags of FtraceEvent.timestamp and pid.
    nTIMESTAMP = FTRACE_EVENT_TIMESTAMP << 3
    nPID = FTRACE_EVENT_PID << 3


# The numbers of an event's fields with the tid and the name of a task; 0 where there is none.
cdef struct Naming:
    uint32_t tid[MOST_NAMED]
    uint32_t name[MOST_NAMED]
    # The meaning of the first fields: SAYS_TID or SAYS_NAME, plus the index of the task.
    uint8_t says[FEW_FIELDS]


@final
cdef class NamingEvents:
    cdef readonly TaskNames names
    cdef StringTable _strings
    # By field number of FtraceEvent: which of the namings and 1, 0 where an event names none.
    cdef uint8_t* _of_event
    cdef Naming _namings[MOST_NAMING]
    cdef int _count


# The names in a message of one of these events.
cdef void note_message(
    const uint8_t* data, int64_t at, int64_t end, int64_t ts, const Naming* placed, NamingEvents naming
) noexcept nogil

# An event, which ends at `end`, if it is one that names tasks.
cdef inline void note_event(const uint8_t* data, int64_t at, int64_t end, NamingEvents naming) noexcept nogil:
    cdef uint64_t last
    cdef uint64_t ts = 0
    cdef int64_t start = at
    cdef int which
    # Mostly the time comes first, then the thread, then a field whose number takes two bytes with its wire type: then
    # that is known of most events with three looks.
    if end - at > 12 and data[at] == nTIMESTAMP:
        last = ~load64(data + at + 1, HOST_IS_BIG) & <uint64_t>0x8080808080808080
        if last:
            at += 2 + (__builtin_ctzll(last) >> 3)
            if data[at] == nPID:
                at += 2
                while at < end - 2 and data[at - 1] >= 0x80:
                    at += 1
                if data[at] & 0x87 == (0x80 | WIRE_BYTES) and data[at + 1] < 0x80:
                    which = naming._of_event[(data[at] >> 3 & 15) | <uint32_t>data[at + 1] << 4]
                    if not which:
                        return
                    if read_varint(data, start + 1, end, &ts) < 0:
                        return
                    # Mostly nothing follows the message; what does may be another time, as of any event.
                    if data[at + 2] < 0x80 and at + 3 + data[at + 2] == end:
                        note_message(data, at + 3, end, <int64_t>ts, &naming._namings[which - 1], naming)
                        return
                elif read_varint(data, start + 1, end, &ts) < 0:
                    return
                start = at
    note_names(data, start, end, <int64_t>ts, naming)


# Note the names of any event, or of the fields after its time and thread.
cdef void note_names(const uint8_t* data, int64_t at, int64_t end, int64_t ts, NamingEvents naming) noexcept nogil

# The switches and wakings of a CompactSched message.
cdef void note_compact(
    const uint8_t* data, int64_t start, int64_t size, int64_t switches, int64_t wakings, NamingEvents naming
) noexcept nogil
