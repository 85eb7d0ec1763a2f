# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns to FXT records: each event class has a program, run over the rows that it has in a group of events.

A record refers to strings and threads that records before it have registered, at the latest right before it. Several
emitters emit for one provider at the same time, each a part of a batch: up to what is not registered yet.
"""

# Stub:
# from converter.formats.fxt.writing.emit_provider import Provider
#
# #: Results of `Emitter.emit`: OK, or why the event that it stopped at cannot be written.
# OK: int
# TEXT_TOO_LONG: int
# RECORD_TOO_LARGE: int
# BAD_COLUMN: int
# BAD_RECORD: int
# #: The event refers to something that only an emission that follows all events before it can register.
# MUST_FOLLOW: int

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memset

from converter.formats.fxt.words cimport (
    INLINE, KERNEL_OBJECT, MAX_RECORD, SHAPE_LARGE, SHAPE_LARGE_TIMED, SHAPE_NATIVE, rarely,
)
from converter.formats.fxt.writing.emit_arguments cimport (
    COLUMNS, CPU, GROUP, One, PROGRAM, ROW, Rows, SLOT, THREAD, TS, put_records, size_of,
)
from converter.formats.fxt.writing.emit_output cimport BLOCK, Records, begin_record, put_stream, put_word, reserve, set_size
from converter.formats.fxt.writing.emit_programs cimport Program
from converter.formats.fxt.writing.emit_provider cimport Provider
from converter.formats.fxt.writing.emit_records cimport emit_record
from converter.formats.fxt.writing.emit_references cimport Emission, register_all, register_thread
from converter.formats.fxt.writing.emit_slots cimport next_thread_slot, register_string, string_slot
from converter.kernels.batches.column_view cimport ColumnView, bits_of, id_of
from converter.kernels.io.byte_order cimport HOST_IS_BIG
from converter.kernels.io.output cimport put_bytes

cdef extern from *:
    void __builtin_prefetch(const void*, int) noexcept nogil

cdef enum:
    OBJECT_PROCESS = 1
    OBJECT_THREAD = 2
    ARGUMENT_KOID = 8
    # Events of the first group after an event that has registered something: one of the next few may do so, too.
    FEW = 16
    # Bytes that the processor fetches at a time.
    LINE = 64

# The sizes of the records of a group of events, their positions, and the events in the order of their programs.
cdef struct Group:
    uint32_t[GROUP] size
    uint32_t[GROUP] place
    int32_t[GROUP] order
    int32_t[GROUP] programs


cdef class Emitter:
    """Makes records of events, with the string and thread records that they need before them."""

    cdef Provider _provider
    cdef Emission _emission
    cdef int32_t _process
    cdef Rows* _rows
    cdef Group* _group
    # The event that is emitted by itself, and columns of this one.
    cdef One _one
    cdef ColumnView[COLUMNS] _of_one
    # By program: how many events of the group it has, and then where the next one goes; 0 between groups.
    cdef int32_t* _counts

    def __cinit__(self, Provider provider not None):
        self._provider = provider
        self._emission.records.swap = provider.big_endian != HOST_IS_BIG
        self._emission.strings = &provider.strings
        self._emission.threads = &provider.threads
        self._process = provider._strings.intern(b"process")
        self._of_one[TS].data = <const uint8_t*>&self._one.ts
        self._of_one[THREAD].data = <const uint8_t*>&self._one.thread
        self._of_one[CPU].data = <const uint8_t*>&self._one.cpu
        self._of_one[SLOT].data = <const uint8_t*>&self._one.slot
        self._rows = <Rows*>calloc(1, sizeof(Rows))
        self._group = <Group*>calloc(1, sizeof(Group))
        if self._rows is NULL or self._group is NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._emission.records.out.data)
        free(self._rows)
        free(self._group)
        free(self._counts)

    @property
    def size(self) -> int:
        """Bytes emitted and not yet taken."""
        return self._emission.records.out.used

    def take(self) -> memoryview:
        """Return the output since the last call: a block that nobody changes, reused when the caller releases it."""
        return self._provider.blocks.hand_over(&self._emission.records.out)

    def put(self, const uint8_t[::1] data) -> None:
        """Emit whole records as they are."""
        if data.shape[0]:
            if not reserve(&self._emission.records, data.shape[0]):
                raise MemoryError
            put_bytes(&self._emission.records.out, &data[0], data.shape[0])

    def name_process(self, uint64_t koid, bytes name) -> None:
        """A kernel object record that names a process."""
        self._name(OBJECT_PROCESS, koid, 0, name)

    def name_thread(self, int64_t thread, bytes name) -> None:
        """A kernel object record that names a thread."""
        cdef const uint64_t* koids = self._provider.threads.koids
        if not 0 <= thread < self._provider.threads.count:
            raise ValueError(f"no thread {thread}")
        self._name(OBJECT_THREAD, koids[2 * thread + 1], koids[2 * thread], name)
        self._provider.threads.seen[thread] = 1

    def declare_threads(self) -> None:
        """Thread records for all threads that no record has mentioned."""
        cdef Emission* to = &self._emission
        cdef int64_t i
        cdef int16_t slot
        for i in range(to.threads.count):
            if not to.threads.seen[i]:
                slot = next_thread_slot(to.threads, <int32_t>i)
                if not register_thread(to, <int32_t>i, &slot):
                    raise MemoryError

    def emit(self, int64_t start, int64_t stop, bint follows) -> tuple[int, int]:
        """Emit events of the batch from number `start` on until a MiB of output is ready: (status, number of the next).

        Only emitters with `follows`, which come after all events before, register strings; others stop with
        MUST_FOLLOW, and may run at the same time. Releases the GIL. Raises ValueError for events that the batch does
        not have.
        """
        cdef int64_t at = start
        cdef int64_t most = FEW if follows else GROUP
        cdef int64_t made
        cdef int status = OK
        if not 0 <= start <= stop <= self._provider.count:
            raise ValueError(f"events {start} to {stop} of {self._provider.count}")
        self._counts = <int32_t*>counted(self._counts, self._provider._program_count)
        with nogil:
            while at < stop and self._emission.records.out.used < BLOCK:
                made = 0
                # Where slots are scarce, the references of each record must be noted.
                if not self._emission.strings.scarce and not (follows and at == start):
                    made = self._emit_group(at, min(stop, at + most))
                    at += made
                    if made == most:
                        most = min(<int64_t>GROUP, 2 * most)
                        continue
                    most = FEW if follows else GROUP
                if at < stop:
                    status = self._emit_one(at, follows)
                    if status != OK:
                        break
                    at += 1
        if status == NO_MEMORY:
            raise MemoryError
        return status, at

    def _name(self, int kind, uint64_t koid, uint64_t process_koid, bytes name):
        cdef Emission* to = &self._emission
        cdef Records* out = &to.records
        cdef const uint8_t[::1] view = name
        cdef const uint8_t* text
        cdef int64_t reference = 0
        cdef int64_t of_process = 0
        cdef int64_t length = view.shape[0]
        cdef uint64_t header
        self._provider.follow_strings()
        text = &view[0] if length else NULL
        to.strings.record += 1
        if length > MAX_RECORD - 32:
            reference = register_string(to.strings, out, text, length, -1)
            if reference == TEXT_TOO_LONG:
                raise ValueError("name too long")
        elif length:
            reference = INLINE | length
        if kind == OBJECT_THREAD:
            of_process = string_slot(to.strings, out, self._provider._strings, self._process)
        if reference < 0 or of_process < 0 or not reserve(out, length):
            raise MemoryError
        begin_record(out)
        header = KERNEL_OBJECT | <uint64_t>kind << 16 | <uint64_t>reference << 24
        if kind == OBJECT_THREAD:
            header |= <uint64_t>1 << 40
        put_word(out, header)
        put_word(out, koid)
        if reference & INLINE:
            put_stream(out, text, length)
        if kind == OBJECT_THREAD:
            put_word(out, ARGUMENT_KOID | <uint64_t>2 << 4 | <uint64_t>of_process << 16)
            put_word(out, process_koid)
        set_size(out, header)

    # Emit events up to `stop`, as many as need nothing to be registered and have arguments: how many.
    cdef int64_t _emit_group(self, int64_t start, int64_t stop) noexcept nogil:
        cdef Emission* to = &self._emission
        cdef const ColumnView* events = &self._provider.events[0]
        cdef Group* group = self._group
        cdef Rows* rows = self._rows
        cdef int32_t* counts = self._counts
        cdef const Program* program
        cdef int64_t most = min(stop - start, <int64_t>GROUP)
        cdef int64_t count = 0
        cdef int64_t total = 0
        cdef int64_t row, size, i, k
        cdef int32_t number, first, end, at
        cdef int32_t programs = 0
        # Apart: the compiler takes it that what is written may be written over what it knows of these.
        cdef ColumnView numbers = events[PROGRAM]
        cdef ColumnView row_of = events[ROW]
        cdef ColumnView slots = events[SLOT]
        cdef const Program* of = self._provider.programs
        cdef int64_t known = self._provider._program_count
        cdef uint8_t* begin
        while count < most and total < BLOCK:
            number = id_of(&numbers, start + count)
            row = id_of(&row_of, start + count)
            if number < 0 or number >= known:
                break
            program = &of[number]
            if not program.regular or row < 0 or row >= program.rows or (program.arguments and not program.named):
                break
            size = size_of(to, program, row, <int16_t>bits_of(&slots, start + count, 2))
            if size < 0:
                break
            if counts[number] == 0:
                group.programs[programs] = number
                programs += 1
            counts[number] += 1
            group.size[count] = <uint32_t>size
            group.place[count] = <uint32_t>total
            total += size
            count += 1
        if not reserve(&to.records, total):
            for i in range(programs):
                counts[group.programs[i]] = 0
            return 0
        begin = to.records.out.data + to.records.out.used
        end = 0
        for i in range(programs):
            first = end
            end += counts[group.programs[i]]
            counts[group.programs[i]] = first
        for i in range(count):
            number = id_of(&numbers, start + i)
            group.order[counts[number]] = <int32_t>i
            # Prefetch all lines that are to be written: by class they do not follow one another.
            __builtin_prefetch(begin + group.place[i], 1)
            __builtin_prefetch(begin + group.place[i] + LINE, 1)
            counts[number] += 1
        rows.failed = <int32_t>count
        rows.events = events
        rows.start = start
        end = 0
        for i in range(programs):
            number = group.programs[i]
            first = end
            end = counts[number]
            counts[number] = 0
            rows.count = end - first
            for k in range(rows.count):
                at = group.order[first + k]
                rows.event[k] = at
                rows.row[k] = id_of(&row_of, start + at)
                rows.size[k] = group.size[at]
                rows.at[k] = begin + group.place[at]
            put_records(to, &of[number], rows)
        to.records.out.used += group.place[rows.failed] if rows.failed < count else total
        return rows.failed

    cdef int _emit_one(self, int64_t event, bint follows) noexcept nogil:
        cdef Emission* to = &self._emission
        cdef int64_t start = to.records.out.used
        cdef const ColumnView* events = &self._provider.events[0]
        cdef Rows* rows = self._rows
        cdef int32_t number = id_of(&events[PROGRAM], event)
        cdef Program* program
        cdef int status
        if number < 0 or number >= self._provider._program_count:
            return BAD_COLUMN
        program = &self._provider.programs[number]
        self._one.ts = <int64_t>bits_of(&events[TS], event, 8)
        self._one.thread = id_of(&events[THREAD], event)
        self._one.cpu = id_of(&events[CPU], event)
        self._one.slot = <int16_t>bits_of(&events[SLOT], event, 2)
        rows.events = &self._of_one[0]
        rows.start = rows.event[0] = 0
        rows.row[0] = id_of(&events[ROW], event)
        rows.count = rows.failed = 1
        rows.status = OK
        if not 0 <= rows.row[0] < program.rows or program.threaded and self._one.slot < 0:
            return BAD_COLUMN
        if follows:
            to.strings.record += 1
        # Texts in slots: their inline form gains nothing in a record of this size.
        to.all_registered = program.shape == SHAPE_LARGE or program.shape == SHAPE_LARGE_TIMED
        status = self._make(program, follows)
        if rarely(status == RECORD_TOO_LARGE) and program.shape != SHAPE_NATIVE and not to.all_registered:
            # Once more, with all its texts in slots. What was registered before stays.
            to.all_registered = True
            status = self._make(program, follows)
        to.all_registered = False
        if status != OK:
            to.records.out.used = start
        return status

    # Make the record of the only row, after the records for what it has to register.
    cdef int _make(self, Program* program, bint follows) noexcept nogil:
        cdef Emission* to = &self._emission
        cdef Rows* rows = self._rows
        cdef int64_t row = rows.row[0]
        cdef One* one = &self._one
        cdef int64_t size
        cdef int status = OK
        if follows:
            status = register_all(to, self._provider._strings, program, row, one.thread, &one.slot)
        elif to.all_registered or to.strings.scarce or (program.arguments and not program.named):
            status = MUST_FOLLOW
        elif program.threaded and not register_thread(to, one.thread, &one.slot):
            status = NO_MEMORY
        if status == OK and not reserve(&to.records, 0):
            status = NO_MEMORY
        if status != OK:
            return status
        begin_record(&to.records)
        if program.regular:
            size = size_of(to, program, row, one.slot)
            if size < 0:
                return <int>size
            if not reserve(&to.records, size):
                return NO_MEMORY
            rows.size[0] = <uint32_t>size
            rows.at[0] = to.records.out.data + to.records.out.used
            put_records(to, program, rows)
            to.records.out.used += size
            return rows.status
        status = emit_record(to, self._provider._strings, program, one, rows)
        if status == RECORD_TOO_LARGE:
            to.records.out.used = to.records.begin
        return status


# Return `count` zeros.
cdef void* counted(void* counts, int64_t count) except NULL:
    cdef void* moved = realloc(counts, (count + 1) * sizeof(int32_t))
    if moved is NULL:
        raise MemoryError
    memset(moved, 0, (count + 1) * sizeof(int32_t))
    return moved
