# What kernel events call tasks: found on the way through bundles, without decoding other events.

from cython cimport final
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from converter.formats.perfetto.scan_compact cimport Compact, advance, comm_of, open_compact
from converter.formats.perfetto.wire cimport (
    WIRE_BYTES, WIRE_VARINT, WireField, __builtin_ctzll, behind_varint, next_field, read_varint,
)
from converter.kernels.byte_order cimport HOST_IS_BIG, load64
from converter.kernels.strings cimport StringTable
from converter.kernels.task_names cimport TaskNames

cdef enum:
    # Field numbers of events end here, as in `scan_ftrace`.
    NAMING_EVENTS = 131073
    # Different events that name tasks, and the tasks that one names.
    MOST_NAMING = 255
    MOST_NAMED = 2
    # Fields whose number takes one byte with its wire type.
    FEW_FIELDS = 16
    # Tags of FtraceEvent.timestamp and pid.
    nTIMESTAMP = 1 << 3
    nPID = 2 << 3


# The numbers of an event's fields with the tid and the name of a task; 0 where there is none.
cdef struct Naming:
    uint32_t tid[MOST_NAMED]
    uint32_t name[MOST_NAMED]
    # Of the first fields: whether they are of tids.
    uint8_t is_tid[FEW_FIELDS]


@final
cdef class NamingEvents:
    cdef readonly TaskNames names
    cdef StringTable _strings
    # By field number of FtraceEvent: which of the namings and 1, 0 where an event names none.
    cdef uint8_t* _of_event
    cdef Naming _namings[MOST_NAMING]
    cdef int _count


# An event, which ends at `end`, if it is one that names tasks.
cdef inline void note_event(const uint8_t* data, int64_t at, int64_t end, NamingEvents naming) noexcept nogil:
    cdef uint64_t last
    cdef uint64_t ts = 0
    cdef int64_t start = at
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
                if (
                    data[at] & 0x87 == (0x80 | WIRE_BYTES) and data[at + 1] < 0x80
                    and not naming._of_event[(data[at] >> 3 & 15) | <uint32_t>data[at + 1] << 4]
                ):
                    return
                # What is behind them may be another time, as of any event.
                if read_varint(data, start + 1, end, &ts) >= 0:
                    start = at
    note_names(data, start, end, <int64_t>ts, naming)


# The same of any event, or of what stands behind its time and thread.
cdef void note_names(const uint8_t* data, int64_t at, int64_t end, int64_t ts, NamingEvents naming) noexcept nogil

# The switches and wakings of a CompactSched message.
cdef void note_compact(
    const uint8_t* data, int64_t start, int64_t size, int64_t switches, int64_t wakings, NamingEvents naming
) noexcept nogil
