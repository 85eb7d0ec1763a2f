# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""FXT records to columns: the scan that makes events of a window's records.

A window is a stretch of the file that starts with a record. The scan makes one pass over it and puts each event's
field values, as 64-bit words in the order of its class's fields, behind those of the event before; `fxt_columns` later
sorts them by class into rows, of which a column is a strided view.

What a value word holds: an integer or the bits of a double; the id of a string; or, with `SPAN` set, the place of a
text or of bytes in the window (offset << 15 | length). Payloads that can be longer take two words, offset and length.
"""

import os

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy

from converter.kernels.fxt_words cimport (
    BLOB, EVENT, FACTOR, FAILED, INITIALIZATION, INLINE, KERNEL_OBJECT, LARGE, LOG, MAX_PROVIDERS, METADATA,
    NANOSECONDS, PROFILER, Pairs, SCHEDULING, SPAN, STRING, THREAD, USERSPACE_OBJECT, load, mixed, padded, pairs_find,
    pairs_free, span,
)
from converter.kernels.strings cimport StringTable

cdef extern from *:
    """
    #define FXT_LATEST ((1ULL << 63) - 1)
    #define FXT_NO_PROVIDER (1ULL << 32)
    typedef unsigned __int128 fxt_u128;
    static inline unsigned long long fxt_scaled(unsigned long long a, unsigned long long b, unsigned long long c,
                                                int *over) {
        fxt_u128 product = (fxt_u128)a * b / c;
        if (product >> 63) { *over = 1; return 0x7fffffffffffffffULL; }
        return (unsigned long long)product;
    }
    """
    const uint64_t LATEST "FXT_LATEST"
    const uint64_t NO_PROVIDER "FXT_NO_PROVIDER"
    uint64_t fxt_scaled(uint64_t, uint64_t, uint64_t, int*) noexcept nogil

cdef enum:
    STRING_SLOTS = 0x8000
    MAX_SIGNATURE = 20
    # Value words of an event: of 15 arguments, a record's own fields, an extension.
    MAX_VALUES = 32

    OBJECT_PROCESS = 1
    OBJECT_THREAD = 2
    ARGUMENT_STRING = 6
    ARGUMENT_KOID = 8
    ARGUMENT_BOOLEAN = 9
    ARGUMENT_BLOB = 10

    # Shapes: which record an event comes from (record type and subtype), as `signatures` gives them.
    SHAPE_DISCARDED = 0x03
    SHAPE_BLOB = 0x50
    SHAPE_USERSPACE_OBJECT = 0x60
    SHAPE_KERNEL_OBJECT = 0x70
    SHAPE_LOG = 0x90
    SHAPE_MODULE = 0xa0
    SHAPE_MAPPING = 0xa1
    SHAPE_SAMPLE = 0xa2
    SHAPE_LARGE_TIMED = 0xf0
    SHAPE_LARGE = 0xf1
    SHAPE_NATIVE = 0x100
    # Words follow that the record's declaration does not account for.
    SHAPE_EXTENDED = 0x1000

    NO_MEMORY = 3

    # What `_event` and its like say about a record.
    MALFORMED = -1
    ABSENT = -3

cpdef enum:
    DONE = 0
    INCOMPLETE = 1
    ZERO_SIZE = 2
    TOO_MANY_PROVIDERS = 4
    FULL = 5

cdef struct Provider:
    # Both hold what is registered plus one, 0 where nothing is. Strings come with the first string record.
    int32_t* strings
    int32_t threads[256]
    uint64_t multiplier
    uint64_t divisor


cdef struct SignatureEntry:
    uint64_t tag
    int64_t start
    int32_t length


cdef class Scanner:
    cdef StringTable _strings
    cdef bint _swap
    cdef uint64_t _rate
    cdef Pairs _provider_ids
    cdef Provider** _providers
    cdef Provider* _current
    # Threads by (process koid, thread koid), processes by (koid, 0); names are string ids.
    cdef Pairs _thread_koids
    cdef Pairs _process_koids
    cdef int32_t* _thread_names
    cdef int32_t* _process_names
    cdef int64_t _thread_room
    cdef int64_t _process_room
    # Changes of names, as (position << 1 | is thread, string id).
    cdef uint64_t* _namings
    cdef int64_t _naming_count
    cdef int64_t _naming_room
    # Classes: all signatures behind each other, and a hash table of them.
    cdef uint64_t* _pool
    cdef int64_t _pool_count
    cdef int64_t _pool_room
    cdef SignatureEntry* _entries
    cdef int32_t* _rows
    cdef int64_t _class_count
    cdef int64_t _class_room
    cdef int32_t* _slots
    cdef uint64_t _mask
    cdef uint64_t _seed
    cdef uint64_t _signature[MAX_SIGNATURE]
    cdef int64_t _last_ts
    cdef int32_t _process_name_id
    # The window.
    cdef const uint8_t* _data
    cdef int64_t* _ts
    cdef int32_t* _class_id
    cdef int32_t* _row
    cdef int32_t* _thread
    cdef int32_t* _cpu
    cdef int64_t* _first
    cdef int64_t* _starts
    cdef int64_t* _sizes
    cdef uint64_t* _values
    cdef int64_t _room
    cdef int64_t _value_room
    cdef int64_t _at
    cdef int64_t _events
    cdef int64_t _value_count
    cdef readonly int64_t consumed
    cdef readonly int64_t unresolved_strings
    cdef readonly int64_t unresolved_threads
    cdef readonly int64_t malformed
    cdef readonly int64_t overflows
    cdef readonly int64_t first_unresolved
    cdef readonly int64_t first_malformed
    cdef readonly int64_t first_overflow

    def __cinit__(self, StringTable strings, *, bint big_endian, uint64_t ticks_per_second):
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little")
        self._strings = strings
        self._swap = big_endian
        self._rate = ticks_per_second
        self._seed = seed
        self._provider_ids.seed = self._thread_koids.seed = self._process_koids.seed = seed
        self._process_name_id = strings.intern(b"process")
        self._mask = 255
        self._slots = <int32_t*>calloc(256, sizeof(int32_t))
        self._providers = <Provider**>calloc(MAX_PROVIDERS, sizeof(Provider*))
        if self._slots is NULL or self._providers is NULL or self._enter(NO_PROVIDER) != DONE:
            raise MemoryError

    def __dealloc__(self):
        cdef int64_t i
        if self._providers is not NULL:
            for i in range(MAX_PROVIDERS):
                if self._providers[i] is not NULL:
                    free(self._providers[i].strings)
                    free(self._providers[i])
            free(self._providers)
        pairs_free(&self._provider_ids)
        pairs_free(&self._thread_koids)
        pairs_free(&self._process_koids)
        free(self._thread_names)
        free(self._process_names)
        free(self._namings)
        free(self._pool)
        free(self._entries)
        free(self._rows)
        free(self._slots)

    def scan(
        self,
        const uint8_t[::1] window,
        int64_t[::1] ts,
        int32_t[::1] class_id,
        int32_t[::1] row,
        int32_t[::1] thread,
        int32_t[::1] cpu,
        int64_t[::1] first,
        int64_t[::1] starts,
        int64_t[::1] sizes,
        uint64_t[::1] values,
    ):
        cdef int64_t size = window.shape[0]
        cdef int status
        cdef int64_t i
        self._room = ts.shape[0]
        self._value_room = values.shape[0] - MAX_VALUES
        if (
            self._room < 1 or self._value_room < 0 or class_id.shape[0] < self._room or row.shape[0] < self._room
            or thread.shape[0] < self._room or cpu.shape[0] < self._room or first.shape[0] < self._room
            or starts.shape[0] < self._room or sizes.shape[0] < self._room
        ):
            raise ValueError("an output array is too small")
        self.consumed = 0
        self._events = 0
        self._value_count = 0
        self._naming_count = 0
        for i in range(self._class_count):
            self._rows[i] = 0
        if size == 0:
            return DONE, 0, 0
        self._data = &window[0]
        self._ts = &ts[0]
        self._class_id = &class_id[0]
        self._row = &row[0]
        self._thread = &thread[0]
        self._cpu = &cpu[0]
        self._first = &first[0]
        self._starts = &starts[0]
        self._sizes = &sizes[0]
        self._values = &values[0]
        with nogil:
            self._strings.lock()
            status = self._walk(size)
            self._strings.unlock()
        self._data = NULL
        if status == NO_MEMORY:
            raise MemoryError("no room for more strings, threads or event classes")
        return status, self._events, self._value_count

    def signatures(self, int64_t known):
        """Shape and (argument type, name id) of each class from number `known` on."""
        result = []
        cdef int64_t i, j
        cdef SignatureEntry* entry
        for i in range(known, self._class_count):
            entry = &self._entries[i]
            result.append((
                <int>self._pool[entry.start],
                [
                    (<int>(self._pool[j] >> 32), <int32_t>self._pool[j])
                    for j in range(entry.start + 1, entry.start + entry.length)
                ],
            ))
        return result

    def row_counts(self):
        counts = np.empty(self._class_count, np.int32)
        cdef int32_t[::1] view = counts
        cdef int64_t i
        for i in range(self._class_count):
            view[i] = self._rows[i]
        return counts

    def threads(self, int64_t known):
        return [
            (self._thread_koids.keys[2 * i], self._thread_koids.keys[2 * i + 1])
            for i in range(known, self._thread_koids.count)
        ]

    def processes(self, int64_t known):
        return [self._process_koids.keys[2 * i] for i in range(known, self._process_koids.count)]

    def namings(self):
        return [
            (bool(self._namings[2 * i] & 1), <int64_t>(self._namings[2 * i] >> 1), <int64_t>self._namings[2 * i + 1])
            for i in range(self._naming_count)
        ]

    # The walk

    cdef int _walk(self, int64_t size) noexcept nogil:
        cdef const uint8_t* record
        cdef const uint8_t* end
        cdef bint swap = self._swap
        cdef uint64_t header
        cdef int64_t at = 0
        cdef int64_t words
        cdef uint32_t kind
        cdef int result
        while at < size:
            if self._events >= self._room or self._value_count > self._value_room:
                return FULL
            if size - at < 8:
                return INCOMPLETE
            record = self._data + at
            header = load(record, swap)
            kind = header & 15
            words = <uint32_t>(header >> 4) if kind == LARGE else <int64_t>((header >> 4) & 0xfff)
            if words == 0:
                return ZERO_SIZE
            if words > (size - at) >> 3:
                return INCOMPLETE
            end = record + words * 8
            self._at = at
            if kind == EVENT:
                result = self._event(record, end, header)
            elif kind == STRING:
                result = self._string_record(record, end, header)
            elif kind == THREAD:
                result = self._thread_record(record, end, header)
            elif kind == SCHEDULING:
                result = self._scheduling(record, end, header)
            elif kind == METADATA:
                result = self._metadata(record, end, header)
            elif kind == INITIALIZATION:
                result = self._initialization(record, end)
            elif kind == BLOB:
                result = self._blob(record, end, header)
            elif kind == USERSPACE_OBJECT:
                result = self._userspace_object(record, end, header)
            elif kind == KERNEL_OBJECT:
                result = self._kernel_object(record, end, header)
            elif kind == LOG:
                result = self._log(record, end, header)
            elif kind == PROFILER:
                result = self._profiler(record, end, header)
            elif kind == LARGE:
                result = self._large(record, end, header)
            else:
                result = ABSENT
            if result == MALFORMED or result == ABSENT:
                if result == MALFORMED:
                    if self.malformed == 0:
                        self.first_malformed = at
                    self.malformed += 1
                result = self._native(record, end, kind)
            if result == FAILED:
                return NO_MEMORY
            if result == TOO_MANY_PROVIDERS:
                return TOO_MANY_PROVIDERS
            at += words * 8
            self.consumed = at
        return DONE

    # Each of these gives 0, MALFORMED, ABSENT (of a type that nothing describes) or FAILED.

    cdef int _event(self, const uint8_t* record, const uint8_t* end, uint64_t header) noexcept nogil:
        cdef const uint8_t* at = record + 8
        cdef uint32_t kind = (header >> 16) & 15
        cdef uint32_t reference = (header >> 24) & 0xff
        cdef uint64_t* values = self._values + self._value_count
        cdef uint64_t* arguments
        cdef uint64_t ticks, pid = 0, tid = 0
        cdef int64_t category, name, ts
        cdef int32_t thread
        cdef int count
        if kind > 10:
            return ABSENT
        if end - at < (8 if reference else 24):
            return MALFORMED
        ticks = load(at, self._swap)
        at += 8
        if reference == 0:
            pid = load(at, self._swap)
            tid = load(at + 8, self._swap)
            at += 16
        category = self._text(&at, end, (header >> 32) & 0xffff)
        if category < 0:
            return <int>category
        name = self._text(&at, end, header >> 48)
        if name < 0:
            return <int>name
        values[0] = name
        values[1] = category
        arguments = values + 2
        if kind == 1 or kind >= 4:
            arguments += 1
        count = self._arguments(&at, end, (header >> 20) & 15, arguments)
        if count < 0:
            return count
        ts = self._time(ticks)
        if kind == 1 or kind >= 4:
            if end - at < 8:
                return MALFORMED
            values[2] = load(at, self._swap)
            at += 8
            if kind == 4:
                # Modular, so that an end before the begin keeps its distance.
                values[2] = <uint64_t>self._time(values[2]) - <uint64_t>ts
        thread = self._thread_of(reference, pid, tid)
        if thread < 0:
            return thread
        return self._commit(EVENT << 4 | kind, count, arguments + count, at, end, ts, thread, -1, record)

    cdef int _scheduling(self, const uint8_t* record, const uint8_t* end, uint64_t header) noexcept nogil:
        cdef uint32_t subtype = header >> 60
        cdef const uint8_t* at = record + 8
        cdef uint64_t* values = self._values + self._value_count
        cdef uint64_t* arguments
        cdef uint64_t out_pid = 0, out_tid = 0, in_pid = 0, in_tid = 0
        cdef uint32_t out_reference, in_reference
        cdef int64_t ts
        cdef int count
        if subtype > 2:
            return ABSENT
        if end - at < 8:
            return MALFORMED
        ts = self._time(load(at, self._swap))
        at += 8
        if subtype == 0:
            out_reference = (header >> 28) & 0xff
            in_reference = (header >> 36) & 0xff
            if not self._koids(&at, end, out_reference, &out_pid, &out_tid):
                return MALFORMED
            if not self._koids(&at, end, in_reference, &in_pid, &in_tid):
                return MALFORMED
            values[0] = out_tid
            values[1] = in_tid
            values[2] = (header >> 24) & 15
            values[3] = out_pid
            values[4] = in_pid
            values[5] = (header >> 44) & 0xff
            values[6] = (header >> 52) & 0xff
            return self._commit(SCHEDULING << 4, 0, values + 7, at, end, ts, -1, (header >> 16) & 0xff, record)
        if end - at < (16 if subtype == 1 else 8):
            return MALFORMED
        values[0] = load(at, self._swap)
        at += 8
        arguments = values + 1
        if subtype == 1:
            values[1] = load(at, self._swap)
            values[2] = (header >> 36) & 15
            at += 8
            arguments = values + 3
        count = self._arguments(&at, end, (header >> 16) & 15, arguments)
        if count < 0:
            return count
        return self._commit(
            SCHEDULING << 4 | subtype, count, arguments + count, at, end, ts, -1, self._cpu_number(header), record
        )

    cdef inline int32_t _cpu_number(self, uint64_t header) noexcept nogil:
        # The highest number stands for an event on no CPU.
        cdef int32_t cpu = (header >> 20) & 0xffff
        return -1 if cpu == 0xffff else cpu

    cdef int _log(self, const uint8_t* record, const uint8_t* end, uint64_t header) noexcept nogil:
        cdef const uint8_t* at = record + 8
        cdef int64_t length = (header >> 16) & 0x7fff
        cdef uint64_t* values = self._values + self._value_count
        cdef int64_t ts
        cdef int32_t thread = self._timed(&at, end, (header >> 32) & 0xff, &ts)
        if thread < 0:
            return thread
        if padded(length) > end - at:
            return MALFORMED
        values[0] = span(at - self._data, length)
        at += padded(length)
        return self._commit(SHAPE_LOG, 0, values + 1, at, end, ts, thread, -1, record)

    cdef int _profiler(self, const uint8_t* record, const uint8_t* end, uint64_t header) noexcept nogil:
        cdef uint32_t subtype = (header >> 16) & 15
        cdef const uint8_t* at = record + 8
        cdef uint64_t* values = self._values + self._value_count
        cdef int64_t ts, length
        cdef int64_t name
        cdef int32_t thread
        if subtype > 2:
            return ABSENT
        thread = self._timed(&at, end, (header >> 20) & 0xff, &ts)
        if thread < 0:
            return thread
        if subtype == 2:
            length = ((header >> 28) & 0xff) * 8
            if length > end - at:
                return MALFORMED
            values[0] = span(at - self._data, length)
            at += length
            return self._commit(SHAPE_SAMPLE, 0, values + 1, at, end, ts, thread, -1, record)
        values[0] = (header >> 28) & 0xffff
        if subtype == 1:
            if end - at < 24:
                return MALFORMED
            values[1] = (header >> 44) & 7
            values[2] = load(at, self._swap)
            values[3] = load(at + 8, self._swap)
            values[4] = load(at + 16, self._swap)
            return self._commit(SHAPE_MAPPING, 0, values + 5, at + 24, end, ts, thread, -1, record)
        # A length in place of a reference: as an inline string.
        name = self._text(&at, end, INLINE | ((header >> 44) & 0xff))
        if name < 0:
            return <int>name
        length = (header >> 52) & 0xff
        if padded(length) > end - at:
            return MALFORMED
        values[1] = name
        values[2] = span(at - self._data, length)
        at += padded(length)
        return self._commit(SHAPE_MODULE, 0, values + 3, at, end, ts, thread, -1, record)

    cdef int _blob(self, const uint8_t* record, const uint8_t* end, uint64_t header) noexcept nogil:
        cdef const uint8_t* at = record + 8
        cdef int64_t length = (header >> 32) & 0x7fff
        cdef uint64_t* values = self._values + self._value_count
        cdef int64_t name = self._text(&at, end, (header >> 16) & 0xffff)
        if name < 0:
            return <int>name
        if padded(length) > end - at:
            return MALFORMED
        values[0] = name
        values[1] = (header >> 48) & 0xff
        values[2] = at - self._data
        values[3] = length
        at += padded(length)
        return self._commit(SHAPE_BLOB, 0, values + 4, at, end, self._last_ts, -1, -1, record)

    cdef int _userspace_object(self, const uint8_t* record, const uint8_t* end, uint64_t header) noexcept nogil:
        cdef const uint8_t* at = record + 8
        cdef uint32_t reference = (header >> 16) & 0xff
        cdef uint64_t* values = self._values + self._value_count
        cdef uint64_t pid = 0, tid = 0
        cdef int64_t name
        cdef int count
        if end - at < (8 if reference else 16):
            return MALFORMED
        values[0] = load(at, self._swap)
        at += 8
        if reference:
            self._koids(&at, end, reference, &pid, &tid)
        else:
            pid = load(at, self._swap)
            at += 8
        name = self._text(&at, end, (header >> 24) & 0xffff)
        if name < 0:
            return <int>name
        values[1] = name
        values[2] = pid
        count = self._arguments(&at, end, (header >> 40) & 15, values + 3)
        if count < 0:
            return count
        return self._commit(
            SHAPE_USERSPACE_OBJECT, count, values + 3 + count, at, end, self._last_ts, -1, -1, record
        )

    cdef int _kernel_object(self, const uint8_t* record, const uint8_t* end, uint64_t header) noexcept nogil:
        cdef const uint8_t* at = record + 8
        cdef uint32_t kind = (header >> 16) & 0xff
        cdef uint64_t* values = self._values + self._value_count
        cdef uint64_t koid
        cdef int64_t name
        cdef int32_t number
        cdef int count
        cdef bint names
        cdef bint is_thread = False
        if end - at < 8:
            return MALFORMED
        koid = load(at, self._swap)
        at += 8
        name = self._text(&at, end, (header >> 24) & 0xffff)
        if name < 0:
            return <int>name
        count = self._arguments(&at, end, (header >> 40) & 15, values + 3)
        if count < 0:
            return count
        # A record that says no more than the name of a process or thread goes to the trace's tables, unless that has
        # a name already: then it is an event as well.
        if kind == OBJECT_PROCESS:
            names = count == 0 and at == end
            number = self._process_of(koid)
        elif kind == OBJECT_THREAD and count >= 1 and self._signature[1] == (
            <uint64_t>ARGUMENT_KOID << 32 | <uint64_t>self._process_name_id
        ):
            names = count == 1 and at == end
            is_thread = True
            number = self._thread_of(0, values[3], koid)
        else:
            names = False
            number = -1
        if number == FAILED:
            return FAILED
        if number >= 0:
            if names and (self._thread_names if is_thread else self._process_names)[number] == 0:
                if name:
                    return self._rename(is_thread, number, name)
                return 0
            if name and self._rename(is_thread, number, name) < 0:
                return FAILED
        values[0] = kind
        values[1] = koid
        values[2] = name
        return self._commit(SHAPE_KERNEL_OBJECT, count, values + 3 + count, at, end, self._last_ts, -1, -1, record)

    cdef int _large(self, const uint8_t* record, const uint8_t* end, uint64_t header) noexcept nogil:
        cdef const uint8_t* at = record + 16
        cdef uint32_t form = (header >> 40) & 15
        cdef uint64_t* values = self._values + self._value_count
        cdef uint64_t* arguments = values + 4
        cdef uint64_t second, length
        cdef int64_t category, name
        cdef int64_t ts = self._last_ts
        cdef int32_t thread = -1
        cdef int count = 0
        if (header >> 36) & 15 or form > 1:
            return ABSENT
        if end - record < 24:
            return MALFORMED
        second = load(record + 8, self._swap)
        category = self._text(&at, end, second & 0xffff)
        if category < 0:
            return <int>category
        name = self._text(&at, end, (second >> 16) & 0xffff)
        if name < 0:
            return <int>name
        if form == 0:
            thread = self._timed(&at, end, (second >> 36) & 0xff, &ts)
            if thread < 0:
                return thread
            count = self._arguments(&at, end, (second >> 32) & 15, arguments)
            if count < 0:
                return count
        if end - at < 8:
            return MALFORMED
        length = load(at, self._swap)
        at += 8
        if length > <uint64_t>(end - at):
            return MALFORMED
        values[0] = name
        values[1] = category
        values[2] = at - self._data
        values[3] = length
        at += padded(<int64_t>length)
        if end - at >= INLINE:
            return MALFORMED
        return self._commit(
            SHAPE_LARGE_TIMED if form == 0 else SHAPE_LARGE, count, arguments + count, at, end, ts, thread, -1, record
        )

    cdef int _native(self, const uint8_t* record, const uint8_t* end, uint32_t kind) noexcept nogil:
        cdef uint64_t* values = self._values + self._value_count
        values[0] = kind
        values[1] = record - self._data
        values[2] = end - record
        return self._commit(SHAPE_NATIVE, 0, values + 3, end, end, self._last_ts, -1, -1, record)

    cdef int _metadata(self, const uint8_t* record, const uint8_t* end, uint64_t header) noexcept nogil:
        cdef uint32_t kind = (header >> 16) & 15
        cdef uint64_t id = <uint32_t>(header >> 20)
        cdef uint64_t* values = self._values + self._value_count
        if kind == 1 or kind == 2:
            return self._enter(id)
        if kind == 3 and (header >> 52) & 15 == 0:
            values[0] = id
            return self._commit(SHAPE_DISCARDED, 0, values + 1, record + 8, end, self._last_ts, -1, -1, record)
        if kind == 4 and (header >> 20) & 15 == 0:
            return 0
        return ABSENT

    cdef int _enter(self, uint64_t id) noexcept nogil:
        """Go to the tables of a provider."""
        cdef int32_t number = pairs_find(&self._provider_ids, id, 0)
        if number == FAILED:
            return FAILED
        if number >= MAX_PROVIDERS:
            return TOO_MANY_PROVIDERS
        if self._providers[number] is NULL:
            self._providers[number] = <Provider*>calloc(1, sizeof(Provider))
            if self._providers[number] is NULL:
                return FAILED
            self._current = self._providers[number]
            self._set_rate(NANOSECONDS)
        self._current = self._providers[number]
        return 0

    cdef void _set_rate(self, uint64_t rate) noexcept nogil:
        cdef uint64_t a = self._rate
        cdef uint64_t b = rate
        cdef uint64_t rest
        while b:
            rest = a % b
            a = b
            b = rest
        self._current.multiplier = self._rate // a
        self._current.divisor = rate // a

    cdef int _initialization(self, const uint8_t* record, const uint8_t* end) noexcept nogil:
        cdef uint64_t rate
        if end - record < 16:
            return MALFORMED
        rate = load(record + 8, self._swap)
        self._set_rate(rate if rate else NANOSECONDS)
        return 0

    cdef int _string_record(self, const uint8_t* record, const uint8_t* end, uint64_t header) noexcept nogil:
        cdef uint32_t slot = (header >> 16) & 0x7fff
        cdef int64_t length = (header >> 32) & 0x7fff
        cdef int32_t id
        if length > end - record - 8:
            return MALFORMED
        if slot == 0:
            return 0
        if self._current.strings is NULL:
            self._current.strings = <int32_t*>calloc(STRING_SLOTS, sizeof(int32_t))
            if self._current.strings is NULL:
                return FAILED
        id = self._strings.find_or_add(record + 8, <uint32_t>length) if length else 0
        if id < 0:
            return FAILED
        self._current.strings[slot] = id + 1
        return 0

    cdef int _thread_record(self, const uint8_t* record, const uint8_t* end, uint64_t header) noexcept nogil:
        cdef uint32_t slot = (header >> 16) & 0xff
        cdef int32_t thread
        if end - record < 24:
            return MALFORMED
        if slot:
            thread = self._thread_of(0, load(record + 8, self._swap), load(record + 16, self._swap))
            if thread < 0:
                return thread
            self._current.threads[slot] = thread + 1
        return 0

    # Parts of records

    cdef int64_t _text(self, const uint8_t** at, const uint8_t* end, uint32_t reference) noexcept nogil:
        """The id of the string that is referred to, or that stands at `at` and is then passed."""
        cdef int64_t id
        cdef int64_t length
        if reference & INLINE:
            length = reference & 0x7fff
            if padded(length) > end - at[0]:
                return MALFORMED
            id = self._strings.find_or_add(at[0], <uint32_t>length) if length else 0
            at[0] += padded(length)
            return id if id >= 0 else FAILED
        if reference == 0:
            return 0
        id = self._current.strings[reference] if self._current.strings is not NULL else 0
        if id:
            return id - 1
        self._count_unresolved(&self.unresolved_strings)
        return 0

    cdef int _arguments(
        self, const uint8_t** place, const uint8_t* end, int count, uint64_t* values
    ) noexcept nogil:
        """Pass `count` arguments, with a value for each, and write their part of the signature; gives `count`."""
        cdef const uint8_t* at = place[0]
        cdef const uint8_t* payload
        cdef const uint8_t* following
        cdef bint swap = self._swap
        cdef int32_t* strings = self._current.strings
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
            if reference < INLINE and strings is not NULL and strings[reference]:
                name = strings[reference] - 1
            else:
                name = self._text(&payload, following, reference)
                if name < 0:
                    return <int>name
            self._signature[i + 1] = <uint64_t>kind << 32 | <uint64_t>name
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
                    value = span(payload - self._data, length)
                else:
                    value = <uint64_t>self._text(&payload, following, reference)
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
                value = span(payload - self._data, length)
            else:
                value = at - self._data
            values[i] = value
            at = following
        place[0] = at
        return count

    cdef bint _koids(
        self, const uint8_t** at, const uint8_t* end, uint32_t reference, uint64_t* pid, uint64_t* tid
    ) noexcept nogil:
        """Process and thread of a thread reference; False where the record ends before."""
        cdef int32_t thread
        if reference == 0:
            if end - at[0] < 16:
                return False
            pid[0] = load(at[0], self._swap)
            tid[0] = load(at[0] + 8, self._swap)
            at[0] += 16
            return True
        thread = self._current.threads[reference] - 1
        if thread < 0:
            self._count_unresolved(&self.unresolved_threads)
            return True
        pid[0] = self._thread_koids.keys[2 * thread]
        tid[0] = self._thread_koids.keys[2 * thread + 1]
        return True

    cdef void _count_unresolved(self, int64_t* counter) noexcept nogil:
        if self.unresolved_strings + self.unresolved_threads == 0:
            self.first_unresolved = self._at
        counter[0] += 1

    cdef int32_t _timed(
        self, const uint8_t** at, const uint8_t* end, uint32_t reference, int64_t* ts
    ) noexcept nogil:
        """Pass a time and what follows it of a thread reference; gives the thread."""
        cdef uint64_t pid = 0, tid = 0
        if end - at[0] < (8 if reference else 24):
            return MALFORMED
        ts[0] = self._time(load(at[0], self._swap))
        at[0] += 8
        if reference == 0:
            pid = load(at[0], self._swap)
            tid = load(at[0] + 8, self._swap)
            at[0] += 16
        return self._thread_of(reference, pid, tid)

    cdef inline int32_t _thread_of(self, uint32_t reference, uint64_t pid, uint64_t tid) noexcept nogil:
        """The thread of a slot or, without one, of its koids."""
        cdef int32_t thread
        cdef int32_t* moved
        if reference:
            thread = self._current.threads[reference] - 1
            if thread >= 0:
                return thread
            self._count_unresolved(&self.unresolved_threads)
            pid = tid = 0
        thread = pairs_find(&self._thread_koids, pid, tid)
        if thread < 0 or self._process_of(pid) < 0:
            return FAILED
        if thread >= self._thread_room:
            moved = <int32_t*>realloc(self._thread_names, self._thread_koids.capacity * sizeof(int32_t))
            if moved is NULL:
                return FAILED
            self._thread_names = moved
            while self._thread_room < self._thread_koids.capacity:
                moved[self._thread_room] = 0
                self._thread_room += 1
        return thread

    cdef int32_t _process_of(self, uint64_t pid) noexcept nogil:
        cdef int32_t process = pairs_find(&self._process_koids, pid, 0)
        cdef int32_t* moved
        if process >= self._process_room:
            moved = <int32_t*>realloc(self._process_names, self._process_koids.capacity * sizeof(int32_t))
            if moved is NULL:
                return FAILED
            self._process_names = moved
            while self._process_room < self._process_koids.capacity:
                moved[self._process_room] = 0
                self._process_room += 1
        return process

    cdef int _rename(self, bint is_thread, int32_t number, int64_t name) noexcept nogil:
        cdef uint64_t* moved
        if self._naming_count == self._naming_room:
            moved = <uint64_t*>realloc(self._namings, (self._naming_room * 2 + 64) * 2 * sizeof(uint64_t))
            if moved is NULL:
                return FAILED
            self._namings = moved
            self._naming_room = self._naming_room * 2 + 64
        self._namings[2 * self._naming_count] = <uint64_t>number << 1 | is_thread
        self._namings[2 * self._naming_count + 1] = name
        self._naming_count += 1
        (self._thread_names if is_thread else self._process_names)[number] = <int32_t>name
        return 0

    cdef inline int64_t _time(self, uint64_t ticks) noexcept nogil:
        """Ticks of the trace's clock for those of the provider's."""
        cdef int over = 0
        if self._current.multiplier != 1 or self._current.divisor != 1:
            ticks = fxt_scaled(ticks, self._current.multiplier, self._current.divisor, &over)
        elif ticks >> 63:
            ticks = LATEST
            over = 1
        if over:
            if self.overflows == 0:
                self.first_overflow = self._at
            self.overflows += 1
        return <int64_t>ticks

    cdef inline int _commit(
        self, uint32_t shape, int arguments, uint64_t* values_end, const uint8_t* at, const uint8_t* end,
        int64_t ts, int32_t thread, int32_t cpu, const uint8_t* record,
    ) noexcept nogil:
        """Add the event whose values end at `values_end` and whose record was understood up to `at`."""
        cdef int64_t number = self._events
        cdef int32_t id
        if at != end:
            values_end[0] = span(at - self._data, end - at)
            values_end += 1
            shape |= SHAPE_EXTENDED
        self._signature[0] = shape
        id = self._class(arguments + 1)
        if id < 0:
            return FAILED
        self._ts[number] = ts
        self._class_id[number] = id
        self._row[number] = self._rows[id]
        self._rows[id] += 1
        self._thread[number] = thread
        self._cpu[number] = cpu
        self._first[number] = self._value_count
        self._starts[number] = record - self._data
        self._sizes[number] = end - record
        self._events = number + 1
        self._value_count = values_end - self._values
        self._last_ts = ts
        return 0

    cdef inline int32_t _class(self, int length) noexcept nogil:
        """The class of the signature, added when new; FAILED without memory."""
        cdef uint64_t tag = self._seed
        cdef uint64_t slot
        cdef SignatureEntry* entry
        cdef const uint64_t* known
        cdef int32_t found
        cdef int i
        for i in range(length):
            tag = (tag ^ self._signature[i]) * FACTOR
        tag = mixed(tag)
        slot = tag & self._mask
        while True:
            found = self._slots[slot] - 1
            if found < 0:
                return self._add_class(length, tag)
            entry = &self._entries[found]
            if entry.tag == tag and entry.length == length:
                known = self._pool + entry.start
                i = 0
                while i < length and known[i] == self._signature[i]:
                    i += 1
                if i == length:
                    return found
            slot = (slot + 1) & self._mask

    cdef int32_t _add_class(self, int length, uint64_t tag) noexcept nogil:
        cdef void* moved
        cdef int64_t room
        cdef uint64_t slot
        cdef int64_t i
        cdef SignatureEntry* entry
        if self._class_count == self._class_room:
            room = self._class_room * 2 + 64
            if room > 0x3fffffff:
                return FAILED
            moved = realloc(self._entries, room * sizeof(SignatureEntry))
            if moved is NULL:
                return FAILED
            self._entries = <SignatureEntry*>moved
            moved = realloc(self._rows, room * sizeof(int32_t))
            if moved is NULL:
                return FAILED
            self._rows = <int32_t*>moved
            self._class_room = room
        if self._pool_count + length > self._pool_room:
            room = self._pool_room * 2 + 1024
            moved = realloc(self._pool, room * sizeof(uint64_t))
            if moved is NULL:
                return FAILED
            self._pool = <uint64_t*>moved
            self._pool_room = room
        if <uint64_t>self._class_count * 2 >= self._mask:
            moved = calloc((self._mask + 1) * 4, sizeof(int32_t))
            if moved is NULL:
                return FAILED
            free(self._slots)
            self._slots = <int32_t*>moved
            self._mask = (self._mask + 1) * 4 - 1
            for i in range(self._class_count):
                self._place(<int32_t>i)
        entry = &self._entries[self._class_count]
        entry.tag = tag
        entry.start = self._pool_count
        entry.length = length
        memcpy(self._pool + self._pool_count, self._signature, length * sizeof(uint64_t))
        self._pool_count += length
        self._rows[self._class_count] = 0
        self._place(<int32_t>self._class_count)
        self._class_count += 1
        return <int32_t>(self._class_count - 1)

    cdef void _place(self, int32_t number) noexcept nogil:
        cdef uint64_t slot = self._entries[number].tag & self._mask
        while self._slots[slot]:
            slot = (slot + 1) & self._mask
        self._slots[slot] = number + 1
