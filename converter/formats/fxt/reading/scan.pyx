# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""FXT records to columns: the scan that turns a window's records into events.

A window is a segment of the file that starts with a record. The scan makes one pass over it and appends each event's
field values, as 64-bit words in the order of its class's fields, to those of the event before; `scan_columns` later
sorts them by class into rows, of which a column is a strided view.

A value word holds an integer or the bits of a double; the id of a string; or, with `SPAN` set, the position of a text
or of bytes in the window (offset << 15 | length). Payloads that can be longer take two words, offset and length.

The prescan of an FXT file: its providers and the rates of their clocks.
"""

# Stub:
# from converter.kernels.batches.event_arrays import OutputArrays
# from converter.kernels.tables.kept import Kept
# from converter.kernels.tables.strings import StringTable
#
# #: Results of `Scanner.scan` and `Scanner.skim` about the end of a window.
# DONE: int
# INCOMPLETE: int
# ZERO_SIZE: int
# TOO_MANY_PROVIDERS: int
# FULL: int
# SUSPECT: int
# NOT_SURE: int

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
import numpy as np
import os

from converter.formats.fxt.reading.scan_classes cimport classes_find, classes_free, Signature
from converter.formats.fxt.reading.scan_providers cimport (
    NO_PROVIDER, providers_enter, providers_free, TOO_MANY,
)
from converter.formats.fxt.reading.scan_records cimport (
    scan_blob, scan_event, scan_initialization, scan_kernel_object, scan_large, scan_log, scan_metadata,
    scan_native, scan_profiler, scan_scheduling, scan_string, scan_thread, scan_userspace_object,
)
from converter.formats.fxt.reading.scan_skim cimport (
    KnownClasses, Passed, UNSURE, skim_event, skim_plain, skim_scheduling,
)
from converter.formats.fxt.reading.scan_threads cimport Namings, threads_find, threads_free, threads_init
from converter.formats.fxt.reading.scan_window cimport ABSENT, MALFORMED, MAX_VALUES, note, TOO_LATE, Window
from converter.formats.fxt.words cimport (
    BLOB, EVENT, FACTOR, INITIALIZATION, KERNEL_OBJECT, LARGE, load, LOG, MAX_PROVIDERS, METADATA,
    MOST_INITIALIZATION, NANOSECONDS, PROFILER, SCHEDULING, STRING, THREAD, USERSPACE_OBJECT,
)
from converter.kernels.batches.event_arrays cimport Events, OutputArrays, WITH_CLASS, WITH_CPU, WITH_ROW, WITH_THREAD
from converter.kernels.io.byte_order cimport HOST_IS_BIG
from converter.kernels.tables.kept cimport Kept
from converter.kernels.tables.numbers cimport FAILED, Numbers, find_or_add_key, find_or_add_pair, free_numbers
from converter.kernels.tables.strings cimport StringTable


cpdef enum:
    DONE = 0
    INCOMPLETE = 1
    ZERO_SIZE = 2
    TOO_MANY_PROVIDERS = 4
    FULL = 5
    SUSPECT = 6
    NOT_SURE = 7

cdef enum:
    NO_MEMORY = 3
    # Shorter records hide few others.
    SUSPECT_WORDS = 16


# The header of a record, of which there are `left` bytes, and its size in words: DONE if it is whole.
cdef inline int whole_record(
    const uint8_t* record, int64_t left, bint swap, uint64_t* header, int64_t* words
) noexcept nogil:
    if left < 8:
        return INCOMPLETE
    header[0] = load(record, swap)
    words[0] = <uint32_t>(header[0] >> 4) if header[0] & 15 == LARGE else <int64_t>((header[0] >> 4) & 0xfff)
    if words[0] == 0:
        return ZERO_SIZE
    return INCOMPLETE if words[0] > left >> 3 else DONE


cdef class Scanner:
    """Makes events of records, window after window, with the tables of each provider."""

    # Stub:
    # #: The number of bytes of the last window that were passed: whole records.
    # consumed: int
    # #: The scan stops, with SUSPECT, before long records that are not what their headers say, from here on.
    # trusted: int

    cdef StringTable _strings
    cdef Window _window
    cdef KnownClasses _known
    cdef readonly int64_t consumed
    # Up to here a window's records are what they are, even where they are not what their headers say.
    cdef public int64_t trusted

    def __cinit__(self, StringTable strings not None, *, bint big_endian, uint64_t ticks_per_second):
        cdef Window* window = &self._window
        cdef uint64_t seed = int.from_bytes(os.urandom(8), "little")
        self._strings = strings
        window.swap = big_endian != HOST_IS_BIG
        window.classes.seed = window.providers.ids.seed = seed
        threads_init(&window.threads, seed)
        window.threads.process = strings.intern(b"process")
        window.providers.rate = ticks_per_second
        if providers_enter(&window.providers, NO_PROVIDER) != 0:
            raise MemoryError

    def number_as(self, Scanner other not None) -> None:
        """Give classes, processes and threads the numbers that another scanner has given them. Before the first scan."""
        cdef Window* window = &self._window
        cdef Window* known = &other._window
        cdef const uint64_t* keys = known.threads.processes.keys
        cdef Signature* entry
        cdef int64_t i, j
        for i in range(known.classes.count):
            entry = &known.classes.entries[i]
            for j in range(entry.length):
                window.classes.signature[j] = known.classes.words[entry.start + j]
            if classes_find(&window.classes, entry.length) < 0:
                raise MemoryError
        for i in range(known.threads.processes.count):
            if find_or_add_pair(&window.threads.processes, keys[2 * i], 0) == FAILED:
                raise MemoryError
        keys = known.threads.threads.keys
        for i in range(known.threads.threads.count):
            if threads_find(&window.threads, keys[2 * i], keys[2 * i + 1]) == FAILED:
                raise MemoryError

    def __dealloc__(self):
        providers_free(&self._window.providers)
        threads_free(&self._window.threads)
        classes_free(&self._window.classes)

    @property
    def unresolved_strings(self) -> tuple[int, int]:
        """Return the number of references to strings that named none, and the position in its window of the first
        record with one.
        """
        return self._window.unresolved_strings.count, self._window.unresolved_strings.first

    @property
    def unresolved_threads(self) -> tuple[int, int]:
        """The same of references to threads."""
        return self._window.unresolved_threads.count, self._window.unresolved_threads.first

    @property
    def malformed(self) -> tuple[int, int]:
        """The same of records that are not what their headers say."""
        return self._window.malformed.count, self._window.malformed.first

    @property
    def overflows(self) -> tuple[int, int]:
        """The same of records at times beyond 63 bits."""
        return self._window.overflows.count, self._window.overflows.first

    @property
    def zero_rates(self) -> tuple[int, int]:
        """The same of clocks with 0 ticks per second."""
        return self._window.zero_rates.count, self._window.zero_rates.first

    def scan(self, const uint8_t[::1] data, OutputArrays events not None, uint64_t[::1] values) -> tuple[int, int, int]:
        """Scan a window, which starts with a record: (status, number of events, number of value words).

        The arrays have one entry an event; `values` has several, at least 32. The scan stops, with FULL, when they are
        full. `first` (int64) is where an event's values begin; `start` and `size` (int64) are of its record in the
        window. Rows are numbered from 0 in each window. Releases the GIL. Raises ValueError for small arrays,
        MemoryError.
        """
        cdef Events columns = events.common(WITH_CLASS | WITH_ROW | WITH_THREAD | WITH_CPU)
        cdef Window* window = &self._window
        cdef int64_t size = data.shape[0]
        cdef int64_t i
        cdef int status
        if columns.count < 1 or values.shape[0] < MAX_VALUES:
            raise ValueError("an output array is too small")
        self.consumed = 0
        window.events = window.value_count = window.threads.namings.count = 0
        for i in range(window.classes.count):
            window.classes.rows[i] = 0
        if size == 0:
            return DONE, 0, 0
        window.data = &data[0]
        window.ts = columns.ts
        window.class_id = columns.class_id
        window.row = columns.row
        window.thread = columns.thread
        window.cpu = columns.cpu
        window.first = <int64_t*>events.own("first", 8)
        window.starts = <int64_t*>events.own("start", 8)
        window.sizes = <int64_t*>events.own("size", 8)
        window.values = &values[0]
        window.room = columns.count
        window.value_room = values.shape[0] - MAX_VALUES
        with nogil:
            self._strings.lock()
            status = self._walk(size)
            self._strings.unlock()
        if status == NO_MEMORY:
            raise MemoryError("no room for more strings, threads or event classes")
        return status, window.events, window.value_count

    def skim(self, const uint8_t[::1] data, int64_t offset, Kept kept not None) -> int:
        """Pass over a window, which is at `offset` of the file and starts with a record, and keep what a part needs.

        The status is NOT_SURE where only reading everything tells what that is. `consumed` is as after `scan`. Raises
        MemoryError. Releases the GIL.
        """
        cdef Window* window = &self._window
        cdef int64_t size = data.shape[0]
        cdef int64_t ts[1]
        cdef int64_t first[1]
        cdef int64_t starts[1]
        cdef int64_t sizes[1]
        cdef int32_t numbers[4]
        cdef uint64_t values[MAX_VALUES]
        cdef int status
        self.consumed = 0
        if size == 0:
            return DONE
        window.data = &data[0]
        # For the one event that a kernel object may be.
        window.ts, window.first, window.starts, window.sizes = ts, first, starts, sizes
        window.class_id, window.row, window.thread, window.cpu = numbers, numbers + 1, numbers + 2, numbers + 3
        window.values = values
        with nogil:
            self._strings.lock()
            status = self._pass_over(size, offset, kept)
            self._strings.unlock()
        if status == NO_MEMORY or not kept.tidy():
            raise MemoryError("no room for more strings, threads or open slices")
        if window.malformed.count or window.unresolved_strings.count or window.unresolved_threads.count:
            # Warnings are about all records.
            return NOT_SURE
        return status

    def signatures(self, int64_t known) -> list[tuple[int, list[tuple[int, int]]]]:
        """Shape and arguments (type, string id of the name) of each class from number `known` on."""
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

    def row_counts(self) -> NDArray[int32]:
        """Return the number of events of each class in the last window."""
        counts = np.empty(self._window.classes.count, np.int32)
        cdef int32_t[::1] view = counts
        cdef int64_t i
        for i in range(self._window.classes.count):
            view[i] = self._window.classes.rows[i]
        return counts

    def threads(self, int64_t known) -> list[tuple[int, int]]:
        """Process and thread koid of each thread from number `known` on."""
        cdef const uint64_t* koids = self._window.threads.threads.keys
        cdef int64_t i
        if known < 0:
            raise ValueError(f"thread {known}")
        return [(koids[2 * i], koids[2 * i + 1]) for i in range(known, self._window.threads.threads.count)]

    def processes(self, int64_t known) -> list[int]:
        """The koid of each process from number `known` on."""
        cdef const uint64_t* koids = self._window.threads.processes.keys
        cdef int64_t i
        if known < 0:
            raise ValueError(f"process {known}")
        return [koids[2 * i] for i in range(known, self._window.threads.processes.count)]

    def namings(self) -> list[tuple[bool, int, int]]:
        """Names given in the last window: whether to a thread, its or the process's number, string id."""
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
        cdef int status, result
        while at < size:
            if window.events >= window.room or window.value_count > window.value_room:
                return FULL
            record = window.data + at
            status = whole_record(record, size - at, swap, &header, &words)
            if status != DONE:
                return status
            kind = header & 15
            end = record + words * 8
            window.at = at
            result = self._record(kind, record + 8, end, header)
            if result == MALFORMED or result == ABSENT:
                if words >= SUSPECT_WORDS and at >= self.trusted:
                    return SUSPECT
                if result == MALFORMED:
                    note(window, &window.malformed)
                result = scan_native(window, end, kind)
            elif result == TOO_LATE:
                note(window, &window.overflows)
                result = scan_native(window, end, kind)
            if result == FAILED:
                return NO_MEMORY
            if result == TOO_MANY:
                return TOO_MANY_PROVIDERS
            at += words * 8
            self.consumed = at
        return DONE

    cdef int _pass_over(self, int64_t size, int64_t offset, Kept kept) noexcept nogil:
        cdef Window* window = &self._window
        cdef const uint8_t* record
        cdef bint swap = window.swap
        cdef uint64_t header
        cdef int64_t at = 0
        cdef int64_t words
        cdef uint32_t kind
        cdef int status, result
        while at < size:
            record = window.data + at
            status = whole_record(record, size - at, swap, &header, &words)
            if status != DONE:
                return status
            kind = header & 15
            window.at = at
            result = self._skim(kind, record + 8, record + words * 8, header, Passed(offset + at, words * 8), kept)
            if result < 0:
                return NO_MEMORY if result == FAILED else NOT_SURE
            at += words * 8
            self.consumed = at
        return DONE

    cdef inline int _skim(
        self, uint32_t kind, const uint8_t* at, const uint8_t* end, uint64_t header, Passed record, Kept kept
    ) noexcept nogil:
        cdef Window* window = &self._window
        cdef int result
        # A record that is scanned is an event, with its time, or an entry of the tables.
        window.events = window.value_count = window.threads.namings.count = 0
        if kind == EVENT:
            return skim_event(window, self._strings, &self._known, kept, record, at, end, header)
        if kind == SCHEDULING:
            return skim_scheduling(window, self._strings, &self._known, kept, record, at, end, header)
        if kind == STRING:
            self._known.generation += FACTOR
        result = self._record(kind, at, end, header)
        if result == ABSENT and record.size < SUSPECT_WORDS * 8:
            result = scan_native(window, end, kind)
        if result < 0:
            return FAILED if result == FAILED else UNSURE
        if window.events and kind != KERNEL_OBJECT:
            return skim_plain(window, kept, record)
        if window.events and kept.opened and not kept.first <= window.last_ts <= kept.last:
            # It is kept for the name that it gives, and would have the time of another record.
            return UNSURE
        return 0 if kept.keep(record.offset, record.size) else FAILED

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


cdef enum:
    MAX_RATES = 64


cdef class Survey:
    """The first look at a file: which clock rates and providers it has. Reads only headers and times."""

    # Stub:
    # too_many_rates: bool
    # #: Offsets of the first metadata record of each provider.
    # providers: list[int]
    # #: Offset of the first initialization record of more than two words, or -1.
    # extended_initialization: int

    cdef bint _swap
    cdef Numbers _provider_ids
    # Numbers of rates. The last is of what precedes the first provider.
    cdef int32_t _provider_rates[MAX_PROVIDERS + 1]
    cdef int32_t _provider
    cdef int32_t _rate
    cdef uint64_t _rates[MAX_RATES]
    cdef uint64_t _latest[MAX_RATES]
    cdef bint _used[MAX_RATES]
    cdef int32_t _rate_count
    cdef readonly bint too_many_rates
    cdef readonly list providers
    cdef readonly int64_t extended_initialization

    def __cinit__(self, *, bint big_endian):
        self._swap = big_endian != HOST_IS_BIG
        self._provider_ids.seed = int.from_bytes(os.urandom(8), "little")
        self._rates[0] = NANOSECONDS
        self._rate_count = 1
        self._provider = MAX_PROVIDERS
        self.providers = []
        self.extended_initialization = -1

    def __dealloc__(self):
        free_numbers(&self._provider_ids)

    def feed(self, const uint8_t[::1] window, int64_t offset) -> int:
        """Scan a window that is at `offset` of the file and starts with a record.

        Returns how many bytes it passed: whole records; 0 where the first is larger than the window or of size zero.
        """
        cdef int64_t size = window.shape[0]
        cdef int64_t at = 0
        cdef int64_t words
        cdef uint64_t header, ticks
        cdef uint32_t kind
        cdef const uint8_t* data
        cdef int32_t number
        if size < 8:
            return 0
        data = &window[0]
        while size - at >= 8:
            header = load(data + at, self._swap)
            kind = header & 15
            words = <uint32_t>(header >> 4) if kind == LARGE else <int64_t>((header >> 4) & 0xfff)
            if words == 0 or words > (size - at) >> 3:
                break
            if kind == EVENT or (SCHEDULING <= kind <= PROFILER):
                if words >= 2:
                    ticks = load(data + at + 8, self._swap)
                    self._used[self._rate] = True
                    if ticks > self._latest[self._rate]:
                        self._latest[self._rate] = ticks
            elif kind == METADATA and (header >> 16) & 15 in (1, 2):
                number = find_or_add_key(&self._provider_ids, <uint32_t>(header >> 20))
                if number == FAILED:
                    raise MemoryError
                if number >= MAX_PROVIDERS:
                    break
                if number == len(self.providers):
                    self.providers.append(offset + at)
                self._provider = number
                self._rate = self._provider_rates[number]
            elif kind == INITIALIZATION and 2 <= words <= 1 + MOST_INITIALIZATION:
                self._initialize(load(data + at + 8, self._swap))
                if words > 2 and self.extended_initialization < 0:
                    self.extended_initialization = offset + at
            at += words * 8
        return at

    cdef void _initialize(self, uint64_t rate):
        cdef int32_t i
        if rate == 0:
            rate = NANOSECONDS
        for i in range(self._rate_count):
            if self._rates[i] == rate:
                break
        else:
            if self._rate_count == MAX_RATES:
                self.too_many_rates = True
                return
            i = self._rate_count
            self._rates[i] = rate
            self._rate_count += 1
        self._rate = i
        self._provider_rates[self._provider] = i

    @property
    def rates(self) -> list[tuple[int, int | None]]:
        """(ticks per second, latest time in ticks or None where nothing happened), in the order of the file."""
        cdef int32_t i
        return [(self._rates[i], self._latest[i] if self._used[i] else None) for i in range(self._rate_count)]
