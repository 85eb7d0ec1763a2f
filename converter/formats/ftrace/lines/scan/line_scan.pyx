# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Lines of ftrace text: task, CPU, flags, time and event name of each, in columns.

What is before the text of an event is read by `line_prefix`, lines of the function graph by `graph_lines`.
"""

# Stub:
# from converter.formats.ftrace.lines.scan.graph_lines import GraphClock
# from converter.kernels.tables.strings import StringTable
#
# #: What a line is: an event, a remark that starts with #, a report of lost events, any other text.
# LINE_EVENT: int
# LINE_COMMENT: int
# LINE_LOST: int
# LINE_OTHER: int
# #: What lines say: what they usually do; no more than numbers of task, CPU, time and type (`raw`); no more than the
# #: event (`nocontext-info`).
# FORM_USUAL: int
# FORM_RAW: int
# FORM_BARE: int

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcmp

from converter.formats.ftrace.lines.scan.graph_lines cimport (
    GRAPH_CALL, GRAPH_COMMENT, GRAPH_END, GRAPH_MARK, GRAPH_NONE, GRAPH_SWITCH, GraphClock, GraphCpu, GraphLine, graph_line
)
from converter.formats.ftrace.lines.scan.flag_letters cimport MOST_FLAGS, read_letters
from converter.formats.ftrace.lines.scan.line_prefix cimport Prefix, read_prefix, read_time
from converter.formats.ftrace.lines.scan.words cimport after_spaces, digits, is_digit, nanoseconds
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    USUAL = 0
    RAW = 1
    BARE = 2
    MOST_NAME = 128
    # The width of trace-cmd's event names, with their colon.
    LABEL_WIDTH = 21

LINE_EVENT = EVENT
LINE_COMMENT = COMMENT
LINE_LOST = LOST
LINE_OTHER = OTHER
FORM_USUAL = USUAL
FORM_RAW = RAW
FORM_BARE = BARE

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
        buffers: the names of buffers, if lines may start with one: "name: " before the task.
        form: what lines say (`FORM_...`). Events of bare lines are numbered, in place of times.

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
    # #: Numbers of names of buffers; -1 for none.
    # buffer: NDArray[int32]
    # count: int

    def __init__(
        self,
        int64_t capacity,
        StringTable names not None,
        bytes flags,
        *,
        bint ticks,
        bint of_report,
        int form=0,
        GraphClock graph=None,
        StringTable buffers=None,
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
        self._buffers = buffers
        if buffers is not None:
            self._buffer = self.buffer = np.empty(self._capacity, np.int32)
        self._graph = graph
        if graph is not None:
            self._call_name = names.intern(b"funcgraph_entry")
            self._end_name = names.intern(b"funcgraph_exit")
        self._bare = form == BARE
        self._style.raw = form == RAW
        self._style.ticks = ticks
        self._style.columns.of_report = of_report
        self._style.columns.count = min(len(flags), MOST_FLAGS)
        for i in range(self._style.columns.count):
            if flags[i] > 7:
                raise ValueError("a meaning that no flag has")
            self._style.columns.meaning[i] = flags[i]

    def scan(self, const uint8_t[::1] data, int64_t last_ts) -> None:
        """Scan a text of whole lines into the columns; lines without a time have that of the line before.

        `name` is the event's number in the table of names, -1 where a line names none; `flags` are those of a record,
        with the depths in bits 8 to 15, or -1. Raises ValueError for a text of more lines. Releases the GIL.
        """
        cdef const uint8_t* base
        cdef const uint8_t* found
        cdef int64_t at = 0, size = data.shape[0], end, stop, first
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
        if self._buffers is not None:
            self._buffers.lock()
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
                first = after_printk(base, after_spaces(base, at, stop), stop)
                if stop > at and not self._continues(base, first, stop, count):
                    if count >= self._capacity:
                        good = False
                        break
                    if not self._line(base, at, first, stop, count):
                        good = False
                        break
                    count += 1
                elif stop > at:
                    # A frame of a stack belongs to the event before.
                    self._end[count - 1] = stop
                at = end + 1
        self._names.unlock()
        if self._buffers is not None:
            self._buffers.unlock()
        if not good:
            raise ValueError("more lines than there is room for")
        self.count = count

    # Whether a line is a frame of the stack of the event before: " => function".
    cdef bint _continues(self, const uint8_t* base, int64_t at, int64_t end, int64_t count) noexcept nogil:
        if count == 0 or self._kind[count - 1] != EVENT:
            return False
        return end - at >= 2 and base[at] == c"=" and base[at + 1] == c">"

    # A line from `at` on, whose first word is at `start`; false without memory.
    cdef bint _line(self, const uint8_t* base, int64_t at, int64_t start, int64_t end, int64_t i) noexcept nogil:
        cdef Prefix prefix
        cdef GraphLine graph
        cdef int kind
        cdef int64_t lost
        self._start[i] = at
        self._end[i] = end
        self._ts[i] = self._last_ts
        self._cpu[i] = self._pid[i] = self._tgid[i] = self._flags[i] = self._name[i] = -1
        self._text[i] = at
        self._comm[i] = at
        self._comm_size[i] = 0
        if self._buffers is not None:
            self._buffer[i] = -1
        if start == end or base[start] == c"#":
            self._kind[i] = COMMENT
            return True
        if self._graph is not None:
            kind = graph_line(base, start, end, &graph)
            if kind != GRAPH_NONE or is_rule(base, start, end):
                return self._graph_line(base, kind, &graph, end, i)
        if not self._bare and read_prefix(&self._style, base, start, end, &prefix):
            self._kind[i] = EVENT
            self._ts[i] = self._last_ts = prefix.ts
            self._cpu[i] = <int32_t>prefix.cpu
            self._pid[i] = <int32_t>prefix.pid
            self._tgid[i] = <int32_t>prefix.tgid
            self._flags[i] = prefix.flags if prefix.flags < 0 else prefix.flags | prefix.depths << 8
            if self._buffers is not None and not self._take_buffer(base, &prefix, i):
                return False
            self._comm[i] = prefix.comm
            self._comm_size[i] = <int32_t>(prefix.comm_end - prefix.comm)
            return self._event_name(base, prefix.text, end, i)
        lost = lost_events(base, &start, end, &self._cpu[i])
        if lost >= -1:
            self._kind[i] = LOST
            self._text[i] = lost
            prefix.ts = read_time(&self._style, base, &start, end)
            if prefix.ts >= 0:
                self._ts[i] = self._last_ts = prefix.ts
                self._pid[i] = 0
            return True
        if self._bare:
            self._last_ts += 1
            self._ts[i] = self._last_ts
            self._kind[i] = EVENT
            return self._event_name(base, start, end, i)
        self._kind[i] = OTHER
        return True

    # The name of the buffer before that of the task; false without memory.
    cdef bint _take_buffer(self, const uint8_t* base, Prefix* prefix, int64_t i) noexcept nogil:
        cdef int64_t at = prefix.comm
        while at < prefix.comm_end and base[at] != c" ":
            at += 1
        if at - prefix.comm < 2 or base[at - 1] != c":":
            return True
        self._buffer[i] = self._buffers.find_or_add(base + prefix.comm, <uint64_t>(at - 1 - prefix.comm))
        prefix.comm = after_spaces(base, at, prefix.comm_end)
        return self._buffer[i] >= 0

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
        if found.flags_end > found.flags and read_letters(
            &self._style.columns, base, found.flags, found.flags_end, &prefix.flags, &prefix.depths
        ):
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


# After the time of a message of the kernel, in which it prints its trace when it stops (ftrace_dump_on_oops), and the
# task or CPU that printed it: [   12.345678][    T1].
cdef inline int64_t after_printk(const uint8_t* base, int64_t at, int64_t end) noexcept nogil:
    cdef int64_t stop = at, first
    if at >= end or base[at] != c"[":
        return at
    first = stop = after_spaces(base, at + 1, end)
    if nanoseconds(base, &stop, end) < 0 or stop - first < 8 or stop >= end or base[stop] != c"]":
        return at
    at = stop + 1
    if at < end and base[at] == c"[":
        stop = after_spaces(base, at + 1, end) + 1
        if digits(base, &stop, end, 10) >= 0 and stop < end and base[stop] == c"]":
            at = stop + 1
    return after_spaces(base, at, end)


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
