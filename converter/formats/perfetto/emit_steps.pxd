# Running a program: the steps of an event's class for one row of its columns.

from libc.stdint cimport int16_t, int32_t, int64_t, int8_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from converter.formats.perfetto.emit cimport BAD_COLUMN, NO_MEMORY, TOO_LARGE
from converter.formats.perfetto.emit_interning cimport Interning, intern, tSTRINGS
from converter.formats.perfetto.emit_output cimport Output, close_message, ensure, open_message, put
from converter.formats.perfetto.emit_programs cimport (
    Program, Step, sCHOICE, sCLOSE, sEACH, sFIXED32, sFIXED64, sI16, sI32, sI64,
    sINTERNED, sLITERAL, sNAME, sOPEN, sOPTIONAL, sPLACE, sRAW, sSYMBOL, sTEXT, sU16, sU32, sU64, sU8, sUNION,
    span_of, takes_column,
)
from converter.kernels.strings cimport Entry, StringTable


cdef struct Emission:
    Output out
    Interning interning
    # Why a step failed.
    int status
    # The track of the event, where it has any.
    bint placed
    uint64_t place


cdef inline uint8_t* failed(Emission* to, int status) noexcept nogil:
    to.status = status
    return NULL


# A tag, the size of some bytes, and the bytes; NULL where that fails.
cdef inline uint8_t* put_text(
    Emission* to, uint8_t* at, Step* step, const uint8_t* data, int64_t size
) noexcept nogil:
    if size >> 31:
        return failed(to, TOO_LARGE)
    at = ensure(&to.out, at, size)
    if at is NULL:
        return failed(to, NO_MEMORY)
    memcpy(at, step.tag, 8)
    at = put(at + step.tag_size, <uint64_t>size)
    # Of an empty text there may be no address.
    if size:
        memcpy(at, data, size)
    return at + size


cdef inline uint8_t* put_raw(Emission* to, uint8_t* at, const uint8_t* data, int64_t size) noexcept nogil:
    at = ensure(&to.out, at, size)
    if at is NULL:
        return failed(to, NO_MEMORY)
    if size:
        memcpy(at, data, size)
    return at + size


# A number of a table of interned texts, which the packet brings with it when it is the first to use it.
cdef inline uint8_t* put_interned_id(
    Emission* to, StringTable strings, Step* step, int32_t id, uint8_t* at
) noexcept nogil:
    if id < 0 or id >= to.interning.known:
        return failed(to, BAD_COLUMN)
    if not intern(&to.interning, strings, id, step.table):
        return failed(to, NO_MEMORY)
    memcpy(at, step.tag, 8)
    return put(at + step.tag_size, <uint64_t>id + 1)


# The steps `first` to `last` of a program for one row; NULL where that fails, with `to.status`.
cdef inline uint8_t* run(
    Emission* to, StringTable strings, Program* one, int first, int last, int64_t row, uint8_t* at
) noexcept nogil:
    cdef Step* step
    cdef Entry* entry
    cdef const uint8_t* data
    cdef uint64_t value
    cdef int64_t begin, end, k
    cdef int32_t id
    cdef int16_t tag
    cdef int i = first
    cdef int which, op
    while i < last:
        step = &one.step[i]
        i += 1
        at = ensure(&to.out, at, 0)
        if at is NULL:
            return failed(to, NO_MEMORY)
        op = step.op
        if row >= step.rows and takes_column(op):
            return failed(to, BAD_COLUMN)
        data = step.data + row * step.stride
        if op <= sI64 or op == sSYMBOL:
            if op == sI32:
                value = <uint64_t>(<int64_t>(<int32_t*>data)[0])
            elif op == sU64 or op == sI64 or op == sSYMBOL:
                memcpy(&value, data, 8)
            elif op == sU32:
                value = (<uint32_t*>data)[0]
            elif op == sU8:
                value = data[0]
            elif op == sU16:
                value = (<uint16_t*>data)[0]
            elif op == sI16:
                value = <uint64_t>(<int64_t>(<int16_t*>data)[0])
            else:
                value = <uint64_t>(<int64_t>(<int8_t*>data)[0])
            if step.table and value == 0:
                # A field of the record that only says what is not usual.
                continue
            memcpy(at, step.tag, 8)
            at = put(at + step.tag_size, value)
        elif op == sTEXT:
            if step.offsets is NULL:
                id = (<int32_t*>data)[0]
                if id < 0 or id >= to.interning.known:
                    return failed(to, BAD_COLUMN)
                entry = strings.entry(id)
                data = entry.data
                end = entry.size
            elif not span_of(step, row, &data, &end):
                return failed(to, BAD_COLUMN)
            at = put_text(to, at, step, data, end)
        elif op == sOPEN:
            memcpy(at, step.tag, 8)
            at = open_message(&to.out, at + step.tag_size)
        elif op == sCLOSE:
            at = close_message(&to.out, at)
            if at is NULL:
                return failed(to, NO_MEMORY)
        elif op == sFIXED64 or op == sFIXED32:
            which = 8 if op == sFIXED64 else 4
            memcpy(at, step.tag, 8)
            memcpy(at + step.tag_size, data, which)
            at += step.tag_size + which
        elif op == sLITERAL:
            at = put_raw(to, at, step.literal, step.literal_size)
        elif op == sNAME:
            at = put_interned_id(to, strings, step, <int32_t>step.inline_tag, at)
        elif op == sPLACE:
            if to.placed:
                memcpy(at, step.tag, 8)
                at = put(at + step.tag_size, to.place)
        elif op == sINTERNED:
            if step.offsets is NULL:
                id = (<int32_t*>data)[0]
                # The empty text is an annotation's value, but no name.
                if id or step.table == tSTRINGS:
                    at = put_interned_id(to, strings, step, id, at)
            else:
                if not span_of(step, row, &data, &end):
                    return failed(to, BAD_COLUMN)
                if end or step.table == tSTRINGS:
                    if end >> 31:
                        return failed(to, TOO_LARGE)
                    at = put(put(at, step.inline_tag), <uint64_t>end)
                    at = put_raw(to, at, data, end)
        elif op == sCHOICE:
            memcpy(&value, data, 8)
            at[0] = step.second[row * step.second_stride]
            at = put(at + 1, value)
        elif op == sRAW:
            if not span_of(step, row, &data, &end):
                return failed(to, BAD_COLUMN)
            at = put_raw(to, at, data, end)
        elif op == sEACH:
            begin = step.offsets[row]
            end = step.offsets[row + 1]
            if begin < 0:
                return failed(to, BAD_COLUMN)
            for k in range(begin, end):
                at = run(to, strings, one, i, i + step.count, k, at)
                if at is NULL:
                    return NULL
            i += step.count
        elif op == sOPTIONAL:
            if data[0]:
                at = run(to, strings, one, i, i + step.count, row, at)
            i += step.count
        elif op == sUNION:
            memcpy(&tag, data, 2)
            memcpy(&id, step.second + row * step.second_stride, 4)
            if tag < 0 or id < 0:
                return failed(to, BAD_COLUMN)
            # Each option is a step of its own with those of its value behind it.
            end = i + step.count
            which = i
            while tag > 0 and which < end:
                which += 1 + one.step[which].count
                tag -= 1
            if which >= end:
                return failed(to, BAD_COLUMN)
            at = run(to, strings, one, which + 1, which + 1 + one.step[which].count, id, at)
            i = <int>end
        if at is NULL:
            return NULL
    return at
