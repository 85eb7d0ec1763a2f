from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from converter.formats.perfetto.protobuf.scan_vectors cimport Vector
from converter.kernels.tables.strings cimport StringTable


cdef enum:
    # Columns of scan_packets' rows, and bits of its flags.
    TIMESTAMP = 2
    CLOCK = 3
    SEQUENCE = 4
    FLAGS = 5
    DATA = 6
    DATA_START = 7
    DATA_SIZE = 8
    INTERNED_START = 9
    INTERNED_SIZE = 10
    DEFAULTS_START = 11
    DEFAULTS_SIZE = 12
    CLEARED = 1
    NEEDS_STATE = 2
    INTERNED = 8
    DEFAULTS = 16
    DROPPED = 32
    FURTHER = 256
    MAX_EXTRA = 16


cdef struct Sequence:
    uint32_t id
    # Numbers the times between two clearings of the state of all sequences.
    uint32_t scope
    uint8_t valid
    uint8_t has_clock
    uint8_t has_track
    uint8_t has_thread
    int64_t clock
    uint64_t track
    uint64_t thread
    # What deltas add to: times, and times of the thread.
    int64_t time_us
    int64_t thread_time_us
    int32_t extra_count
    int32_t extra_double_count
    uint64_t extra[MAX_EXTRA]
    uint64_t extra_double[MAX_EXTRA]


cdef struct ClockState:
    int64_t value
    int64_t multiplier
    uint8_t incremental


cdef struct CounterUnit:
    int64_t multiplier
    uint8_t incremental
    uint8_t is_thread_time


# The sum of a counter's increments on one sequence, since that was cleared.
cdef struct CounterSum:
    int64_t value
    double double_value
    uint32_t scope


cdef class Sequences:
    cdef StringTable _strings
    cdef StringTable _messages
    cdef KeyMap _sequence_of
    cdef KeyMap _interned
    cdef KeyMap _clock_of
    cdef KeyMap _counter_of
    cdef KeyMap _sum_of
    cdef Vector _sequences
    cdef Vector _clocks
    cdef Vector _counters
    cdef Vector _sums
    cdef Vector _uuids
    cdef uint32_t _scopes
    cdef int64_t _kept
    # Messages of interned data or defaults that could not be read to their ends.
    cdef readonly int64_t damaged

    # The sequence of an id, added when new; NULL when memory runs out. The next call may move it.
    cdef Sequence* _sequence(self, uint32_t id) noexcept nogil
    # Let a packet change its sequence's state; -1 when memory runs out.
    cdef int _enter(self, const uint8_t* data, int64_t* row, Sequence* sequence) noexcept nogil
    # The time of a packet on its clock.
    cdef void _resolve_time(self, int64_t* row, Sequence* sequence, int64_t* ts, int64_t* clock) noexcept nogil
    # Make of a counter's increment the sum of its sequence's, in the unit of its track; -1 when memory runs out.
    cdef int _accumulate(self, uint64_t track, uint64_t* value, bint is_double, const Sequence* sequence) noexcept nogil
    # Return True if a counter is the processor time of a thread.
    cdef bint _is_thread_time(self, uint64_t track) noexcept nogil
    # The thread that a TrackDescriptor names is that of its sequence.
    cdef void _note_descriptor(self, const uint8_t* data, int64_t at, int64_t end, Sequence* sequence) noexcept nogil
    cdef int _intern(self, const uint8_t* data, int64_t at, int64_t end, uint32_t scope) noexcept nogil
    # Take in a TracePacketDefaults message; -1 when memory runs out.
    cdef int _read_defaults(self, const uint8_t* data, int64_t at, int64_t end, Sequence* sequence) noexcept nogil
    cdef void _add_extra(self, Sequence* sequence, bint double) noexcept nogil


cdef struct KeyEntry:
    uint64_t key
    uint64_t space
    int32_t value
    int32_t used


cdef class KeyMap:
    cdef KeyEntry* _entries
    cdef uint64_t _mask
    cdef int64_t _count

    # The value of a key, `absent` when there is none.
    cdef int32_t find(self, uint64_t key, uint64_t space, int32_t absent) noexcept nogil
    # Set a key's value; -1 when memory runs out.
    cdef int put(self, uint64_t key, uint64_t space, int32_t value) noexcept nogil
    cdef int _resize(self, uint64_t size) noexcept nogil
