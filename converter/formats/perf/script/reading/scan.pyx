# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The text of perf script, scanned into columns: an entry for each sample, tracepoint, record and other line.

The start of a line (tools/perf/builtin-script.c: perf_sample__fprintf_start, process_event), any part of which can be
left out with ``-F``:

    comm pid/tid [cpu] misc seconds.fraction: period event: rest

The rest is what a tracepoint prints, or the address and function of a sample. A call stack follows on lines of its own,
up to an empty line.
"""

# Stub:
# from converter.formats.ftrace.lines.scan.line_scan import Lines
# from converter.formats.perf.script.reading.frames import StackTexts
# from converter.kernels.tables.strings import StringTable
#
# #: What a line is in addition to those of ftrace: a sample that is no tracepoint, and a record that is no sample.
# LINE_SAMPLE: int
# LINE_RECORD: int

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp

from converter.formats.ftrace.lines.scan.line_scan cimport COMMENT, EVENT, OTHER, Lines
from converter.formats.ftrace.lines.scan.words cimport digits, is_digit, nanoseconds
from converter.formats.perf.script.reading.frames cimport StackTexts, address_end, last_bracket
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    SAMPLE = 8
    RECORD = 9
    # Names of tasks have 15 bytes; what is longer is no such name.
    LONGEST_COMM = 96
    LONGEST_NAME = 512
    LONGEST_MISC = 8
    # A number that is as long is an address.
    ADDRESS_DIGITS = 12

LINE_SAMPLE = SAMPLE
LINE_RECORD = RECORD


cdef class TaskTexts:
    """Tasks by number, as lines name them. The names are positions in the text that was scanned last."""

    # Stub:
    # tid: NDArray[int32]
    # tgid: NDArray[int32]
    # name: NDArray[int64]
    # name_size: NDArray[int32]

    def __init__(self):
        self._texts = StringTable()
        self.tid = self._tid = np.zeros(0, np.int32)
        self.tgid = self._tgid = np.zeros(0, np.int32)
        self.name = self._name = np.zeros(0, np.int64)
        self.name_size = self._name_size = np.zeros(0, np.int32)

    def __len__(self) -> int:
        return len(self._texts)

    def reserve(self, int64_t more) -> None:
        """Make room for more tasks."""
        cdef int64_t count = len(self._texts)
        if count + more > self._tid.shape[0]:
            size = count + count // 2 + more
            self.tid = self._tid = grown(self.tid, size)
            self.tgid = self._tgid = grown(self.tgid, size)
            self.name = self._name = grown(self.name, size)
            self.name_size = self._name_size = grown(self.name_size, size)


def grown(array, size):
    larger = np.zeros(size, array.dtype)
    larger[:len(array)] = array
    return larger


cdef class ScriptLines(Lines):
    """The samples and other lines of a text. `end` is where the first line of each ends, `last` where all of it does.

    Args:
        capacity: the most lines that a text has.
        names: the names of events.
        tasks: tasks by number; there is room for one more a line.
        stacks: call stacks by number; there is room for one more a line.
        tracepoint: by the number of an event's name, whether it is a tracepoint (1), another event (2), or not known
            yet; there is room for one more a line.
        timed: lines without a time are no samples.

    """

    # Stub:
    # #: -1 where there is none; `before` and `after` are the texts before and after address and function of a sample.
    # period: NDArray[int64]
    # stack: NDArray[int32]
    # task: NDArray[int32]
    # last: NDArray[int64]
    # misc: NDArray[int64]
    # misc_size: NDArray[int32]
    # before: NDArray[int64]
    # before_size: NDArray[int32]
    # after: NDArray[int64]
    # after_size: NDArray[int32]

    def __init__(
        self,
        int64_t capacity,
        StringTable names not None,
        TaskTexts tasks not None,
        StackTexts stacks not None,
        tracepoint: NDArray[uint8],
        *,
        bint timed,
    ):
        Lines.__init__(self, capacity, names, b"", ticks=False, of_report=False)
        size = max(capacity, 1)
        self._tasks, self._stacks, self._tracepoint = tasks, stacks, tracepoint
        self._timed = timed
        self.period = self._period = np.empty(size, np.int64)
        self.stack = self._stack = np.empty(size, np.int32)
        self.task = self._task = np.empty(size, np.int32)
        self.last = self._last = np.empty(size, np.int64)
        self.misc = self._misc = np.empty(size, np.int64)
        self.misc_size = self._misc_size = np.empty(size, np.int32)
        self.before = self._before = np.empty(size, np.int64)
        self.before_size = self._before_size = np.empty(size, np.int32)
        self.after = self._after = np.empty(size, np.int64)
        self.after_size = self._after_size = np.empty(size, np.int32)
        if min(tasks._tid.shape[0] - len(tasks), tracepoint.shape[0] - len(names)) < size:
            raise ValueError("a task and a name for each line")

    def scan(self, const uint8_t[::1] data, int64_t last_ts) -> None:
        """Scan a text of whole samples. Lines without a time have that of the line before. Releases the GIL.

        Raises ValueError for a text of more lines, MemoryError without memory.
        """
        cdef const uint8_t* base
        cdef const uint8_t* found
        cdef int64_t at = 0, size = data.shape[0], end, stop, count = 0, stack, stack_end
        # Further lines are of the sample before.
        cdef bint within = False
        cdef int head = 0
        self.count = 0
        if size == 0:
            return
        base = &data[0]
        self._last_ts = last_ts
        self._stack_start = -1
        self._stacks.reserve(self._capacity)
        self._stacks._strings.lock()
        self._stacks.lock()
        self._tasks._texts.lock()
        self._names.lock()
        with nogil:
            while at < size and head >= 0:
                found = <const uint8_t*>memchr(base + at, c"\n", size - at)
                end = size if found is NULL else found - base
                stop = end
                while stop > at and base[stop - 1] <= c" ":
                    stop -= 1
                if stop == at:
                    if within:
                        head = self._close(base, self._stack_start, self._stack_end, count - 1)
                        within = False
                elif within and base[at] == c"\t":
                    self._extend(at, stop, count - 1)
                elif count >= self._capacity:
                    head = -1
                else:
                    stack, stack_end = self._stack_start, self._stack_end
                    head = self._header(base, at, stop, end + 1 < size and base[end + 1] == c"\t", count)
                    if within and head == 0 and base[at] == c" ":
                        self._extend(at, stop, count - 1)
                    elif head >= 0:
                        if within and self._close(base, stack, stack_end, count - 1) < 0:
                            head = -1
                        within = head > 0
                        self._start[count] = at
                        self._last[count] = stop
                        count += 1
                at = end + 1
            if head >= 0 and within:
                head = self._close(base, self._stack_start, self._stack_end, count - 1)
        self._names.unlock()
        self._tasks._texts.unlock()
        self._stacks.unlock()
        self._stacks._strings.unlock()
        if head < 0:
            raise MemoryError("more lines or memory than there is room for")
        self.count = count

    # A further line of a sample.
    cdef void _extend(self, int64_t at, int64_t stop, int64_t i) noexcept nogil:
        if self._stack_start < 0:
            self._stack_start = at
        self._stack_end = self._last[i] = stop

    cdef int _close(self, const uint8_t* base, int64_t start, int64_t end, int64_t i) noexcept nogil:
        if start >= 0:
            self._stack[i] = self._stacks.find_or_add(base, start, end)
            if self._stack[i] < 0:
                return -1
        return 0

    # What a line is: 1 for the first one of a sample or record, 0 for another one, -1 without memory.
    cdef int _header(
        self, const uint8_t* base, int64_t at, int64_t end, bint has_stack, int64_t i
    ) noexcept nogil:
        cdef Head head
        cdef int64_t start = at, comm_end = -1
        self._kind[i] = COMMENT if base[at] == c"#" else OTHER
        self._ts[i] = self._last_ts
        self._end[i] = end
        self._text[i] = self._comm[i] = at
        self._cpu[i] = self._pid[i] = self._tgid[i] = self._flags[i] = self._name[i] = -1
        self._task[i] = self._stack[i] = -1
        self._period[i] = self._misc[i] = self._before[i] = self._after[i] = -1
        self._misc_size[i] = self._before_size[i] = self._after_size[i] = self._comm_size[i] = 0
        if base[at] == c"#":
            return 0
        while start < end and base[start] <= c" ":
            start += 1
        comm_end = with_time(base, start, end, &head)
        if comm_end < 0 and not self._timed:
            comm_end = without_time(base, start, end, has_stack, &head)
        if comm_end < 0:
            return 0
        self._stack_start = -1
        return self._take(base, start, comm_end, end, &head, i)

    cdef int _take(
        self, const uint8_t* base, int64_t start, int64_t comm_end, int64_t end, Head* head, int64_t i
    ) noexcept nogil:
        cdef int64_t known, name
        # perf makes records of what was running before, which say nothing of the task on their line.
        cdef bint is_made = head.ts == 0 and is_record(base, head.name, head.name_end)
        while comm_end > start and base[comm_end - 1] == c" ":
            comm_end -= 1
        if head.ts >= 0 and not is_made:
            self._ts[i] = self._last_ts = head.ts
        self._flags[i] = head.ts >= 0 and not is_made
        self._cpu[i] = <int32_t>head.cpu
        self._pid[i] = <int32_t>head.tid
        self._tgid[i] = <int32_t>head.tgid
        self._period[i] = head.period
        if head.misc >= 0:
            self._misc[i] = head.misc
            self._misc_size[i] = <int32_t>(head.misc_end - head.misc)
        if (comm_end > start or head.tid >= 0) and not is_made:
            known = self._tasks._texts._count
            name = comm_end if head.task_end < 0 else head.task_end
            self._task[i] = self._tasks._texts.find_or_add(base + start, <uint32_t>(name - start))
            if self._task[i] < 0:
                return -1
            if self._task[i] >= known:
                self._tasks._tid[known] = <int32_t>head.tid
                self._tasks._tgid[known] = <int32_t>head.tgid
                self._tasks._name[known] = start
                self._tasks._name_size[known] = <int32_t>(comm_end - start)
        self._kind[i] = SAMPLE
        self._text[i] = head.tail
        if head.name >= 0:
            self._name[i] = self._names.find_or_add(base + head.name, <uint32_t>(head.name_end - head.name))
            if self._name[i] < 0:
                return -1
            if is_record(base, head.name, head.name_end):
                self._kind[i] = RECORD
                return 1
            known = self._name[i]
            if self._tracepoint[known] == 0:
                self._tracepoint[known] = 1 if is_tracepoint(base, head.name, head.name_end) else 2
            if self._tracepoint[known] == 1:
                self._kind[i] = EVENT
                return 1
        self._rest(base, head.tail, end, i)
        return 1

    # Address and function of a sample, and what is before and after them.
    cdef void _rest(self, const uint8_t* base, int64_t at, int64_t end, int64_t i) noexcept nogil:
        cdef int64_t limit, found
        while at < end and base[at] == c" ":
            at += 1
        if at == end:
            return
        limit = arrow(base, at, end)
        found = frame_start(base, at, limit)
        if found < 0:
            self._before[i] = at
            self._before_size[i] = <int32_t>(end - at)
            return
        if found > at:
            self._before[i] = at
            limit_of(base, at, found, &self._before_size[i])
        self._stack_start = found
        self._stack_end = frame_end(base, found, limit)
        at = self._stack_end
        while at < end and base[at] == c" ":
            at += 1
        if at < end:
            self._after[i] = at
            self._after_size[i] = <int32_t>(end - at)


# The size of a text without the spaces at its end.
cdef inline void limit_of(const uint8_t* base, int64_t at, int64_t end, int32_t* size) noexcept nogil:
    while end > at and base[end - 1] == c" ":
        end -= 1
    size[0] = <int32_t>(end - at)


# Where the branch's target begins: " => address".
cdef int64_t arrow(const uint8_t* base, int64_t at, int64_t end) noexcept nogil:
    cdef const uint8_t* found
    cdef int64_t start = at
    while at < end:
        found = <const uint8_t*>memchr(base + at, c"=", end - at)
        if found is NULL:
            return end
        at = found - base
        if at > start and end - at > 2 and base[at - 1] == c" " and base[at + 1] == c">" and base[at + 2] == c" ":
            return at
        at += 1
    return end


# Where the address of a sample is, -1 where there is none: of several numbers it is the last one that is printed as such.
cdef int64_t frame_start(const uint8_t* base, int64_t start, int64_t end) noexcept nogil:
    cdef int64_t at = start, stop, found = -1
    while at < end:
        stop = address_end(base, at, end)
        if stop >= 0 and (at == start or stop - at >= ADDRESS_DIGITS or base[at - 2] == c" "):
            found = at
        while at < end and base[at] != c" ":
            at += 1
        while at < end and base[at] == c" ":
            at += 1
    return found


# Where a frame on the line of its sample ends: after its mapping, if it has one.
cdef int64_t frame_end(const uint8_t* base, int64_t at, int64_t end) noexcept nogil:
    cdef int64_t stop
    while end > at and base[end - 1] == c" ":
        end -= 1
    stop = end
    while stop > at:
        if base[stop - 1] == c")" and (stop == end or base[stop] == c" ") and last_bracket(base, at, stop) >= 0:
            return stop
        stop -= 1
    return end


cdef inline bint is_record(const uint8_t* base, int64_t start, int64_t end) noexcept nogil:
    return start >= 0 and end - start > 12 and memcmp(base + start, <const char*>b"PERF_RECORD_", 12) == 0


# system:event, unlike cycles:u, mem:0x1234:rw and cpu/event=0x3c/u.
cdef bint is_tracepoint(const uint8_t* base, int64_t start, int64_t end) noexcept nogil:
    cdef int64_t at, colon = -1
    cdef bint modifiers = True
    cdef uint8_t letter
    for at in range(start, end):
        letter = base[at]
        if letter == c":" and colon < 0:
            colon = at
        elif not (
            c"a" <= (letter | 0x20) <= c"z" or is_digit(letter) or letter == c"_" or letter == c"-" or letter == c"."
        ):
            return False
        elif colon >= 0 and memchr(<const char*>b"ukhGHIpPSDWebR", letter, 14) is NULL:
            modifiers = False
    if colon <= start or colon + 1 >= end or modifiers:
        return False
    return not (colon - start == 3 and memcmp(base + start, <const char*>b"mem:0", 5) == 0)


# Where the name of the task ends, for a line with a time; -1 for another line.
cdef int64_t with_time(const uint8_t* base, int64_t start, int64_t end, Head* head) noexcept nogil:
    cdef int64_t at = start, limit = end if end - start < LONGEST_COMM else start + LONGEST_COMM
    while at < limit:
        if begins_head(base, at, end):
            if read_task(base, at, end, head) and read_time(base, end, head):
                read_event(base, end, head)
                return at
        at = next_word(base, at, limit)
    return -1


# The same for a line without a time. It has an event, or an address, or a stack after it.
cdef int64_t without_time(
    const uint8_t* base, int64_t start, int64_t end, bint has_stack, Head* head
) noexcept nogil:
    cdef int64_t at, limit = end if end - start < LONGEST_COMM else start + LONGEST_COMM
    cdef int tries
    for tries in range(3):
        at = start
        while at < limit:
            read_nothing(at, head)
            if tries == 0 and begins_head(base, at, end) and read_task(base, at, end, head):
                read_event(base, end, head)
                if head.name >= 0:
                    return at
            elif tries == 1 and read_event(base, end, head):
                return at
            elif tries == 2:
                if at > start and begins_head(base, at, end) and read_task(base, at, end, head):
                    if head.task_end >= 0 and (head.tail == end or is_address(base, head.tail, end)):
                        return at
                    read_nothing(at, head)
                if is_address(base, at, end):
                    return at
            at = next_word(base, at, limit)
    read_nothing(end, head)
    return end if has_stack and end - start < LONGEST_COMM else -1


cdef inline int64_t next_word(const uint8_t* base, int64_t at, int64_t limit) noexcept nogil:
    while at < limit and base[at] != c" ":
        at += 1
    while at < limit and base[at] == c" ":
        at += 1
    return at


cdef inline bint begins_head(const uint8_t* base, int64_t at, int64_t end) noexcept nogil:
    return is_digit(base[at]) or base[at] == c"[" or (base[at] == c"-" and at + 1 < end and is_digit(base[at + 1]))


# A long address after spaces, or with a function after it.
cdef inline bint is_address(const uint8_t* base, int64_t at, int64_t end) noexcept nogil:
    cdef int64_t start = at
    while at < end and base[at] == c" ":
        at += 1
    return address_end(base, at, end) - at >= 8 or (at - start > 3 and address_end(base, at, end) >= 0)


cdef inline void read_nothing(int64_t at, Head* head) noexcept nogil:
    head.ts = head.tid = head.tgid = head.cpu = head.misc = head.task_end = head.period = head.name = -1
    head.name_end = head.misc_end = -1
    head.tail = at


# A number of a task, which is -1 where none is known.
cdef inline bint read_number(const uint8_t* base, int64_t* at, int64_t end, int64_t* value) noexcept nogil:
    cdef bint negative = at[0] < end and base[at[0]] == c"-"
    at[0] += negative
    value[0] = digits(base, at, end, 10)
    if value[0] < 0 or value[0] >> 31:
        return False
    if negative:
        value[0] = -1
    return True


# [pid/]tid, [cpu] and misc, of which each can be missing.
cdef bint read_task(const uint8_t* base, int64_t start, int64_t end, Head* head) noexcept nogil:
    cdef int64_t at = start
    read_nothing(start, head)
    if base[at] != c"[":
        if not read_number(base, &at, end, &head.tid):
            # Seconds may be larger.
            head.tid = -1
            return True
        if at < end and base[at] == c"/":
            at += 1
            head.tgid = head.tid
            if not read_number(base, &at, end, &head.tid):
                return False
        if at < end and base[at] == c"." and head.tgid < 0:
            # It is the time.
            head.tid = -1
            return True
        if at < end and base[at] != c" ":
            return False
        head.task_end = at
        while at < end and base[at] == c" ":
            at += 1
    if at < end and base[at] == c"[":
        at += 1
        head.cpu = digits(base, &at, end, 6)
        if head.cpu < 0 or end - at < 2 or base[at] != c"]" or base[at + 1] != c" ":
            return False
        at += 1
        while at < end and base[at] == c" ":
            at += 1
    head.tail = at
    while at < end and at - head.tail < LONGEST_MISC and c"a" <= (base[at] | 0x20) <= c"z":
        at += 1
    if at > head.tail and at < end and base[at] == c" ":
        start = head.tail
        head.misc_end = at
        while at < end and base[at] == c" ":
            at += 1
        if at < end and is_digit(base[at]):
            head.misc = start
            head.tail = at
    return True


# seconds.fraction:
cdef bint read_time(const uint8_t* base, int64_t end, Head* head) noexcept nogil:
    cdef int64_t at = head.tail
    head.ts = nanoseconds(base, &at, end)
    if head.ts < 0 or at >= end or base[at] != c":":
        head.ts = -1
        return False
    head.tail = at + 1
    return at + 1 == end or base[at + 1] == c" "


# [period] event: ... or PERF_RECORD_...; false where there is none of it.
cdef bint read_event(const uint8_t* base, int64_t end, Head* head) noexcept nogil:
    cdef int64_t at = head.tail, first
    while at < end and base[at] == c" ":
        at += 1
    first = at
    if is_record(base, at, end):
        while at < end and (c"A" <= base[at] <= c"Z" or base[at] == c"_" or is_digit(base[at])):
            at += 1
        head.name, head.name_end, head.tail = first, at, at
        return True
    if at < end and is_digit(base[at]):
        head.period = digits(base, &at, end, 18)
        if head.period >= 0 and at < end and base[at] == c" ":
            while at < end and base[at] == c" ":
                at += 1
            first = at
        else:
            head.period = -1
            at = first
    while at < end and base[at] > c" " and at - first < LONGEST_NAME:
        at += 1
    if at - first < 2 or base[at - 1] != c":" or (at < end and base[at] != c" "):
        head.period = -1
        return False
    head.name, head.name_end = first, at - 1
    # One space belongs to the name.
    head.tail = at + (at < end)
    return True
