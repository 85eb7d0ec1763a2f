# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Scheduling as ftrace prints it: a line for each switch and wakeup, as part of a JSON string.

The importers of Perfetto and Catapult take a line apart at its spaces.
"""

# Stub:
# from converter.kernels.batches.event_arrays import EventArrays
# from converter.kernels.tables.strings import StringTable

from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from converter.kernels.batches.column_view cimport TAKES_SCALAR, TAKES_TEXT, ColumnView, Takes, bits_of, text_of
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.text.decimal cimport write_digits, write_integer, write_last_digits
from converter.kernels.batches.event_arrays cimport EventArrays, Events, WITH_CLASS, WITH_CPU, WITH_ROW, WITH_THREAD
from converter.kernels.io.output cimport Blocks, Output, append, ensure
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    # The columns of switches, and those of wakeups.
    PREV_TID = 0
    PREV_COMM = 1
    PREV_PRIO = 2
    PREV_STATE = 3
    NEXT_TID = 4
    NEXT_COMM = 5
    NEXT_PRIO = 6
    PREV_PID = 7
    OF_SWITCHES = 8
    TID = 0
    COMM = 1
    PRIO = 2
    TARGET_CPU = 3
    OF_WAKEUPS = 4
    # Bytes of a line at most, but for what tasks and the event are called.
    MOST_OF_LINE = 384
    MOST_LETTERS = 32

cdef Takes[OF_SWITCHES] TAKES
TAKES[:] = [
    TAKES_SCALAR, TAKES_TEXT, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_TEXT, TAKES_SCALAR, TAKES_SCALAR,
]
# Numbers of processes and threads from here on represent ids that are texts.
# Perfetto's importer ends at a line of a higher CPU.
cdef int32_t LAST_CPU = 4095
cdef int64_t FIRST_TEXT_ID = <int64_t>1 << 62


cdef class LineColumns:
    """The columns of a class of switches or wakeups in a batch.

    Args:
        name: of wakeups, what their lines call them; empty of switches.
        columns: of switches int64 prev_tid, text prev_comm, int64 prev_prio, prev_state and next_tid, text next_comm,
            int64 next_prio, and the int64 id of the process of prev_tid, below 1 where it is not known; of wakeups
            int64 tid, text comm, int64 prio and target_cpu. Texts are int32 ids, or (values, offsets).

    Raises:
        ValueError: another number of columns, or one of another width.

    """

    cdef BoundColumns _columns
    cdef const ColumnView* views
    cdef int64_t rows
    # The event name of wakeups; empty for switches.
    cdef bytes _name
    cdef const uint8_t* name
    cdef int64_t name_size

    def __cinit__(self, bytes name not None, list columns not None):
        cdef int64_t i
        cdef int64_t count = OF_WAKEUPS if name else OF_SWITCHES
        if len(columns) != count:
            raise ValueError(f"{count} columns are needed")
        self._name = name
        self.name = self._name
        self.name_size = len(name)
        self._columns = BoundColumns(count)
        self.rows = INT64_MAX
        for i in range(count):
            # The first of wakeups are what those of switches are.
            self._columns.bind(i, TAKES[i], 0 if TAKES[i] == TAKES_TEXT else 8, columns[i], 0)
            self.rows = min(self.rows, self._columns.views[i].length)
        self.views = self._columns.views


cdef class SchedLines:
    """Prints lines; of one thread at a time.

    Args:
        strings: what the ids of texts are of.
        decimals: of times, in decimals of a microsecond.
        letters: of the states of tasks that leave a CPU, by bits.
        preempted: the number of the bit that says that a task was preempted.

    Raises:
        ValueError: more than 18 decimals, or 32 letters.

    """

    cdef StringTable _strings
    cdef Output _out
    cdef Blocks _blocks
    cdef int _decimals
    # The letters of states, by their bits, and the bit of tasks that were preempted.
    cdef uint8_t[MOST_LETTERS] _letters
    cdef int _letter_count
    cdef int _preempted
    # Those of the batch.
    cdef int64_t _known
    cdef int64_t _threads
    cdef const int64_t* _tids
    cdef const int64_t* _pids

    def __cinit__(self, StringTable strings not None, int decimals, bytes letters not None, int preempted):
        if not 0 <= decimals <= 18:
            raise ValueError("times have 0 to 18 decimals")
        if len(letters) > MOST_LETTERS or not 0 <= preempted < 63:
            raise ValueError(f"states have up to {MOST_LETTERS} letters")
        self._strings = strings
        self._decimals = decimals
        self._letter_count = <int>len(letters)
        memcpy(self._letters, <const uint8_t*>letters, self._letter_count)
        self._preempted = preempted
        self._blocks = Blocks()

    def __dealloc__(self):
        free(self._out.data)

    def lines(
        self,
        list classes not None: list[LineColumns | None],
        EventArrays columns not None,
        const int64_t[::1] tids,
        const int64_t[::1] pids,
        int64_t start,
        int64_t stop,
    ) -> tuple[memoryview, int]:
        """Return the lines of the events from `start` to `stop`, as they appear inside a JSON string.

        Events at a time before 0, switches without a CPU, and tasks whose ids are texts have no line.

        Args:
            classes: the columns by class; None of those that are no scheduling.
            columns: the events of the batch; threads are those that wake, in `tids` and `pids`.
            tids: the id of each thread.
            pids: the id of each thread's process.
            start: the first event.
            stop: the event after the last.

        Returns:
            The lines, and the nanoseconds of the latest of these events, -1 where there is none.

        Raises:
            ValueError: a row or text that the columns do not have.
        """
        cdef Events events = columns.common(WITH_CLASS | WITH_ROW | WITH_THREAD | WITH_CPU)
        cdef int64_t known = len(classes)
        cdef int64_t latest = -1
        cdef int64_t i, row, time
        cdef int good = 1
        cdef void* held
        cdef void** by_class
        if pids.shape[0] != tids.shape[0]:
            raise ValueError("tids and pids differ in length")
        if not 0 <= start <= stop <= events.count:
            raise ValueError(f"events {start} to {stop} of {events.count}")
        self._out.used = 0
        self._known = self._strings._count
        self._threads = tids.shape[0]
        if self._threads:
            self._tids, self._pids = &tids[0], &pids[0]
        # Borrowed: the list keeps them.
        by_class = <void**>calloc(known + 1, sizeof(void*))
        if by_class is NULL:
            raise MemoryError
        try:
            for i in range(known):
                if classes[i] is not None:
                    by_class[i] = <void*><LineColumns?>classes[i]
            with nogil:
                for i in range(start, stop):
                    if not 0 <= events.class_id[i] < known:
                        continue
                    held = by_class[events.class_id[i]]
                    if held is NULL:
                        continue
                    row = events.row[i]
                    if not 0 <= row < (<LineColumns>held).rows:
                        good = 0
                        break
                    time = self._nanoseconds(events.ts[i])
                    if time < 0:
                        continue
                    latest = max(latest, time)
                    if (<LineColumns>held).name_size:
                        good = self._wakeup(<LineColumns>held, row, time, events.thread[i], events.cpu[i])
                    elif 0 <= events.cpu[i] <= LAST_CPU:
                        good = self._switch(<LineColumns>held, row, time, events.cpu[i])
                    if good != 1:
                        break
        finally:
            free(by_class)
        if good < 0:
            raise MemoryError
        if not good:
            raise ValueError(f"event {i} is outside of its class's columns")
        return self._blocks.hand_over(&self._out), latest

    # A line of a switch: 1, 0 where a text lies outside of its column, -1 without memory.
    cdef int _switch(self, LineColumns held, int64_t row, int64_t time, int32_t cpu) noexcept nogil:
        cdef const ColumnView* views = held.views
        cdef Output* out = &self._out
        cdef int64_t left = <int64_t>bits_of(&views[PREV_TID], row, 8)
        cdef int64_t into = <int64_t>bits_of(&views[NEXT_TID], row, 8)
        cdef const uint8_t* left_name = NULL
        cdef const uint8_t* into_name = NULL
        cdef int64_t left_size = 0
        cdef int64_t into_size = 0
        if left >= FIRST_TEXT_ID or into >= FIRST_TEXT_ID:
            return 1
        if not text_of(&views[PREV_COMM], self._strings, self._known, row, &left_name, &left_size) \
                or not text_of(&views[NEXT_COMM], self._strings, self._known, row, &into_name, &into_size):
            return 0
        if not ensure(out, MOST_OF_LINE + 2 * (left_size + into_size)):
            return -1
        self._front(left, <int64_t>bits_of(&views[PREV_PID], row, 8), cpu, time)
        put(out, b"sched_switch: prev_comm=", 24)
        put_name(out, left_name, left_size)
        put(out, b" prev_pid=", 10)
        put_id(out, left)
        put(out, b" prev_prio=", 11)
        put_priority(out, <int64_t>bits_of(&views[PREV_PRIO], row, 8))
        put(out, b" prev_state=", 12)
        self._state(<int64_t>bits_of(&views[PREV_STATE], row, 8))
        put(out, b" ==> next_comm=", 15)
        put_name(out, into_name, into_size)
        put(out, b" next_pid=", 10)
        put_id(out, into)
        put(out, b" next_prio=", 11)
        put_priority(out, <int64_t>bits_of(&views[NEXT_PRIO], row, 8))
        put(out, b"\\n", 2)
        return 1

    # A line of a wakeup by the event's thread.
    cdef int _wakeup(self, LineColumns held, int64_t row, int64_t time, int32_t thread, int32_t cpu) noexcept nogil:
        cdef const ColumnView* views = held.views
        cdef Output* out = &self._out
        cdef int64_t tid = <int64_t>bits_of(&views[TID], row, 8)
        cdef int64_t target = <int64_t>bits_of(&views[TARGET_CPU], row, 8)
        cdef const uint8_t* name = NULL
        cdef int64_t size = 0
        if not 0 <= thread < self._threads or tid >= FIRST_TEXT_ID or self._tids[thread] >= FIRST_TEXT_ID:
            return 1
        if not text_of(&views[COMM], self._strings, self._known, row, &name, &size):
            return 0
        if not ensure(out, MOST_OF_LINE + 2 * size + held.name_size):
            return -1
        self._front(self._tids[thread], self._pids[thread], cpu if 0 <= cpu <= LAST_CPU else 0, time)
        put(out, held.name, held.name_size)
        put(out, b": comm=", 7)
        put_name(out, name, size)
        put(out, b" pid=", 5)
        put_id(out, tid)
        put(out, b" prio=", 6)
        put_priority(out, <int64_t>bits_of(&views[PRIO], row, 8))
        put(out, b" target_cpu=", 12)
        put_cpu(out, target if 0 <= target <= INT32_MAX else 0)
        put(out, b"\\n", 2)
        return 1

    # Put the beginning of all lines: a task, whose name the importers take from elsewhere, its process, the CPU and the
    # time.
    cdef inline void _front(self, int64_t tid, int64_t pid, int32_t cpu, int64_t time) noexcept nogil:
        cdef Output* out = &self._out
        put(out, b"<...>-", 6)
        put_id(out, tid)
        put(out, b" (", 2)
        if 0 < pid < FIRST_TEXT_ID:
            put_id(out, pid)
        else:
            put(out, b"-----", 5)
        put(out, b") [", 3)
        put_cpu(out, cpu)
        put(out, b"] .... ", 7)
        out.used += write_digits(out.data + out.used, <uint64_t>time // 1000000000)
        put(out, b".", 1)
        write_last_digits(out.data + out.used, <uint64_t>time % 1000000000, 9)
        out.used += 9
        # Half a nanosecond, so that a double of seconds cut to nanoseconds is the time.
        put(out, b"5: ", 3)

    cdef inline void _state(self, int64_t state) noexcept nogil:
        cdef Output* out = &self._out
        cdef int64_t start = out.used
        cdef int i
        for i in range(self._letter_count):
            if state >> i & 1:
                if out.used > start:
                    put(out, b"|", 1)
                put(out, &self._letters[i], 1)
        if out.used == start:
            put(out, b"R", 1)
            if state >> self._preempted & 1:
                put(out, b"+", 1)

    # Units of the file in nanoseconds, to the nearest; below 0 for what is no time of a line.
    cdef inline int64_t _nanoseconds(self, int64_t units) noexcept nogil:
        cdef int64_t power = 1
        cdef int i
        if self._decimals == 3 or units < 0:
            return units
        for i in range(abs(self._decimals - 3)):
            power *= 10
        if self._decimals < 3:
            return units * power if units <= INT64_MAX // power else -1
        return units // power + (units % power >= power - units % power)


cdef inline void put(Output* out, const uint8_t* text, int64_t size) noexcept nogil:
    memcpy(out.data + out.used, text, size)
    out.used += size


# Importers take numbers of 32 bits.
cdef inline void put_id(Output* out, int64_t number) noexcept nogil:
    out.used += write_digits(out.data + out.used, <uint32_t>number)


cdef inline void put_priority(Output* out, int64_t number) noexcept nogil:
    number = min(max(number, INT32_MIN), INT32_MAX)
    out.used += write_integer(out.data + out.used, <uint64_t>number, True)


cdef inline void put_cpu(Output* out, int64_t number) noexcept nogil:
    if number < 1000:
        write_last_digits(out.data + out.used, <uint64_t>number, 3)
        out.used += 3
    else:
        out.used += write_digits(out.data + out.used, <uint64_t>number)


# Put the name of a task: with spaces that do not end it, without bytes that would end the line or the string. There is
# room.
cdef inline void put_name(Output* out, const uint8_t* name, int64_t size) noexcept nogil:
    cdef int64_t i
    cdef uint8_t* at = out.data + out.used
    if not size:
        put(out, b"<...>", 5)
        return
    for i in range(size):
        if name[i] == c' ':
            at[0] = 0xC2
            at[1] = 0xA0
            at += 2
        else:
            at[0] = c'?' if name[i] < c' ' or name[i] == c'"' or name[i] == c'\\' or name[i] == 127 else name[i]
            at += 1
    out.used = at - out.data
