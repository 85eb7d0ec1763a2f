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

from converter.kernels.fxt_classes cimport Signature, classes_free
from converter.kernels.fxt_providers cimport NO_PROVIDER, TOO_MANY, providers_enter, providers_free
from converter.kernels.fxt_scan_records cimport (
    scan_blob, scan_event, scan_initialization, scan_kernel_object, scan_large, scan_log, scan_metadata, scan_native,
    scan_profiler, scan_scheduling, scan_string, scan_thread, scan_userspace_object,
)
from converter.kernels.fxt_threads cimport Namings, threads_free
from converter.kernels.fxt_window cimport ABSENT, MALFORMED, MAX_VALUES, Window, note
from converter.kernels.fxt_words cimport (
    BLOB, EVENT, FAILED, INITIALIZATION, KERNEL_OBJECT, LARGE, LOG, METADATA, PROFILER, SCHEDULING, STRING, THREAD,
    USERSPACE_OBJECT, load,
)
from converter.kernels.strings cimport StringTable

cpdef enum:
    DONE = 0
    INCOMPLETE = 1
    ZERO_SIZE = 2
    TOO_MANY_PROVIDERS = 4
    FULL = 5

cdef enum:
    NO_MEMORY = 3


cdef class Scanner:
    cdef StringTable _strings
    cdef Window _window
    cdef readonly int64_t consumed

    def __cinit__(self, StringTable strings not None, *, bint big_endian, uint64_t ticks_per_second):
        cdef Window* window = &self._window
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little")
        self._strings = strings
        window.swap = big_endian
        window.classes.seed = window.providers.ids.seed = seed
        window.threads.threads.koids.seed = window.threads.processes.koids.seed = seed
        window.threads.process = strings.intern(b"process")
        window.providers.rate = ticks_per_second
        if providers_enter(&window.providers, NO_PROVIDER) != 0:
            raise MemoryError

    def __dealloc__(self):
        providers_free(&self._window.providers)
        threads_free(&self._window.threads)
        classes_free(&self._window.classes)

    @property
    def unresolved_strings(self):
        return self._window.unresolved_strings.count, self._window.unresolved_strings.first

    @property
    def unresolved_threads(self):
        return self._window.unresolved_threads.count, self._window.unresolved_threads.first

    @property
    def malformed(self):
        return self._window.malformed.count, self._window.malformed.first

    @property
    def overflows(self):
        return self._window.overflows.count, self._window.overflows.first

    def scan(
        self,
        const uint8_t[::1] data,
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
        cdef Window* window = &self._window
        cdef int64_t size = data.shape[0]
        cdef int64_t room = ts.shape[0]
        cdef int64_t i
        cdef int status
        if (
            room < 1 or values.shape[0] < MAX_VALUES or class_id.shape[0] < room or row.shape[0] < room
            or thread.shape[0] < room or cpu.shape[0] < room or first.shape[0] < room or starts.shape[0] < room
            or sizes.shape[0] < room
        ):
            raise ValueError("an output array is too small")
        self.consumed = 0
        window.events = window.value_count = window.threads.namings.count = 0
        for i in range(window.classes.count):
            window.classes.rows[i] = 0
        if size == 0:
            return DONE, 0, 0
        window.data = &data[0]
        window.ts = &ts[0]
        window.class_id = &class_id[0]
        window.row = &row[0]
        window.thread = &thread[0]
        window.cpu = &cpu[0]
        window.first = &first[0]
        window.starts = &starts[0]
        window.sizes = &sizes[0]
        window.values = &values[0]
        window.room = room
        window.value_room = values.shape[0] - MAX_VALUES
        with nogil:
            self._strings.lock()
            status = self._walk(size)
            self._strings.unlock()
        if status == NO_MEMORY:
            raise MemoryError("no room for more strings, threads or event classes")
        return status, window.events, window.value_count

    def signatures(self, int64_t known):
        """Shape and (argument type, name id) of each class from number `known` on."""
        cdef const uint64_t* words = self._window.classes.words
        cdef const Signature* entry
        cdef int64_t i, j
        result = []
        if known < 0:
            raise ValueError(f"class {known}")
        for i in range(known, self._window.classes.count):
            entry = &self._window.classes.entries[i]
            result.append((
                <int>words[entry.start],
                [
                    (<int>(words[j] >> 32), <int32_t>words[j])
                    for j in range(entry.start + 1, entry.start + entry.length)
                ],
            ))
        return result

    def row_counts(self):
        counts = np.empty(self._window.classes.count, np.int32)
        cdef int32_t[::1] view = counts
        cdef int64_t i
        for i in range(self._window.classes.count):
            view[i] = self._window.classes.rows[i]
        return counts

    def threads(self, int64_t known):
        cdef const uint64_t* koids = self._window.threads.threads.koids.keys
        cdef int64_t i
        if known < 0:
            raise ValueError(f"thread {known}")
        return [(koids[2 * i], koids[2 * i + 1]) for i in range(known, self._window.threads.threads.koids.count)]

    def processes(self, int64_t known):
        cdef const uint64_t* koids = self._window.threads.processes.koids.keys
        cdef int64_t i
        if known < 0:
            raise ValueError(f"process {known}")
        return [koids[2 * i] for i in range(known, self._window.threads.processes.koids.count)]

    def namings(self):
        cdef Namings* namings = &self._window.threads.namings
        cdef int64_t i
        return [
            (bool(namings.given[2 * i] & 1), <int64_t>(namings.given[2 * i] >> 1), <int64_t>namings.given[2 * i + 1])
            for i in range(namings.count)
        ]

    cdef int _walk(self, int64_t size) noexcept nogil:
        cdef Window* window = &self._window
        cdef const uint8_t* record
        cdef const uint8_t* end
        cdef bint swap = window.swap
        cdef uint64_t header
        cdef int64_t at = 0
        cdef int64_t words
        cdef uint32_t kind
        cdef int result
        while at < size:
            if window.events >= window.room or window.value_count > window.value_room:
                return FULL
            if size - at < 8:
                return INCOMPLETE
            record = window.data + at
            header = load(record, swap)
            kind = header & 15
            words = <uint32_t>(header >> 4) if kind == LARGE else <int64_t>((header >> 4) & 0xfff)
            if words == 0:
                return ZERO_SIZE
            if words > (size - at) >> 3:
                return INCOMPLETE
            end = record + words * 8
            window.at = at
            result = self._record(kind, record + 8, end, header)
            if result == MALFORMED or result == ABSENT:
                if result == MALFORMED:
                    note(window, &window.malformed)
                result = scan_native(window, end, kind)
            if result == FAILED:
                return NO_MEMORY
            if result == TOO_MANY:
                return TOO_MANY_PROVIDERS
            at += words * 8
            self.consumed = at
        return DONE

    cdef inline int _record(
        self, uint32_t kind, const uint8_t* at, const uint8_t* end, uint64_t header
    ) noexcept nogil:
        cdef Window* window = &self._window
        if kind == EVENT:
            return scan_event(window, self._strings, at, end, header)
        if kind == STRING:
            return scan_string(window, self._strings, at, end, header)
        if kind == THREAD:
            return scan_thread(window, at, end, header)
        if kind == SCHEDULING:
            return scan_scheduling(window, self._strings, at, end, header)
        if kind == METADATA:
            return scan_metadata(window, at, end, header)
        if kind == INITIALIZATION:
            return scan_initialization(window, at, end)
        if kind == BLOB:
            return scan_blob(window, self._strings, at, end, header)
        if kind == USERSPACE_OBJECT:
            return scan_userspace_object(window, self._strings, at, end, header)
        if kind == KERNEL_OBJECT:
            return scan_kernel_object(window, self._strings, at, end, header)
        if kind == LOG:
            return scan_log(window, at, end, header)
        if kind == PROFILER:
            return scan_profiler(window, self._strings, at, end, header)
        if kind == LARGE:
            return scan_large(window, self._strings, at, end, header)
        return ABSENT
