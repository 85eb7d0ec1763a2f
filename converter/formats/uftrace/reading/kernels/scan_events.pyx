# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Events beside the task files: perf-cpuN.dat, which holds perf_event records as the kernel writes them, and the lines
of extern.dat.

Sources: linux/perf_event.h (struct perf_event_header, PERF_RECORD_*; with sample_id_all a record ends with tid and
time), uftrace's utils/perf.c and utils/extern.c.
"""

# Stub:
# from converter.kernels.batches.event_arrays import OutputArrays
# from converter.kernels.tables.tasks import TaskTable

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr

from converter.kernels.batches.event_arrays cimport Events, OutputArrays, WITH_CLASS, WITH_THREAD
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load16, load32, load64
from converter.kernels.tables.tasks cimport PROCESS_OF, THREAD_OF, TaskTable


cdef enum:
    TYPES = 32
    HEADER = 8
    COMM = 3
    EXIT = 4
    FORK = 7
    SWITCH = 14
    # pid, tid, time
    SWITCH_SIZE = HEADER + 16
    # pid, ppid, tid, ptid, time
    LIFE_SIZE = HEADER + 24
    # pid, tid, name of 8 bytes, tid and time of sample_id
    COMM_SIZE = HEADER + 8 + 8 + 16


# Return the offset of the time in a record of `size` bytes, -1 when it is too short, -2 for other types.
cdef inline int64_t time_offset(uint32_t kind, int64_t size) noexcept nogil:
    if kind == SWITCH:
        return HEADER + 8 if size >= SWITCH_SIZE else -1
    if kind == FORK or kind == EXIT:
        return HEADER + 16 if size >= LIFE_SIZE else -1
    if kind == COMM:
        return size - 8 if size >= COMM_SIZE else -1
    return -2


def scan_perf(
    const uint8_t[::1] data,
    bint big_endian,
    const int32_t[::1] class_of_type,
    TaskTable tasks,
    OutputArrays events not None,
) -> tuple[int, int, bool]:
    """Walk the records of a perf-cpuN.dat into columns: (events, bytes consumed, whether there the data is damaged).

    The columns are ts, class_id, thread, and start and size (uint32). `class_of_type` has an entry for each of the
    types 0 to 31; records of other types, and of those whose entry is -1, are left out. The payload of a record is the
    whole record. The thread of a context switch is -1, that of a fork the parent. Stops where the columns are full,
    where the rest is no whole record, and at damage. Releases the GIL.
    """
    cdef Events columns = events.common(WITH_CLASS | WITH_THREAD)
    cdef int64_t* ts = columns.ts
    cdef int32_t* class_id = columns.class_id
    cdef int32_t* thread = columns.thread
    cdef uint32_t* start = <uint32_t*>events.own("start", 4)
    cdef uint32_t* size = <uint32_t*>events.own("size", 4)
    cdef bint swap = big_endian != HOST_IS_BIG
    cdef int64_t total = data.shape[0]
    cdef int64_t room = columns.count
    cdef int64_t at = 0
    cdef int64_t count = 0
    cdef int64_t length, place, index
    cdef uint32_t kind
    cdef uint64_t time
    cdef bint damaged = False
    cdef const uint8_t* record
    if class_of_type.shape[0] != TYPES:
        raise ValueError("class_of_type has not an entry for each of the 32 types")
    if total > 0xffffffff:
        raise ValueError("more than 4 GiB at once")
    with nogil:
        while count < room and total - at >= HEADER:
            record = &data[at]
            kind = load32(record, swap)
            length = load16(record + 6, swap)
            place = time_offset(kind, length)
            if length < HEADER or place == -1:
                damaged = True
                break
            if length > total - at:
                break
            if place >= 0 and class_of_type[kind] >= 0:
                time = load64(record + place, swap)
                if time > <uint64_t>INT64_MAX:
                    damaged = True
                    break
                ts[count] = <int64_t>time
                class_id[count] = class_of_type[kind]
                thread[count] = -1
                if kind != SWITCH:
                    # COMM: pid, tid. Others: pid, ppid, tid, ptid.
                    index = tasks.find(
                        <int32_t>load32(record + HEADER + (12 if kind == FORK else 8 if kind == EXIT else 4), swap)
                    )
                    if index >= 0:
                        thread[count] = tasks.task_at(index).thread
                start[count] = <uint32_t>at
                size[count] = <uint32_t>length
                count += 1
            at += length
    return count, at, bool(damaged)


def survey_perf(const uint8_t[::1] data, bint big_endian, TaskTable tasks, int64_t[::1] counts) -> tuple[int, bool]:
    """Collect what the records say about tasks, and count them by type (32): (bytes consumed, damaged)."""
    cdef bint swap = big_endian != HOST_IS_BIG
    cdef int64_t total = data.shape[0]
    cdef int64_t at = 0
    cdef int64_t length, place
    cdef int32_t pid, parent, tid, parent_tid
    cdef uint32_t kind
    cdef bint damaged = False
    cdef const uint8_t* record
    if counts.shape[0] != TYPES:
        raise ValueError("counts has not an entry for each of the 32 types")
    with nogil:
        while total - at >= HEADER:
            record = &data[at]
            kind = load32(record, swap)
            length = load16(record + 6, swap)
            place = time_offset(kind, length)
            if length < HEADER or place == -1:
                damaged = True
                break
            if length > total - at:
                break
            if place >= 0:
                counts[kind] = <int32_t>(<uint32_t>counts[kind] + 1)
                pid = <int32_t>load32(record + HEADER, swap)
                tid = <int32_t>load32(record + HEADER + 4, swap)
                if kind == COMM:
                    if tid >= 0:
                        tasks.note_name(
                            tid, <int64_t>load64(record + place, swap), record + HEADER + 8, length - HEADER - 24
                        )
                elif kind == FORK:
                    parent = tid
                    tid = <int32_t>load32(record + HEADER + 8, swap)
                    parent_tid = <int32_t>load32(record + HEADER + 12, swap)
                    if tid >= 0 and parent_tid >= 0:
                        tasks.note_creator(
                            tid, <int64_t>load64(record + place, swap), parent_tid,
                            THREAD_OF if pid == parent else PROCESS_OF,
                        )
            at += length
    return at, bool(damaged)


def scan_lines(
    const uint8_t[::1] data, bint final, int64_t[::1] ts, uint32_t[::1] start, uint32_t[::1] size
) -> tuple[int, int, int]:
    """Split the lines "SECONDS.NANOSECONDS message" of extern.dat: (events, bytes consumed, first line that is none).

    The payload is the message. Comments ("#") and empty lines are left out, as are lines without a time, of which the
    first's offset is given (-1: none). The last line counts, without its end, if `final`. Releases the GIL.
    """
    cdef int64_t total = data.shape[0]
    cdef int64_t room = ts.shape[0]
    cdef int64_t at = 0
    cdef int64_t count = 0
    cdef int64_t bad = -1
    cdef int64_t end, place
    cdef const void* found
    cdef uint64_t time
    if start.shape[0] != room or size.shape[0] != room:
        raise ValueError("the columns differ in length")
    if total > 0xffffffff:
        raise ValueError("more than 4 GiB at once")
    with nogil:
        while count < room and at < total:
            found = memchr(&data[at], c'\n', total - at)
            if found is NULL and not final:
                break
            end = <const uint8_t*>found - &data[0] if found is not NULL else total
            place = at
            if end > at and data[at] != c'#':
                if read_time(&data[0], &place, end, &time):
                    ts[count] = <int64_t>time
                    start[count] = <uint32_t>place
                    size[count] = <uint32_t>(end - place)
                    count += 1
                elif bad < 0:
                    bad = at
            at = end + 1 if found is not NULL else end
    return count, at, bad


# Read "12.000000034 ", whose fraction has up to nine digits; `place` is then after it.
cdef inline bint read_time(const uint8_t* data, int64_t* place, int64_t end, uint64_t* time) noexcept nogil:
    cdef int64_t at = place[0]
    cdef uint64_t seconds = 0
    cdef uint64_t fraction = 0
    cdef int digits = 0
    if at == end or not c'0' <= data[at] <= c'9':
        return False
    while at < end and c'0' <= data[at] <= c'9':
        seconds = seconds * 10 + (data[at] - c'0')
        if seconds > <uint64_t>9223372035:
            return False
        at += 1
    if at < end and data[at] == c'.':
        at += 1
        while at < end and c'0' <= data[at] <= c'9' and digits < 9:
            fraction = fraction * 10 + (data[at] - c'0')
            digits += 1
            at += 1
        while digits < 9:
            fraction *= 10
            digits += 1
    if at == end or data[at] != c' ':
        return False
    while at < end and data[at] == c' ':
        at += 1
    place[0] = at
    time[0] = seconds * 1000000000 + fraction
    return True
