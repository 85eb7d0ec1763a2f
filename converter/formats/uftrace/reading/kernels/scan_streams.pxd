# Streams of events that are merged by time, and the columns that they go into.
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef enum:
    RECORD_SIZE = 16
    # Types of records.
    ENTRY = 0
    EXIT = 1
    LOST = 2
    # Reasons why a run over one stream ends: another stream's turn; as in uftrace_scan columns without room, and its
    # window.
    TURN_OVER = 5
    COLUMNS_FULL = 1
    WINDOW_DONE = 2
    # The next event is the exit of a task.
    TASK_EXITS = 8
    # The next event is the switch of a task, or the last one was.
    SWITCHES = 9
    SWITCHED = 10


# A function that a task is in, by the address and time of its entry.
cdef struct Frame:
    uint64_t address
    uint64_t start


# State for moving the exits of a task that are estimated (`scan_estimates`).
cdef struct Estimates:
    # As replay counts them: what the task is in, and what of it is functions of the program.
    int64_t depth
    int64_t own
    Frame* frames
    int64_t room
    int64_t most
    bint begun
    bint is_lost
    # The time of the next entry as given by the exit before it, and that of the last exit that was moved; 0: none.
    uint64_t next_entry
    uint64_t last
    # The time that the last record has at last.
    int64_t reached
    # For the next record.
    bint is_moved
    int64_t moved_to


cdef struct Stream:
    # The time of the next event, by which streams are merged.
    int64_t next_ts
    int64_t at
    int64_t end
    int64_t segment
    bint is_ready
    # For ready events.
    const int64_t* ts
    const int32_t* class_id
    const int32_t* threads
    const uint32_t* start
    const uint32_t* size
    int32_t cpu
    # True if what the next event means for its task has been done: functions that it exits from are closed, or replay,
    # which looks ahead, has seen that it is switched.
    bint is_met
    # For records: the window, whether the file ends with it, and the address spaces in the order of time.
    const uint8_t* data
    bint final
    # Bytes of a window of ready events.
    int64_t data_size
    int32_t thread
    const int64_t* times
    const int32_t* spaces
    int64_t space_count
    int64_t space_at
    int64_t next_space
    # Names of the functions that the task is in.
    int32_t* frames
    int64_t depth
    int64_t room
    bint tracked
    # At the start, and where records were lost, a task may be at any depth.
    bint adrift
    # The time of the last record.
    int64_t time
    # NULL where exits stay where they are.
    Estimates* estimates


cdef struct Columns:
    int64_t* ts
    int32_t* class_id
    int32_t* row
    int32_t* thread
    int32_t* cpu
    int32_t* name
    int32_t* category
    int64_t* first
    uint32_t* size
    uint64_t* values
    int32_t* counts
    # Where the record of each event is, and its length; NULL unless they are wanted.
    int64_t* record
    uint32_t* length
    int64_t room
    int64_t value_room
    int64_t filled
    int64_t value_count


cdef inline void emit(
    Columns* out, int64_t ts, int32_t class_id, int32_t thread, int32_t name, int32_t category, int64_t first
) noexcept nogil:
    cdef int64_t at = out.filled
    out.ts[at] = ts
    out.class_id[at] = class_id
    out.row[at] = out.counts[class_id]
    out.counts[class_id] += 1
    out.thread[at] = thread
    out.cpu[at] = -1
    out.name[at] = name
    out.category[at] = category
    out.first[at] = first
    out.size[at] = 0
    out.filled = at + 1
    if out.record is not NULL:
        out.record[at] = 0
        out.length[at] = 0


# The last event is that of the stream's next record.
cdef inline void note_record(Columns* out, const Stream* stream, int64_t length) noexcept nogil:
    if out.record is not NULL:
        out.record[out.filled - 1] = stream.segment << 32 | stream.at
        out.length[out.filled - 1] = <uint32_t>length


cdef inline int64_t clipped(uint64_t time) noexcept nogil:
    return <int64_t>time if time <= <uint64_t>INT64_MAX else INT64_MAX


cdef inline int copy_ready(
    Stream* stream, Columns* out, int64_t limit, int64_t classes, int32_t exit_class, int32_t switch_class
) noexcept nogil:
    cdef int64_t at
    cdef int32_t kind
    while stream.at < stream.end:
        if stream.ts[stream.at] > limit:
            stream.next_ts = stream.ts[stream.at]
            return TURN_OVER
        if out.filled >= out.room:
            stream.next_ts = stream.ts[stream.at]
            return COLUMNS_FULL
        kind = stream.class_id[stream.at]
        if kind >= 0 and not stream.is_met:
            if kind == exit_class:
                return TASK_EXITS
            if kind == switch_class:
                return SWITCHES
        stream.is_met = False
        if 0 <= kind < classes:
            emit(
                out, stream.ts[stream.at], kind, stream.threads[stream.at], -1, -1,
                stream.segment << 32 | stream.start[stream.at],
            )
            at = out.filled - 1
            out.cpu[at] = stream.cpu
            out.size[at] = stream.size[stream.at]
        stream.at += 1
        if kind == switch_class and kind >= 0:
            return SWITCHED
    return WINDOW_DONE


# The streams that have an event, as a binary heap: the next one's first.
cdef struct Heap:
    Stream* streams
    int32_t* items
    int32_t waiting


cdef inline bint is_before(const Heap* heap, int32_t a, int32_t b) noexcept nogil:
    cdef int64_t ts_a = heap.streams[a].next_ts
    cdef int64_t ts_b = heap.streams[b].next_ts
    return ts_a < ts_b or (ts_a == ts_b and a < b)


# Put a stream at a position of the heap, or where it belongs before that.
cdef inline void rise(Heap* heap, int32_t place, int32_t stream) noexcept nogil:
    cdef int32_t parent
    while place:
        parent = (place - 1) >> 1
        if not is_before(heap, stream, heap.items[parent]):
            break
        heap.items[place] = heap.items[parent]
        place = parent
    heap.items[place] = stream


cdef inline void push(Heap* heap, int32_t stream) noexcept nogil:
    heap.waiting += 1
    rise(heap, heap.waiting - 1, stream)


# Put the stream at a position of the heap where it belongs, or after that.
cdef inline void sink_from(Heap* heap, int32_t place) noexcept nogil:
    cdef int32_t child
    cdef int32_t stream
    if place >= heap.waiting:
        return
    stream = heap.items[place]
    while True:
        child = 2 * place + 1
        if child >= heap.waiting:
            break
        if child + 1 < heap.waiting and is_before(heap, heap.items[child + 1], heap.items[child]):
            child += 1
        if not is_before(heap, heap.items[child], stream):
            break
        heap.items[place] = heap.items[child]
        place = child
    heap.items[place] = stream


# Put the first stream, whose time has changed, where it belongs.
cdef inline void sink(Heap* heap) noexcept nogil:
    sink_from(heap, 0)


# The same for any stream, if it waits.
cdef inline void replace(Heap* heap, int32_t stream) noexcept nogil:
    cdef int32_t place
    for place in range(heap.waiting):
        if heap.items[place] == stream:
            rise(heap, place, stream)
            if heap.items[place] == stream:
                sink_from(heap, place)
            return


cdef inline void pop(Heap* heap) noexcept nogil:
    heap.waiting -= 1
    heap.items[0] = heap.items[heap.waiting]
    sink(heap)


# As long as the first stream stays before its nearest rival the heap need not change: the last time for which it does.
cdef inline int64_t limit_of(const Heap* heap) noexcept nogil:
    cdef int32_t rival
    cdef int64_t limit
    if heap.waiting < 2:
        return INT64_MAX
    rival = heap.items[1]
    if heap.waiting > 2 and is_before(heap, heap.items[2], rival):
        rival = heap.items[2]
    limit = heap.streams[rival].next_ts
    return limit - 1 if heap.items[0] > rival and limit > -INT64_MAX else limit
