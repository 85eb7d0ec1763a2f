# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Lines of the kernel's function graph (kernel/trace/trace_functions_graph.c), which name no event:

    [seconds.fraction | or micros us |] CPU) [comm-pid |] [flags |] [mark] [duration us] | function() {

Without the option funcgraph-abstime they have no times either. Durations then give a time of each CPU, from 0 on.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp, memset

from converter.formats.ftrace.lines.scan.words cimport after_spaces, before_spaces, digits, is_digit, nanoseconds

cdef enum:
    MOST_CPUS = 8192
    # Tasks whose open calls are remembered, by the last bits of their number, and how deep.
    TASKS = 1024
    MOST_DEPTH = 64

# A call does not take longer, nor does the time of a CPU go further.
cdef int64_t LONGEST = <int64_t>1 << 60


cdef class GraphClock:
    """The CPUs of a text: the task that runs on each, and the time as far as durations tell it."""

    def __init__(self):
        self._cpus = <GraphCpu*>calloc(MOST_CPUS, sizeof(GraphCpu))
        self._tasks = <GraphTask*>calloc(TASKS, sizeof(GraphTask))
        if self._cpus is NULL or self._tasks is NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._cpus)
        free(self._tasks)

    # The state of a CPU; NULL for a number that no kernel has.
    cdef GraphCpu* cpu(self, int64_t number) noexcept nogil:
        return &self._cpus[number] if 0 <= number < MOST_CPUS else NULL

    # The task of a CPU, which was not known until now.
    cdef void name_task(self, GraphCpu* cpu, int64_t pid) noexcept nogil:
        cdef int64_t key = -1 - (cpu - self._cpus)
        cdef GraphTask* before = &self._tasks[key & (TASKS - 1)]
        cdef GraphTask* task = &self._tasks[pid & (TASKS - 1)]
        if before.key == key:
            task[0] = before[0]
            task.key = pid

    # The names of tasks were in a text that is gone.
    cdef void forget_names(self) noexcept nogil:
        cdef int64_t i
        for i in range(MOST_CPUS):
            self._cpus[i].comm_size = 0

    # The time of a line that has none: calls start when the one before ended, and end after their duration.
    cdef int64_t place(self, const GraphLine* line, int kind, GraphCpu* cpu) noexcept nogil:
        cdef int64_t key = cpu.pid if cpu.is_known else -1 - (cpu - self._cpus)
        cdef GraphTask* task = &self._tasks[key & (TASKS - 1)]
        cdef int64_t depth = line.depth
        cdef int64_t ts = cpu.now, ended
        if task.key != key:
            memset(task, 0, sizeof(GraphTask))
            task.key = key
        if kind == GRAPH_CALL and line.duration < 0:
            if depth < MOST_DEPTH:
                task.begins[depth] = ts
                task.open |= <uint64_t>1 << depth
        elif kind == GRAPH_CALL:
            cpu.now = ts + line.duration
        elif kind == GRAPH_END and line.duration >= 0:
            if depth < MOST_DEPTH and task.open >> depth & 1:
                ended = task.begins[depth] + line.duration
                ts = ended if ended > ts else ts
                task.open &= ~(<uint64_t>1 << depth)
            cpu.now = ts
        if cpu.now > LONGEST:
            cpu.now = LONGEST
        return ts


# What a line of the graph is, and its parts.
cdef int graph_line(const uint8_t* base, int64_t at, int64_t end, GraphLine* found) noexcept nogil:
    cdef const uint8_t* bar
    cdef int64_t first, stop, i
    found.ts = found.pid = found.previous = found.duration = -1
    found.flags = found.flags_end = found.comm = found.comm_end = 0
    at = after_spaces(base, at, end)
    if not read_time(base, &at, end, found):
        return GRAPH_NONE
    found.cpu = digits(base, &at, end, 4)
    if found.cpu < 0 or at >= end or base[at] != c")":
        return GRAPH_NONE
    at += 1
    # One or two columns may be before that of the duration: the task, and the flags.
    for i in range(3):
        bar = <const uint8_t*>memchr(base + at, c"|", end - at)
        if bar is NULL:
            return read_switch(base, at, end, found) if i == 0 else GRAPH_NONE
        first = after_spaces(base, at, end)
        stop = before_spaces(base, at, bar - base)
        if stop <= first or is_duration(base, first, stop, found):
            break
        if base[first] == c"=" or base[first] == c"<" and stop - first > 4 and base[first + 1] == c"=":
            # ==========> and <==========
            return GRAPH_MARK
        if found.pid < 0 and read_graph_task(base, first, stop, &found.pid, &found.comm, &found.comm_end):
            pass
        elif found.flags_end == 0:
            found.flags, found.flags_end = first, stop
        else:
            return GRAPH_NONE
        at = bar - base + 1
    else:
        return GRAPH_NONE
    found.text = at
    at = bar - base + 1
    found.body = after_spaces(base, at, end)
    found.depth = (found.body - at) // 2 - 1
    if found.depth < 0 or found.body >= end:
        return GRAPH_NONE
    if base[found.body] == c"}":
        return GRAPH_END
    if end - found.body >= 6 and memcmp(base + found.body, <const char*>b"/* ", 3) == 0:
        return GRAPH_COMMENT if memcmp(base + end - 3, <const char*>b" */", 3) == 0 else GRAPH_NONE
    return GRAPH_CALL


# seconds.microseconds | of funcgraph-abstime, or microseconds us | of tracers of latencies; false where there is a
# number that is none.
cdef bint read_time(const uint8_t* base, int64_t* at, int64_t end, GraphLine* found) noexcept nogil:
    cdef int64_t first = at[0], micros
    found.ts = nanoseconds(base, at, end)
    if found.ts < 0:
        at[0] = first
        micros = digits(base, at, end, 15)
        if micros >= 0 and end - at[0] > 3 and memcmp(base + at[0], <const char*>b" us", 3) == 0:
            found.ts = 1000 * micros
            at[0] += 3
    if found.ts < 0:
        at[0] = first
        return True
    at[0] = after_spaces(base, at[0], end)
    if at[0] >= end or base[at[0]] != c"|":
        return False
    at[0] = after_spaces(base, at[0] + 1, end)
    return True


# A mark of a long call, and microseconds with up to three decimals.
cdef bint is_duration(const uint8_t* base, int64_t at, int64_t end, GraphLine* found) noexcept nogil:
    cdef int64_t whole, part = 0, decimals = 0, first
    if end - at < 4 or memcmp(base + end - 3, <const char*>b" us", 3) != 0:
        return False
    if base[at] in b"+!#*@$":
        at = after_spaces(base, at + 1, end)
    whole = digits(base, &at, end, 15)
    if whole < 0:
        return False
    if at < end and base[at] == c".":
        at += 1
        first = at
        part = digits(base, &at, end, 3)
        decimals = at - first
        if part < 0:
            return False
    if at != end - 3:
        return False
    while decimals < 3:
        part *= 10
        decimals += 1
    found.duration = whole * 1000 + part
    return True


# comm-pid => comm-pid
cdef int read_switch(const uint8_t* base, int64_t at, int64_t end, GraphLine* found) noexcept nogil:
    cdef int64_t first = after_spaces(base, at, end), arrow = first
    while end - arrow >= 4 and memcmp(base + arrow, <const char*>b" => ", 4) != 0:
        arrow += 1
    if end - arrow < 4:
        return GRAPH_NONE
    if not read_graph_task(
        base, first, before_spaces(base, first, arrow), &found.previous, &found.previous_comm, &found.previous_end
    ):
        return GRAPH_NONE
    first = after_spaces(base, arrow + 4, end)
    if not read_graph_task(base, first, before_spaces(base, first, end), &found.pid, &found.comm, &found.comm_end):
        return GRAPH_NONE
    return GRAPH_SWITCH


cdef bint read_graph_task(
    const uint8_t* base, int64_t at, int64_t end, int64_t* pid, int64_t* comm, int64_t* comm_end
) noexcept nogil:
    cdef int64_t first = end, value
    while first > at and is_digit(base[first - 1]):
        first -= 1
    if first == end or first - at < 1 or base[first - 1] != c"-":
        return False
    comm[0] = at
    comm_end[0] = first - 1
    value = digits(base, &first, end, 10)
    if value < 0 or value >> 31:
        return False
    pid[0] = value
    return True
