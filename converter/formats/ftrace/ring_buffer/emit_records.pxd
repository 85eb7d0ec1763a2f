# Records of event classes: the programs that fill them, and the columns of one batch that these take.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from converter.formats.ftrace.ring_buffer.emit_results cimport DONE, OUT_OF_RANGE, OUT_OF_REACH
from converter.kernels.batches.column_view cimport ColumnView, text_of, value_at
from converter.kernels.io.byte_order cimport load16, load32, load64, store16, store32, store64
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    # Operations: see emit.pyx.
    OP_INTEGER = 0
    OP_INLINE = 1
    OP_TAIL = 2
    OP_DATA_LOC = 3
    OP_REL_LOC = 4
    OP_MISSED = 5
    MAX_OPERATIONS = 1024
    # The reach of a data location.
    MAX_PLACE = 0xffff


cdef struct Operation:
    int32_t code
    int32_t offset
    int32_t width
    int32_t room
    # 1 where a NUL is put after the bytes.
    int32_t terminated


# The layout of a class and its columns in a batch.
cdef struct Rows:
    const uint8_t* template
    int64_t size
    int64_t pid_offset
    Operation* operations
    int64_t count
    bint varies
    bint missed
    const ColumnView* views
    int64_t length


# `size` bytes, each `width` of them an element.
cdef inline void copy_elements(uint8_t* to, const uint8_t* data, int64_t size, int32_t width, bint swap) noexcept nogil:
    cdef int64_t at = 0
    if size == 0:
        # There may be no data to point to.
        return
    if not swap or width == 1:
        memcpy(to, data, size)
    elif width == 2:
        while at + 2 <= size:
            store16(to + at, load16(data + at, False), True)
            at += 2
    elif width == 4:
        while at + 4 <= size:
            store32(to + at, load32(data + at, False), True)
            at += 4
    else:
        while at + 8 <= size:
            store64(to + at, load64(data + at, False), True)
            at += 8


# The bytes of a row's record, padding not counted; -1 for a string or list that does not exist.
cdef inline int64_t record_size(
    const Rows* rows, int64_t row, StringTable strings, int64_t known
) noexcept nogil:
    cdef const Operation* operation
    cdef const uint8_t* data = NULL
    cdef int64_t i
    cdef int64_t part = 0
    cdef int64_t size = rows.size
    if not rows.varies:
        return size
    for i in range(rows.count):
        operation = &rows.operations[i]
        if operation.code <= OP_INLINE:
            continue
        if not text_of(&rows.views[i], strings, known, row, &data, &part):
            return -1
        size += part + operation.terminated
    return size


# Set the position of the `size` bytes at `at` in a record.
cdef inline void locate(
    uint8_t* record, const Operation* operation, int64_t at, int64_t size, bint swap
) noexcept nogil:
    cdef int64_t place = at
    if operation.code == OP_REL_LOC:
        place -= operation.offset + operation.room
    if operation.room == 2:
        store16(record + operation.offset, <uint16_t>place, swap)
    else:
        store32(record + operation.offset, <uint32_t>(size << 16 | place), swap)


# A row's record; its `record_size`, padded, is `padded`.
cdef inline int fill_record(
    const Rows* rows,
    int64_t row,
    int32_t pid,
    uint8_t* record,
    int64_t padded,
    bint swap,
    StringTable strings,
    int64_t known,
) noexcept nogil:
    cdef const ColumnView* view
    cdef const Operation* operation
    cdef const uint8_t* data = NULL
    cdef int64_t i
    cdef int64_t size = 0
    cdef int64_t at = rows.size
    memcpy(record, rows.template, rows.size)
    if rows.pid_offset >= 0:
        store32(record + rows.pid_offset, <uint32_t>pid, swap)
    if rows.varies:
        memset(record + rows.size, 0, padded - rows.size)
    for i in range(rows.count):
        operation = &rows.operations[i]
        view = &rows.views[i]
        if operation.code == OP_INTEGER:
            if not swap:
                # The usual widths at compile time, so that each is one load and one store.
                if operation.width == 4:
                    memcpy(record + operation.offset, value_at(view, row), 4)
                elif operation.width == 8:
                    memcpy(record + operation.offset, value_at(view, row), 8)
                else:
                    memcpy(record + operation.offset, value_at(view, row), operation.width)
            else:
                copy_elements(
                    record + operation.offset, value_at(view, row), operation.width, operation.width, True
                )
            continue
        if not text_of(view, strings, known, row, &data, &size):
            return OUT_OF_RANGE
        if operation.code == OP_INLINE:
            copy_elements(record + operation.offset, data, min(size, operation.room), operation.width, swap)
            continue
        if operation.code == OP_TAIL:
            # Tails come first, so that this is the end of the fixed part unless other fields come after it.
            copy_elements(record + operation.offset, data, size, operation.width, swap)
            at = max(at, operation.offset + size + operation.terminated)
            continue
        if at > MAX_PLACE or size + operation.terminated > MAX_PLACE:
            return OUT_OF_REACH
        copy_elements(record + at, data, size, operation.width, swap)
        size += operation.terminated
        locate(record, operation, at, size, swap)
        at += size
    return DONE
