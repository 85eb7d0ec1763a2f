# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Track events (track_event.proto), read under the state of their sequences."""

# Stub:
# from converter.formats.perfetto.reading.kernels.scan_sequences import Sequences
# from typing import NamedTuple
# from converter.kernels.tables.strings import StringTable
#
# class TrackEvents(NamedTuple):
#     packet: NDArray[int32]
#     signature: NDArray[int32]
#     name: NDArray[int32]
#     category: NDArray[int32]
#     place: NDArray[uint64]
#     space: NDArray[uint8]
#     first_word: NDArray[int64]
#     words: NDArray[uint64]
#     flows: NDArray[uint64]
#     remainder: NDArray[uint8]

from collections import namedtuple

import numpy as np

from converter.formats.perfetto.protobuf.scan_vectors cimport Vector, push_bytes, push_id, push_word, reserve
from converter.kernels.protobuf.wire cimport (
    WIRE_BYTES, WIRE_FIXED64, WIRE_VARINT, WireField, __builtin_ctzll, next_field,
)
from converter.formats.perfetto.protobuf.scan import COLUMNS as _COLUMNS
from converter.formats.perfetto.protobuf.fields cimport (
    ANNOTATION_ARRAY_VALUES, ANNOTATION_BOOL_VALUE, ANNOTATION_DICT_ENTRIES,
    ANNOTATION_DOUBLE_VALUE, ANNOTATION_INT_VALUE, ANNOTATION_LEGACY_JSON_VALUE, ANNOTATION_NAME,
    ANNOTATION_NAME_IID, ANNOTATION_NESTED_VALUE, ANNOTATION_POINTER_VALUE,
    ANNOTATION_PROTO_TYPE_NAME, ANNOTATION_PROTO_TYPE_NAME_IID, ANNOTATION_PROTO_VALUE,
    ANNOTATION_STRING_VALUE, ANNOTATION_STRING_VALUE_IID, ANNOTATION_UINT_VALUE, ANNOTATION_WHOLE_NAME,
    INTERNED_DEBUG_ANNOTATION_NAMES, INTERNED_DEBUG_ANNOTATION_STRING_VALUES,
    INTERNED_DEBUG_ANNOTATION_VALUE_TYPE_NAMES, LEGACY_PHASE, PACKET_TRACK_DESCRIPTOR, PACKET_TRACK_EVENT,
    TYPE_COUNTER, TYPE_STATE, TYPE_UNSPECIFIED,
)
from converter.formats.perfetto.reading.kernels.scan_event_threads cimport (
    HAS_NAME, HAS_PHASE, HAS_PID, HAS_TID, is_on_thread, thread_of,
)
from converter.formats.perfetto.reading.kernels.scan_sequences cimport (
    DATA, DATA_SIZE, DATA_START, DEFAULTS_START, FLAGS, FURTHER, INTERNED_START, NEEDS_STATE, SEQUENCE,
    Sequence, Sequences,
)
from converter.formats.perfetto.reading.kernels.scan_track_event cimport (
    ITEM_BOOLEAN, ITEM_CALLSTACK, ITEM_CORRELATION, ITEM_CORRELATION_NAME, ITEM_COUNTER, ITEM_DOUBLE,
    ITEM_DOUBLE_COUNTER, ITEM_FLOWS, ITEM_INLINE_CALLSTACK, ITEM_JSON, ITEM_LEGACY, ITEM_MEMBERS, ITEM_NESTED,
    ITEM_NULL, ITEM_POINTER, ITEM_PROTO, ITEM_REMAINDER, ITEM_SIGNED, ITEM_STRING, ITEM_TERMINATING_FLOWS,
    ITEM_THREAD_TIME, ITEM_THREAD_TIME_US, ITEM_UNSIGNED, ITEM_WEIGHT, LEGACY_VALUES, EventParts, Parsed,
    parse_event, parse_legacy,
)
from converter.kernels.tables.strings cimport StringTable

from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

TrackEvents = namedtuple(
    "TrackEvents", "packet signature name category place space first_word words flows remainder"
)

cdef enum:
    MONOTONIC = 3
    ITEM_BYTES = 9
    # Annotations of a name with dots are nested less deeply.
    MAX_PATH = 8


@final
cdef class Timeline(Sequences):
    """Track events, read under the state of their sequences. One for each pass over a trace.

    A signature is two bytes, TrackEvent.type and the phase of a LegacyEvent (0: none; the type counts), then 9 bytes an
    argument: a code, the id of its name, and the id of the name of its type (both little-endian uint32). Codes and
    their words: ``b`` bool, ``u`` ``i`` integers, ``d`` double, ``p`` pointer, ``s`` string, ``n`` no value (none),
    ``N`` nested annotation and ``y`` proto value (a span of the window each); and of other fields than annotations:
    ``v`` ``V`` counter value (int, double), ``F`` ``T`` flows and terminating flows (a span of `flows`), ``L`` a
    LegacyEvent field whose number replaces the name's id, ``c`` correlation id, ``S`` its name, ``w`` call stack
    weight, ``K`` an interned call stack (iid), ``k`` an inline one (a span of the window), ``X`` remainder (a span of
    `remainder`).
    """

    cdef StringTable _signatures
    # Outputs.
    cdef Vector _packet
    cdef Vector _signature
    cdef Vector _name
    cdef Vector _category
    cdef Vector _place
    cdef Vector _space
    cdef Vector _first_word
    cdef Vector _words
    cdef Vector _flows
    cdef Vector _remainder
    # The shape of one event.
    cdef Vector _shape
    cdef EventParts _parts

    def __cinit__(self, StringTable strings, StringTable messages, StringTable signatures):
        """`signatures` takes one string for each signature."""
        self._signatures = signatures

    def __dealloc__(self):
        free(self._packet.data)
        free(self._signature.data)
        free(self._name.data)
        free(self._category.data)
        free(self._place.data)
        free(self._space.data)
        free(self._first_word.data)
        free(self._words.data)
        free(self._flows.data)
        free(self._remainder.data)
        free(self._shape.data)
        free(self._parts.text.data)
        free(self._parts.annotations.data)
        free(self._parts.flows.data)
        free(self._parts.terminating.data)
        free(self._parts.values.data)
        free(self._parts.double_values.data)
        free(self._parts.tracks.data)
        free(self._parts.double_tracks.data)
        free(self._parts.rest.data)

    # Events

    cdef inline int _push_item(self, uint8_t code, uint32_t name, uint32_t type_name) noexcept nogil:
        cdef uint8_t* item
        if reserve(&self._shape, ITEM_BYTES) < 0:
            return -1
        item = self._shape.data + self._shape.size
        item[0] = code
        memcpy(item + 1, &name, 4)
        memcpy(item + 5, &type_name, 4)
        self._shape.size += ITEM_BYTES
        return 0

    cdef inline int _push_value(self, uint8_t code, uint32_t name, uint64_t value) noexcept nogil:
        if self._push_item(code, name, 0) < 0:
            return -1
        return push_word(&self._words, value)

    cdef inline int _push_span(
        self, uint8_t code, uint32_t name, uint32_t type_name, int64_t start, int64_t size
    ) noexcept nogil:
        if self._push_item(code, name, type_name) < 0 or push_word(&self._words, <uint64_t>start) < 0:
            return -1
        return push_word(&self._words, <uint64_t>size)

    cdef inline int _push_event(
        self, int32_t packet, int32_t name, int32_t category, uint64_t place, uint8_t space, int64_t first_word
    ) noexcept nogil:
        cdef int32_t signature = self._signatures.find_or_add(self._shape.data, <uint32_t>self._shape.size)
        if signature < 0 or reserve(&self._space, 1) < 0:
            return -1
        self._space.data[self._space.size] = space
        self._space.size += 1
        if (
            push_id(&self._packet, packet) < 0
            or push_id(&self._signature, signature) < 0
            or push_id(&self._name, name) < 0
            or push_id(&self._category, category) < 0
            or push_word(&self._place, place) < 0
            or push_word(&self._first_word, <uint64_t>first_word) < 0
        ):
            return -1
        return 0

    cdef inline int _start_shape(self, uint8_t type, uint8_t phase) noexcept nogil:
        self._shape.size = 0
        if reserve(&self._shape, 2) < 0:
            return -1
        self._shape.data[0] = type
        self._shape.data[1] = phase
        self._shape.size = 2
        return 0

    cdef int _push_counters(
        self, int32_t packet, Vector* values, uint64_t* tracks, int64_t track_count, bint is_double,
        int64_t without, const Sequence* sequence,
    ) noexcept nogil:
        cdef int64_t i, first
        cdef uint64_t value
        for i in range(values.size // 8):
            if i >= track_count:
                break
            if i == without:
                continue
            first = self._words.size // 8
            value = (<uint64_t*>values.data)[i]
            if (
                self._accumulate(tracks[i], &value, is_double, sequence) < 0
                or self._start_shape(TYPE_COUNTER, 0) < 0
                or self._push_value(ITEM_DOUBLE_COUNTER if is_double else ITEM_COUNTER, 0, value) < 0
                or self._push_event(packet, 0, 0, tracks[i], 0, first) < 0
            ):
                return -1
        return 0

    # Which of an event's counters is the time of its thread, -1 if none is.
    cdef int64_t _thread_time(self, const uint64_t* tracks, int64_t track_count) noexcept nogil:
        cdef int64_t i
        for i in range(min(self._parts.values.size // 8, track_count)):
            if self._is_thread_time(tracks[i]):
                return i
        return -1

    # One DebugAnnotation; -1 when memory runs out, 1 when it is damaged. `further` where it has other fields or messages.
    # `outer` is the name with dots of the annotation whose only entry it is, 0 for none; `depth` is the number of those
    # around it.
    cdef int _annotation(
        self, const uint8_t* data, int64_t start, int64_t end, uint32_t scope, uint8_t* further, int32_t outer, int depth
    ) noexcept nogil:
        cdef WireField field
        cdef int64_t at = start
        cdef int32_t name = 0
        cdef int32_t type_name = 0
        cdef int32_t text
        cdef uint8_t code = ITEM_NULL
        cdef uint64_t value = 0
        cdef int64_t span = 0
        cdef int64_t span_size = 0
        cdef int32_t whole_name = 0
        cdef int entries = 0
        while at < end:
            at = next_field(data, at, end, &field)
            if at < 0:
                return 1
            if field.wire == WIRE_VARINT:
                if field.number == ANNOTATION_NAME_IID:
                    name = self._interned.find(field.value, <uint64_t>scope << 16 | INTERNED_DEBUG_ANNOTATION_NAMES, 0)
                elif field.number == ANNOTATION_BOOL_VALUE:
                    code = ITEM_BOOLEAN
                    value = field.value != 0
                elif field.number == ANNOTATION_UINT_VALUE:
                    code = ITEM_UNSIGNED
                    value = field.value
                elif field.number == ANNOTATION_INT_VALUE:
                    code = ITEM_SIGNED
                    value = field.value
                elif field.number == ANNOTATION_POINTER_VALUE:
                    code = ITEM_POINTER
                    value = field.value
                elif field.number == ANNOTATION_PROTO_TYPE_NAME_IID:
                    type_name = self._interned.find(
                        field.value, <uint64_t>scope << 16 | INTERNED_DEBUG_ANNOTATION_VALUE_TYPE_NAMES, 0
                    )
                elif field.number == ANNOTATION_STRING_VALUE_IID:
                    code = ITEM_STRING
                    value = <uint64_t>self._interned.find(
                        field.value, <uint64_t>scope << 16 | INTERNED_DEBUG_ANNOTATION_STRING_VALUES, 0
                    )
                else:
                    further[0] = 1
            elif field.wire == WIRE_BYTES:
                if (
                    field.number == ANNOTATION_NAME or field.number == ANNOTATION_PROTO_TYPE_NAME
                    or field.number == ANNOTATION_STRING_VALUE
                ):
                    text = self._strings.find_or_add(data + field.start, <uint32_t>field.size)
                    if text < 0:
                        return -1
                    if field.number == ANNOTATION_NAME:
                        name = text
                    elif field.number == ANNOTATION_PROTO_TYPE_NAME:
                        type_name = text
                    else:
                        code = ITEM_STRING
                        value = <uint64_t>text
                elif (
                    field.number == ANNOTATION_NESTED_VALUE or field.number == ANNOTATION_DICT_ENTRIES
                    or field.number == ANNOTATION_ARRAY_VALUES
                ):
                    code = ITEM_NESTED
                    further[0] = 1
                    span = field.start
                    span_size = field.size
                    entries += 1 if field.number == ANNOTATION_DICT_ENTRIES else 2
                elif field.number == ANNOTATION_WHOLE_NAME:
                    whole_name = self._strings.find_or_add(data + field.start, <uint32_t>field.size)
                    if whole_name < 0:
                        return -1
                elif field.number == ANNOTATION_PROTO_VALUE or field.number == ANNOTATION_LEGACY_JSON_VALUE:
                    code = ITEM_PROTO if field.number == ANNOTATION_PROTO_VALUE else ITEM_JSON
                    span = field.start
                    span_size = field.size
                else:
                    further[0] = 1
            elif field.wire == WIRE_FIXED64 and field.number == ANNOTATION_DOUBLE_VALUE:
                code = ITEM_DOUBLE
                value = field.value
            else:
                further[0] = 1
        if code == ITEM_NESTED and entries == 1 and whole_name and depth < MAX_PATH:
            return self._annotation(data, span, span + span_size, scope, further, outer or whole_name, depth + 1)
        if outer:
            name = outer
        if code == ITEM_NESTED:
            return self._push_span(code, <uint32_t>name, 0, start, end - start)
        if code == ITEM_PROTO or code == ITEM_JSON:
            return self._push_span(code, <uint32_t>name, <uint32_t>type_name, span, span_size)
        if code == ITEM_NULL:
            return self._push_item(code, <uint32_t>name, 0)
        return self._push_value(code, <uint32_t>name, value)

    # One track event; -1 when memory runs out, 1 when it cannot be read.
    cdef int _event(
        self, const uint8_t* data, int64_t start, int64_t end, int32_t packet, Sequence* sequence, int64_t* ts,
        int64_t* clock, int64_t* flags,
    ) noexcept nogil:
        cdef Parsed event
        cdef uint64_t legacy[LEGACY_VALUES]
        cdef uint32_t present = 0
        cdef uint32_t scope = sequence.scope
        cdef uint64_t place
        cdef uint8_t space = 0
        cdef uint8_t phase = 0
        cdef int64_t first, words_before
        cdef int state
        cdef uint64_t* counted
        cdef int64_t counted_size
        cdef int64_t timed = -1
        state = parse_event(data, start, end, scope, self._strings, self._interned, &self._parts, &event)
        if state:
            return state
        if event.has_legacy:
            state = parse_legacy(data, &event, scope, self._strings, self._interned, legacy, &present)
            if state:
                return state
        if event.type > TYPE_STATE:
            return 1
        if event.type == TYPE_UNSPECIFIED:
            if not present & HAS_PHASE or legacy[LEGACY_PHASE] == 0 or legacy[LEGACY_PHASE] > 127:
                return 1
            phase = <uint8_t>legacy[LEGACY_PHASE]
        if event.type == TYPE_COUNTER and not event.has_counter:
            return 1
        if event.has_delta or event.has_absolute:
            # An absolute time is of this event alone.
            if event.has_delta:
                event.time_us = sequence.time_us = <int64_t>(<uint64_t>sequence.time_us + <uint64_t>event.delta_us)
            ts[0] = <int64_t>(<uint64_t>event.time_us * <uint64_t>1000)
            clock[0] = MONOTONIC
        place = event.track if event.has_track else sequence.track if sequence.has_track else 0
        if is_on_thread(&event, sequence, legacy, present, phase, place):
            place = thread_of(sequence, legacy, present, place)
            space = 1
        counted = <uint64_t*>self._parts.tracks.data if self._parts.tracks.size else sequence.extra
        counted_size = self._parts.tracks.size // 8 if self._parts.tracks.size else sequence.extra_count
        words_before = self._words.size
        first = words_before // 8
        if self._start_shape(<uint8_t>event.type, phase) < 0:
            return -1
        if event.type == TYPE_COUNTER and self._accumulate(place, &event.counter, event.has_double, sequence) < 0:
            return -1
        # A counter's value comes first; the value of any other event comes after the fields of a LegacyEvent.
        if event.type == TYPE_COUNTER and self._push_counter(&event) < 0:
            return -1
        if self._push_legacy(&event, legacy, present, phase) < 0:
            return -1
        if event.has_thread_delta:
            event.thread_time_us = sequence.thread_time_us = <int64_t>(
                <uint64_t>sequence.thread_time_us + <uint64_t>event.thread_delta_us
            )
        if event.has_thread_time or event.has_thread_delta:
            if self._push_value(ITEM_THREAD_TIME_US, 0, <uint64_t>event.thread_time_us) < 0:
                return -1
        elif self._parts.values.size and event.type != TYPE_COUNTER:
            timed = self._thread_time(counted, counted_size)
            if timed >= 0 and self._push_thread_time(counted, timed, sequence) < 0:
                return -1
        if event.has_counter and event.type != TYPE_COUNTER and self._push_counter(&event) < 0:
            return -1
        if self._push_others(&event) < 0:
            return -1
        state = self._push_annotations(data, scope, &event.further)
        if state:
            self._words.size = words_before
            return state
        if event.further:
            flags[0] |= FURTHER
        if self._push_event(packet, event.name, event.category, place, space, first) < 0:
            return -1
        return self._push_extra_counters(packet, counted, counted_size, timed, sequence)

    cdef inline int _push_counter(self, const Parsed* event) noexcept nogil:
        return self._push_value(ITEM_DOUBLE_COUNTER if event.has_double else ITEM_COUNTER, 0, event.counter)

    # The fields of a LegacyEvent but those of the name, the place and the phase of the event.
    cdef inline int _push_legacy(
        self, const Parsed* event, const uint64_t* legacy, uint32_t present, uint8_t phase
    ) noexcept nogil:
        cdef uint32_t left = present & ~<uint32_t>(HAS_NAME | HAS_PID | HAS_TID | (HAS_PHASE if phase else 0))
        cdef uint32_t i
        while left:
            i = <uint32_t>__builtin_ctzll(left)
            left &= left - 1
            if self._push_value(ITEM_LEGACY, i, legacy[i]) < 0:
                return -1
        if event.members_size:
            return self._push_span(ITEM_MEMBERS, 0, 0, event.members_start, event.members_size)
        return 0

    # The time of the thread, which is the extra counter number `timed`.
    cdef inline int _push_thread_time(
        self, const uint64_t* counted, int64_t timed, const Sequence* sequence
    ) noexcept nogil:
        cdef uint64_t value = (<uint64_t*>self._parts.values.data)[timed]
        if self._accumulate(counted[timed], &value, False, sequence) < 0:
            return -1
        return self._push_value(ITEM_THREAD_TIME, 0, value)

    cdef inline int _push_flows(self, uint8_t code, Vector* ids) noexcept nogil:
        if self._push_span(code, 0, 0, self._flows.size // 8, ids.size // 8) < 0:
            return -1
        return push_bytes(&self._flows, ids.data, ids.size)

    # Flows, correlation, call stack, and fields without an argument.
    cdef inline int _push_others(self, const Parsed* event) noexcept nogil:
        if self._parts.flows.size and self._push_flows(ITEM_FLOWS, &self._parts.flows) < 0:
            return -1
        if self._parts.terminating.size and self._push_flows(ITEM_TERMINATING_FLOWS, &self._parts.terminating) < 0:
            return -1
        if event.has_correlation == 1 and self._push_value(ITEM_CORRELATION, 0, event.correlation) < 0:
            return -1
        if event.has_correlation == 2 and self._push_value(
            ITEM_CORRELATION_NAME, 0, <uint64_t>event.correlation_name
        ) < 0:
            return -1
        if event.has_callstack == 1 and self._push_span(
            ITEM_INLINE_CALLSTACK, 0, 0, event.callstack_start, event.callstack_size
        ) < 0:
            return -1
        if event.has_callstack == 2 and self._push_value(ITEM_CALLSTACK, 0, event.callstack) < 0:
            return -1
        if event.has_weight and self._push_value(ITEM_WEIGHT, 0, event.weight) < 0:
            return -1
        if self._parts.rest.size:
            if self._push_span(ITEM_REMAINDER, 0, 0, self._remainder.size, self._parts.rest.size) < 0:
                return -1
            return push_bytes(&self._remainder, self._parts.rest.data, self._parts.rest.size)
        return 0

    cdef inline int _push_annotations(self, const uint8_t* data, uint32_t scope, uint8_t* further) noexcept nogil:
        cdef const uint64_t* spans = <uint64_t*>self._parts.annotations.data
        cdef int64_t i, start
        cdef int state
        for i in range(self._parts.annotations.size // 16):
            start = <int64_t>spans[2 * i]
            state = self._annotation(data, start, start + <int64_t>spans[2 * i + 1], scope, further, 0, 0)
            if state:
                return state
        return 0

    # The extra counters as events of their own, but number `timed`.
    cdef inline int _push_extra_counters(
        self, int32_t packet, uint64_t* counted, int64_t counted_size, int64_t timed, const Sequence* sequence
    ) noexcept nogil:
        cdef EventParts* parts = &self._parts
        if parts.values.size and self._push_counters(
            packet, &parts.values, counted, counted_size, False, timed, sequence
        ) < 0:
            return -1
        if not parts.double_values.size:
            return 0
        return self._push_counters(
            packet,
            &parts.double_values,
            <uint64_t*>parts.double_tracks.data if parts.double_tracks.size else sequence.extra_double,
            parts.double_tracks.size // 8 if parts.double_tracks.size else sequence.extra_double_count,
            True,
            -1,
            sequence,
        )

    cdef int _packet_at(
        self, const uint8_t* data, int64_t* row, int32_t packet, int64_t* ts, int64_t* clock, int64_t* scope,
        uint8_t* unread,
    ) noexcept nogil:
        cdef Sequence* sequence = self._sequence(<uint32_t>row[SEQUENCE])
        cdef int64_t flags = row[FLAGS]
        cdef int state
        if sequence is NULL:
            return -1
        if self._enter(data, row, sequence) < 0:
            return -1
        scope[0] = sequence.scope
        self._resolve_time(row, sequence, ts, clock)
        unread[0] = 0
        if row[DATA] == PACKET_TRACK_DESCRIPTOR:
            self._note_descriptor(data, row[DATA_START], row[DATA_START] + row[DATA_SIZE], sequence)
        elif row[DATA] == PACKET_TRACK_EVENT:
            if flags & NEEDS_STATE and not sequence.valid:
                unread[0] = 1
                return 0
            state = self._event(
                data, row[DATA_START], row[DATA_START] + row[DATA_SIZE], packet, sequence, ts, clock,
                &row[FLAGS],
            )
            if state < 0:
                return -1
            unread[0] = <uint8_t>state
        return 0

    def run(
        self,
        const uint8_t[::1] data,
        int64_t[:, ::1] rows,
        int64_t begin,
        int64_t end,
        int64_t[::1] ts,
        int64_t[::1] clock,
        int64_t[::1] scope,
        uint8_t[::1] unread,
    ) -> None:
        """Go through packets `begin` to `end` of `proto_scan.scan_packets`' rows.

        Fills in each packet's time in ns of its clock, that clock's id (-1: the trace's), the scope of its interned
        data, and whether it is a track event that cannot be read: damaged, or without the state that it needs.
        Releases the GIL.
        """
        cdef int64_t total = data.shape[0]
        cdef int64_t i
        cdef int column
        cdef int state = 0
        if rows.shape[1] != _COLUMNS or not 0 <= begin <= end <= rows.shape[0]:
            raise ValueError("rows do not fit")
        if ts.shape[0] < end or clock.shape[0] < end or scope.shape[0] < end or unread.shape[0] < end:
            raise ValueError("columns are too short")
        for i in range(begin, end):
            for column in (DATA_START, INTERNED_START, DEFAULTS_START):
                if not (0 <= rows[i, column] <= total and 0 <= rows[i, column + 1] <= total - rows[i, column]):
                    raise ValueError(f"row {i} is not one of scan_packets")
        if begin == end:
            return
        with nogil:
            self._strings.lock()
            self._signatures.lock()
            self._messages.lock()
            for i in range(begin, end):
                state = self._packet_at(
                    &data[0], &rows[i, 0], <int32_t>i, &ts[i], &clock[i], &scope[i], &unread[i]
                )
                if state < 0:
                    break
            self._messages.unlock()
            self._signatures.unlock()
            self._strings.unlock()
        if state < 0:
            raise MemoryError("no room for more of the trace's state")

    def take(self) -> TrackEvents:
        """The events read since the last call."""
        return TrackEvents(
            taken(&self._packet, np.int32),
            taken(&self._signature, np.int32),
            taken(&self._name, np.int32),
            taken(&self._category, np.int32),
            taken(&self._place, np.uint64),
            taken(&self._space, np.uint8),
            taken(&self._first_word, np.int64),
            taken(&self._words, np.uint64),
            taken(&self._flows, np.uint64),
            taken(&self._remainder, np.uint8),
        )


cdef object taken(Vector* vector, dtype):
    """The vector's content as an array, and the vector empty again."""
    cdef uint8_t[::1] view
    result = np.empty(vector.size, np.uint8)
    if vector.size:
        view = result
        memcpy(&view[0], vector.data, vector.size)
    vector.size = 0
    return result.view(dtype)
