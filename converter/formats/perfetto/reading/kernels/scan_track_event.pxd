# Track events (track_event.proto) taken apart, before their arguments are read.

from converter.formats.perfetto.reading.kernels.scan_sequences cimport KeyMap
from converter.formats.perfetto.protobuf.fields cimport (
    ARGUMENTS_DEBUG_ANNOTATIONS, INTERNED_CORRELATION_ID_STR, INTERNED_EVENT_CATEGORIES,
    INTERNED_EVENT_NAMES, LEGACY_BIND_TEXT, LEGACY_DURATION, LEGACY_ID_SCOPE, LEGACY_ID_TEXT,
    LEGACY_MEMBERS, LEGACY_NAME_IID, LEGACY_UNUSED_SCOPE, TRACK_EVENT_ARGUMENTS, TRACK_EVENT_CALLSTACK,
    TRACK_EVENT_CALLSTACK_IID, TRACK_EVENT_CALLSTACK_WEIGHT, TRACK_EVENT_CATEGORIES,
    TRACK_EVENT_CATEGORY_IIDS, TRACK_EVENT_CORRELATION_ID, TRACK_EVENT_CORRELATION_ID_STR,
    TRACK_EVENT_CORRELATION_ID_STR_IID, TRACK_EVENT_COUNTER_VALUE, TRACK_EVENT_DEBUG_ANNOTATIONS,
    TRACK_EVENT_DOUBLE_COUNTER_VALUE, TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS,
    TRACK_EVENT_EXTRA_COUNTER_VALUES, TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS,
    TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES, TRACK_EVENT_FLOW_IDS, TRACK_EVENT_FLOW_IDS_OLD,
    TRACK_EVENT_LEGACY_EVENT, TRACK_EVENT_NAME, TRACK_EVENT_NAME_IID,
    TRACK_EVENT_TERMINATING_FLOW_IDS, TRACK_EVENT_TERMINATING_FLOW_IDS_OLD,
    TRACK_EVENT_THREAD_TIME_ABSOLUTE_US, TRACK_EVENT_THREAD_TIME_DELTA_US,
    TRACK_EVENT_TIMESTAMP_ABSOLUTE_US,
    TRACK_EVENT_TIMESTAMP_DELTA_US, TRACK_EVENT_TRACK_UUID, TRACK_EVENT_TYPE,
)
from converter.formats.perfetto.protobuf.scan_vectors cimport Vector, push_bytes, push_repeated, push_word
from converter.kernels.protobuf.wire cimport (
    WIRE_BYTES, WIRE_FIXED64, WIRE_VARINT, WireField, next_field, read_varint,
)
from converter.formats.perfetto.reading.kernels.scan_sequences cimport KeyMap
from converter.kernels.tables.strings cimport Entry, StringTable

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

cdef enum:
    # Values of a LegacyEvent: its fields by number, then the texts of ids, and the duration of a state.
    ID_TEXT_SLOT = 20
    DURATION_SLOT = 22
    LEGACY_VALUES = 23

# Codes of the items in the shape of an event, each with its name and one word, except where noted. `reading.timeline`
# knows them as letters.
cdef enum:
    # Annotations.
    ITEM_BOOLEAN = <int>c'b'
    ITEM_UNSIGNED = <int>c'u'
    ITEM_SIGNED = <int>c'i'
    ITEM_DOUBLE = <int>c'd'
    ITEM_POINTER = <int>c'p'
    # The id of a string.
    ITEM_STRING = <int>c's'
    # No value, and no word.
    ITEM_NULL = <int>c'n'
    # Spans of the window (two words): an annotation with nested values, a protobuf message, JSON text.
    ITEM_NESTED = <int>c'N'
    ITEM_PROTO = <int>c'y'
    ITEM_JSON = <int>c'j'
    # Values of a counter: int64, double.
    ITEM_COUNTER = <int>c'v'
    ITEM_DOUBLE_COUNTER = <int>c'V'
    # A field of a LegacyEvent; its number replaces the id of the name.
    ITEM_LEGACY = <int>c'L'
    # Members of a JSON event that are not standard: a span of the window.
    ITEM_MEMBERS = <int>c'M'
    # Time of the thread: in microseconds, and as the value of a counter.
    ITEM_THREAD_TIME_US = <int>c'h'
    ITEM_THREAD_TIME = <int>c'H'
    # Flow ids: spans of `flows`.
    ITEM_FLOWS = <int>c'F'
    ITEM_TERMINATING_FLOWS = <int>c'T'
    # A correlation id, and one that is a string.
    ITEM_CORRELATION = <int>c'c'
    ITEM_CORRELATION_NAME = <int>c'S'
    # A call stack by its iid, and one in the event: a span of the window.
    ITEM_CALLSTACK = <int>c'K'
    ITEM_INLINE_CALLSTACK = <int>c'k'
    ITEM_WEIGHT = <int>c'w'
    # Fields without an argument: a span of `remainder`.
    ITEM_REMAINDER = <int>c'X'


# The single fields of one TrackEvent, before they are put together.
cdef struct Parsed:
    uint64_t type
    int32_t name
    int32_t category
    uint8_t has_name
    uint8_t has_track
    uint8_t has_counter
    uint8_t has_double
    uint8_t has_delta
    uint8_t has_absolute
    uint8_t has_correlation
    uint8_t has_weight
    uint8_t has_callstack
    int32_t correlation_name
    uint64_t track
    uint64_t counter
    int64_t time_us
    int64_t delta_us
    uint64_t correlation
    uint64_t weight
    uint64_t callstack
    int64_t callstack_start
    int64_t callstack_size
    int64_t legacy_start
    int64_t legacy_size
    uint8_t has_legacy
    uint8_t has_thread_time
    uint8_t has_thread_delta
    int64_t thread_time_us
    int64_t thread_delta_us
    # Members of JSON events, in a LegacyEvent.
    int64_t members_start
    int64_t members_size
    # True if messages in it may have fields without a rule.
    uint8_t further


# The repeated fields of one TrackEvent.
cdef struct EventParts:
    # Categories, joined by commas.
    Vector text
    # (start, size) of each annotation.
    Vector annotations
    Vector flows
    Vector terminating
    # Extra counters: values, and the tracks that they are of.
    Vector values
    Vector double_values
    Vector tracks
    Vector double_tracks
    # Fields without an argument, as they are.
    Vector rest


# A category: appended to the joined text, and the id of the whole where it is the only one. -1: no memory.
cdef inline int category_text(EventParts* parts, const uint8_t* data, int64_t size) noexcept nogil:
    cdef uint8_t comma = c','
    if parts.text.size and push_bytes(&parts.text, &comma, 1) < 0:
        return -1
    return push_bytes(&parts.text, data, size)


cdef inline int category_iid(
    EventParts* parts, uint64_t iid, uint32_t scope, StringTable strings, KeyMap interned
) noexcept nogil:
    cdef int32_t id = interned.find(iid, <uint64_t>scope << 16 | INTERNED_EVENT_CATEGORIES, 0)
    cdef Entry* entry
    if id <= 0:
        return 0
    entry = strings.entry(id)
    return category_text(parts, entry.data, entry.size)


# Read a field of an event that is rarer: correlation and call stacks. Returns 0 for any other field, -1 without memory.
cdef inline int read_rarer_field(
    StringTable strings, KeyMap interned, const uint8_t* data, uint32_t scope, const WireField* field, Parsed* event
) noexcept nogil:
    if field.number == TRACK_EVENT_CORRELATION_ID and field.wire == WIRE_VARINT:
        event.has_correlation = 1
        event.correlation = field.value
    elif field.number == TRACK_EVENT_CORRELATION_ID_STR and field.wire == WIRE_BYTES:
        event.has_correlation = 2
        event.correlation_name = strings.find_or_add(data + field.start, <uint32_t>field.size)
        if event.correlation_name < 0:
            return -1
    elif field.number == TRACK_EVENT_CORRELATION_ID_STR_IID and field.wire == WIRE_VARINT:
        event.has_correlation = 2
        event.correlation_name = interned.find(
            field.value, <uint64_t>scope << 16 | INTERNED_CORRELATION_ID_STR, 0
        )
    elif field.number == TRACK_EVENT_CALLSTACK and field.wire == WIRE_BYTES:
        event.further = 1
        event.has_callstack = 1
        event.callstack_start = field.start
        event.callstack_size = field.size
    elif field.number == TRACK_EVENT_CALLSTACK_IID and field.wire == WIRE_VARINT:
        event.has_callstack = 2
        event.callstack = field.value
    elif field.number == TRACK_EVENT_CALLSTACK_WEIGHT and field.wire == WIRE_FIXED64:
        event.has_weight = 1
        event.weight = field.value
    else:
        return 0
    return 1


# Take a TrackEvent apart; -1 when memory runs out, 1 when it is damaged.
cdef inline int parse_event(
    const uint8_t* data, int64_t at, int64_t end, uint32_t scope, StringTable strings, KeyMap interned,
    EventParts* parts, Parsed* event,
) noexcept nogil:
    cdef WireField field
    cdef int64_t start
    cdef int64_t inner, inner_end
    cdef uint64_t value = 0
    cdef int failed = 0
    cdef int state
    memset(event, 0, sizeof(Parsed))
    parts.text.size = 0
    parts.annotations.size = 0
    parts.flows.size = 0
    parts.terminating.size = 0
    parts.values.size = 0
    parts.double_values.size = 0
    parts.tracks.size = 0
    parts.double_tracks.size = 0
    parts.rest.size = 0
    while at < end:
        start = at
        at = next_field(data, at, end, &field)
        if at < 0:
            return 1
        if field.number == TRACK_EVENT_DEBUG_ANNOTATIONS and field.wire == WIRE_BYTES:
            failed |= push_word(&parts.annotations, <uint64_t>field.start)
            failed |= push_word(&parts.annotations, <uint64_t>field.size)
        elif field.number == TRACK_EVENT_ARGUMENTS and field.wire == WIRE_BYTES:
            inner = field.start
            inner_end = inner + field.size
            while inner < inner_end:
                inner = next_field(data, inner, inner_end, &field)
                if inner < 0:
                    return 1
                if field.number == ARGUMENTS_DEBUG_ANNOTATIONS and field.wire == WIRE_BYTES:
                    failed |= push_word(&parts.annotations, <uint64_t>field.start)
                    failed |= push_word(&parts.annotations, <uint64_t>field.size)
                else:
                    event.further = 1
        elif field.number == TRACK_EVENT_TYPE and field.wire == WIRE_VARINT:
            event.type = field.value
        elif field.number == TRACK_EVENT_NAME_IID and field.wire == WIRE_VARINT:
            if not event.has_name:
                event.name = interned.find(field.value, <uint64_t>scope << 16 | INTERNED_EVENT_NAMES, 0)
        elif field.number == TRACK_EVENT_TRACK_UUID and field.wire == WIRE_VARINT:
            event.has_track = 1
            event.track = field.value
        elif field.number == TRACK_EVENT_CATEGORY_IIDS:
            if field.wire == WIRE_VARINT:
                failed |= category_iid(parts, field.value, scope, strings, interned)
            elif field.wire == WIRE_BYTES:
                inner = field.start
                inner_end = inner + field.size
                while inner < inner_end:
                    inner = read_varint(data, inner, inner_end, &value)
                    if inner < 0:
                        return 1
                    failed |= category_iid(parts, value, scope, strings, interned)
        elif field.number == TRACK_EVENT_CATEGORIES and field.wire == WIRE_BYTES:
            failed |= category_text(parts, data + field.start, field.size)
        elif field.number == TRACK_EVENT_NAME and field.wire == WIRE_BYTES:
            event.has_name = 1
            event.name = strings.find_or_add(data + field.start, <uint32_t>field.size)
            failed |= -(event.name < 0)
        elif field.number == TRACK_EVENT_COUNTER_VALUE and field.wire == WIRE_VARINT:
            event.has_counter = 1
            event.has_double = 0
            event.counter = field.value
        elif field.number == TRACK_EVENT_DOUBLE_COUNTER_VALUE and field.wire == WIRE_FIXED64:
            event.has_counter = 1
            event.has_double = 1
            event.counter = field.value
        elif field.number == TRACK_EVENT_FLOW_IDS or field.number == TRACK_EVENT_FLOW_IDS_OLD:
            failed |= push_repeated(&parts.flows, data, &field, field.number == TRACK_EVENT_FLOW_IDS)
        elif field.number == TRACK_EVENT_TERMINATING_FLOW_IDS or field.number == TRACK_EVENT_TERMINATING_FLOW_IDS_OLD:
            failed |= push_repeated(&parts.terminating, data, &field, field.number == TRACK_EVENT_TERMINATING_FLOW_IDS)
        elif field.number == TRACK_EVENT_LEGACY_EVENT and field.wire == WIRE_BYTES:
            event.further |= event.has_legacy
            event.has_legacy = 1
            event.legacy_start = field.start
            event.legacy_size = field.size
        elif field.number == TRACK_EVENT_EXTRA_COUNTER_VALUES:
            failed |= push_repeated(&parts.values, data, &field, False)
        elif field.number == TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES:
            failed |= push_repeated(&parts.double_values, data, &field, True)
        elif field.number == TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS:
            failed |= push_repeated(&parts.tracks, data, &field, False)
        elif field.number == TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS:
            failed |= push_repeated(&parts.double_tracks, data, &field, False)
        elif field.number == TRACK_EVENT_TIMESTAMP_DELTA_US and field.wire == WIRE_VARINT:
            event.has_delta = 1
            event.delta_us = <int64_t>field.value
        elif field.number == TRACK_EVENT_TIMESTAMP_ABSOLUTE_US and field.wire == WIRE_VARINT:
            event.has_absolute = 1
            event.time_us = <int64_t>field.value
        elif field.number == TRACK_EVENT_THREAD_TIME_ABSOLUTE_US and field.wire == WIRE_VARINT:
            event.has_thread_time = 1
            event.thread_time_us = <int64_t>field.value
        elif field.number == TRACK_EVENT_THREAD_TIME_DELTA_US and field.wire == WIRE_VARINT:
            event.has_thread_delta = 1
            event.thread_delta_us = <int64_t>field.value
        else:
            state = read_rarer_field(strings, interned, data, scope, &field, event)
            failed |= push_bytes(&parts.rest, data + start, at - start) if state == 0 else -(state < 0)
        if failed:
            return 1 if failed > 0 else -1
    if parts.text.size:
        event.category = strings.find_or_add(parts.text.data, <uint32_t>parts.text.size)
        if event.category < 0:
            return -1
    return 0


# Return True for the numbers below 20 that no field of LegacyEvent has.
cdef inline bint is_no_legacy_field(uint32_t number) noexcept nogil:
    return number in (5, 16, 17)


# The fields of a LegacyEvent as arguments; -1 when memory runs out, 1 when it is damaged.
cdef inline int parse_legacy(
    const uint8_t* data, Parsed* event, uint32_t scope, StringTable strings, KeyMap interned, uint64_t* values,
    uint32_t* present,
) noexcept nogil:
    cdef WireField field
    cdef int64_t at = event.legacy_start
    cdef int64_t end = at + event.legacy_size
    cdef int32_t text
    cdef uint32_t slot
    present[0] = 0
    while at < end:
        at = next_field(data, at, end, &field)
        if at < 0:
            return 1
        if is_no_legacy_field(field.number):
            event.further = 1
        if field.number == LEGACY_MEMBERS and field.wire == WIRE_BYTES:
            event.members_start = field.start
            event.members_size = field.size
        slot = field.number
        if field.number == LEGACY_ID_TEXT or field.number == LEGACY_BIND_TEXT:
            slot = field.number - LEGACY_ID_TEXT + ID_TEXT_SLOT
        elif field.number == LEGACY_DURATION:
            slot = DURATION_SLOT
        elif field.number == LEGACY_UNUSED_SCOPE:
            slot = LEGACY_ID_SCOPE
        elif field.number >= ID_TEXT_SLOT:
            event.further |= field.number != LEGACY_MEMBERS
            continue
        if (slot == LEGACY_ID_SCOPE or ID_TEXT_SLOT <= slot < DURATION_SLOT) and field.wire == WIRE_BYTES:
            text = strings.find_or_add(data + field.start, <uint32_t>field.size)
            if text < 0:
                return -1
            values[slot] = <uint64_t>text
            present[0] |= <uint32_t>1 << slot
        elif slot != LEGACY_ID_SCOPE and (slot < ID_TEXT_SLOT or slot == DURATION_SLOT) and field.wire == WIRE_VARINT:
            values[slot] = field.value
            present[0] |= <uint32_t>1 << slot
    if present[0] & 1 << LEGACY_NAME_IID and not event.has_name and not event.name:
        event.name = interned.find(values[LEGACY_NAME_IID], <uint64_t>scope << 16 | INTERNED_EVENT_NAMES, 0)
    return 0
