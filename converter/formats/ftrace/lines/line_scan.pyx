# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Lines of ftrace text: task, CPU, flags, time and event name of each, in columns.

The forms are those of kernel/trace/trace_output.c (`trace`, `trace_pipe`, the latency format), trace-cmd's report, and
systrace:

    comm-pid [(tgid)] [cpu] [flags] seconds.fraction: text
    comm-pid cpu flags micros us[mark]: text

Those of the function graph are in `graph_lines`.
"""

# Stub:
# from converter.formats.ftrace.lines.graph_lines import GraphClock
# from converter.kernels.tables.strings import StringTable
#
# #: What a line is: an event, a remark that starts with #, a report of lost events, any other text.
# LINE_EVENT: int
# LINE_COMMENT: int
# LINE_LOST: int
# LINE_OTHER: int
# #: The meanings of characters of the flags.
# FLAG_IRQS: int
# FLAG_RESCHED: int
# FLAG_LAZY: int
# FLAG_CONTEXT: int
# FLAG_DEPTH: int
# FLAG_LAZY_DEPTH: int
# FLAG_MIGRATE: int

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcmp

from converter.formats.ftrace.lines.graph_lines cimport (
    GRAPH_CALL, GRAPH_COMMENT, GRAPH_END, GRAPH_MARK, GRAPH_NONE, GRAPH_SWITCH, GraphClock, GraphCpu, GraphLine, graph_line
)
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    # The meanings of the columns of flags.
    IRQS = 1
    RESCHED = 2
    LAZY = 3
    CONTEXT = 4
    DEPTH = 5
    LAZY_DEPTH = 6
    MIGRATE = 7
    # A line that is longer has no event: the kernel prints one into a page or two.
    LONGEST_PREFIX = 4096
    MOST_NAME = 128
    # The width of trace-cmd's event names, with their colon.
    LABEL_WIDTH = 21

LINE_EVENT = EVENT
LINE_COMMENT = COMMENT
LINE_LOST = LOST
LINE_OTHER = OTHER
FLAG_IRQS = IRQS
FLAG_RESCHED = RESCHED
FLAG_LAZY = LAZY
FLAG_CONTEXT = CONTEXT
FLAG_DEPTH = DEPTH
FLAG_LAZY_DEPTH = LAZY_DEPTH
FLAG_MIGRATE = MIGRATE

# The bytes of names of events.
cdef uint8_t[256] OF_NAMES
for _letter in range(256):
    OF_NAMES[_letter] = _letter >= 0x80 or chr(_letter).isalnum() or chr(_letter) in "_.-"


cdef class Lines:
    """The lines of a text. Columns have an entry for each line that is not empty.

    Args:
        capacity: the most lines that a text has.
        flags: the meaning of each character of the flags (1 to 7: interrupts, reschedule, lazily, context, depth of
            disabled preemption, lazily, of disabled migration); empty for the kernel's usual five.
        ticks: times are numbers without a fraction.
        of_report: letters are those of trace-cmd, which has one for any need to reschedule.
        graph: the clock of a function graph, if the text is one.

    """

    # Stub:
    # #: What each line is, and the positions of it, of its text and of the name of its task.
    # kind: NDArray[uint8]
    # ts: NDArray[int64]
    # cpu: NDArray[int32]
    # pid: NDArray[int32]
    # tgid: NDArray[int32]
    # flags: NDArray[int32]
    # name: NDArray[int32]
    # start: NDArray[int64]
    # end: NDArray[int64]
    # text: NDArray[int64]
    # comm: NDArray[int64]
    # comm_size: NDArray[int32]
    # count: int

    def __init__(
        self,
        int64_t capacity,
        StringTable names not None,
        bytes flags,
        *,
        bint ticks,
        bint of_report,
        GraphClock graph = None,
    ):
        cdef int64_t i
        self._capacity = max(capacity, 1)
        self._kind = self.kind = np.empty(self._capacity, np.uint8)
        self._ts = self.ts = np.empty(self._capacity, np.int64)
        self._start = self.start = np.empty(self._capacity, np.int64)
        self._end = self.end = np.empty(self._capacity, np.int64)
        self._text = self.text = np.empty(self._capacity, np.int64)
        self._comm = self.comm = np.empty(self._capacity, np.int64)
        self._cpu = self.cpu = np.empty(self._capacity, np.int32)
        self._pid = self.pid = np.empty(self._capacity, np.int32)
        self._tgid = self.tgid = np.empty(self._capacity, np.int32)
        self._flags = self.flags = np.empty(self._capacity, np.int32)
        self._name = self.name = np.empty(self._capacity, np.int32)
        self._comm_size = self.comm_size = np.empty(self._capacity, np.int32)
        self._names = names
        self._graph = graph
        if graph is not None:
            self._call_name = names.intern(b"funcgraph_entry")
            self._end_name = names.intern(b"funcgraph_exit")
        self._ticks = ticks
        self._of_report = of_report
        self._columns = min(len(flags), MOST_FLAGS)
        for i in range(self._columns):
            self._meaning[i] = flags[i]

    def scan(self, const uint8_t[::1] data, int64_t last_ts) -> None:
        """Scan a text of whole lines into the columns; lines without a time have that of the line before.

        `name` is the event's number in the table of names, -1 where a line names none; `flags` are those of a record,
        with the depths in bits 8 to 15, or -1. Raises ValueError for a text of more lines. Releases the GIL.
        """
        cdef const uint8_t* base
        cdef const uint8_t* found
        cdef int64_t at = 0, size = data.shape[0], end, stop
        cdef int64_t count = 0
        cdef bint good = True
        self.count = 0
        if size == 0:
            return
        base = &data[0]
        self._last_ts = last_ts
        if self._graph is not None:
            self._graph.forget_names()
        self._names.lock()
        with nogil:
            while at < size:
                found = <const uint8_t*>memchr(base + at, c"\n", size - at)
                end = size if found is NULL else found - base
                stop = end
                while stop > at and (base[stop - 1] == c"\r" or base[stop - 1] == c"\n"):
                    stop -= 1
                # Old systrace pages have the text as a string of JavaScript.
                while stop - at >= 3 and memcmp(base + stop - 3, <const char*>b"\\n\\", 3) == 0:
                    stop -= 3
                if stop > at and not self._continues(base, at, stop, count):
                    if count >= self._capacity:
                        good = False
                        break
                    if not self._line(base, at, stop, count):
                        good = False
                        break
                    count += 1
                elif stop > at:
                    # A frame of a stack belongs to the event before.
                    self._end[count - 1] = stop
                at = end + 1
        self._names.unlock()
        if not good:
            raise ValueError("more lines than there is room for")
        self.count = count

    # Whether a line is a frame of the stack of the event before: " => function".
    cdef bint _continues(self, const uint8_t* base, int64_t at, int64_t end, int64_t count) noexcept nogil:
        if count == 0 or self._kind[count - 1] != EVENT:
            return False
        while at < end and (base[at] == c" " or base[at] == c"\t"):
            at += 1
        return end - at >= 2 and base[at] == c"=" and base[at + 1] == c">"

    cdef bint _line(self, const uint8_t* base, int64_t at, int64_t end, int64_t i) noexcept nogil:
        cdef Prefix prefix
        cdef GraphLine graph
        cdef int kind
        cdef int64_t start = at
        cdef int64_t lost
        self._start[i] = at
        self._end[i] = end
        self._ts[i] = self._last_ts
        self._cpu[i] = self._pid[i] = self._tgid[i] = self._flags[i] = self._name[i] = -1
        self._text[i] = at
        self._comm[i] = at
        self._comm_size[i] = 0
        while start < end and (base[start] == c" " or base[start] == c"\t"):
            start += 1
        if start == end or base[start] == c"#":
            self._kind[i] = COMMENT
            return True
        if self._graph is not None:
            kind = graph_line(base, start, end, &graph)
            if kind != GRAPH_NONE or is_rule(base, start, end):
                return self._graph_line(base, kind, &graph, end, i)
        if self._prefix(base, start, end, &prefix):
            self._kind[i] = EVENT
            self._ts[i] = self._last_ts = prefix.ts
            self._cpu[i] = <int32_t>prefix.cpu
            self._pid[i] = <int32_t>prefix.pid
            self._tgid[i] = <int32_t>prefix.tgid
            self._flags[i] = prefix.flags if prefix.flags < 0 else prefix.flags | prefix.depths << 8
            self._comm[i] = prefix.comm
            self._comm_size[i] = <int32_t>(prefix.comm_end - prefix.comm)
            return self._event_name(base, prefix.text, end, i)
        lost = lost_events(base, &start, end, &self._cpu[i])
        if lost >= -1:
            self._kind[i] = LOST
            self._text[i] = lost
            if self._time(base, &start, end, &prefix, False):
                self._ts[i] = self._last_ts = prefix.ts
                self._pid[i] = 0
            return True
        self._kind[i] = OTHER
        return True

    # A line of the function graph, or one that separates its switches of tasks.
    cdef bint _graph_line(
        self, const uint8_t* base, int kind, const GraphLine* found, int64_t end, int64_t i
    ) noexcept nogil:
        cdef GraphCpu* cpu
        cdef Prefix prefix
        self._kind[i] = COMMENT
        if kind == GRAPH_NONE or kind == GRAPH_MARK:
            return True
        cpu = self._graph.cpu(found.cpu)
        if cpu is NULL:
            self._kind[i] = OTHER
            return True
        if kind == GRAPH_SWITCH and not cpu.is_known:
            self._name_before(found, i)
            self._graph.name_task(cpu, found.previous)
        if found.pid >= 0:
            cpu.is_known = True
            cpu.pid = <int32_t>found.pid
            cpu.comm = found.comm
            cpu.comm_size = <int32_t>(found.comm_end - found.comm)
        if kind == GRAPH_SWITCH:
            return True
        self._kind[i] = EVENT
        self._cpu[i] = <int32_t>found.cpu
        self._ts[i] = self._last_ts = found.ts if found.ts >= 0 else self._graph.place(found, kind, cpu)
        if cpu.is_known:
            self._pid[i] = cpu.pid
            self._comm[i] = cpu.comm
            self._comm_size[i] = cpu.comm_size
        if found.flags_end > found.flags and self._letters(base, found.flags, found.flags_end, &prefix):
            self._flags[i] = prefix.flags | prefix.depths << 8
        if kind == GRAPH_COMMENT:
            self._end[i] = end - 3
            return self._event_name(base, found.body + 3, end - 3, i)
        self._text[i] = found.text
        self._name[i] = self._call_name if kind == GRAPH_CALL else self._end_name
        return True

    # The first switch of a CPU names the task of the lines before.
    cdef void _name_before(self, const GraphLine* found, int64_t count) noexcept nogil:
        cdef int64_t i
        for i in range(count):
            if self._kind[i] == EVENT and self._cpu[i] == found.cpu and self._pid[i] < 0:
                self._pid[i] = <int32_t>found.previous
                self._comm[i] = found.previous_comm
                self._comm_size[i] = <int32_t>(found.previous_end - found.previous_comm)

    # The name of the event, after which its text starts; false without memory.
    cdef bint _event_name(self, const uint8_t* base, int64_t at, int64_t end, int64_t i) noexcept nogil:
        cdef int64_t start = at
        cdef int64_t stop
        cdef int32_t name
        while at < end and at - start < MOST_NAME and OF_NAMES[base[at]]:
            at += 1
        self._text[i] = start
        stop = at + call_size(base, start, at, end)
        if stop > at:
            # sys_name( and "sys_name ->" are the names of their texts.
            name = self._names.find_or_add(base + start, <uint64_t>(stop - start))
            self._name[i] = name
            self._text[i] = stop
            return name >= 0
        if at == start or at >= end or base[at] != c":" or (at + 1 < end and base[at + 1] != c" "):
            return True
        name = self._names.find_or_add(base + start, <uint64_t>(at - start))
        if name < 0:
            return False
        self._name[i] = name
        at += 1
        # trace-cmd pads the names of events, the kernel does not.
        stop = at
        while stop < end and base[stop] == c" " and stop - start < LABEL_WIDTH:
            stop += 1
        if stop < end and stop - start == LABEL_WIDTH and base[stop] == c" ":
            at = stop + 1
        elif at < end:
            at += 1
        self._text[i] = at
        return True

    cdef bint _prefix(self, const uint8_t* base, int64_t at, int64_t end, Prefix* found) noexcept nogil:
        cdef int64_t limit = end if end - at < LONGEST_PREFIX else at + LONGEST_PREFIX
        cdef int64_t bracket = at
        cdef const uint8_t* hit
        while bracket < limit:
            hit = <const uint8_t*>memchr(base + bracket, c"[", limit - bracket)
            if hit is NULL:
                break
            bracket = hit - base
            if bracket > at and self._with_brackets(base, at, bracket, end, found):
                return True
            bracket += 1
        return self._latency(base, at, limit, end, found)

    # comm-pid (tgid) [cpu] flags seconds.fraction:
    cdef bint _with_brackets(
        self, const uint8_t* base, int64_t start, int64_t bracket, int64_t end, Prefix* found
    ) noexcept nogil:
        cdef int64_t at = bracket + 1
        cdef int64_t left = bracket
        found.cpu = digits(base, &at, end, 5)
        if found.cpu < 0 or at >= end or base[at] != c"]":
            return False
        at += 1
        while left > start and base[left - 1] == c" ":
            left -= 1
        if not read_task(base, start, left, found):
            return False
        while at < end and base[at] == c" ":
            at += 1
        found.flags = -1
        found.depths = 0
        if at < end and not is_digit(base[at]):
            left = at
            while at < end and base[at] != c" ":
                at += 1
            if not self._letters(base, left, at, found):
                return False
            while at < end and base[at] == c" ":
                at += 1
        if not self._time(base, &at, end, found, True):
            return False
        return True

    # comm-pid cpu flags micros us mark:
    cdef bint _latency(
        self, const uint8_t* base, int64_t start, int64_t limit, int64_t end, Prefix* found
    ) noexcept nogil:
        cdef int64_t at = start
        cdef int64_t left, flags
        while at < limit:
            if base[at] != c"-" or at == start or at + 1 >= limit or not is_digit(base[at + 1]):
                at += 1
                continue
            left = at + 1
            while left < limit and is_digit(base[left]):
                left += 1
            if left >= limit or base[left] != c" " or not read_task(base, start, left, found):
                at += 1
                continue
            while left < limit and base[left] == c" ":
                left += 1
            found.cpu = digits(base, &left, end, 5)
            if found.cpu < 0 or left >= limit or is_digit(base[left]):
                return False
            flags = left
            while left < limit and base[left] != c" ":
                left += 1
            if left == flags or not self._letters(base, flags, left, found):
                return False
            while left < limit and base[left] == c" ":
                left += 1
            found.ts = digits(base, &left, end, 15)
            if found.ts < 0 or end - left < 3 or base[left] != c"u" or base[left + 1] != c"s":
                return False
            found.ts *= 1000
            left += 2
            if left < end and base[left] != c":":
                # The kernel marks long gaps.
                left += 1
            while left < end and base[left] == c" ":
                left += 1
            if left >= end or base[left] != c":":
                return False
            left += 1
            found.text = left + 1 if left < end and base[left] == c" " else left
            return True
        return False

    cdef bint _time(
        self, const uint8_t* base, int64_t* at, int64_t end, Prefix* found, bint colon
    ) noexcept nogil:
        cdef int64_t seconds, fraction, first
        first = at[0]
        seconds = digits(base, at, end, 18)
        if seconds < 0 or at[0] >= end:
            return False
        if base[at[0]] == c".":
            at[0] += 1
            first = at[0]
            fraction = digits(base, at, end, 9)
            if fraction < 0 or self._ticks:
                return False
            for _ in range(9 - (at[0] - first)):
                fraction *= 10
            # The last time of 63 bits.
            if seconds >> 34 or <uint64_t>seconds * 1000000000 + <uint64_t>fraction >> 63:
                return False
            found.ts = seconds * 1000000000 + fraction
        elif self._ticks:
            found.ts = seconds
        else:
            return False
        if not colon:
            return True
        # trace-cmd report --ts-diff prints the distance to the line before.
        if at[0] + 2 < end and base[at[0]] == c" " and base[at[0] + 1] == c"(" and base[at[0] + 2] == c"+":
            while at[0] < end and base[at[0]] != c")":
                at[0] += 1
            at[0] += 1
        if at[0] >= end or base[at[0]] != c":":
            return False
        at[0] += 1
        found.text = at[0] + 1 if at[0] < end and base[at[0]] == c" " else at[0]
        return True

    cdef bint _letters(self, const uint8_t* base, int64_t at, int64_t end, Prefix* found) noexcept nogil:
        cdef int64_t count = end - at
        cdef int64_t i
        cdef int meaning
        cdef int32_t flags = 0, depths = 0
        cdef uint8_t letter
        if count < 2 or count > MOST_FLAGS:
            return False
        for i in range(count):
            letter = base[at + i]
            meaning = self._column(i, count)
            if meaning == DEPTH or meaning == MIGRATE or meaning == LAZY_DEPTH:
                if letter != c"." and hexadecimal(letter) < 0:
                    return False
                if letter != c"." and meaning != LAZY_DEPTH:
                    depths |= hexadecimal(letter) << (4 if meaning == MIGRATE else 0)
                continue
            if letter == c".":
                continue
            if meaning == IRQS:
                if letter == c"d":
                    flags |= 0x01
                elif letter == c"D":
                    flags |= 0x81
                elif letter == c"b":
                    flags |= 0x80
                elif letter != c"X":
                    return False
            elif meaning == RESCHED:
                if letter == c"N":
                    flags |= 0x24
                elif letter == c"n":
                    flags |= 0x04
                elif letter == c"p":
                    flags |= 0x20
                elif letter == c"B":
                    flags |= 0x26
                elif letter == c"L":
                    flags |= 0x02 if self._of_report else 0x22
                elif letter == c"b":
                    flags |= 0x06
                elif letter == c"l":
                    flags |= 0x02
                else:
                    return False
            elif meaning == LAZY:
                if letter != c"L" and letter != c"l":
                    return False
                flags |= 0x02
            elif meaning == CONTEXT:
                if letter == c"h":
                    flags |= 0x08
                elif letter == c"s":
                    flags |= 0x10
                elif letter == c"H":
                    flags |= 0x18
                elif letter == c"z":
                    flags |= 0x40
                elif letter == c"Z":
                    flags |= 0x48
                elif letter == c"y":
                    # The kernel does not say whether there was a softirq; this converter does.
                    flags |= 0x50
                elif letter == c"Y":
                    flags |= 0x58
                else:
                    return False
            else:
                return False
        found.flags = flags
        found.depths = depths
        return True

    # The meaning of a character of the flags.
    cdef int _column(self, int64_t i, int64_t count) noexcept nogil:
        if self._columns == count:
            return self._meaning[i]
        if count == 7:
            # Real-time kernels since 5.15.
            return <int>i + IRQS
        if i < 2:
            return IRQS + <int>i
        return CONTEXT if i == 2 else DEPTH if i == 3 else MIGRATE if i == 4 else 0


def count_lines(const uint8_t[::1] data) -> int:
    """Return the number of lines of a text, the last of which may have no end. Releases the GIL."""
    cdef const uint8_t* at
    cdef const uint8_t* end
    cdef int64_t count = 0
    if data.shape[0] == 0:
        return 0
    at = &data[0]
    end = at + data.shape[0]
    with nogil:
        while at < end:
            at = <const uint8_t*>memchr(at, c"\n", end - at)
            count += 1
            if at is NULL:
                break
            at += 1
    return count


cdef inline bint is_name(uint8_t letter) noexcept nogil:
    return (
        c"a" <= letter <= c"z" or c"A" <= letter <= c"Z" or is_digit(letter)
        or letter == c"_" or letter == c"." or letter == c"-" or letter >= 0x80
    )


# The size of what follows the name of a system call that starts or returns: 0 for other names.
cdef inline int64_t call_size(const uint8_t* base, int64_t start, int64_t at, int64_t end) noexcept nogil:
    if at - start < 5 or at >= end or memcmp(base + start, <const char*>b"sys_", 4) != 0:
        return 0
    if base[at] == c"(":
        return 1
    return 3 if end - at >= 4 and memcmp(base + at, <const char*>b" -> ", 4) == 0 else 0


# Dashes between a switch of tasks and the calls around it.
cdef inline bint is_rule(const uint8_t* base, int64_t at, int64_t end) noexcept nogil:
    if end - at < 3:
        return False
    while at < end and (base[at] == c"-" or base[at] == c" "):
        at += 1
    return at == end


cdef inline int hexadecimal(uint8_t letter) noexcept nogil:
    if is_digit(letter):
        return letter - c"0"
    if c"a" <= letter <= c"f":
        return letter - c"a" + 10
    return -1


# comm-pid, and the (tgid) after it, which has dashes where it is not known.
cdef bint read_task(const uint8_t* base, int64_t start, int64_t end, Prefix* found) noexcept nogil:
    cdef int64_t at = end
    cdef int64_t first
    found.tgid = -1
    if at > start and base[at - 1] == c")":
        at -= 1
        first = at
        while first > start and base[first - 1] != c"(":
            first -= 1
        if first == start:
            return False
        end = first - 1
        while first < at and base[first] == c" ":
            first += 1
        found.tgid = digits(base, &first, at, 9)
        at = end
        while at > start and base[at - 1] == c" ":
            at -= 1
    end = at
    while at > start and is_digit(base[at - 1]):
        at -= 1
    if at == end or at - start < 1 or base[at - 1] != c"-":
        return False
    found.comm = start
    found.comm_end = at - 1
    found.pid = digits(base, &at, end, 10)
    return found.pid >= 0 and found.pid >> 31 == 0


# CPU:3 [LOST 123 EVENTS], CPU:3 [123 EVENTS DROPPED]: how many, -1 where the line does not say, -2 for another line.
# This converter writes the time after it.
cdef int64_t lost_events(const uint8_t* base, int64_t* start, int64_t end, int32_t* cpu) noexcept nogil:
    cdef int64_t number, at = start[0], count = -1
    if end - at < 8 or memcmp(base + at, <const char*>b"CPU:", 4) != 0:
        return -2
    at += 4
    number = digits(base, &at, end, 5)
    if number < 0 or end - at < 3 or base[at] != c" " or base[at + 1] != c"[":
        return -2
    at += 2
    if end - at >= 5 and memcmp(base + at, <const char*>b"LOST ", 5) == 0:
        at += 5
    if is_digit(base[at]):
        count = digits(base, &at, end, 19)
        if count < 0 or at >= end or base[at] != c" ":
            return -2
        at += 1
    if end - at < 6 or memcmp(base + at, <const char*>b"EVENTS", 6) != 0:
        return -2
    cpu[0] = <int32_t>number
    while at < end and base[at] != c"]":
        at += 1
    at += 1
    while at < end and base[at] == c" ":
        at += 1
    start[0] = at if at < end else end
    return count
