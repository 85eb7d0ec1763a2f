# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Prescan of pages: what their records say about tasks, and the number of records of each type."""

# Stub:
# from converter.kernels.tables.tasks import TaskTable
#
# #: Steps of a survey; the columns of `steps` are (step, next step or -1, a, b, c), offsets within the record:
# #: NAME: a task's pid at a has the name in the c bytes at b.
# SURVEY_NAME: int
# #: NEW_TASK: the record's own task made the task whose pid is at a; clone flags of c bytes at b.
# SURVEY_NEW_TASK: int
# #: FORK: the task whose pid is at a made the one whose pid is at b.
# SURVEY_FORK: int
# #: LEADER: the task whose pid is at a is the leader of a process.
# SURVEY_LEADER: int
# #: MARKER: text at a may name the process of the record's own task ("B|1234|name").
# SURVEY_MARKER: int

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from converter.formats.ftrace.ring_buffer.scan cimport (
    DAMAGED, MISSED_EVENTS, PageCursor, PageDamage, RECORD, check_geometry, cut_by_zeros, next_record, no_header,
    note_damage, open_page,
)
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load16, load32, load64
from converter.kernels.tables.tasks cimport FORKED, PROCESS_OF, TaskTable, THREAD_OF

cdef enum:
    # Steps of a survey, as described above.
    STEP_NAME = 1
    STEP_NEW_TASK = 2
    STEP_FORK = 3
    STEP_LEADER = 4
    STEP_MARKER = 5
    CLONE_THREAD = 0x10000

SURVEY_NAME = STEP_NAME
SURVEY_NEW_TASK = STEP_NEW_TASK
SURVEY_FORK = STEP_FORK
SURVEY_LEADER = STEP_LEADER
SURVEY_MARKER = STEP_MARKER


cdef class Surveyor:
    """Counts records by type, and collects what they say about tasks; for one thread at a time.

    `first_step[type]` is the row of `steps` (int32, n x 5) to take for a record of the type, or -1.

    Raises:
        ValueError: impossible geometry or steps.

    """

    # Stub:
    # #: Records by type (65,536 entries).
    # counts: NDArray[int64]
    # #: Pages before which events were lost.
    # missed: int
    # #: Return what the records say about tasks.
    # tasks: TaskTable

    cdef readonly TaskTable tasks
    cdef readonly object counts
    cdef readonly int64_t missed
    cdef int64_t[::1] _counts
    cdef const int32_t[::1] _first_step
    cdef const int32_t[:, ::1] _steps
    cdef int64_t _type_offset
    cdef int64_t _pid_offset
    cdef int64_t _long_size
    cdef bint _big_endian

    def __init__(
        self,
        int64_t long_size,
        bint big_endian,
        int64_t type_offset,
        int64_t pid_offset,
        const int32_t[::1] first_step,
        const int32_t[:, ::1] steps,
    ):
        cdef int64_t count = steps.shape[0]
        cdef int64_t step
        check_geometry(0, 4096, long_size, 0)
        if first_step.shape[0] != 65536 or (count and steps.shape[1] != 5):
            raise ValueError("a type has not a first step, or a step not five columns")
        if type_offset < 0 or pid_offset < 0 or type_offset > 4096 or pid_offset > 4096:
            raise ValueError("common fields lie outside a record")
        for step in range(count):
            is_later = steps[step, 1] < count and not -1 < steps[step, 1] <= step
            if not is_later or steps[step, 2] < 0 or steps[step, 3] < 0 or steps[step, 4] < 0:
                raise ValueError("a step does not lead to a later one, or reads outside a record")
        self.tasks = TaskTable()
        self._counts = self.counts = np.zeros(65536, np.int64)
        self._first_step = first_step
        self._steps = steps
        self._type_offset = type_offset
        self._pid_offset = pid_offset
        self._long_size = long_size
        self._big_endian = big_endian

    def look_at(self, const uint8_t[::1] data, int64_t page_size) -> tuple[int, int]:
        """Look at pages: (damaged pages, where the damage begins, or -1), as `scan_pages` finds them.

        Raises ValueError for impossible geometry. Releases the GIL.
        """
        cdef int64_t total = data.shape[0]
        cdef int64_t long_size = self._long_size
        cdef int64_t type_offset = self._type_offset
        cdef int64_t pid_offset = self._pid_offset
        cdef const int32_t[::1] first_step = self._first_step
        cdef int64_t number_of_steps = self._steps.shape[0]
        cdef int64_t[::1] counts = self._counts
        cdef TaskTable tasks = self.tasks
        cdef int64_t page, available
        cdef PageDamage damage = PageDamage(0, -1)
        cdef int64_t missed = 0
        cdef int64_t step
        cdef int found
        cdef int32_t pid
        cdef int32_t last_pid = -1
        cdef uint32_t kind
        cdef PageCursor cursor
        check_geometry(total, page_size, long_size, 0)
        cursor.big_endian = self._big_endian
        cursor.swap = self._big_endian != HOST_IS_BIG
        with nogil:
            page = 0
            while page < total:
                available = total - page if total - page < page_size else page_size
                if not open_page(&cursor, &data[page], available, long_size):
                    note_damage(&damage, page)
                    break
                if no_header(&cursor, page_size):
                    note_damage(&damage, page)
                    page += page_size
                    continue
                missed += (cursor.flags & <uint32_t>MISSED_EVENTS) != 0
                while True:
                    found = next_record(&cursor)
                    if found != RECORD:
                        break
                    if type_offset + 2 > cursor.size:
                        found = DAMAGED
                        break
                    kind = load16(cursor.page + cursor.start + type_offset, cursor.swap)
                    counts[kind] += 1
                    pid = -1
                    if pid_offset + 4 <= cursor.size:
                        pid = <int32_t>load32(cursor.page + cursor.start + pid_offset, cursor.swap)
                    if pid != last_pid and pid >= 0:
                        last_pid = pid
                        tasks.find_or_add(pid)
                    step = first_step[kind]
                    while 0 <= step < number_of_steps:
                        take_step(cursor, &self._steps[step, 0], pid, tasks)
                        step = self._steps[step, 1]
                if found == DAMAGED or cursor.clipped or cut_by_zeros(cursor):
                    note_damage(&damage, page + cursor.at)
                page += page_size
        self.missed += missed
        return damage.count, damage.first


cdef void take_step(PageCursor cursor, const int32_t* step, int32_t pid, TaskTable tasks) noexcept nogil:
    cdef const uint8_t* record = cursor.page + cursor.start
    cdef int64_t size = cursor.size
    cdef int64_t a = step[2]
    cdef int64_t b = step[3]
    cdef int64_t c = step[4]
    cdef int64_t ts = <int64_t>cursor.ts
    cdef int32_t first, second
    cdef int64_t index
    cdef uint64_t flags
    if step[0] == STEP_NAME:
        if a + 4 <= size and b + c <= size:
            first = <int32_t>load32(record + a, cursor.swap)
            if first >= 0:
                tasks.note_name(first, ts, record + b, c)
    elif step[0] == STEP_NEW_TASK:
        if a + 4 <= size and b + c <= size and (c == 4 or c == 8):
            first = <int32_t>load32(record + a, cursor.swap)
            flags = load32(record + b, cursor.swap) if c == 4 else load64(record + b, cursor.swap)
            if first >= 0 and pid >= 0:
                tasks.note_creator(first, ts, pid, THREAD_OF if flags & CLONE_THREAD else PROCESS_OF)
    elif step[0] == STEP_FORK:
        if a + 4 <= size and b + 4 <= size:
            first = <int32_t>load32(record + a, cursor.swap)
            second = <int32_t>load32(record + b, cursor.swap)
            if first >= 0 and second >= 0:
                tasks.note_creator(second, ts, first, FORKED)
    elif step[0] == STEP_LEADER:
        if a + 4 <= size:
            first = <int32_t>load32(record + a, cursor.swap)
            index = tasks.find_or_add(first) if first >= 0 else -1
            if index >= 0:
                tasks.task_at(index).leader = True
    elif step[0] == STEP_MARKER:
        if pid > 0 and a < size:
            first = process_in_marker(record + a, size - a)
            index = tasks.find_or_add(pid) if first > 0 else -1
            if index >= 0:
                tasks.task_at(index).process = first


# The process id in "B|1234|name", "E|1234" or "C|1234|name|5", -1 in any other text.
cdef int32_t process_in_marker(const uint8_t* text, int64_t size) noexcept nogil:
    cdef int64_t value = 0
    cdef int64_t at = 2
    if size < 3 or text[1] != c'|' or (text[0] != c'B' and text[0] != c'E' and text[0] != c'C'):
        return -1
    while at < size and c'0' <= text[at] <= c'9':
        value = value * 10 + (text[at] - c'0')
        if value > 0x7fffffff:
            return -1
        at += 1
    if at == 2:
        return -1
    if at == size or text[at] == c'|' or text[0] == c'E':
        return <int32_t>value
    return -1
