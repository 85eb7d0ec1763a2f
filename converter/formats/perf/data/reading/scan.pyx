# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Records become columns: time, class, thread, CPU and place of each."""

# Stub:
# from converter.formats.perf.data.reading.samples import SampledEvents
# from converter.kernels.batches.event_arrays import OutputArrays
#
# #: The ways in which a scan ends: the data are done; a record continues after them; a record of perf itself; a size
# #: that no record has; no room in the columns.
# DONE: int
# INCOMPLETE: int
# SPECIAL: int
# DAMAGED: int
# FULL: int
# #: What records are, as `Scanner.scan` has it in the column of classes. The kernel's records: 4 times the type, and
# #: the bits below. Others: `NATIVE` and twice the type, at most 255. Samples: `SAMPLE` and twice the event.
# HAS_NO_TIME: int
# HAS_BUILD_ID: int
# NATIVE: int
# SAMPLE: int

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from converter.formats.perf.data.reading.samples cimport (
    HEADER, PARTS, SampledEvents, Shape, find_parts,
)
from converter.kernels.batches.event_arrays cimport (
    Events, OutputArrays, WITH_CLASS, WITH_CPU, WITH_THREAD,
)
from converter.kernels.io.byte_order cimport load16, load32, load64
from converter.kernels.tables.numbers cimport Numbers, find_or_add_key, free_numbers

cdef enum:
    END_OF_DATA = 0
    CUT = 1
    OF_PERF = 2
    NO_SIZE = 3
    NO_ROOM = 4
    UNTIMED = 1
    WITH_BUILD_ID = 2
    NATIVES = 256
    SAMPLES = 768
    MOST_CPUS = 1 << 20
    # PERF_RECORD_*
    R_MMAP = 1
    R_COMM = 3
    R_EXIT = 4
    R_THROTTLE = 5
    R_UNTHROTTLE = 6
    R_FORK = 7
    R_READ = 8
    R_SAMPLE = 9
    R_MMAP2 = 10
    R_ITRACE_START = 12
    R_NAMESPACES = 16
    KERNEL_TYPES = 64
    R_FINISHED_ROUND = 68
    R_AUXTRACE_ERROR = 72
    R_STAT = 76
    R_STAT_ROUND = 77
    R_LAST = 83
    MISC_BUILD_ID = 1 << 14

DONE = END_OF_DATA
INCOMPLETE = CUT
SPECIAL = OF_PERF
DAMAGED = NO_SIZE
FULL = NO_ROOM
HAS_NO_TIME = UNTIMED
HAS_BUILD_ID = WITH_BUILD_ID
NATIVE = NATIVES
SAMPLE = SAMPLES


cdef struct Found:
    int64_t ts
    int32_t code
    int32_t thread
    int32_t cpu


cdef class Scanner:
    """Scans records one after the other; for one thread at a time.

    Args:
        events: the sampled events.
        fixed_sizes: by type of the kernel's records, the size of their values of constant place, -1 for unknown ones.
        build_id_size: that of an MMAP2 record with a build id.
    """

    # Stub:
    # #: All events up to this time are there, as far as the ends of rounds say; -1 before that is known.
    # complete: int
    # #: The latest time so far, -1 for none.
    # latest: int

    cdef SampledEvents _events
    cdef const int64_t[::1] _fixed_sizes
    cdef int64_t _build_id_size
    # By pid and tid.
    cdef Numbers _threads
    cdef readonly int64_t complete
    cdef readonly int64_t latest
    cdef int64_t _round

    def __cinit__(self, SampledEvents events not None, const int64_t[::1] fixed_sizes, int64_t build_id_size):
        if fixed_sizes.shape[0] != KERNEL_TYPES:
            raise ValueError("not a size for each type")
        self._events = events
        self._fixed_sizes = fixed_sizes
        self._build_id_size = build_id_size
        memset(&self._threads, 0, sizeof(self._threads))
        self._threads.seed = <uint64_t>np.random.default_rng().integers(1 << 62)
        self.start()

    def __dealloc__(self):
        free_numbers(&self._threads)

    def start(self) -> None:
        """Begin again with the first record; numbers of threads stay."""
        self.complete = self.latest = self._round = -1

    def threads(self, int64_t known) -> list[tuple[int, int]]:
        """Return pid and tid of the threads from the number `known` on."""
        cdef int64_t i
        cdef int32_t pid, tid
        found = []
        for i in range(known, self._threads.count):
            pid, tid = <int32_t>(self._threads.keys[i] >> 32), <int32_t>self._threads.keys[i]
            found.append((pid, tid))
        return found

    def scan(self, const uint8_t[::1] data, int64_t at, OutputArrays columns not None, int64_t filled) -> tuple[int, int, int]:
        """Scan the records from `at` on: (how it ended, where, how many rows are filled).

        Rows are added to the columns, where `filled` are: time, class, thread, CPU, and (uint32) `start` and `size` of
        the record. A record without a time has that of the last one complete. Releases the GIL.
        """
        cdef Events out = columns.common(WITH_CLASS | WITH_THREAD | WITH_CPU)
        cdef uint32_t* starts = <uint32_t*>columns.own("start", 4)
        cdef uint32_t* sizes = <uint32_t*>columns.own("size", 4)
        cdef int64_t total = data.shape[0]
        cdef bint swap = self._events.swap
        cdef const uint8_t* record
        cdef int64_t size
        cdef uint32_t type
        cdef int status = END_OF_DATA
        cdef Found found
        if at < 0 or filled < 0:
            raise ValueError("there is nothing before the start")
        with nogil:
            while at < total:
                if total - at < HEADER:
                    status = CUT
                    break
                record = &data[at]
                type = load32(record, swap)
                size = load16(record + 6, swap)
                if size < HEADER:
                    status = NO_SIZE
                    break
                if size > total - at:
                    status = CUT
                    break
                if type == R_FINISHED_ROUND:
                    self.complete = self._round
                    self._round = self.latest
                    at += size
                    continue
                if KERNEL_TYPES <= type <= R_LAST and type not in (R_AUXTRACE_ERROR, R_STAT, R_STAT_ROUND):
                    status = OF_PERF
                    break
                if filled >= out.count:
                    status = NO_ROOM
                    break
                found.ts = found.thread = found.cpu = -1
                if type == R_SAMPLE:
                    self._sample(record, size, &found)
                elif type < KERNEL_TYPES and self._fixed_sizes[type] >= 0:
                    self._record(type, record, size, &found)
                else:
                    found.code = NATIVES + 2 * <int32_t>min(type, <uint32_t>255) + UNTIMED
                if found.ts > self.latest:
                    self.latest = found.ts
                out.ts[filled] = found.ts
                out.class_id[filled] = found.code
                out.thread[filled] = found.thread
                out.cpu[filled] = found.cpu
                starts[filled] = <uint32_t>at
                sizes[filled] = <uint32_t>size
                filled += 1
                at += size
        return status, at, filled

    cdef inline void _sample(self, const uint8_t* record, int64_t size, Found* found) noexcept nogil:
        cdef int64_t event = self._events.event_of_sample(record, size)
        cdef const Shape* shape
        cdef uint32_t[PARTS] parts
        cdef bint swap = self._events.swap
        found.code = NATIVES + 2 * R_SAMPLE + UNTIMED
        if event < 0:
            return
        shape = &self._events.shapes[event]
        if not find_parts(shape, record, size, swap, &parts[0]):
            return
        found.code = SAMPLES + 2 * <int32_t>event
        self._time(0 if shape.time < 0 else load64(record + shape.time, swap), found)
        if shape.tid >= 0:
            found.thread = self._thread(load32(record + shape.tid, swap), load32(record + shape.tid + 4, swap))
        if shape.cpu >= 0:
            self._cpu(load32(record + shape.cpu, swap), found)

    cdef inline void _record(self, uint32_t type, const uint8_t* record, int64_t size, Found* found) noexcept nogil:
        cdef const Shape* shape = self._events.shape_of_record(record, size)
        cdef int64_t trailer = 0 if shape is NULL else shape.trailer
        cdef const uint8_t* end = record + size
        cdef bint swap = self._events.swap
        cdef int64_t fixed = self._fixed_sizes[type]
        cdef uint64_t time = 0
        found.code = 4 * <int32_t>type
        if type == R_MMAP2 and load16(record + 4, swap) & MISC_BUILD_ID:
            fixed = self._build_id_size
            found.code += WITH_BUILD_ID
        if size < HEADER + fixed + trailer:
            found.code = NATIVES + 2 * <int32_t>type + UNTIMED
            return
        if trailer and shape.trailer_time > 0:
            time = load64(end - shape.trailer_time, swap)
        elif type == R_FORK or type == R_EXIT:
            time = load64(record + HEADER + 16, swap)
        elif type == R_THROTTLE or type == R_UNTHROTTLE:
            time = load64(record + HEADER, swap)
        self._time(time, found)
        if trailer and shape.trailer_cpu > 0 and not found.code & UNTIMED:
            self._cpu(load32(end - shape.trailer_cpu, swap), found)
        if type in (R_MMAP, R_COMM, R_READ, R_MMAP2, R_ITRACE_START, R_NAMESPACES):
            found.thread = self._thread(load32(record + 8, swap), load32(record + 12, swap))
        elif type == R_EXIT:
            found.thread = self._thread(load32(record + 8, swap), load32(record + 16, swap))
        elif type == R_FORK:
            # It happens to the parent; the child has a number, too.
            self._thread(load32(record + 8, swap), load32(record + 16, swap))
            found.thread = self._thread(load32(record + 12, swap), load32(record + 20, swap))
        elif trailer and shape.trailer_tid > 0 and not found.code & UNTIMED:
            found.thread = self._thread(
                load32(end - shape.trailer_tid, swap), load32(end - shape.trailer_tid + 4, swap)
            )

    cdef inline void _time(self, uint64_t time, Found* found) noexcept nogil:
        # perf takes 0 and the largest number for none.
        if time and time >> 63 == 0:
            found.ts = <int64_t>time
        else:
            found.code |= UNTIMED

    cdef inline void _cpu(self, uint32_t cpu, Found* found) noexcept nogil:
        if cpu < MOST_CPUS:
            found.cpu = <int32_t>cpu

    cdef inline int32_t _thread(self, uint32_t pid, uint32_t tid) noexcept nogil:
        cdef int32_t number
        # There is no process -1: the number is that of the kernel, or of a task that has gone.
        if pid == <uint32_t>0xffffffff:
            return -1
        number = find_or_add_key(&self._threads, <uint64_t>pid << 32 | tid)
        return number if number >= 0 else -1


def row_numbers(const int32_t[::1] class_id, int32_t[::1] row, int32_t[::1] counts) -> None:
    """Number the events of each class, from what `counts` has of it on; ValueError for a class without a count."""
    cdef int64_t i
    cdef int64_t count = class_id.shape[0]
    cdef int64_t classes = counts.shape[0]
    cdef bint is_wrong = False
    if row.shape[0] != count:
        raise ValueError("columns differ in length")
    with nogil:
        for i in range(count):
            if <uint64_t>class_id[i] >= <uint64_t>classes:
                is_wrong = True
                break
            row[i] = counts[class_id[i]]
            counts[class_id[i]] += 1
    if is_wrong:
        raise ValueError("there is no such class")
