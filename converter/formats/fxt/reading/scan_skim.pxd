# Events of FXT passed over for a part of a trace: of those of other times, only what decides whether the part needs
# them is decoded.
#
# Classes, threads and strings get the numbers that a scan of everything gives them.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from converter.formats.fxt.reading.scan_providers cimport providers_time
from converter.formats.fxt.reading.scan_records cimport cpu_of, scan_event, scan_scheduling
from converter.formats.fxt.reading.scan_window cimport ARGUMENT_STRING, Window, koids_of, text_of, thread_of
from converter.formats.fxt.words cimport FACTOR, INLINE, load, mixed
from converter.kernels.tables.kept cimport Kept
from converter.kernels.tables.numbers cimport FAILED
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    # Only reading everything tells what the part needs.
    UNSURE = -6
    LATEST = 0x7fffffffffffffff
    # Kinds of events.
    INSTANT = 0
    COUNTER = 1
    BEGIN = 2
    END = 3
    COMPLETE = 4
    ASYNC_BEGIN = 5
    ASYNC_INSTANT = 6
    FLOW_BEGIN = 8
    LAST_KIND = 10
    # Families of stacks.
    OF_THREADS = 0
    OF_IDS = 1
    OF_COUNTERS = 2
    OF_CPUS = 3
    OF_WAKEUPS = 4

    KNOWN_BITS = 10


# Arguments of records that were scanned: hashes of their types and names, and of the tables that they refer to.
cdef struct KnownClasses:
    uint64_t hashes[1 << KNOWN_BITS]
    # It changes when a string slot does.
    uint64_t generation


# A record's offset in the file, and its size.
cdef struct Passed:
    int64_t offset
    int64_t size


cdef inline bint is_registered(Window* window, uint32_t reference) noexcept nogil:
    cdef const int32_t* strings = window.providers.current.strings
    return reference == 0 or reference & INLINE or strings is not NULL and strings[reference] != 0


# Pass the arguments of a record, before `tail` bytes: 1 if records with such arguments have been scanned before, else
# 0; UNSURE if they are malformed.
cdef inline int pass_arguments(
    Window* window, KnownClasses* known, const uint8_t** place, const uint8_t* end, uint64_t header, int count, int tail
) noexcept nogil:
    cdef const uint8_t* at = place[0]
    cdef uint64_t tag = header ^ known.generation ^ <uint64_t>window.providers.current.number << 32
    cdef uint64_t argument
    cdef uint64_t inlined = 0
    cdef uint64_t factor = FACTOR
    cdef int64_t length
    cdef int i
    for i in range(count):
        if end - at < 8:
            return UNSURE
        argument = load(at, window.swap)
        length = ((argument >> 4) & 0xfff) * 8
        if length == 0 or length > end - at:
            return UNSURE
        if argument & 15 == ARGUMENT_STRING and not is_registered(window, (argument >> 32) & 0xffff):
            return UNSURE
        inlined |= argument & <uint64_t>INLINE << 16
        # A sum of products: no step waits for the product of the one before.
        tag += (argument & <uint64_t>0xffff000f) * factor
        factor *= 5
        at += length
    if end - at < tail:
        return UNSURE
    place[0] = at
    tag = mixed(tag ^ <uint64_t>(at + tail != end)) ^ window.classes.seed
    if inlined:
        return 0
    if known.hashes[tag >> 64 - KNOWN_BITS] == tag:
        return 1
    known.hashes[tag >> 64 - KNOWN_BITS] = tag
    return 0


# A record that is needed in the part only. The first after the part is kept: it says that the trace goes on.
cdef inline int skim_plain(Window* window, Kept kept, Passed record) noexcept nogil:
    if window.last_ts < kept.first:
        return 0
    kept.opened = True
    if window.last_ts > kept.last:
        if kept.passed:
            return 0
        kept.passed = True
    return 0 if kept.keep(record.offset, record.size) else FAILED


cdef inline int skim_event(
    Window* window, StringTable strings, KnownClasses* known, Kept kept, Passed record, const uint8_t* at,
    const uint8_t* end, uint64_t header,
) noexcept nogil:
    cdef const uint8_t* whole = at
    cdef uint32_t kind = (header >> 16) & 15
    cdef uint32_t reference = (header >> 24) & 0xff
    cdef int64_t ts, category, name
    cdef int32_t thread
    cdef int result
    cdef bint has_word = kind == COUNTER or kind >= COMPLETE
    if kind > LAST_KIND or end - at < (8 if reference else 24):
        return UNSURE
    ts = providers_time(&window.providers, load(at, window.swap))
    at += 8
    if reference:
        thread = window.providers.current.threads[reference] - 1
        if thread < 0:
            thread = thread_of(window, reference, 0, 0)
    else:
        thread = thread_of(window, 0, load(at, window.swap), load(at + 8, window.swap))
        at += 16
    category = text_of(window, strings, &at, end, (header >> 32) & 0xffff)
    name = text_of(window, strings, &at, end, header >> 48) if category >= 0 else category
    if ts < 0 or name < 0 or thread < 0:
        return UNSURE
    result = pass_arguments(
        window, known, &at, end, header & 0xff000f, (header >> 20) & 15, 8 if has_word else 0
    )
    if result < 0 or result == 0 and scan_event(window, strings, whole, end, header) < 0:
        return UNSURE
    window.last_ts = ts
    if ts >= kept.first:
        if ts > kept.last and kind >= FLOW_BEGIN:
            # It says where flows of the part end.
            kept.opened = kept.passed = True
            return 0 if kept.keep(record.offset, record.size) else FAILED
        return skim_plain(window, kept, record)
    if kind == INSTANT or kind == ASYNC_INSTANT or kind >= FLOW_BEGIN:
        return 0
    if kind == COMPLETE:
        return skim_complete(window, kept, record, load(at, window.swap))
    if kept.opened:
        return UNSURE
    if kind == BEGIN:
        return 0 if kept.begin(thread, OF_THREADS, name, record.offset, record.size) else FAILED
    if kind == END:
        kept.end(thread, OF_THREADS, name)
        return 0
    return skim_identified(window, kept, record, thread, category, name, kind, load(at, window.swap))


# A complete slice from before the part, which may extend into it.
cdef inline int skim_complete(Window* window, Kept kept, Passed record, uint64_t ending) noexcept nogil:
    cdef int64_t duration = providers_time(&window.providers, ending)
    if duration < 0:
        return UNSURE
    duration -= window.last_ts
    if duration < 0 or duration != LATEST and duration < kept.first - window.last_ts:
        return 0
    return 0 if kept.keep(record.offset, record.size) else FAILED


# A counter, or the begin or end of an asynchronous slice. The id of a slice is local to its process.
cdef inline int skim_identified(
    Window* window, Kept kept, Passed record, int32_t thread, int64_t category, int64_t name, uint32_t kind, uint64_t id
) noexcept nogil:
    cdef uint64_t key = mixed((mixed(id) ^ <uint64_t>category) * FACTOR)
    if kind == COUNTER:
        key = mixed((key ^ <uint64_t>name) * FACTOR) ^ <uint64_t>thread
        return 0 if kept.set(key, OF_COUNTERS, record.offset, record.size) else FAILED
    key ^= mixed(window.threads.threads.keys[2 * thread] + 1)
    if kind == ASYNC_BEGIN:
        return 0 if kept.begin(key, OF_IDS, name, record.offset, record.size) else FAILED
    kept.end(key, OF_IDS, name)
    return 0


cdef inline int skim_scheduling(
    Window* window, StringTable strings, KnownClasses* known, Kept kept, Passed record, const uint8_t* at,
    const uint8_t* end, uint64_t header,
) noexcept nogil:
    cdef uint32_t subtype = header >> 60
    cdef int64_t fixed = 24 if subtype == 1 else 16
    cdef const uint8_t* arguments = at + fixed
    cdef uint64_t out_pid = 0, out_tid = 0, in_pid = 0, in_tid = 0
    cdef int64_t ts
    cdef int32_t cpu = cpu_of(header)
    cdef int result = 0
    if subtype > 2 or end - at < (fixed if subtype else 8):
        return UNSURE
    ts = providers_time(&window.providers, load(at, window.swap))
    if ts < 0:
        return UNSURE
    if subtype:
        result = pass_arguments(
            window, known, &arguments, end, <uint64_t>subtype << 60 | header & 0xf000f, (header >> 16) & 15, 0
        )
    if result < 0 or result == 0 and scan_scheduling(window, strings, at, end, header) < 0:
        return UNSURE
    window.last_ts = ts
    if ts >= kept.first:
        return skim_plain(window, kept, record)
    if kept.opened:
        return UNSURE
    at += 8
    if subtype == 2:
        return 0 if kept.set(load(at, window.swap), OF_WAKEUPS, record.offset, record.size) else FAILED
    if subtype == 1:
        in_tid = load(at + 8, window.swap)
    else:
        cpu = (header >> 16) & 0xff
        koids_of(window, &at, end, (header >> 28) & 0xff, &out_pid, &out_tid)
        koids_of(window, &at, end, (header >> 36) & 0xff, &in_pid, &in_tid)
    kept.end(in_tid, OF_WAKEUPS, 0)
    return 0 if kept.set(<uint64_t>cpu, OF_CPUS, record.offset, record.size) else FAILED
