# A window of an FXT file under scan: the events made of it so far, and the parts that its records are made of.
#
# `at` of the functions is an offset in a record that ends at `end`; they check that what they pass ends before it.
# Records and their parts are multiples of 8 bytes.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from converter.formats.fxt.reading.scan_classes cimport Classes, classes_find
from converter.formats.fxt.reading.scan_providers cimport Providers, providers_time
from converter.formats.fxt.reading.scan_threads cimport Threads, threads_find
from converter.formats.fxt.words cimport INLINE, SHAPE_EXTENDED, load, padded, span
from converter.kernels.tables.numbers cimport FAILED
from converter.kernels.tables.strings cimport StringTable

cdef extern from *:
    """
    #define FXT_UNREGISTERED 0xFFFFFFFF00000000ULL
    """
    # The first id of threads of slots that were never registered, as `mapping.UNREGISTERED`.
    const uint64_t UNREGISTERED "FXT_UNREGISTERED"

cdef enum:
    # Value words of an event at most: of 15 arguments, a record's own fields, an extension.
    MAX_VALUES = 32

    ARGUMENT_STRING = 6
    ARGUMENT_KOID = 8
    ARGUMENT_BOOLEAN = 9
    ARGUMENT_BLOB = 10

    # Results of reading a record beside 0 and FAILED: it is not what its header says, nothing describes its type, or it
    # is at a time beyond 63 bits.
    MALFORMED = -1
    ABSENT = -3
    TOO_LATE = -5


# The number of times something was odd, and the record where it was first, as an offset in its window.
cdef struct Oddity:
    int64_t count
    int64_t first


cdef struct Window:
    bint swap
    Providers providers
    Threads threads
    Classes classes
    # The window, and the record under way as an offset.
    const uint8_t* data
    int64_t at
    # The columns of its events, `room` entries each, and their value words: room for `value_room` + MAX_VALUES.
    int64_t* ts
    int32_t* class_id
    int32_t* row
    int32_t* thread
    int32_t* cpu
    int64_t* first
    int64_t* starts
    int64_t* sizes
    uint64_t* values
    int64_t room
    int64_t value_room
    int64_t events
    int64_t value_count
    int64_t last_ts
    Oddity malformed
    Oddity overflows
    Oddity zero_rates
    Oddity unresolved_strings
    Oddity unresolved_threads


cdef inline void note(Window* window, Oddity* oddity) noexcept nogil:
    if oddity.count == 0:
        oddity.first = window.at
    oddity.count += 1


# Return the id of the string that is referred to, or that is stored at `at` and is then passed.
cdef inline int64_t text_of(
    Window* window, StringTable strings, const uint8_t** at, const uint8_t* end, uint32_t reference
) noexcept nogil:
    cdef int64_t id
    cdef int64_t length
    if reference & INLINE:
        length = reference & 0x7fff
        if padded(length) > end - at[0]:
            return MALFORMED
        id = strings.find_or_add(at[0], <uint32_t>length) if length else 0
        at[0] += padded(length)
        return id if id >= 0 else FAILED
    if reference == 0:
        return 0
    id = window.providers.current.strings[reference] if window.providers.current.strings is not NULL else 0
    if id:
        return id - 1
    note(window, &window.unresolved_strings)
    return 0


# The thread of a slot or, without one, of its koids. One that was never registered is a thread of its own: the
# importer takes all for thread 0, whose slices cross.
cdef inline int32_t thread_of(Window* window, uint32_t reference, uint64_t pid, uint64_t tid) noexcept nogil:
    cdef int32_t thread
    if reference:
        thread = window.providers.current.threads[reference] - 1
        if thread >= 0:
            return thread
        note(window, &window.unresolved_threads)
        pid = 0
        tid = UNREGISTERED | <uint64_t>window.providers.current.number << 8 | reference
    return threads_find(&window.threads, pid, tid)


# Pass a time and the rest of a thread reference; return the thread.
cdef inline int32_t timed_of(
    Window* window, const uint8_t** at, const uint8_t* end, uint32_t reference, int64_t* ts
) noexcept nogil:
    cdef uint64_t pid = 0, tid = 0
    if end - at[0] < (8 if reference else 24):
        return MALFORMED
    ts[0] = providers_time(&window.providers, load(at[0], window.swap))
    if ts[0] < 0:
        return TOO_LATE
    at[0] += 8
    if reference == 0:
        pid = load(at[0], window.swap)
        tid = load(at[0] + 8, window.swap)
        at[0] += 16
    return thread_of(window, reference, pid, tid)


# Process and thread koid of a thread reference; false where the record ends before.
cdef inline bint koids_of(
    Window* window, const uint8_t** at, const uint8_t* end, uint32_t reference, uint64_t* pid, uint64_t* tid
) noexcept nogil:
    cdef const uint64_t* koids
    cdef int32_t thread
    if reference == 0:
        if end - at[0] < 16:
            return False
        pid[0] = load(at[0], window.swap)
        tid[0] = load(at[0] + 8, window.swap)
        at[0] += 16
        return True
    thread = window.providers.current.threads[reference] - 1
    if thread < 0:
        note(window, &window.unresolved_threads)
        return True
    koids = window.threads.threads.keys
    pid[0] = koids[2 * thread]
    tid[0] = koids[2 * thread + 1]
    return True


# Pass `count` arguments, at most 15, with a value for each, and write their part of the signature; return `count`.
cdef inline int arguments_of(
    Window* window, StringTable strings, const uint8_t** place, const uint8_t* end, int count, uint64_t* values
) noexcept nogil:
    cdef const uint8_t* at = place[0]
    cdef const uint8_t* payload
    cdef const uint8_t* following
    cdef bint swap = window.swap
    cdef const int32_t* slots = window.providers.current.strings
    cdef uint64_t header
    cdef uint64_t value
    cdef uint32_t kind, reference
    cdef int64_t name, length
    cdef int i
    for i in range(count):
        if end - at < 8:
            return MALFORMED
        header = load(at, swap)
        length = ((header >> 4) & 0xfff) * 8
        if length == 0 or length > end - at:
            return MALFORMED
        following = at + length
        payload = at + 8
        kind = header & 15
        reference = (header >> 16) & 0xffff
        if reference < INLINE and slots is not NULL and slots[reference]:
            name = slots[reference] - 1
        else:
            name = text_of(window, strings, &payload, following, reference)
            if name < 0:
                return <int>name
        window.classes.signature[i + 1] = <uint64_t>kind << 32 | <uint64_t>name
        if kind == 0:
            value = 0
        elif kind <= 2:
            value = header >> 32
        elif kind == ARGUMENT_STRING:
            reference = (header >> 32) & 0xffff
            if reference & INLINE:
                length = reference & 0x7fff
                if length > following - payload:
                    return MALFORMED
                value = span(payload - window.data, length)
            else:
                value = <uint64_t>text_of(window, strings, &payload, following, reference)
        elif kind <= ARGUMENT_KOID:
            if following - payload < 8:
                return MALFORMED
            value = load(payload, swap)
        elif kind == ARGUMENT_BOOLEAN:
            value = (header >> 32) & 1
        elif kind == ARGUMENT_BLOB:
            length = header >> 32
            if length > following - payload:
                return MALFORMED
            value = span(payload - window.data, length)
        else:
            value = at - window.data
        values[i] = value
        at = following
    place[0] = at
    return count


# Return the position for the values of the next event.
cdef inline uint64_t* next_values(Window* window) noexcept nogil:
    return window.values + window.value_count


# The thread and the CPU of an event, -1 where it has none.
cdef struct Where:
    int32_t thread
    int32_t cpu


# Add the event whose values end at `values_end` and whose record, at `window.at`, was understood up to `at`.
cdef inline int commit(
    Window* window, uint32_t shape, int arguments, uint64_t* values_end, const uint8_t* at, const uint8_t* end,
    int64_t ts, Where where,
) noexcept nogil:
    cdef int64_t number = window.events
    cdef int32_t id
    if at != end:
        values_end[0] = span(at - window.data, end - at)
        values_end += 1
        shape |= SHAPE_EXTENDED
    window.classes.signature[0] = shape
    id = classes_find(&window.classes, arguments + 1)
    if id < 0:
        return FAILED
    window.ts[number] = ts
    window.class_id[number] = id
    window.row[number] = window.classes.rows[id]
    window.classes.rows[id] += 1
    window.thread[number] = where.thread
    window.cpu[number] = where.cpu
    window.first[number] = window.value_count
    window.starts[number] = window.at
    window.sizes[number] = end - window.data - window.at
    window.events = number + 1
    window.value_count = values_end - window.values
    window.last_ts = ts
    return 0
