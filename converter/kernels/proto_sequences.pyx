# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Packet sequences: what their packets interned, their defaults, clocks and counters."""

from converter.kernels.proto_maps cimport KeyMap
from converter.kernels.proto_vectors cimport push_repeated, reserve
from converter.kernels.proto_wire cimport WIRE_BYTES, WIRE_VARINT, WireField, next_field
from converter.kernels.strings cimport StringTable

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

cdef enum:
    # As many interned messages are never too many.
    PRUNE_ABOVE = 1 << 18


# Whether an InternedData field's messages are (iid, text).
cdef inline bint is_text(uint32_t number) noexcept nogil:
    return (
        number == 1 or number == 2 or number == 3 or number == 5 or number == 16 or number == 17 or number == 18
        or number == 20 or number == 26 or number == 27 or number == 29 or number == 43
    )


cdef class Sequences:

    def __cinit__(self, StringTable strings, StringTable messages, *_):
        self._strings = strings
        self._messages = messages
        self._sequence_of = KeyMap()
        self._interned = KeyMap()
        self._clock_of = KeyMap()
        self._counter_of = KeyMap()
        self._scopes = 0

    def __dealloc__(self):
        free(self._sequences.data)
        free(self._clocks.data)
        free(self._counters.data)
        free(self._uuids.data)

    # The sequence of an id, added when new; NULL when memory runs out. The next call may move it.
    cdef Sequence* _sequence(self, uint32_t id) noexcept nogil:
        cdef int32_t index = self._sequence_of.find(id, 0, -1)
        cdef Sequence* sequence
        if index >= 0:
            return &(<Sequence*>self._sequences.data)[index]
        if reserve(&self._sequences, sizeof(Sequence)) < 0:
            return NULL
        index = <int32_t>(self._sequences.size // <int64_t>sizeof(Sequence))
        if self._sequence_of.put(id, 0, index) < 0:
            return NULL
        self._sequences.size += sizeof(Sequence)
        sequence = &(<Sequence*>self._sequences.data)[index]
        memset(sequence, 0, sizeof(Sequence))
        sequence.id = id
        self._scopes += 1
        sequence.scope = self._scopes
        return sequence

    def set_clock(self, uint32_t sequence, uint32_t clock, int64_t value, int64_t multiplier, bint incremental):
        cdef int32_t index = self._clock_of.find(clock, sequence, -1)
        cdef ClockState* state
        if index < 0:
            if reserve(&self._clocks, sizeof(ClockState)) < 0:
                raise MemoryError
            index = <int32_t>(self._clocks.size // <int64_t>sizeof(ClockState))
            self._clocks.size += sizeof(ClockState)
            self._clock_of.set(clock, sequence, index)
        state = &(<ClockState*>self._clocks.data)[index]
        state.value = value
        state.multiplier = multiplier
        state.incremental = incremental

    def set_thread(self, uint32_t sequence, int32_t pid, int32_t tid, int64_t reference_us):
        cdef Sequence* state = self._sequence(sequence)
        if state is NULL:
            raise MemoryError
        state.has_thread = 1
        state.thread = <uint64_t>(<uint32_t>pid) << 32 | <uint32_t>tid
        state.time_us = reference_us

    def set_counter(self, uint64_t uuid, int64_t multiplier, bint incremental):
        cdef CounterState* state
        if reserve(&self._counters, sizeof(CounterState)) < 0:
            raise MemoryError
        self._counter_of.set(uuid, 0, <int32_t>(self._counters.size // <int64_t>sizeof(CounterState)))
        state = <CounterState*>(self._counters.data + self._counters.size)
        memset(state, 0, sizeof(CounterState))
        state.multiplier = multiplier
        state.incremental = incremental
        self._counters.size += sizeof(CounterState)

    def interned_text(self, uint32_t scope, uint32_t field, uint64_t iid):
        return self._interned.find(iid, <uint64_t>scope << 16 | field, -1)

    def prune(self):
        cdef int64_t i
        if len(self._interned) < PRUNE_ABOVE or len(self._interned) < 2 * self._kept:
            return
        live = {
            (<Sequence*>self._sequences.data)[i].scope
            for i in range(self._sequences.size // <int64_t>sizeof(Sequence))
        }
        self._interned.keep(live, 16)
        self._kept = len(self._interned)

    cdef int _intern(self, const uint8_t* data, int64_t at, int64_t end, uint32_t scope) noexcept nogil:
        """Take in an InternedData message; -1 when memory runs out. Damage ends it."""
        cdef WireField field
        cdef WireField part
        cdef int64_t inner, inner_end
        cdef uint64_t iid
        cdef int32_t value
        while at < end:
            at = next_field(data, at, end, &field)
            if at < 0:
                return 0
            if field.wire != WIRE_BYTES or field.number > 0xFFFF:
                continue
            inner = field.start
            inner_end = inner + field.size
            iid = 0
            value = 0
            while inner < inner_end:
                inner = next_field(data, inner, inner_end, &part)
                if inner < 0:
                    break
                if part.number == 1 and part.wire == WIRE_VARINT:
                    iid = part.value
                elif part.number == 2 and part.wire == WIRE_BYTES and is_text(field.number):
                    value = self._strings.find_or_add(data + part.start, <uint32_t>part.size)
            if not is_text(field.number):
                value = self._messages.find_or_add(data + field.start, <uint32_t>field.size)
            if value < 0 or self._interned.put(iid, <uint64_t>scope << 16 | field.number, value) < 0:
                return -1
        return 0

    cdef void _read_defaults(self, const uint8_t* data, int64_t at, int64_t end, Sequence* sequence) noexcept nogil:
        cdef WireField field
        cdef WireField part
        cdef int64_t inner, inner_end
        while at < end:
            at = next_field(data, at, end, &field)
            if at < 0:
                return
            if field.number == 58 and field.wire == WIRE_VARINT:
                sequence.has_clock = 1
                sequence.clock = <int64_t>(<uint32_t>field.value)
            elif field.number == 11 and field.wire == WIRE_BYTES:
                sequence.extra_count = 0
                sequence.extra_double_count = 0
                inner = field.start
                inner_end = inner + field.size
                while inner < inner_end:
                    inner = next_field(data, inner, inner_end, &part)
                    if inner < 0:
                        break
                    if part.number == 11 and part.wire == WIRE_VARINT:
                        sequence.has_track = 1
                        sequence.track = part.value
                    elif part.number == 31 or part.number == 45:
                        self._uuids.size = 0
                        if push_repeated(&self._uuids, data, &part, False) < 0:
                            return
                        self._add_extra(sequence, part.number == 45)

    cdef void _add_extra(self, Sequence* sequence, bint double) noexcept nogil:
        cdef int64_t i
        for i in range(self._uuids.size // 8):
            if double and sequence.extra_double_count < MAX_EXTRA:
                sequence.extra_double[sequence.extra_double_count] = (<uint64_t*>self._uuids.data)[i]
                sequence.extra_double_count += 1
            elif not double and sequence.extra_count < MAX_EXTRA:
                sequence.extra[sequence.extra_count] = (<uint64_t*>self._uuids.data)[i]
                sequence.extra_count += 1

    # Let a packet change its sequence's state; -1 when memory runs out.
    cdef int _enter(self, const uint8_t* data, int64_t* row, Sequence* sequence) noexcept nogil:
        cdef int64_t flags = row[FLAGS]
        if flags & CLEARED:
            self._scopes += 1
            sequence.scope = self._scopes
            sequence.valid = 1
            sequence.has_track = 0
            sequence.has_clock = 0
            sequence.extra_count = 0
            sequence.extra_double_count = 0
        elif flags & DROPPED:
            sequence.valid = 0
        if flags & DEFAULTS:
            self._read_defaults(data, row[DEFAULTS_START], row[DEFAULTS_START] + row[DEFAULTS_SIZE], sequence)
        if flags & INTERNED and self._intern(
            data, row[INTERNED_START], row[INTERNED_START] + row[INTERNED_SIZE], sequence.scope
        ) < 0:
            return -1
        return 0

    # The time of a packet on its clock.
    cdef void _resolve_time(self, int64_t* row, Sequence* sequence, int64_t* ts, int64_t* clock) noexcept nogil:
        cdef int32_t index
        cdef ClockState* state
        clock[0] = row[CLOCK]
        if clock[0] < 0 and sequence.has_clock:
            clock[0] = sequence.clock
        ts[0] = row[TIMESTAMP]
        if clock[0] < 0:
            return
        index = self._clock_of.find(<uint64_t>clock[0], sequence.id, -1)
        if index < 0:
            index = self._clock_of.find(<uint64_t>clock[0], 0, -1)
        if index < 0:
            return
        state = &(<ClockState*>self._clocks.data)[index]
        ts[0] = <int64_t>(<uint64_t>ts[0] * <uint64_t>state.multiplier)
        if state.incremental:
            state.value = <int64_t>(<uint64_t>state.value + <uint64_t>ts[0])
            ts[0] = state.value

    # A counter's value as the sum of its increments, in the unit of its track.
    cdef uint64_t _counter_value(self, uint64_t track, uint64_t value, bint is_double, uint32_t scope) noexcept nogil:
        cdef int32_t index = self._counter_of.find(track, 0, -1)
        cdef CounterState* state
        cdef double number
        cdef uint64_t result = value
        if index < 0:
            return value
        state = &(<CounterState*>self._counters.data)[index]
        if state.incremental and state.scope != scope:
            state.scope = scope
            state.value = 0
            state.double_value = 0
        if is_double:
            memcpy(&number, &value, 8)
            if state.incremental:
                state.double_value += number
                number = state.double_value
            number *= state.multiplier
            memcpy(&result, &number, 8)
        else:
            if state.incremental:
                state.value = <int64_t>(<uint64_t>state.value + value)
                result = <uint64_t>state.value
            result *= <uint64_t>state.multiplier
        return result
