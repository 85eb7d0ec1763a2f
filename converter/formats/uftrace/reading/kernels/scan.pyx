# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Records of uftrace's task files to columns, merged by time with each other and with events decoded elsewhere.

A record is two 64-bit words: a time, and type:2, more:1, magic:3, depth:10, addr:48 (uftrace.h, struct
uftrace_record). Values follow where `more` is set; what they are only the function's specifications tell, which are
compiled to programs. One pass fills the columns; a task's stack tells which exits belong to which entries.
"""

# Stub:
# from converter.formats.uftrace.reading.kernels.scan_functions import Streams
# from converter.formats.uftrace.reading.kernels.scan_functions import FunctionTable, Streams
# from converter.kernels.batches.event_arrays import OutputArrays
# from converter.kernels.tables.strings import StringTable
#
# #: Reasons why `Scanner.fill` ended: no stream has an event; the columns are full; stream `stream` needs its next
# #: window; the table of functions needs a symbol's site, or a module's symbols; stream `stream` is damaged at `offset`
# #: of its window, and ended.
# DONE: int
# FULL: int
# NEED_WINDOW: int
# NEED_SYMBOL: int
# DAMAGED: int
# #: Why a stream is damaged: the file ends within a record; a record without its magic number; a time beyond 63 bits;
# #: an argument record of a function without specifications; values that exceed their record's end.
# TRUNCATED: int
# BAD_MAGIC: int
# BAD_TIME: int
# NO_SPECIFICATION: int

from libc.stdint cimport int32_t, INT64_MAX, int64_t, uint32_t, UINT64_MAX, uint64_t, uint8_t
from libc.stdlib cimport calloc, free

from converter.formats.uftrace.arguments.values cimport decode_values, integer, MOST_VALUES, padded, Program
from converter.formats.uftrace.reading.kernels.scan_addresses cimport cache_slot, Cached
from converter.formats.uftrace.reading.kernels.scan_estimates cimport (
    account, MISC_AT, move_next, settle, SWITCH_END, SWITCH_OUT, TID_AT,
)
from converter.formats.uftrace.reading.kernels.scan_frames cimport depth_of, DEPTHS, follow, is_top_alone, UNKNOWN
from converter.formats.uftrace.reading.kernels.scan_functions cimport FunctionTable, grown, SITE_MISSING
from converter.formats.uftrace.reading.kernels.scan_functions cimport Streams
from converter.formats.uftrace.reading.kernels.scan_lookup cimport Event, event_at, stream_of
from converter.formats.uftrace.reading.kernels.scan_streams cimport (
    Columns, copy_ready, emit, ENTRY, Estimates, EXIT, limit_of, LOST, note_record, pop, RECORD_SIZE, replace, sink,
    Stream, SWITCHED, SWITCHES, TASK_EXITS, TURN_OVER,
)
from converter.kernels.batches.event_arrays cimport Events, OutputArrays, WITH_CLASS, WITH_CPU, WITH_ROW, WITH_THREAD
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load16, load32, load64
from converter.kernels.tables.strings cimport StringTable

cpdef enum:
    DONE = 0
    FULL = 1
    NEED_WINDOW = 2
    NEED_SYMBOL = 3
    DAMAGED = 4

cpdef enum:
    TRUNCATED = 1
    BAD_MAGIC = 2
    BAD_TIME = 3
    NO_SPECIFICATION = 4

cdef enum:
    # More results of a run over one stream.
    ENDED = 6
    NO_MEMORY = 7

    MAGIC = 5
    WATCH_VAR = 100012

    # Numbers in `classes`.
    CLASS_ENTRY = 0
    CLASS_EXIT = 1
    CLASS_UNMATCHED = 2
    CLASS_LOST = 3
    CLASS_NATIVE = 4
    CLASS_USER_DATA = 5
    CLASS_WATCH = 6
    CLASS_ENTRY_WITH_SOURCE = 10
    CLASSES = 11


cdef class Scanner(Streams):
    """Records of task files and events of other streams, merged by time into columns.

    A location is ``segment << 32 | offset``. `rounded` counts the 80-bit floats that a double does not hold exactly.
    """

    # Stub:
    # stream: int
    # reason: int
    # offset: int
    # #: The time of the last record before the damage.
    # time: int
    # rounded: int

    cdef StringTable _strings
    cdef int32_t[CLASSES] _classes
    cdef int32_t _highest_class
    # By ascending id.
    cdef Event* _events
    cdef int64_t _event_count
    # The class of exits of tasks, and the stream of each thread that has one.
    cdef int32_t _exit_class
    cdef const int32_t[::1] _stream_of_thread
    # The class of switches that move exits, and the stream of each task that has one.
    cdef int32_t _switch_class
    cdef const int32_t[::1] _tids
    cdef const int32_t[::1] _stream_of_tid
    # The task from whose record, the last one, replay looks ahead, to print what it begins and the next one ends on one
    # line; NULL: it does not.
    cdef const Stream* _looks_ahead
    # The time of the last event of the columns that were filled before.
    cdef int64_t _latest
    cdef readonly int32_t stream
    cdef readonly int32_t reason
    cdef readonly int64_t offset
    cdef readonly int64_t time
    cdef readonly int64_t rounded

    def __cinit__(
        self, StringTable strings not None, FunctionTable functions not None, *, bint big_endian,
        bint close_abandoned, const int32_t[::1] classes,
    ):
        """`classes`: of entries, exits and unmatched exits without values, of LOST, of records that nothing describes,
        of user events with data, of watched variables of 1, 2, 4 and 8 bytes, and of entries with their place in the
        source only.

        With `close_abandoned`, exits are distinguished by the depth of their task: functions that were left without one
        (longjmp, exec) get an exit at the time of the record that shows it.
        """
        cdef int64_t i
        if classes.shape[0] != CLASSES:
            raise ValueError(f"{classes.shape[0]} classes")
        self._strings = strings
        self._exit_class = -1
        self._switch_class = -1
        for i in range(CLASSES):
            self._classes[i] = classes[i]
            self._note_class(classes[i])

    def __dealloc__(self):
        free(self._events)

    cdef _note_class(self, int32_t class_id):
        if class_id < 0:
            raise ValueError(f"class {class_id}")
        self._highest_class = max(self._highest_class, class_id)

    def add_event(
        self, uint64_t id, int32_t class_id, int32_t name, int32_t category, int32_t words, int32_t width
    ) -> None:
        """An EVENT record with `words` integers of `width` bytes as data; with class -1 it is left out."""
        cdef int64_t at = self._event_count
        if not 0 <= words <= MOST_VALUES or width not in (4, 8):
            raise ValueError(f"{words} words of {width} bytes")
        if class_id >= 0:
            self._note_class(class_id)
        self._events = <Event*>grown(self._events, self._event_count, sizeof(Event))
        while at and self._events[at - 1].id > id:
            self._events[at] = self._events[at - 1]
            at -= 1
        self._events[at].id = id
        self._events[at].class_id = class_id
        self._events[at].name = name
        self._events[at].category = category
        self._events[at].words = words
        self._events[at].width = width
        self._event_count += 1

    def close_at(self, int32_t class_id, const int32_t[::1] stream_of_thread) -> None:
        """Ready events of this class are exits of tasks, which close the functions that they are still in.

        `stream_of_thread` has the stream of each thread, -1 for those without one.
        """
        cdef int64_t i
        for i in range(stream_of_thread.shape[0]):
            if not -1 <= stream_of_thread[i] < self._stream_count or (
                stream_of_thread[i] >= 0 and self._streams[stream_of_thread[i]].is_ready
            ):
                raise ValueError(f"stream {stream_of_thread[i]} of a thread")
        self._exit_class = class_id
        self._stream_of_thread = stream_of_thread

    def move_estimated(
        self, int32_t class_id, const int32_t[::1] tids, const int32_t[::1] streams, int64_t most
    ) -> None:
        """Ready events of this class are switches as perf records them, which move exits that have been estimated.

        `streams` has the stream of each task of `tids`, which ascend; functions nest in up to `most`.
        """
        cdef int64_t i
        cdef Stream* stream
        if tids.shape[0] != streams.shape[0]:
            raise ValueError("tids and streams differ in length")
        for i in range(streams.shape[0]):
            if not 0 <= streams[i] < self._stream_count or self._streams[streams[i]].is_ready:
                raise ValueError(f"stream {streams[i]} of a task")
            stream = &self._streams[streams[i]]
            if stream.estimates is NULL:
                stream.estimates = <Estimates*>calloc(1, sizeof(Estimates))
                if stream.estimates is NULL:
                    raise MemoryError
            stream.estimates.most = most
        self._switch_class = class_id
        self._tids = tids
        self._stream_of_tid = streams

    # The pass

    def fill(
        self, OutputArrays events not None, uint64_t[::1] values, int64_t filled, int64_t value_count,
        int32_t[::1] counts, *, bint keeps_records=False,
    ) -> tuple[int, int, int]:
        """Fill the columns from `filled` on: (what ended it, places filled, words of `values` filled).

        The columns are ts, class_id, row, thread, cpu, name and category (int32), first (int64), size (uint32). `name`
        and `category` are ids, -1 for events of other streams. `first` is where an event's words start in `values`, or
        its location; `size` is that of the payload of an event of another stream. `counts` numbers the rows of each
        class. With `keeps_records` also record (int64), the location of an event's record, and length (uint32), 0 for
        those without one. Releases the GIL.
        """
        cdef Events columns = events.common(WITH_CLASS | WITH_ROW | WITH_THREAD | WITH_CPU)
        cdef Columns out
        cdef int status
        out.room = columns.count
        out.value_room = values.shape[0] - 2 * MOST_VALUES - 1
        if out.room == 0:
            raise ValueError("there is no room for events")
        if out.value_room <= 0 or not 0 <= filled <= out.room or not 0 <= value_count <= values.shape[0]:
            raise ValueError("more is filled than there is")
        if counts.shape[0] <= max(self._highest_class, self._functions.highest_class):
            raise ValueError(f"{counts.shape[0]} classes")
        out.ts = columns.ts
        out.class_id = columns.class_id
        out.row = columns.row
        out.thread = columns.thread
        out.cpu = columns.cpu
        out.name = <int32_t*>events.own("name", 4)
        out.category = <int32_t*>events.own("category", 4)
        out.first = <int64_t*>events.own("first", 8)
        out.size = <uint32_t*>events.own("size", 4)
        out.record = <int64_t*>events.own("record", 8) if keeps_records else NULL
        out.length = <uint32_t*>events.own("length", 4) if keeps_records else NULL
        out.values = &values[0]
        out.counts = &counts[0]
        out.filled = filled
        out.value_count = value_count
        with nogil:
            self._strings.lock()
            status = self._merge(&out, counts.shape[0])
            self._strings.unlock()
        if out.filled:
            self._latest = out.ts[out.filled - 1]
        if status == NO_MEMORY:
            raise MemoryError("no room for more strings or frames")
        return status, out.filled, out.value_count

    cdef int _merge(self, Columns* out, int64_t classes) noexcept nogil:
        cdef int64_t limit
        cdef Stream* stream
        cdef int status
        while self._heap.waiting:
            if out.filled >= out.room or out.value_count > out.value_room:
                return FULL
            self.stream = self._heap.items[0]
            stream = &self._streams[self.stream]
            limit = limit_of(&self._heap)
            if stream.is_ready:
                status = copy_ready(stream, out, limit, classes, self._exit_class, self._switch_class)
                if status == TASK_EXITS:
                    if not self._close_all(stream, out):
                        return FULL
                    stream.is_met = True
                    continue
                if status == SWITCHES:
                    if self._looks_ahead is not NULL:
                        self._look_at(stream, stream.at)
                    stream.is_met = True
                    continue
                if status == SWITCHED:
                    if not self._switched(stream, stream.at - 1):
                        return NO_MEMORY
                    continue
            else:
                status = self._run(stream, out, limit)
            if status == TURN_OVER:
                sink(&self._heap)
            elif status == NEED_SYMBOL or status == FULL or status == NO_MEMORY:
                return status
            else:
                pop(&self._heap)
                if status != ENDED:
                    return status
        return DONE

    # Over one stream, as long as its records are not later than `limit`.
    cdef int _run(self, Stream* stream, Columns* out, int64_t limit) noexcept nogil:
        cdef const uint8_t* record
        cdef uint64_t time, word, address
        cdef int64_t ts, left, length, first
        cdef int64_t absolute = 0
        cdef int32_t kind, number, class_id
        cdef int32_t space = stream.spaces[stream.space_at]
        cdef Cached* cached
        cdef const Program* program
        cdef bint swap = self._swap
        cdef int matched
        cdef int status
        while True:
            left = stream.end - stream.at
            if left < RECORD_SIZE:
                return self._at_end(stream, left)
            record = stream.data + stream.at
            time = load64(record, swap)
            if time > <uint64_t>INT64_MAX:
                return self._damage(stream, BAD_TIME)
            ts = <int64_t>time
            if stream.estimates is not NULL and stream.estimates.is_moved:
                ts = stream.estimates.moved_to
            if ts > limit:
                stream.next_ts = ts
                return TURN_OVER
            if out.filled >= out.room or out.value_count > out.value_room:
                stream.next_ts = ts
                return FULL
            word = load64(record + 8, swap)
            if (word >> 3) & 7 != MAGIC:
                return self._damage(stream, BAD_MAGIC)
            stream.time = <int64_t>time
            kind = word & 3
            address = word >> 16
            while ts >= stream.next_space and stream.space_at + 1 < stream.space_count:
                stream.space_at += 1
                space = stream.spaces[stream.space_at]
                stream.next_space = (
                    stream.times[stream.space_at + 1] if stream.space_at + 1 < stream.space_count else INT64_MAX
                )
            if kind > EXIT:
                if kind == LOST:
                    stream.adrift = True
                    # 0 is "some records".
                    out.values[out.value_count] = address if address else UINT64_MAX
                    emit(out, ts, self._classes[CLASS_LOST], stream.thread, -1, -1, out.value_count)
                    note_record(out, stream, RECORD_SIZE)
                    out.value_count += 1
                    stream.at += RECORD_SIZE
                    if stream.estimates is not NULL and not self._settle(stream, out, word, &ts):
                        return NO_MEMORY
                    continue
                status = self._event(stream, out, ts, word, left)
                if status:
                    return status
                if stream.estimates is not NULL:
                    settle(stream.estimates, kind, ts, False)
                    self._looks_ahead = NULL
                continue
            cached = &self._functions.cache[cache_slot(address, space)]
            if cached.address != address or cached.space != space:
                status = self._functions.resolve(cached, address, space)
                if status:
                    stream.next_ts = ts
                    return self._unresolved(status)
            matched = True
            if stream.tracked:
                absolute = depth_of(stream, (word >> 6) & (DEPTHS - 1), kind)
                if kind == ENTRY:
                    if stream.depth > absolute:
                        self._abandon(stream, out, ts)
                        continue
                elif stream.depth > absolute + 1 and not is_top_alone(stream, cached.site.name, absolute):
                    self._abandon(stream, out, ts)
                    continue
            length = RECORD_SIZE
            first = out.value_count
            number = cached.site.entry if kind == ENTRY else cached.site.exit
            program = NULL if number < 0 else &self._functions.programs[number]
            if word & 4:
                if program is NULL:
                    return self._damage(stream, NO_SPECIFICATION)
                length = decode_values(
                    program, record + RECORD_SIZE, left - RECORD_SIZE, (stream.segment << 32 | stream.at) + RECORD_SIZE,
                    swap, out.values, &out.value_count, &self.rounded,
                )
                if length < 0:
                    return self._at_end(stream, left)
                length += RECORD_SIZE
            elif program is not NULL and program.count:
                # The function has values, but none were recorded.
                program = NULL
            if stream.tracked:
                matched = follow(stream, kind, absolute, cached.site.name)
                if matched < 0:
                    return NO_MEMORY
            if kind == ENTRY:
                class_id = self._classes[CLASS_ENTRY] if program is NULL else program.class_id
                if cached.site.source >= 0:
                    if program is NULL:
                        class_id = self._classes[CLASS_ENTRY_WITH_SOURCE]
                    out.values[out.value_count] = cached.site.source
                    out.value_count += 1
            elif matched:
                class_id = self._classes[CLASS_EXIT] if program is NULL else program.class_id
            else:
                class_id = self._classes[CLASS_UNMATCHED] if program is NULL else program.unmatched
            if stream.estimates is not NULL and not self._settle(stream, out, word, &ts):
                return NO_MEMORY
            if class_id < 0:
                stream.at += length
                out.value_count = first
                continue
            emit(out, ts, class_id, stream.thread, cached.site.name, cached.site.category, first)
            note_record(out, stream, length)
            stream.at += length
            # An end that no record says has none.
            out.size[out.filled - 1] = <uint32_t>((word >> 6) & (DEPTHS - 1)) + 1

    cdef int _damage(self, Stream* stream, int reason) noexcept nogil:
        self.reason = reason
        self.offset = stream.at
        self.time = stream.time
        return DAMAGED

    # The window ends within a record, or at its end.
    cdef int _at_end(self, Stream* stream, int64_t left) noexcept nogil:
        if not stream.final:
            return NEED_WINDOW
        return ENDED if left == 0 else self._damage(stream, TRUNCATED)

    cdef inline int _unresolved(self, int status) noexcept nogil:
        return NEED_SYMBOL if status == SITE_MISSING else NO_MEMORY

    # The innermost function has been left without an exit. One whose entry is not known is just forgotten.
    cdef void _abandon(self, Stream* stream, Columns* out, int64_t ts) noexcept nogil:
        stream.depth -= 1
        if stream.frames[stream.depth] != UNKNOWN:
            # Its class has no name; a writer of records needs it.
            emit(
                out, ts, self._classes[CLASS_EXIT], stream.thread, stream.frames[stream.depth], -1, out.value_count
            )

    # A record is consumed: the time that it has at last. Whether there is memory for its stack.
    cdef bint _settle(self, Stream* stream, const Columns* out, uint64_t word, int64_t* ts) noexcept nogil:
        cdef int kind = word & 3
        ts[0] = settle(stream.estimates, kind, ts[0], self._looks_ahead is not NULL)
        if ts[0] == INT64_MAX:
            # The task never gets a CPU again: all that is known is that nothing follows.
            ts[0] = max(stream.time, out.ts[out.filled - 1] if out.filled else self._latest)
        if kind == EXIT:
            ts[0] = max(ts[0], stream.estimates.reached)
        stream.estimates.reached = ts[0]
        self._looks_ahead = stream if kind == ENTRY else NULL
        return account(stream.estimates, kind, (word >> 6) & (DEPTHS - 1), word >> 16, ts[0], True)

    # A task is switched: its next record may have to wait.
    cdef void _move_next(self, Stream* stream, int64_t at) noexcept nogil:
        cdef Stream* task = self._switched_task(stream, at)
        cdef const uint8_t* record
        cdef uint64_t time, word
        if task is NULL or task.end - task.at < RECORD_SIZE:
            return
        record = task.data + task.at
        word = load64(record + 8, self._swap)
        time = task.estimates.moved_to if task.estimates.is_moved else load64(record, self._swap)
        if move_next(task.estimates, self._leaves(stream, at), stream.ts[at], word & 3, word >> 16, time):
            task.next_ts = task.estimates.moved_to
            replace(&self._heap, <int32_t>(task - self._streams))

    # Replay looks ahead at a switch, and only then for the next event, which may now be a record of the task. The end
    # of what the same task has started is taken at once.
    cdef void _look_at(self, Stream* stream, int64_t at) noexcept nogil:
        cdef const Stream* task = self._switched_task(stream, at)
        if task is not NULL and task is not self._looks_ahead and self._is_shown(task, self._leaves(stream, at)):
            self._looks_ahead = NULL
            self._move_next(stream, at)

    # Switches outside of functions are passed over.
    cdef inline bint _is_shown(self, const Stream* task, bint leaves) noexcept nogil:
        return task.estimates.depth > (0 if leaves else 1)

    # A task has been switched. Whether there is memory for its stack.
    cdef bint _switched(self, Stream* stream, int64_t at) noexcept nogil:
        cdef Stream* task = self._switched_task(stream, at)
        cdef bint leaves
        if task is NULL:
            return True
        leaves = self._leaves(stream, at)
        if self._is_shown(task, leaves):
            self._looks_ahead = task if leaves else NULL
        self._move_next(stream, at)
        # No function has this address, as theirs are of 48 bits.
        return account(task.estimates, ENTRY if leaves else EXIT, 0, ~<uint64_t>0, stream.ts[at], False)

    cdef inline bint _leaves(self, const Stream* stream, int64_t at) noexcept nogil:
        return (load16(stream.data + stream.start[at] + MISC_AT, self._swap) & SWITCH_OUT) != 0

    # The stream of the task of a switch, NULL of one that has none.
    cdef Stream* _switched_task(self, const Stream* stream, int64_t at) noexcept nogil:
        cdef int32_t number
        if stream.start[at] + <int64_t>SWITCH_END > stream.data_size:
            return NULL
        number = stream_of(
            &self._tids[0],
            &self._stream_of_tid[0],
            self._tids.shape[0],
            <int32_t>load32(stream.data + stream.start[at] + TID_AT, self._swap),
        )
        return NULL if number < 0 else &self._streams[number]

    # A task exits, of which the next event of a stream tells: nothing leaves the functions that it is still in. Whether
    # there was room for all their ends.
    cdef bint _close_all(self, Stream* stream, Columns* out) noexcept nogil:
        cdef int64_t ts = stream.ts[stream.at]
        cdef int32_t thread = stream.threads[stream.at]
        cdef int32_t number = self._stream_of_thread[thread] if 0 <= thread < self._stream_of_thread.shape[0] else -1
        cdef Stream* task
        if number < 0:
            return True
        task = &self._streams[number]
        # A task with records after its exit is another task with this number, or its clock is another.
        if not task.final or task.at < task.end:
            return True
        while task.depth:
            if out.filled >= out.room:
                stream.next_ts = ts
                return False
            self._abandon(task, out, ts)
        return True

    # An EVENT record.
    cdef int _event(self, Stream* stream, Columns* out, int64_t ts, uint64_t word, int64_t left) noexcept nogil:
        cdef const uint8_t* record = stream.data + stream.at
        cdef uint64_t id = word >> 16
        cdef int64_t length = RECORD_SIZE
        cdef int64_t size = -1
        cdef int64_t first = out.value_count
        cdef int64_t at
        cdef int32_t i
        cdef const Event* event = NULL
        cdef const uint8_t* data = record + RECORD_SIZE + 2
        cdef Cached found
        cdef int status
        if word & 4:
            if left < RECORD_SIZE + 2:
                return self._at_end(stream, left)
            size = load16(record + RECORD_SIZE, self._swap)
            length += padded(2 + size, 8)
            if left < length:
                return self._at_end(stream, left)
        at = event_at(self._events, self._event_count, id)
        if at >= 0:
            event = &self._events[at]
        if event is not NULL and event.class_id < 0:
            stream.at += length
            return 0
        if event is not NULL and (size == event.words * event.width or (event.words == 0 and size < 0)):
            for i in range(event.words):
                out.values[out.value_count] = (
                    load64(data + 8 * i, self._swap) if event.width == 8 else load32(data + 4 * i, self._swap)
                )
                out.value_count += 1
            emit(out, ts, event.class_id, stream.thread, event.name, event.category, first)
        elif event is not NULL and event.words == 0:
            self._bytes(stream, out, RECORD_SIZE + 2, size)
            emit(out, ts, self._classes[CLASS_USER_DATA], stream.thread, event.name, event.category, first)
        elif id == WATCH_VAR and event is not NULL and (size == 9 or size == 10 or size == 12 or size == 16):
            status = self._functions.resolve(&found, load64(data, self._swap), stream.spaces[stream.space_at])
            if status:
                stream.next_ts = ts
                return self._unresolved(status)
            i = 0 if size == 9 else 1 if size == 10 else 2 if size == 12 else 3
            out.values[out.value_count] = integer(data + 8, size - 8, False, self._swap)
            out.value_count += 1
            emit(out, ts, self._classes[CLASS_WATCH + i], stream.thread, found.site.name, event.category, first)
        else:
            self._bytes(stream, out, 0, length)
            emit(out, ts, self._classes[CLASS_NATIVE], stream.thread, -1, -1, first)
        note_record(out, stream, length)
        stream.at += length
        return 0

    cdef inline void _bytes(self, Stream* stream, Columns* out, int64_t offset, int64_t size) noexcept nogil:
        out.values[out.value_count] = <uint64_t>(stream.segment << 32 | (stream.at + offset))
        out.values[out.value_count + 1] = <uint64_t>size
        out.value_count += 2
