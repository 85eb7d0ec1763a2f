# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Packet sequences: what their packets interned, their defaults, clocks and counters.

Numbers by key: what sequences interned, and the indices of threads and tracks by their identity in the file.
"""

# Stub:
# from collections.abc import Container
# from converter.kernels.tables.strings import StringTable

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from converter.formats.perfetto.protobuf.fields cimport (
    INTERNED_BUILD_IDS, INTERNED_CORRELATION_ID_STR, INTERNED_DEBUG_ANNOTATION_NAMES,
    INTERNED_DEBUG_ANNOTATION_STRING_VALUES, INTERNED_DEBUG_ANNOTATION_VALUE_TYPE_NAMES,
    INTERNED_EVENT_CATEGORIES, INTERNED_EVENT_NAMES, INTERNED_FUNCTION_NAMES, INTERNED_IID,
    INTERNED_KERNEL_SYMBOLS, INTERNED_LOG_MESSAGE_BODY, INTERNED_MAPPING_PATHS,
    INTERNED_SOURCE_PATHS, INTERNED_TEXT, PACKET_CLOCK_SNAPSHOT, PACKET_DEFAULTS_PERF_SAMPLE_DEFAULTS,
    PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID, PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS, THREAD_DESCRIPTOR_PID,
    THREAD_DESCRIPTOR_REFERENCE_THREAD_TIME_US,
    THREAD_DESCRIPTOR_REFERENCE_TIMESTAMP_US, THREAD_DESCRIPTOR_TID, TRACK_DESCRIPTOR_THREAD,
    TRACK_EVENT_DEFAULTS_EXTRA_COUNTER_TRACK_UUIDS,
    TRACK_EVENT_DEFAULTS_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS, TRACK_EVENT_DEFAULTS_TRACK_UUID,
)
from converter.formats.perfetto.protobuf.scan_vectors cimport push_repeated, reserve
from converter.kernels.protobuf.wire cimport next_field, WIRE_BYTES, WIRE_VARINT, WireField
from converter.kernels.tables.strings cimport StringTable


cdef enum:
    # As many interned messages are never too many.
    PRUNE_ABOVE = 1 << 18


# Return True if an InternedData field's messages are (iid, text).
cdef inline bint is_text(uint32_t number) noexcept nogil:
    return (
        number == INTERNED_EVENT_CATEGORIES or number == INTERNED_EVENT_NAMES
        or number == INTERNED_DEBUG_ANNOTATION_NAMES or number == INTERNED_FUNCTION_NAMES
        or number == INTERNED_BUILD_IDS or number == INTERNED_MAPPING_PATHS
        or number == INTERNED_SOURCE_PATHS or number == INTERNED_LOG_MESSAGE_BODY
        or number == INTERNED_KERNEL_SYMBOLS or number == INTERNED_DEBUG_ANNOTATION_VALUE_TYPE_NAMES
        or number == INTERNED_DEBUG_ANNOTATION_STRING_VALUES or number == INTERNED_CORRELATION_ID_STR
    )


cdef class Sequences:
    """The state of packet sequences in one pass over a trace: interned data, defaults, clocks and counters."""

    # Stub:
    # #: Messages of interned data or defaults that could not be read to their ends.
    # damaged: int

    def __cinit__(self, StringTable strings, StringTable messages, *_: object):
        """`messages` takes the interned messages that are no texts."""
        self._strings = strings
        self._messages = messages
        self._sequence_of = KeyMap()
        self._interned = KeyMap()
        self._clock_of = KeyMap()
        self._counter_of = KeyMap()
        self._sum_of = KeyMap()
        self._scopes = 0

    def __dealloc__(self):
        free(self._sequences.data)
        free(self._clocks.data)
        free(self._counters.data)
        free(self._sums.data)
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

    def set_clock(self, uint32_t sequence, uint32_t clock, int64_t value, int64_t multiplier, bint incremental) -> None:
        """A sequence's clock (0: all sequences'): its reading in ns, ns a unit, whether timestamps are increments."""
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

    def set_thread(self, uint32_t sequence, int32_t pid, int32_t tid, int64_t reference_us, int64_t thread_reference_us) -> None:
        """Set the values of a ThreadDescriptor: the thread of a sequence's events without a track, and when its times
        and those of the thread start.
        """
        cdef Sequence* state = self._sequence(sequence)
        if state is NULL:
            raise MemoryError
        state.has_thread = 1
        state.thread = <uint64_t>(<uint32_t>pid) << 32 | <uint32_t>tid
        state.time_us = reference_us
        state.thread_time_us = thread_reference_us

    def set_counter(self, uint64_t uuid, int64_t multiplier, bint incremental, bint is_thread_time) -> None:
        """A counter track whose values are multiples of a unit, or increments, or times of events on another track."""
        cdef CounterUnit* unit
        if reserve(&self._counters, sizeof(CounterUnit)) < 0:
            raise MemoryError
        self._counter_of.set(uuid, 0, <int32_t>(self._counters.size // <int64_t>sizeof(CounterUnit)))
        unit = <CounterUnit*>(self._counters.data + self._counters.size)
        unit.multiplier = multiplier
        unit.incremental = incremental
        unit.is_thread_time = is_thread_time
        self._counters.size += sizeof(CounterUnit)

    def interned_text(self, uint32_t scope, uint32_t field, uint64_t iid) -> int:
        """Id of an interned string in `strings`, or of another interned message in `messages`; -1 when unknown.

        Field 0 has PerfSampleDefaults, under iid 0.
        """
        return self._interned.find(iid, <uint64_t>scope << 16 | field, -1)

    def prune(self) -> None:
        """Forget what sequences interned before their state was last cleared, once there is much of it."""
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
        """Take in an InternedData message; -1 when memory runs out. Damage ends it, and is counted."""
        cdef WireField field
        cdef WireField part
        cdef int64_t inner, inner_end
        cdef uint64_t iid
        cdef int32_t value
        while at < end:
            at = next_field(data, at, end, &field)
            if at < 0:
                self.damaged += 1
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
                    self.damaged += is_text(field.number)
                    break
                if part.number == INTERNED_IID and part.wire == WIRE_VARINT:
                    iid = part.value
                elif part.number == INTERNED_TEXT and part.wire == WIRE_BYTES and is_text(field.number):
                    value = self._strings.find_or_add(data + part.start, <uint32_t>part.size)
            if not is_text(field.number):
                value = self._messages.find_or_add(data + field.start, <uint32_t>field.size)
            if value < 0 or self._interned.put(iid, <uint64_t>scope << 16 | field.number, value) < 0:
                return -1
        return 0

    cdef int _read_defaults(self, const uint8_t* data, int64_t at, int64_t end, Sequence* sequence) noexcept nogil:
        cdef WireField field
        cdef WireField part
        cdef int64_t inner, inner_end
        cdef int32_t value
        cdef int cut
        while at < end:
            at = next_field(data, at, end, &field)
            if at < 0:
                self.damaged += 1
                return 0
            if field.number == PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID and field.wire == WIRE_VARINT:
                sequence.has_clock = 1
                sequence.clock = <int64_t>(<uint32_t>field.value)
            elif field.number == PACKET_DEFAULTS_PERF_SAMPLE_DEFAULTS and field.wire == WIRE_BYTES:
                value = self._messages.find_or_add(data + field.start, <uint32_t>field.size)
                if value < 0 or self._interned.put(0, <uint64_t>sequence.scope << 16, value) < 0:
                    return -1
            elif field.number == PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS and field.wire == WIRE_BYTES:
                sequence.extra_count = 0
                sequence.extra_double_count = 0
                inner = field.start
                inner_end = inner + field.size
                while inner < inner_end:
                    inner = next_field(data, inner, inner_end, &part)
                    if inner < 0:
                        self.damaged += 1
                        break
                    if part.number == TRACK_EVENT_DEFAULTS_TRACK_UUID and part.wire == WIRE_VARINT:
                        sequence.has_track = 1
                        sequence.track = part.value
                    elif (
                        part.number == TRACK_EVENT_DEFAULTS_EXTRA_COUNTER_TRACK_UUIDS
                        or part.number == TRACK_EVENT_DEFAULTS_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS
                    ):
                        self._uuids.size = 0
                        cut = push_repeated(&self._uuids, data, &part, False)
                        if cut < 0:
                            return -1
                        self.damaged += cut
                        self._add_extra(sequence, part.number == TRACK_EVENT_DEFAULTS_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS)
        return 0

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
            sequence.thread_time_us = 0
            sequence.has_clock = 0
            sequence.extra_count = 0
            sequence.extra_double_count = 0
        elif flags & DROPPED:
            sequence.valid = 0
        if flags & DEFAULTS:
            if self._read_defaults(
                data, row[DEFAULTS_START], row[DEFAULTS_START] + row[DEFAULTS_SIZE], sequence
            ) < 0:
                return -1
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
        # Importers read a snapshot before its packet has a time.
        if state.incremental and row[DATA] != PACKET_CLOCK_SNAPSHOT:
            state.value = <int64_t>(<uint64_t>state.value + <uint64_t>ts[0])
            ts[0] = state.value

    cdef bint _is_thread_time(self, uint64_t track) noexcept nogil:
        cdef int32_t index = self._counter_of.find(track, 0, -1)
        return index >= 0 and (<CounterUnit*>self._counters.data)[index].is_thread_time

    cdef int _accumulate(
        self, uint64_t track, uint64_t* value, bint is_double, const Sequence* sequence
    ) noexcept nogil:
        cdef int32_t index = self._counter_of.find(track, 0, -1)
        cdef CounterUnit unit
        cdef CounterSum* sum
        cdef double number
        if index < 0:
            return 0
        unit = (<CounterUnit*>self._counters.data)[index]
        if is_double:
            memcpy(&number, value, 8)
        if unit.incremental:
            index = self._sum_of.find(track, sequence.id, -1)
            if index < 0:
                index = <int32_t>(self._sums.size // <int64_t>sizeof(CounterSum))
                if reserve(&self._sums, sizeof(CounterSum)) < 0 or self._sum_of.put(track, sequence.id, index) < 0:
                    return -1
                self._sums.size += sizeof(CounterSum)
                (<CounterSum*>self._sums.data)[index].scope = ~sequence.scope
            sum = &(<CounterSum*>self._sums.data)[index]
            if sum.scope != sequence.scope:
                memset(sum, 0, sizeof(CounterSum))
                sum.scope = sequence.scope
            if is_double:
                sum.double_value += number
                number = sum.double_value
            else:
                sum.value = <int64_t>(<uint64_t>sum.value + value[0])
                value[0] = <uint64_t>sum.value
        if is_double:
            number *= unit.multiplier
            memcpy(value, &number, 8)
        else:
            value[0] *= <uint64_t>unit.multiplier
        return 0

    cdef void _note_descriptor(self, const uint8_t* data, int64_t at, int64_t end, Sequence* sequence) noexcept nogil:
        cdef WireField field
        cdef WireField part
        cdef int64_t inner, inner_end
        cdef uint64_t pid = 0
        cdef uint64_t tid = 0
        cdef int64_t reference = 0
        cdef int64_t thread_reference = 0
        cdef int found = 0
        if not sequence.valid:
            return
        while at < end:
            at = next_field(data, at, end, &field)
            if at < 0:
                return
            if field.number == TRACK_DESCRIPTOR_THREAD and field.wire == WIRE_BYTES:
                inner = field.start
                inner_end = inner + field.size
                while inner < inner_end:
                    inner = next_field(data, inner, inner_end, &part)
                    if inner < 0:
                        return
                    if part.wire != WIRE_VARINT:
                        continue
                    if part.number == THREAD_DESCRIPTOR_PID:
                        pid = part.value
                        found |= 1
                    elif part.number == THREAD_DESCRIPTOR_TID:
                        tid = part.value
                        found |= 2
                    elif part.number == THREAD_DESCRIPTOR_REFERENCE_TIMESTAMP_US:
                        reference = <int64_t>part.value
                    elif part.number == THREAD_DESCRIPTOR_REFERENCE_THREAD_TIME_US:
                        thread_reference = <int64_t>part.value
        if found == 3:
            sequence.has_thread = 1
            sequence.thread = <uint64_t>(<uint32_t>pid) << 32 | <uint32_t>tid
            sequence.time_us = reference
            sequence.thread_time_us = thread_reference


cdef enum:
    ABSENT = -2147483647 - 1


cdef inline uint64_t mix(uint64_t key, uint64_t space) noexcept nogil:
    cdef uint64_t state = (key ^ (space * <uint64_t>0xD6E8FEB86659FD93)) * <uint64_t>0x9E3779B97F4A7C15
    return state ^ (state >> 32)


cdef class KeyMap:
    """Numbers by (key, space), both of 64 bits: identities of a file to indices of the trace's tables."""

    def __cinit__(self):
        self._mask = 255
        self._entries = <KeyEntry*>calloc(self._mask + 1, sizeof(KeyEntry))
        if self._entries is NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._entries)

    cdef int32_t find(self, uint64_t key, uint64_t space, int32_t absent) noexcept nogil:
        cdef uint64_t slot = mix(key, space) & self._mask
        while self._entries[slot].used:
            if self._entries[slot].key == key and self._entries[slot].space == space:
                return self._entries[slot].value
            slot = (slot + 1) & self._mask
        return absent

    cdef int put(self, uint64_t key, uint64_t space, int32_t value) noexcept nogil:
        cdef uint64_t slot = mix(key, space) & self._mask
        cdef KeyEntry* entry
        while self._entries[slot].used:
            if self._entries[slot].key == key and self._entries[slot].space == space:
                self._entries[slot].value = value
                return 0
            slot = (slot + 1) & self._mask
        entry = &self._entries[slot]
        entry.key = key
        entry.space = space
        entry.value = value
        entry.used = 1
        self._count += 1
        if <uint64_t>self._count * 2 > self._mask:
            return self._resize((self._mask + 1) * 2)
        return 0

    cdef int _resize(self, uint64_t size) noexcept nogil:
        cdef KeyEntry* old = self._entries
        cdef uint64_t old_size = self._mask + 1
        cdef uint64_t i, slot
        cdef KeyEntry* entries = <KeyEntry*>calloc(size, sizeof(KeyEntry))
        if entries is NULL:
            return -1
        for i in range(old_size):
            if old[i].used:
                slot = mix(old[i].key, old[i].space) & (size - 1)
                while entries[slot].used:
                    slot = (slot + 1) & (size - 1)
                entries[slot] = old[i]
        self._entries = entries
        self._mask = size - 1
        free(old)
        return 0

    def __len__(self) -> int:
        return self._count

    def get(self, uint64_t key, uint64_t space, int32_t absent) -> int:
        """The value of a key, `absent` when there is none."""
        return self.find(key, space, absent)

    def set(self, uint64_t key, uint64_t space, int32_t value) -> None:
        """Set the value of a key."""
        if self.put(key, space, value) < 0:
            raise MemoryError("no room for more keys")

    def keep(self, spaces: Container[int], int shift) -> None:
        """Forget the keys whose space, shifted right by `shift`, is not in `spaces`."""
        cdef uint64_t i
        cdef KeyEntry* old = self._entries
        cdef uint64_t old_size = self._mask + 1
        cdef KeyEntry* fresh = <KeyEntry*>calloc(256, sizeof(KeyEntry))
        cdef bint failed = False
        if fresh is NULL:
            raise MemoryError
        self._entries = fresh
        self._mask = 255
        self._count = 0
        try:
            for i in range(old_size):
                if old[i].used and (old[i].space >> shift) in spaces:
                    failed |= self.put(old[i].key, old[i].space, old[i].value) < 0
        finally:
            free(old)
        if failed:
            raise MemoryError("no room for more keys")

    def map_tids(self, const int32_t[:] tids, int32_t[::1] out) -> list[int]:
        """Values of (tid, space 0) into `out`, -1 for negative tids; returns the tids that have none, each once.

        Where it returns any, `out` is -2 there. Raises ValueError when the columns differ in length.
        """
        cdef int64_t i
        cdef int32_t found
        cdef int32_t last = -1
        cdef int32_t last_value = -1
        cdef list missing = []
        if tids.shape[0] != out.shape[0]:
            raise ValueError("tids and out differ in length")
        with nogil:
            for i in range(tids.shape[0]):
                # Runs of one tid are long: remember the last.
                if tids[i] == last:
                    out[i] = last_value
                    continue
                if tids[i] < 0:
                    out[i] = -1
                    continue
                found = self.find(<uint64_t>tids[i], 0, -2)
                if found == -2:
                    with gil:
                        missing.append(tids[i])
                last = tids[i]
                last_value = found
                out[i] = found
        # Each run of one has added it.
        return list(dict.fromkeys(missing))

    def map_places(self, const uint64_t[:] keys, const uint8_t[:] spaces, int32_t[::1] out) -> list[tuple[int, int]]:
        """Values of (key, space) into `out`; returns the keys that have none, each once.

        Raises ValueError when the columns differ in length.
        """
        cdef int64_t i
        cdef int32_t found
        cdef bint complete = True
        if keys.shape[0] != out.shape[0] or spaces.shape[0] != out.shape[0]:
            raise ValueError("keys, spaces and out differ in length")
        with nogil:
            for i in range(keys.shape[0]):
                found = self.find(keys[i], spaces[i], ABSENT)
                complete &= found != ABSENT
                out[i] = found
        if complete:
            return []
        return list(
            dict.fromkeys((keys[i], spaces[i]) for i in range(keys.shape[0]) if out[i] == ABSENT)
        )
