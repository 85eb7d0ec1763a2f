# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns to the records of perf.data: samples of call stacks, tracepoints with the kernel's records, and lost events.

The program of a class says which record its rows become, and with which ids: an event has one for samples with a CPU,
and another one for those without. Records are little-endian and appended in stream order.
"""

# Stub:
# from collections.abc import Mapping
# from converter.formats.ftrace.ring_buffer.emit import RecordColumns
# from converter.kernels.batches.event_arrays import EventArrays
# from converter.kernels.tables.strings import StringTable

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from converter.formats.ftrace.ring_buffer.emit cimport RecordColumns
from converter.formats.ftrace.ring_buffer.emit_records cimport Rows, fill_record, record_size
from converter.formats.ftrace.ring_buffer.emit_results cimport DONE, OUT_OF_MEMORY, OUT_OF_RANGE, OUT_OF_REACH, TOO_LARGE
from converter.kernels.batches.column_view cimport ColumnView, TAKES_BYTES, TAKES_SCALAR, bits_of, span_of
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.batches.event_arrays cimport EventArrays, Events, WITH_CLASS, WITH_CPU, WITH_ROW
from converter.kernels.io.byte_order cimport HOST_IS_BIG
from converter.kernels.io.output cimport Blocks, Output, ensure, put16, put32, put64
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    TYPE_LOST = 2
    TYPE_SAMPLE = 9
    MISC_UNKNOWN = 0
    MISC_KERNEL = 1
    MISC_USER = 2
    # The largest record.
    MOST_BYTES = 0xFFF8
    # The most bytes of a record without call chain and kernel's record: header, identifier, ip, task, time, CPU,
    # period, count.
    FIXED_BYTES = 64
    # An output larger than this is to be taken.
    BLOCK = 1 << 22

    KIND_SAMPLE = 0
    KIND_TRACEPOINT = 1
    KIND_LOST = 2

cdef uint64_t CONTEXT_KERNEL = <uint64_t>-128
cdef uint64_t CONTEXT_USER = <uint64_t>-512
#: Addresses from here on are the kernel's.
cdef uint64_t KERNEL_SPACE = <uint64_t>1 << 63


# What the rows of a class become in one batch.
cdef struct Program:
    int kind
    # The ids of samples with a CPU and without.
    uint64_t with_cpu
    uint64_t without_cpu
    int64_t length
    # Of a tracepoint.
    const Rows* rows
    # Of samples: the call stack and the period; of lost events their number.
    const ColumnView* views


# Where an event is.
cdef struct Task:
    uint64_t ts
    int32_t pid
    int32_t tid
    int32_t cpu


cdef class EventColumns:
    """The columns of one class in a batch, and the ids of its samples."""

    cdef Program _program
    cdef RecordColumns _records
    cdef BoundColumns _columns

    def __cinit__(self, uint64_t with_cpu, uint64_t without_cpu):
        """Columns of nothing: `take_records`, `take_samples` or `take_counts` follows."""
        self._program.with_cpu, self._program.without_cpu = with_cpu, without_cpu

    def take_records(self, RecordColumns records not None) -> None:
        """Take the columns of a tracepoint, as the kernel's records do."""
        self._records = records
        self._program.kind = KIND_TRACEPOINT
        self._program.rows = &records.rows
        self._program.length = records.rows.length

    def take_samples(
        self, frames: tuple[NDArray[uint64], NDArray[int64]], periods: NDArray[int64], int64_t length
    ) -> None:
        """Take call stacks, the innermost address first, and periods.

        Raises ValueError for too few, or of another width.
        """
        self._columns = BoundColumns(2)
        self._columns.bind(0, TAKES_BYTES, 8, frames, length)
        self._columns.bind(1, TAKES_SCALAR, 8, periods, length)
        self._program.kind = KIND_SAMPLE
        self._program.views = self._columns.views
        self._program.length = length

    def take_counts(self, counts: NDArray[int64], int64_t length) -> None:
        """Take numbers of lost events. Raises ValueError for too few, or of another width."""
        self._columns = BoundColumns(1)
        self._columns.bind(0, TAKES_SCALAR, 8, counts, length)
        self._program.kind = KIND_LOST
        self._program.views = self._columns.views
        self._program.length = length


cdef class RecordEmitter:
    """Records under construction."""

    cdef StringTable _strings
    cdef int64_t _known
    cdef Output _out
    cdef Blocks _blocks

    def __init__(self, StringTable strings not None):
        self._strings = strings
        self._blocks = Blocks()
        self._out = self._blocks.take()

    def __dealloc__(self):
        free(self._out.data)

    def emit(self, EventArrays given not None, tables: Mapping[int, EventColumns], int64_t start) -> int:
        """Append the records of events from `start` on, in order, until there is much to take; the number of the next.

        Raises ValueError for events without a class, row, string or list, and OverflowError for one that no record
        holds. The columns have a `pid` and a `tid` beside the common ones. Releases the GIL.
        """
        cdef Events events = given.common(WITH_CLASS | WITH_ROW | WITH_CPU)
        cdef Task task
        cdef const int32_t* pid = <const int32_t*>given.own("pid", 4)
        cdef const int32_t* tid = <const int32_t*>given.own("tid", 4)
        cdef int64_t i = start
        cdef int status = DONE
        cdef int32_t id
        cdef EventColumns columns
        cdef int64_t classes = max(tables, default=-1) + 1
        cdef Program** by_class
        if start < 0 or min(tables, default=0) < 0:
            raise ValueError("negative numbers of events or classes")
        by_class = <Program**>calloc(classes + 1, sizeof(Program*))
        if by_class is NULL:
            raise MemoryError
        self._known = len(self._strings)
        try:
            for number, held in tables.items():
                columns = <EventColumns?>held
                by_class[<int64_t>number] = &columns._program
            with nogil:
                while i < events.count and self._out.used < BLOCK:
                    id = events.class_id[i]
                    if id < 0 or id >= classes or by_class[id] is NULL:
                        status = OUT_OF_RANGE
                        break
                    task.pid, task.tid, task.cpu, task.ts = pid[i], tid[i], events.cpu[i], <uint64_t>events.ts[i]
                    status = self._emit_one(by_class[id], events.row[i], &task)
                    if status != DONE:
                        break
                    i += 1
        finally:
            free(by_class)
        if status == OUT_OF_MEMORY:
            raise MemoryError
        if status == OUT_OF_RANGE:
            raise ValueError(f"event {i} has no class, row or string of its own")
        if status != DONE:
            raise OverflowError(f"event {i} is larger than a record")
        return i

    def take(self) -> memoryview:
        """Remove and return the records so far."""
        return self._blocks.hand_over(&self._out)

    cdef int _emit_one(self, const Program* program, int64_t row, const Task* task) noexcept nogil:
        if row < 0 or row >= program.length:
            return OUT_OF_RANGE
        if not ensure(&self._out, FIXED_BYTES, BLOCK):
            return OUT_OF_MEMORY
        if program.kind == KIND_SAMPLE:
            return put_sample(&self._out, program, row, task)
        if program.kind == KIND_TRACEPOINT:
            return put_tracepoint(&self._out, program, row, task, self._strings, self._known)
        put_lost(&self._out, program, row, task)
        return DONE


# Task, time and CPU, as samples and the ends of other records have them.
cdef inline void put_task(Output* out, const Task* task) noexcept nogil:
    put32(out, <uint32_t>task.pid, HOST_IS_BIG)
    put32(out, <uint32_t>task.tid, HOST_IS_BIG)
    put64(out, task.ts, HOST_IS_BIG)


cdef inline void put_cpu(Output* out, const Task* task) noexcept nogil:
    if task.cpu >= 0:
        put32(out, <uint32_t>task.cpu, HOST_IS_BIG)
        put32(out, 0, HOST_IS_BIG)


# The header of a record whose size follows later.
cdef inline void put_header(Output* out, uint32_t type, uint16_t misc) noexcept nogil:
    put32(out, type, HOST_IS_BIG)
    put16(out, misc, HOST_IS_BIG)
    put16(out, 0, HOST_IS_BIG)


cdef inline uint64_t id_of(const Program* program, const Task* task) noexcept nogil:
    return program.without_cpu if task.cpu < 0 else program.with_cpu


# Set the size of the record at `start`, which ends here; TOO_LARGE, and nothing is left, if no record is as large.
cdef inline int end_record(Output* out, int64_t start) noexcept nogil:
    cdef int64_t size = out.used - start
    if size > MOST_BYTES:
        out.used = start
        return TOO_LARGE
    out.used = start + 6
    put16(out, <uint16_t>size, HOST_IS_BIG)
    out.used = start + size
    return DONE


cdef inline uint64_t address_at(const uint8_t* data, int64_t i) noexcept nogil:
    cdef uint64_t address
    memcpy(&address, data + 8 * i, 8)
    return address


# A sample of a call stack. Where the kernel or a program begins, the call chain has a mark.
cdef int put_sample(Output* out, const Program* program, int64_t row, const Task* task) noexcept nogil:
    cdef const uint8_t* data = NULL
    cdef int64_t size = 0
    cdef int64_t i, count_at, marks
    cdef int64_t start = out.used
    cdef uint64_t address
    cdef bint is_kernel
    cdef int mode = -1
    if not span_of(&program.views[0], row, 8, &data, &size):
        return OUT_OF_RANGE
    size //= 8
    if 8 * size > MOST_BYTES:
        return TOO_LARGE
    if not ensure(out, FIXED_BYTES + 16 * size, BLOCK):
        return OUT_OF_MEMORY
    address = address_at(data, 0) if size else 0
    put_header(
        out, TYPE_SAMPLE, (MISC_KERNEL if address >= KERNEL_SPACE else MISC_USER) if size else MISC_UNKNOWN
    )
    put64(out, id_of(program, task), HOST_IS_BIG)
    put64(out, address, HOST_IS_BIG)
    put_task(out, task)
    put_cpu(out, task)
    put64(out, bits_of(&program.views[1], row, 8), HOST_IS_BIG)
    count_at = out.used
    put64(out, 0, HOST_IS_BIG)
    marks = 0
    for i in range(size):
        address = address_at(data, i)
        is_kernel = address >= KERNEL_SPACE
        if is_kernel != mode:
            mode = is_kernel
            marks += 1
            put64(out, CONTEXT_KERNEL if is_kernel else CONTEXT_USER, HOST_IS_BIG)
        put64(out, address, HOST_IS_BIG)
    out.used = count_at
    put64(out, <uint64_t>(size + marks), HOST_IS_BIG)
    out.used += 8 * (size + marks)
    return end_record(out, start)


# A tracepoint: the kernel's record, padded so that the sample's size is a multiple of 8.
cdef int put_tracepoint(
    Output* out, const Program* program, int64_t row, const Task* task, StringTable strings, int64_t known
) noexcept nogil:
    cdef int64_t size = record_size(program.rows, row, strings, known)
    cdef int64_t start = out.used
    cdef int64_t padded
    cdef int status
    if size < 0:
        return OUT_OF_RANGE
    padded = ((size + 4 + 7) & ~<int64_t>7) - 4
    if padded > MOST_BYTES:
        return TOO_LARGE
    if not ensure(out, FIXED_BYTES + padded, BLOCK):
        return OUT_OF_MEMORY
    put_header(out, TYPE_SAMPLE, MISC_KERNEL)
    put64(out, id_of(program, task), HOST_IS_BIG)
    put_task(out, task)
    put_cpu(out, task)
    put32(out, <uint32_t>padded, HOST_IS_BIG)
    memset(out.data + out.used + program.rows.size, 0, padded - program.rows.size)
    status = fill_record(program.rows, row, task.tid, out.data + out.used, padded, HOST_IS_BIG, strings, known)
    if status != DONE:
        out.used = start
        return TOO_LARGE if status == OUT_OF_REACH else status
    out.used += padded
    return end_record(out, start)


cdef void put_lost(Output* out, const Program* program, int64_t row, const Task* task) noexcept nogil:
    cdef int64_t start = out.used
    cdef uint64_t id = id_of(program, task)
    put_header(out, TYPE_LOST, MISC_UNKNOWN)
    put64(out, id, HOST_IS_BIG)
    put64(out, bits_of(&program.views[0], row, 8), HOST_IS_BIG)
    put_task(out, task)
    put_cpu(out, task)
    put64(out, id, HOST_IS_BIG)
    end_record(out, start)
