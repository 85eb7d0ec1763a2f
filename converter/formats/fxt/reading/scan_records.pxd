# The records of FXT: each one is an event, or an entry of the tables that events refer to.
#
# Each function reads the record from the position after its header to its end, and returns 0, MALFORMED, ABSENT (of a
# type that nothing describes), TOO_LATE (at a time beyond 63 bits) or FAILED; those of metadata also TOO_MANY. Only `commit` makes an event: what was not
# committed leaves no trace among them.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from converter.formats.fxt.reading.scan_providers cimport (
    providers_enter, providers_set_rate, providers_set_string, providers_time,
)
from converter.formats.fxt.reading.scan_threads cimport threads_rename
from converter.formats.fxt.reading.scan_window cimport (
    ABSENT, ARGUMENT_KOID, MALFORMED, TOO_LATE, Where, Window, arguments_of, commit, koids_of, next_values, note, text_of,
    thread_of, timed_of,
)
from converter.formats.fxt.words cimport (
    EVENT, INLINE, MOST_INITIALIZATION, NANOSECONDS, SCHEDULING, SHAPE_BLOB, SHAPE_DISCARDED, SHAPE_KERNEL_OBJECT,
    SHAPE_LARGE, SHAPE_LARGE_TIMED, SHAPE_LOG, SHAPE_MAPPING, SHAPE_MODULE, SHAPE_NATIVE, SHAPE_SAMPLE,
    SHAPE_USERSPACE_OBJECT, load, padded, span,
)
from converter.kernels.tables.numbers cimport FAILED, Numbers, find_or_add_pair
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    OBJECT_PROCESS = 1
    OBJECT_THREAD = 2


cdef inline int scan_event(
    Window* window, StringTable strings, const uint8_t* at, const uint8_t* end, uint64_t header
) noexcept nogil:
    cdef uint32_t kind = (header >> 16) & 15
    cdef uint32_t reference = (header >> 24) & 0xff
    cdef uint64_t* values = next_values(window)
    cdef uint64_t* arguments
    cdef uint64_t ticks, pid = 0, tid = 0
    cdef int64_t category, name, ts, ending
    cdef int32_t thread
    cdef int count
    if kind > 10:
        return ABSENT
    if end - at < (8 if reference else 24):
        return MALFORMED
    ticks = load(at, window.swap)
    at += 8
    if reference == 0:
        pid = load(at, window.swap)
        tid = load(at + 8, window.swap)
        at += 16
    category = text_of(window, strings, &at, end, (header >> 32) & 0xffff)
    if category < 0:
        return <int>category
    name = text_of(window, strings, &at, end, header >> 48)
    if name < 0:
        return <int>name
    values[0] = name
    values[1] = category
    arguments = values + 2
    if kind == 1 or kind >= 4:
        arguments += 1
    count = arguments_of(window, strings, &at, end, (header >> 20) & 15, arguments)
    if count < 0:
        return count
    ts = providers_time(&window.providers, ticks)
    if ts < 0:
        return TOO_LATE
    if kind == 1 or kind >= 4:
        if end - at < 8:
            return MALFORMED
        values[2] = load(at, window.swap)
        at += 8
        if kind == 4:
            ending = providers_time(&window.providers, values[2])
            if ending < 0:
                return TOO_LATE
            # Modular, so that an end before the begin keeps its distance.
            values[2] = <uint64_t>ending - <uint64_t>ts
    thread = thread_of(window, reference, pid, tid)
    if thread < 0:
        return thread
    return commit(window, EVENT << 4 | kind, count, arguments + count, at, end, ts, Where(thread, -1))


cdef inline int scan_scheduling(
    Window* window, StringTable strings, const uint8_t* at, const uint8_t* end, uint64_t header
) noexcept nogil:
    cdef uint32_t subtype = header >> 60
    cdef uint64_t* values = next_values(window)
    cdef uint64_t* arguments
    cdef uint64_t out_pid = 0, out_tid = 0, in_pid = 0, in_tid = 0
    cdef uint32_t out_reference, in_reference
    cdef int64_t ts
    cdef int count
    if subtype > 2:
        return ABSENT
    if end - at < 8:
        return MALFORMED
    ts = providers_time(&window.providers, load(at, window.swap))
    if ts < 0:
        return TOO_LATE
    at += 8
    if subtype == 0:
        out_reference = (header >> 28) & 0xff
        in_reference = (header >> 36) & 0xff
        if not koids_of(window, &at, end, out_reference, &out_pid, &out_tid):
            return MALFORMED
        if not koids_of(window, &at, end, in_reference, &in_pid, &in_tid):
            return MALFORMED
        values[0] = out_tid
        values[1] = in_tid
        values[2] = (header >> 24) & 15
        values[3] = out_pid
        values[4] = in_pid
        values[5] = (header >> 44) & 0xff
        values[6] = (header >> 52) & 0xff
        return commit(window, SCHEDULING << 4, 0, values + 7, at, end, ts, Where(-1, (header >> 16) & 0xff))
    if end - at < (16 if subtype == 1 else 8):
        return MALFORMED
    values[0] = load(at, window.swap)
    at += 8
    arguments = values + 1
    if subtype == 1:
        values[1] = load(at, window.swap)
        values[2] = (header >> 36) & 15
        at += 8
        arguments = values + 3
    count = arguments_of(window, strings, &at, end, (header >> 16) & 15, arguments)
    if count < 0:
        return count
    return commit(window, SCHEDULING << 4 | subtype, count, arguments + count, at, end, ts, Where(-1, cpu_of(header)))


# The highest number means an event on no CPU.
cdef inline int32_t cpu_of(uint64_t header) noexcept nogil:
    cdef int32_t cpu = (header >> 20) & 0xffff
    return -1 if cpu == 0xffff else cpu


cdef inline int scan_log(Window* window, const uint8_t* at, const uint8_t* end, uint64_t header) noexcept nogil:
    cdef int64_t length = (header >> 16) & 0x7fff
    cdef uint64_t* values = next_values(window)
    cdef int64_t ts
    cdef int32_t thread = timed_of(window, &at, end, (header >> 32) & 0xff, &ts)
    if thread < 0:
        return thread
    if padded(length) > end - at:
        return MALFORMED
    values[0] = span(at - window.data, length)
    at += padded(length)
    return commit(window, SHAPE_LOG, 0, values + 1, at, end, ts, Where(thread, -1))


cdef inline int scan_profiler(
    Window* window, StringTable strings, const uint8_t* at, const uint8_t* end, uint64_t header
) noexcept nogil:
    cdef uint32_t subtype = (header >> 16) & 15
    cdef uint64_t* values = next_values(window)
    cdef int64_t ts, length
    cdef int64_t name
    cdef int32_t thread
    if subtype > 2:
        return ABSENT
    thread = timed_of(window, &at, end, (header >> 20) & 0xff, &ts)
    if thread < 0:
        return thread
    if subtype == 2:
        length = ((header >> 28) & 0xff) * 8
        if length > end - at:
            return MALFORMED
        values[0] = span(at - window.data, length)
        at += length
        return commit(window, SHAPE_SAMPLE, 0, values + 1, at, end, ts, Where(thread, -1))
    values[0] = (header >> 28) & 0xffff
    if subtype == 1:
        if end - at < 24:
            return MALFORMED
        values[1] = (header >> 44) & 7
        values[2] = load(at, window.swap)
        values[3] = load(at + 8, window.swap)
        values[4] = load(at + 16, window.swap)
        return commit(window, SHAPE_MAPPING, 0, values + 5, at + 24, end, ts, Where(thread, -1))
    # A length in place of a reference: as an inline string.
    name = text_of(window, strings, &at, end, INLINE | ((header >> 44) & 0xff))
    if name < 0:
        return <int>name
    length = (header >> 52) & 0xff
    if padded(length) > end - at:
        return MALFORMED
    values[1] = name
    values[2] = span(at - window.data, length)
    at += padded(length)
    return commit(window, SHAPE_MODULE, 0, values + 3, at, end, ts, Where(thread, -1))


cdef inline int scan_blob(
    Window* window, StringTable strings, const uint8_t* at, const uint8_t* end, uint64_t header
) noexcept nogil:
    cdef int64_t length = (header >> 32) & 0x7fff
    cdef uint64_t* values = next_values(window)
    cdef int64_t name = text_of(window, strings, &at, end, (header >> 16) & 0xffff)
    if name < 0:
        return <int>name
    if padded(length) > end - at:
        return MALFORMED
    values[0] = name
    values[1] = (header >> 48) & 0xff
    values[2] = at - window.data
    values[3] = length
    at += padded(length)
    return commit(window, SHAPE_BLOB, 0, values + 4, at, end, window.last_ts, Where(-1, -1))


cdef inline int scan_userspace_object(
    Window* window, StringTable strings, const uint8_t* at, const uint8_t* end, uint64_t header
) noexcept nogil:
    cdef uint32_t reference = (header >> 16) & 0xff
    cdef uint64_t* values = next_values(window)
    cdef uint64_t pid = 0, tid = 0
    cdef int64_t name
    cdef int count
    if end - at < (8 if reference else 16):
        return MALFORMED
    values[0] = load(at, window.swap)
    at += 8
    if reference:
        koids_of(window, &at, end, reference, &pid, &tid)
    else:
        pid = load(at, window.swap)
        at += 8
    name = text_of(window, strings, &at, end, (header >> 24) & 0xffff)
    if name < 0:
        return <int>name
    values[1] = name
    values[2] = pid
    count = arguments_of(window, strings, &at, end, (header >> 40) & 15, values + 3)
    if count < 0:
        return count
    return commit(window, SHAPE_USERSPACE_OBJECT, count, values + 3 + count, at, end, window.last_ts, Where(-1, -1))


cdef inline int scan_kernel_object(
    Window* window, StringTable strings, const uint8_t* at, const uint8_t* end, uint64_t header
) noexcept nogil:
    cdef uint32_t kind = (header >> 16) & 0xff
    cdef uint64_t* values = next_values(window)
    cdef uint64_t koid
    cdef int64_t name
    cdef int32_t number
    cdef int count
    cdef bint names
    cdef bint is_thread = False
    cdef Numbers* named = &window.threads.processes
    if end - at < 8:
        return MALFORMED
    koid = load(at, window.swap)
    at += 8
    name = text_of(window, strings, &at, end, (header >> 24) & 0xffff)
    if name < 0:
        return <int>name
    count = arguments_of(window, strings, &at, end, (header >> 40) & 15, values + 3)
    if count < 0:
        return count
    # A record that says no more than the name of a process or thread goes to the trace's tables, unless that has
    # another name already: then it is an event as well.
    if kind == OBJECT_PROCESS:
        names = count == 0 and at == end
        number = find_or_add_pair(&window.threads.processes, koid, 0)
    elif kind == OBJECT_THREAD and count >= 1 and window.classes.signature[1] == (
        <uint64_t>ARGUMENT_KOID << 32 | <uint64_t>window.threads.process
    ):
        names = count == 1 and at == end
        is_thread = True
        named = &window.threads.threads
        number = thread_of(window, 0, values[3], koid)
    else:
        names = False
        number = -1
    if number == FAILED:
        return FAILED
    if number >= 0:
        if names and (<const int32_t*>named.items)[number] == 0:
            if name:
                return threads_rename(&window.threads, is_thread, number, <int32_t>name)
            return 0
        if names and (<const int32_t*>named.items)[number] == name:
            return 0
        if name and threads_rename(&window.threads, is_thread, number, <int32_t>name) < 0:
            return FAILED
    values[0] = kind
    values[1] = koid
    values[2] = name
    return commit(window, SHAPE_KERNEL_OBJECT, count, values + 3 + count, at, end, window.last_ts, Where(-1, -1))


cdef inline int scan_large(
    Window* window, StringTable strings, const uint8_t* at, const uint8_t* end, uint64_t header
) noexcept nogil:
    cdef uint32_t form = (header >> 40) & 15
    cdef uint64_t* values = next_values(window)
    cdef uint64_t* arguments = values + 4
    cdef uint64_t second, length
    cdef int64_t category, name
    cdef int64_t ts = window.last_ts
    cdef int32_t thread = -1
    cdef int count = 0
    if (header >> 36) & 15 or form > 1:
        return ABSENT
    if end - at < 16:
        return MALFORMED
    second = load(at, window.swap)
    at += 8
    category = text_of(window, strings, &at, end, second & 0xffff)
    if category < 0:
        return <int>category
    name = text_of(window, strings, &at, end, (second >> 16) & 0xffff)
    if name < 0:
        return <int>name
    if form == 0:
        thread = timed_of(window, &at, end, (second >> 36) & 0xff, &ts)
        if thread < 0:
            return thread
        count = arguments_of(window, strings, &at, end, (second >> 32) & 15, arguments)
        if count < 0:
            return count
    if end - at < 8:
        return MALFORMED
    length = load(at, window.swap)
    at += 8
    if length > <uint64_t>(end - at):
        return MALFORMED
    values[0] = name
    values[1] = category
    values[2] = at - window.data
    values[3] = length
    at += padded(<int64_t>length)
    if end - at >= INLINE:
        return MALFORMED
    return commit(
        window, SHAPE_LARGE_TIMED if form == 0 else SHAPE_LARGE, count, arguments + count, at, end, ts, Where(thread, -1)
    )


# A record that is kept as it is.
cdef inline int scan_native(Window* window, const uint8_t* end, uint32_t kind) noexcept nogil:
    cdef uint64_t* values = next_values(window)
    values[0] = kind
    values[1] = window.at
    values[2] = end - window.data - window.at
    return commit(window, SHAPE_NATIVE, 0, values + 3, end, end, window.last_ts, Where(-1, -1))


cdef inline int scan_metadata(Window* window, const uint8_t* at, const uint8_t* end, uint64_t header) noexcept nogil:
    cdef uint32_t kind = (header >> 16) & 15
    cdef uint64_t id = <uint32_t>(header >> 20)
    cdef uint64_t* values = next_values(window)
    if kind == 1 or kind == 2:
        return providers_enter(&window.providers, id)
    if kind == 3 and (header >> 52) & 15 == 0:
        values[0] = id
        return commit(window, SHAPE_DISCARDED, 0, values + 1, at, end, window.last_ts, Where(-1, -1))
    if kind == 4 and (header >> 20) & 15 == 0:
        return 0
    return ABSENT


cdef inline int scan_initialization(Window* window, const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef uint64_t rate
    if not 8 <= end - at <= 8 * MOST_INITIALIZATION:
        return MALFORMED
    rate = load(at, window.swap)
    if rate == 0:
        note(window, &window.zero_rates)
        rate = NANOSECONDS
    providers_set_rate(&window.providers, rate)
    return 0


cdef inline int scan_string(
    Window* window, StringTable strings, const uint8_t* at, const uint8_t* end, uint64_t header
) noexcept nogil:
    cdef uint32_t slot = (header >> 16) & 0x7fff
    cdef int64_t length = (header >> 32) & 0x7fff
    cdef int32_t id
    if length > end - at:
        return MALFORMED
    if slot == 0:
        return 0
    id = strings.find_or_add(at, <uint32_t>length) if length else 0
    if id < 0 or not providers_set_string(&window.providers, slot, id):
        return FAILED
    return 0


cdef inline int scan_thread(Window* window, const uint8_t* at, const uint8_t* end, uint64_t header) noexcept nogil:
    cdef uint32_t slot = (header >> 16) & 0xff
    cdef int32_t thread
    if end - at < 16:
        return MALFORMED
    if slot:
        thread = thread_of(window, 0, load(at, window.swap), load(at + 8, window.swap))
        if thread < 0:
            return thread
        window.providers.current.threads[slot] = thread + 1
    return 0
