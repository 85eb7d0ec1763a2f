# Running a program: the steps of an event's class for one row of its columns.

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from converter.formats.perfetto.writing.kernels.emit cimport BAD_COLUMN, NEW_TEXT, NO_MEMORY, TOO_LARGE
from converter.formats.perfetto.writing.kernels.emit_interning cimport Interned, Interning, intern, is_interned, tSTRINGS
from converter.formats.perfetto.writing.kernels.emit_output cimport (
    Messages, UpperBits, close_message, ensure_at, open_message, put, put_tagged,
)
from converter.formats.perfetto.writing.kernels.emit_programs cimport (
    STEP_ROOM, Program, Step, sCLOSE, sEACH, sFIXED32, sFIXED64, sFLAGS, sI16, sI32, sI64, sI8, sINTERNED, sLITERAL,
    sNAME, sOPEN, sOPTIONAL, sPLACE, sRAW, sSYMBOL, sTEXT, sU16, sU32, sU64, sU8, sUNION,
)
from converter.kernels.batches.column_view cimport ColumnView, elements_of, integer_of, option_of, span_of
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load16, load32, load64, store32, store64
from converter.kernels.tables.strings cimport Entry, PADDING, StringTable

cdef extern from *:
    void __builtin_prefetch(const void*) noexcept nogil

cdef enum:
    # For how many numbers of a list room is made at a time.
    ELEMENTS = 64


cdef struct Emission:
    Messages messages
    # Texts of the sequence, whether it may be given more, and those that this packet gives it.
    Interning* interning
    bint interns
    Interned interned
    # Why a step failed.
    int status
    # The track of the event, where it has any.
    bint placed
    uint64_t place
    # The flags of a kernel event.
    uint64_t flags
    # The upper bits that times have in common.
    UpperBits upper


cdef inline uint8_t* failed(Emission* to, int status) noexcept nogil:
    to.status = status
    return NULL


# Put the tag of a step, whose bytes are written in one go; return the position after it.
cdef inline uint8_t* put_tag(uint8_t* at, const Step* step) noexcept nogil:
    store64(at, step.tag, HOST_IS_BIG)
    return at + step.tag_size


# Bytes as they are, with room for the steps that follow; NULL without memory.
cdef inline uint8_t* put_raw(
    Emission* to, const Program* one, uint8_t* at, const uint8_t* data, int64_t size
) noexcept nogil:
    at = ensure_at(&to.messages.out, at, size + one.room)
    if at is NULL:
        return failed(to, NO_MEMORY)
    # There may be no address of zero bytes.
    if size:
        memcpy(at, data, size)
    return at + size


# Put a string by its id, also with its tag. Most are short, for which a call takes longer than a step or two.
cdef inline uint8_t* put_string(
    Emission* to, StringTable strings, const Program* one, const Step* step, int32_t id, uint8_t* at
) noexcept nogil:
    cdef Entry* entry
    cdef int64_t size
    cdef int64_t k = 0
    if id < 0 or id >= to.interning.known:
        return failed(to, BAD_COLUMN)
    entry = strings.entry(id)
    size = entry.size
    if size >> 31:
        return failed(to, TOO_LARGE)
    at = ensure_at(&to.messages.out, put_tagged(at, step.tag, step.tag_size, <uint64_t>size), size + one.room)
    if at is NULL:
        return failed(to, NO_MEMORY)
    while k < size:
        memcpy(at + k, entry.data + k, PADDING)
        k += PADDING
    return at + size


# Return the position of the value of a row; a later one is prefetched while this one is read.
cdef inline const uint8_t* value_of(const Step* step, int64_t row) noexcept nogil:
    cdef const uint8_t* value = step.data + row * step.stride
    __builtin_prefetch(value + step.ahead)
    return value


# A number as a field.
cdef inline uint8_t* put_number(uint8_t* at, const Step* step, uint64_t value) noexcept nogil:
    if value == 0 and step.table:
        # A field of the record that only says what is not usual.
        return at
    return put_tagged(at, step.tag, step.tag_size, value)


# A number of each element; NULL where that fails, with `to.status`.
cdef inline uint8_t* put_numbers(
    Emission* to, const Program* one, const Step* step, int64_t begin, int64_t end, uint8_t* at
) noexcept nogil:
    cdef const ColumnView* view = step.view
    cdef bint signed = step.op >= sI8
    cdef int width = <int>view.width
    cdef int64_t k
    value_of(step, begin)
    for k in range(begin, end):
        if (k - begin) % ELEMENTS == 0:
            at = ensure_at(&to.messages.out, at, one.room + ELEMENTS * STEP_ROOM)
            if at is NULL:
                return failed(to, NO_MEMORY)
        at = put_number(at, step, integer_of(view, k, width, signed))
    return at


# A number of a table of interned texts, which the packet brings with it when it is the first to use it.
cdef inline uint8_t* put_interned_id(
    Emission* to, StringTable strings, const Step* step, int32_t id, uint8_t* at
) noexcept nogil:
    if id < 0 or id >= to.interning.known:
        return failed(to, BAD_COLUMN)
    if not is_interned(to.interning, id, step.table):
        if not to.interns:
            return failed(to, NEW_TEXT)
        if not intern(to.interning, &to.interned, strings, id, step.table):
            return failed(to, NO_MEMORY)
    return put_tagged(at, step.tag, step.tag_size, to.interning.numbers[id])


# Put a string of a column that the sequence interns, or a text that is written in full.
cdef inline uint8_t* put_interned_column(
    Emission* to, StringTable strings, const Program* one, const Step* step, int64_t row, uint8_t* at
) noexcept nogil:
    cdef const uint8_t* data
    cdef int64_t size
    cdef int32_t id
    if step.view.offsets is NULL:
        id = <int32_t>load32(value_of(step, row), False)
        # The empty text is an annotation's value, but no name.
        if id or step.table == tSTRINGS:
            at = put_interned_id(to, strings, step, id, at)
        return at
    if not span_of(step.view, row, 1, &data, &size):
        return failed(to, BAD_COLUMN)
    if size or step.table == tSTRINGS:
        if size >> 31:
            return failed(to, TOO_LARGE)
        at = put_raw(to, one, put(put(at, step.inline_tag), <uint64_t>size), data, size)
    return at


# Run the steps of a program from `following` on, up to `after`, for one row that all their columns have; NULL where
# that fails, with `to.status`. There is room for all steps, which is made again after each text and element.
cdef inline uint8_t* run_steps(
    Emission* to, StringTable strings, const Program* one, const Step* following, const Step* after, int64_t row,
    uint8_t* at,
) noexcept nogil:
    cdef const Step* step
    cdef const ColumnView* view
    cdef const uint8_t* data
    cdef int64_t begin, end, k
    cdef int32_t id
    cdef int16_t tag
    cdef const Step* which
    cdef int op
    while following < after:
        step = following
        following += 1
        op = step.op
        # Each width at compile time, so that it is one load.
        if op == sI32:
            at = put_number(at, step, <uint64_t><int64_t><int32_t>load32(value_of(step, row), False))
        elif op == sU32:
            at = put_number(at, step, load32(value_of(step, row), False))
        elif op == sU64 or op == sI64 or op == sSYMBOL:
            at = put_number(at, step, load64(value_of(step, row), False))
        elif op == sU8:
            at = put_number(at, step, value_of(step, row)[0])
        elif op == sU16:
            at = put_number(at, step, load16(value_of(step, row), False))
        elif op == sI8:
            at = put_number(at, step, <uint64_t><int64_t><int8_t>value_of(step, row)[0])
        elif op == sI16:
            at = put_number(at, step, <uint64_t><int64_t><int16_t>load16(value_of(step, row), False))
        elif op == sTEXT:
            view = step.view
            if view.offsets is NULL:
                at = put_string(to, strings, one, step, <int32_t>load32(value_of(step, row), False), at)
            else:
                if not span_of(view, row, view.width, &data, &end):
                    return failed(to, BAD_COLUMN)
                if end >> 31:
                    return failed(to, TOO_LARGE)
                at = put_raw(to, one, put_tagged(at, step.tag, step.tag_size, <uint64_t>end), data, end)
            if at is NULL:
                return NULL
        elif op == sOPEN:
            at = open_message(&to.messages, put_tag(at, step))
        elif op == sCLOSE:
            at = close_message(&to.messages, at)
        elif op == sFIXED64:
            at = put_tag(at, step)
            store64(at, load64(value_of(step, row), False), HOST_IS_BIG)
            at += 8
        elif op == sFIXED32:
            at = put_tag(at, step)
            store32(at, load32(value_of(step, row), False), HOST_IS_BIG)
            at += 4
        elif op == sLITERAL:
            memcpy(at, step.literal, step.literal_size)
            at += step.literal_size
        elif op == sFLAGS:
            to.flags = load32(value_of(step, row), False)
        elif op == sNAME:
            at = put_interned_id(to, strings, step, <int32_t>step.inline_tag, at)
            if at is NULL:
                return NULL
        elif op == sPLACE:
            if to.placed:
                at = put_tagged(at, step.tag, step.tag_size, to.place)
        elif op == sINTERNED:
            at = put_interned_column(to, strings, one, step, row, at)
            if at is NULL:
                return NULL
        elif op == sRAW:
            if not span_of(step.view, row, 1, &data, &end):
                return failed(to, BAD_COLUMN)
            at = put_raw(to, one, at, data, end)
            if at is NULL:
                return NULL
        elif op == sEACH:
            if not elements_of(step.view, row, &begin, &end) or (end > step.inner_rows and begin < end):
                return failed(to, BAD_COLUMN)
            if step.count == 1 and following.op <= sI64:
                at = put_numbers(to, one, following, begin, end, at)
                following += 1
                if at is NULL:
                    return NULL
                continue
            for k in range(begin, end):
                at = run_steps(to, strings, one, following, following + step.count, k, at)
                if at is NULL:
                    return NULL
                at = ensure_at(&to.messages.out, at, one.room)
                if at is NULL:
                    return failed(to, NO_MEMORY)
            following += step.count
        elif op == sOPTIONAL:
            if value_of(step, row)[0]:
                if row >= step.inner_rows:
                    return failed(to, BAD_COLUMN)
                at = run_steps(to, strings, one, following, following + step.count, row, at)
                if at is NULL:
                    return NULL
            following += step.count
        elif op == sUNION:
            if not option_of(step.view, row, &tag, &id):
                return failed(to, BAD_COLUMN)
            # Each option is a step of its own, followed by those of its value.
            which = following
            following += step.count
            while tag > 0 and which < following:
                which += 1 + which.count
                tag -= 1
            if which >= following or id >= which.inner_rows:
                return failed(to, BAD_COLUMN)
            at = run_steps(to, strings, one, which + 1, which + 1 + which.count, id, at)
            if at is NULL:
                return NULL
    return at


# The same of steps `first` to `last`.
cdef inline uint8_t* run(
    Emission* to, StringTable strings, const Program* one, int first, int last, int64_t row, uint8_t* at
) noexcept nogil:
    return run_steps(to, strings, one, one.step + first, one.step + last, row, at)
