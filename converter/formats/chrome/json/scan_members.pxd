"""Scanning the members of one event object, in any order, into a struct of the standard ones.

Arguments become slots and a signature in the scanner (`scan_values`), members that are not standard a text.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memset

from converter.formats.chrome.json.members cimport (
    BINDS_ENCLOSING, BIND_ID_MEMBER, EVENT_ARGUMENTS_MEMBER, HAS_ARGUMENTS, HAS_CATEGORY, HAS_CPU, HAS_DURATION, HAS_EVENT_PID,
    HAS_EVENT_TID, HAS_FLOW_IN, HAS_FLOW_OUT, HAS_ID_SCOPE, HAS_NAME, HAS_PHASE, HAS_PID, HAS_SCOPE,
    HAS_THREAD_DURATION, HAS_THREAD_TIME, HAS_TID, HAS_TS, HAS_TYPES, ID2_MEMBER, ID_MEMBER, OTHER_MEMBER, STANDARD_MEMBERS,
    member_of, number_of,
)
from converter.formats.chrome.json.scan_values cimport Ends, RECENT_TYPES, Types, ValueScanner, ends_of, place_of
from converter.formats.json_values.text cimport (
    FINE, MALFORMED, NO_MEMORY, Scanned, UNFINISHED, append_cleaned, compact, good_escapes, is_digit,
    number_end, parse_ticks, plain_ticks, skip_space, string_end,
)
from converter.kernels.io.output cimport Output, append

cdef enum:
    # Arguments with a longer signature become JSON text.
    MAX_SIGNATURE = 1 << 15


# The unit of times, and what was seen of them.
cdef struct Clock:
    int digits
    int64_t rounded
    # Times that 64 bits do not hold.
    int64_t beyond
    int places
    int64_t largest


# A place in the window. No value begins at its first byte: a `start` of 0 is none.
cdef struct Place:
    int64_t start
    int64_t end


cdef struct Members:
    # Bits HAS_*, and whether there is something that only the event's text can tell.
    int32_t present
    bint odd
    # True if a duration or thread time is not a number: importers read nothing after such an event.
    bint no_number
    # True if the member just scanned is of another type than it has to be.
    bint unfit
    # Bits of `number_of` of members that are, whose keys the scanner notes.
    uint32_t unfits
    uint8_t phase
    int64_t ts
    int64_t duration
    int64_t thread_time
    int64_t thread_duration
    # Ids of strings.
    int64_t name
    int64_t category
    int64_t scope
    int64_t id_scope
    # Slots of ids, their types, and where the first is from; 0 for none.
    int64_t id
    int64_t bind_id
    uint8_t id_kind
    uint8_t bind_kind
    uint8_t id_place
    bint flow_in
    bint flow_out
    # -1 for none.
    int64_t cpu
    # Id of the text of "arg_types".
    int64_t types
    Place pid
    Place tid
    Place event_pid
    Place event_tid
    # True if it begins as an event of this project's own that is metadata to importers: a switch has its arguments in
    # "event_args", others stay text.
    bint is_record
    bint is_switch
    # The position of the arguments, -1 for none, and whether they are to become text.
    int64_t arguments
    bint arguments_as_text


# The members of the object at `start`; those that are not standard to `others`.
cdef inline Scanned scan_members(
    ValueScanner scanner, Clock* clock, int64_t start, int64_t* after, Members* members, Output* others
) noexcept nogil:
    cdef const uint8_t* data = scanner._data
    cdef int64_t end = scanner._end
    cdef int64_t at = start + 1
    cdef int64_t key, key_end, value
    cdef bint escaped
    cdef int member
    cdef int32_t present
    cdef Scanned result
    memset(members, 0, sizeof(Members))
    members.cpu = -1
    members.arguments = -1
    if scanner._records and data[start + 1] == c'"':
        members.is_switch = begins_with(data, start, end, b'{"ph":"M","name":"sched_switch","args":"__stripped__",', 54)
        members.is_record = members.is_switch \
            or begins_with(data, start, end, b'{"ph":"M","name":"native","args":"__stripped__",', 48)
    scanner._signature.used = 0
    scanner._arguments.used = 0
    scanner._with_array = False
    others.used = 0
    while True:
        at = skip_space(data, at, end)
        if at >= end:
            return UNFINISHED
        if data[at] == c'}':
            # Accept it after a comma, too: not JSON, but common.
            break
        if data[at] != c'"':
            return MALFORMED
        escaped = False
        key = at + 1
        key_end = string_end(data, key, end, &escaped)
        if key_end < 0:
            return UNFINISHED
        at = skip_space(data, key_end + 1, end)
        if at >= end:
            return UNFINISHED
        if data[at] != c':':
            return MALFORMED
        at = skip_space(data, at + 1, end)
        if at >= end:
            return UNFINISHED
        member = OTHER_MEMBER if escaped else member_of(data + key, key_end - key)
        if member == BINDS_ENCLOSING:
            if end - at < 3:
                return UNFINISHED
            if memcmp(data + at, b'"e"', 3) != 0:
                member = OTHER_MEMBER
        if member == EVENT_ARGUMENTS_MEMBER and not members.is_switch:
            member = OTHER_MEMBER
        if member == OTHER_MEMBER:
            result = add_member(scanner, others, key, key_end, at, &at)
        else:
            # Of a repeated member the last counts.
            present = members.present
            if member > 0:
                members.present |= member
            elif member == ID2_MEMBER:
                scanner._unfit_keys[number_of(ID2_MEMBER)] = key
            value = at
            result = scan_member(scanner, clock, member, at, &at, members)
            if result == FINE and (members.unfit or members.unfits):
                note_unfit(scanner, member, present, key, data[value] == c'n', members)
        if result != FINE:
            return result
        at = skip_space(data, at, end)
        if at >= end:
            return UNFINISHED
        if data[at] == c'}':
            break
        if data[at] != c',':
            return MALFORMED
        at += 1
    after[0] = at + 1
    return add_unfit(scanner, others, members) if members.unfits else FINE


# Note a member by its key if it is of another type than it has to be: as for importers, it does not count, and it is kept
# as text unless it is null. What was said before counts, but for names, categories and scopes of instants.
cdef inline void note_unfit(
    ValueScanner scanner, int member, int32_t present, int64_t key, bint is_null, Members* members
) noexcept nogil:
    cdef uint32_t bit = <uint32_t>1 << number_of(member)
    if not members.unfit:
        # This project writes what was kept before what it adds itself.
        if not scanner._records:
            members.unfits &= ~bit
        return
    members.unfit = False
    if member == HAS_NAME:
        members.name = 0
    elif member == HAS_CATEGORY:
        members.category = 0
    elif member == HAS_SCOPE:
        present &= ~HAS_SCOPE
    if member > 0 and not present & member:
        members.present &= ~member
    if is_null:
        members.unfits &= ~bit
    else:
        members.unfits |= bit
        scanner._unfit_keys[number_of(member)] = key


# Add the members that were noted to the others.
cdef inline Scanned add_unfit(ValueScanner scanner, Output* others, Members* members) noexcept nogil:
    cdef const uint8_t* data = scanner._data
    cdef int64_t key, key_end, at
    cdef bint escaped = False
    cdef int i
    cdef Scanned result
    for i in range(STANDARD_MEMBERS):
        if members.unfits >> i & 1:
            key = scanner._unfit_keys[i]
            key_end = string_end(data, key, scanner._end, &escaped)
            at = skip_space(data, skip_space(data, key_end + 1, scanner._end) + 1, scanner._end)
            result = add_member(scanner, others, key, key_end, at, &at)
            if result != FINE:
                return result
    return FINE


cdef inline bint begins_with(
    const uint8_t* data, int64_t start, int64_t end, const uint8_t* text, int64_t size
) noexcept nogil:
    return end - start >= size and memcmp(data + start, text, 16) == 0 and memcmp(data + start, text, <size_t>size) == 0


# The value of a standard member.
cdef inline Scanned scan_member(
    ValueScanner scanner, Clock* clock, int member, int64_t at, int64_t* after, Members* members
) noexcept nogil:
    cdef const uint8_t* data = scanner._data
    cdef int64_t value = at
    cdef int64_t id = 0
    cdef uint8_t kind = 0
    cdef uint8_t id_place = 0
    cdef Place cpu
    cdef Scanned result
    if member == HAS_NAME:
        return scan_text(scanner, at, after, &members.name, &members.unfit)
    if member == HAS_CATEGORY:
        return scan_text(scanner, at, after, &members.category, &members.unfit)
    if member == HAS_PHASE:
        # Importers look at the first letter.
        if scanner._end - at >= 3 and data[at] == c'"' and data[at + 1] != c'"':
            members.phase = data[at + 1]
            value = at + 1
            while value < scanner._end and data[value] != c'"' and data[value] != c'\\':
                value += 1
            if value < scanner._end and data[value] == c'"':
                after[0] = value + 1
                return FINE
            value = at
        members.odd = True
    elif member == BINDS_ENCLOSING:
        after[0] = at + 3
        return FINE
    elif member == HAS_TS:
        return scan_time(scanner, clock, at, after, &members.ts, &members.odd)
    elif member == HAS_DURATION:
        return scan_number(scanner, clock, at, after, &members.duration, members)
    elif member == HAS_THREAD_TIME:
        return scan_number(scanner, clock, at, after, &members.thread_time, members)
    elif member == HAS_THREAD_DURATION:
        return scan_number(scanner, clock, at, after, &members.thread_duration, members)
    elif member == HAS_PID:
        return scan_task(scanner, at, after, False, &members.pid, &members.unfit)
    elif member == HAS_TID:
        return scan_task(scanner, at, after, False, &members.tid, &members.unfit)
    elif member == HAS_EVENT_PID:
        return scan_task(scanner, at, after, True, &members.event_pid, &members.unfit)
    elif member == HAS_EVENT_TID:
        return scan_task(scanner, at, after, True, &members.event_tid, &members.unfit)
    elif member == HAS_ARGUMENTS and members.is_record:
        return scanner._skip(at, after)
    elif member == HAS_ARGUMENTS or member == EVENT_ARGUMENTS_MEMBER:
        if data[at] == c'{':
            members.arguments = at
            scanner._signature.used = 0
            scanner._arguments.used = 0
            scanner._with_array = False
            result = scanner._object(at, 0, after)
            members.arguments_as_text = scanner._signature.used > MAX_SIGNATURE
            return result
        members.unfit = True
    elif member == ID_MEMBER:
        result = scanner._identity(at, after, &id, &kind)
        members.unfit = kind == 0
        if kind:
            if members.id_place > 1:
                # Importers take "id" where both are.
                members.unfits |= <uint32_t>1 << number_of(ID2_MEMBER)
            members.id, members.id_kind, members.id_place = id, kind, 1
        return result
    elif member == ID2_MEMBER:
        result = scan_id2(scanner, at, after, &id, &kind, &id_place)
        members.unfit = kind == 0 or members.id_place == 1
        if not members.unfit:
            members.id, members.id_kind, members.id_place = id, kind, id_place
        return result
    elif member == BIND_ID_MEMBER:
        result = scanner._identity(at, after, &id, &kind)
        members.unfit = kind == 0
        if kind:
            members.bind_id, members.bind_kind = id, kind
        return result
    elif member == HAS_SCOPE:
        return scan_text(scanner, at, after, &members.scope, &members.unfit)
    elif member == HAS_ID_SCOPE:
        return scan_text(scanner, at, after, &members.id_scope, &members.unfit)
    elif member == HAS_CPU:
        result = scan_task(scanner, at, after, True, &cpu, &members.unfit)
        if result == FINE:
            id = cpu_of(data + at, after[0] - at, &members.unfit)
            if not members.unfit:
                members.cpu = id
        return result
    elif member == HAS_TYPES:
        return scan_types(scanner, at, after, &members.types)
    result = scanner._skip(at, after)
    if result != FINE:
        return result
    if member == HAS_FLOW_IN or member == HAS_FLOW_OUT:
        members.unfit = data[value] != c't' and data[value] != c'f'
        if members.unfit:
            return FINE
        if member == HAS_FLOW_IN:
            members.flow_in = data[value] == c't'
        else:
            members.flow_out = data[value] == c't'
    return FINE


# A string, interned among the strings of the trace.
cdef inline Scanned scan_text(
    ValueScanner scanner, int64_t at, int64_t* after, int64_t* id, bint* unfit
) noexcept nogil:
    if scanner._data[at] != c'"':
        unfit[0] = True
        return scanner._skip(at, after)
    return scanner._string(scanner._strings, at, after, id)


# The text of the declared types. Most arguments of the same shape have the same declaration, and where a text begins with
# all of an array, this is the value.
cdef inline Scanned scan_types(ValueScanner scanner, int64_t at, int64_t* after, int64_t* id) noexcept nogil:
    cdef const uint8_t* data = scanner._data + at
    cdef Ends ends = ends_of(scanner._signature.data, scanner._signature.used)
    cdef Types* known = &scanner._types[place_of(&ends, scanner._signature.used) & (RECENT_TYPES - 1)]
    cdef Scanned result
    if known.size and known.size <= scanner._end - at and memcmp(known.data, data, known.size) == 0:
        id[0] = known.id
        after[0] = at + known.size
        return FINE
    result = scanner._skip(at, after)
    if result != FINE:
        return result
    id[0] = scanner._intern(scanner._names, data, after[0] - at)
    if id[0] < 0:
        return NO_MEMORY
    if data[0] == c'[' or data[0] == c'{':
        known[0] = Types(scanner._names.entry(<int32_t>id[0]).data, after[0] - at, <int32_t>id[0])
    return FINE


# Scan a duration or thread time. Importers read no event after one that is not a number.
cdef inline Scanned scan_number(
    ValueScanner scanner, Clock* clock, int64_t at, int64_t* after, int64_t* ticks, Members* members
) noexcept nogil:
    cdef bint odd = False, quoted = scanner._data[at] == c'"', integer
    cdef int64_t stop
    cdef Scanned result = scan_time(scanner, clock, at, after, ticks, &odd)
    if odd:
        # Or a number that is too large.
        members.odd = True
        stop = number_end(scanner._data, at + quoted, scanner._end, &integer)
        members.no_number |= stop < 0 or (quoted and scanner._data[stop] != c'"')
    return result


cdef inline Scanned scan_time(
    ValueScanner scanner, Clock* clock, int64_t at, int64_t* after, int64_t* ticks, bint* odd
) noexcept nogil:
    cdef const uint8_t* data = scanner._data
    cdef int64_t stop
    cdef bint integer, escaped = False
    cdef bint rounded = False
    cdef int places = 0
    if data[at] == c'"':
        stop = string_end(data, at + 1, scanner._end, &escaped)
        if stop < 0:
            return UNFINISHED
        after[0] = stop + 1
        at += 1
        if number_end(data, at, stop, &integer) != stop:
            odd[0] = True
            return FINE
    else:
        stop = plain_ticks(data, at, scanner._end, clock.digits, ticks, &places)
        if stop >= 0:
            after[0] = stop
            note_ticks(clock, ticks[0], places)
            return FINE
        stop = number_end(data, at, scanner._end, &integer)
        if stop < 0:
            odd[0] = True
            return scanner._skip(at, after)
        if stop == scanner._end:
            return UNFINISHED
        after[0] = stop
    if not parse_ticks(data + at, stop - at, clock.digits, ticks, &rounded, &places):
        clock.beyond += 1
        odd[0] = True
        return FINE
    clock.rounded += rounded
    note_ticks(clock, ticks[0], places)
    return FINE


cdef inline void note_ticks(Clock* clock, int64_t ticks, int places) noexcept nogil:
    if places > clock.places:
        clock.places = places
    if ticks > clock.largest:
        clock.largest = ticks
    elif -ticks > clock.largest:
        clock.largest = -ticks


# The number of a process, thread or CPU. `literals` says that it may be true, false or null.
cdef inline Scanned scan_task(
    ValueScanner scanner, int64_t at, int64_t* after, bint literals, Place* place, bint* unfit
) noexcept nogil:
    cdef const uint8_t* data = scanner._data
    cdef int64_t stop = at
    cdef Scanned result = FINE
    if is_digit(data[at]):
        # The usual case without the grammar of numbers.
        while stop < scanner._end and is_digit(data[stop]):
            stop += 1
        if stop == scanner._end or data[stop] == c'.' or data[stop] | 0x20 == c'e':
            result = scanner._skip(at, &stop)
    else:
        if data[at] == c'{' or data[at] == c'[' or (data[at] > c'9' and not literals):
            unfit[0] = True
        result = scanner._skip(at, &stop)
    after[0] = stop
    if not unfit[0]:
        place.start = at
        place.end = stop
    return result


cdef inline int64_t cpu_of(const uint8_t* text, int64_t size, bint* unfit) noexcept nogil:
    cdef int64_t i
    cdef int64_t cpu = 0
    for i in range(size if size <= 10 else 10):
        unfit[0] = unfit[0] or not is_digit(text[i])
        cpu = cpu * 10 + (text[i] - c'0')
    unfit[0] = unfit[0] or size > 10 or cpu > 0x7fffffff
    return cpu


# {"local": id} or {"global": id}: `place` 2 or 3. Anything else has kind 0.
cdef inline Scanned scan_id2(
    ValueScanner scanner, int64_t at, int64_t* after, int64_t* slot, uint8_t* kind, uint8_t* place
) noexcept nogil:
    cdef const uint8_t* data = scanner._data
    cdef int64_t end = scanner._end
    cdef int64_t start = at
    cdef int64_t stop, key
    cdef bint escaped = False
    kind[0] = 0
    if data[at] != c'{':
        return scanner._skip(start, after)
    at = skip_space(data, at + 1, end)
    if at >= end:
        return UNFINISHED
    if data[at] != c'"':
        return scanner._skip(start, after)
    key = at + 1
    stop = string_end(data, key, end, &escaped)
    if stop < 0:
        return UNFINISHED
    if stop - key == 5 and memcmp(data + key, b"local", 5) == 0:
        place[0] = 2
    elif stop - key == 6 and memcmp(data + key, b"global", 6) == 0:
        place[0] = 3
    else:
        return scanner._skip(start, after)
    at = skip_space(data, stop + 1, end)
    if at >= end:
        return UNFINISHED
    if data[at] != c':':
        return MALFORMED
    at = skip_space(data, at + 1, end)
    if at >= end:
        return UNFINISHED
    if data[at] != c'"' and data[at] != c'-' and not is_digit(data[at]):
        return scanner._skip(start, after)
    if scanner._identity(at, &at, slot, kind) != FINE:
        kind[0] = 0
        return scanner._skip(start, after)
    at = skip_space(data, at, end)
    if at < end and data[at] == c',':
        at = skip_space(data, at + 1, end)
    if at >= end:
        return UNFINISHED
    if data[at] != c'}':
        kind[0] = 0
        return scanner._skip(start, after)
    after[0] = at + 1
    return FINE


# A member that is not standard, added to `others`; without a key, it is "args".
cdef inline Scanned add_member(
    ValueScanner scanner, Output* others, int64_t key, int64_t key_end, int64_t value, int64_t* after
) noexcept nogil:
    if not append(others, b"," if others.used else b"{", 1) or not append(others, b'"', 1):
        return NO_MEMORY
    if key < 0:
        if not append(others, b"args", 4):
            return NO_MEMORY
    elif not append_cleaned(others, scanner._data + key, key_end - key, not good_escapes(scanner._data, key, key_end)):
        return NO_MEMORY
    if not append(others, b'":', 2):
        return NO_MEMORY
    return compact(scanner._data, value, scanner._end, others, after)
