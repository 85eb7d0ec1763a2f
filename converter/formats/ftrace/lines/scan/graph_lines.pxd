from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

cdef enum:
    # What a line of the graph is: none, a call, the end of one, an event or a text as a comment, a switch of tasks, a
    # mark of an interrupt.
    GRAPH_NONE = 0
    GRAPH_CALL = 1
    GRAPH_END = 2
    GRAPH_COMMENT = 3
    GRAPH_SWITCH = 4
    GRAPH_MARK = 5


# A line of the graph; positions are in the text.
cdef struct GraphLine:
    # The time that the line says, -1 for none.
    int64_t ts
    int64_t cpu
    # The task that the line names or switches to, and the one it switches from; -1 for none.
    int64_t pid
    int64_t comm
    int64_t comm_end
    int64_t previous
    int64_t previous_comm
    int64_t previous_end
    # The flags, where there are any.
    int64_t flags
    int64_t flags_end
    # The part with the duration, and the text after the bar, indented by the depth of the call.
    int64_t text
    int64_t body
    int64_t depth
    # In nanoseconds, -1 for none.
    int64_t duration


cdef struct GraphCpu:
    int64_t now
    int64_t comm
    int32_t comm_size
    int32_t pid
    bint is_known


cdef struct GraphTask:
    int64_t key
    uint64_t open
    int64_t[64] begins


cdef class GraphClock:
    cdef GraphCpu* _cpus
    cdef GraphTask* _tasks

    cdef GraphCpu* cpu(self, int64_t number) noexcept nogil
    cdef int64_t place(self, const GraphLine* line, int kind, GraphCpu* cpu) noexcept nogil
    cdef void name_task(self, GraphCpu* cpu, int64_t pid) noexcept nogil
    cdef void forget_names(self) noexcept nogil


cdef int graph_line(const uint8_t* base, int64_t at, int64_t end, GraphLine* found) noexcept nogil
