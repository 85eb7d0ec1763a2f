# cython: language_level=3
"""Programs that write the fields of an event, and the entry of the hook that AIX has for it."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from converter.formats.aix.emit cimport BAD_COLUMN, NO_MEMORY, OK, TOO_LARGE, TOO_MANY_EMPTY
from converter.formats.aix.emit_entries cimport (
    FRAME, MAX_DATA, Output, begin_generic, end_generic, ensure, put16, put32, put64, put_bytes,
)
from converter.formats.aix.nodes cimport (
    MAX_EMPTY_ELEMENTS, NODE_ARRAY, NODE_BOOLEAN, NODE_BYTES, NODE_NUMBER, NODE_OPTIONAL, NODE_STRING,
    NODE_STRUCTURE, NODE_VARIANT,
)
from converter.formats.aix.own_hooks cimport MAX_REST
from converter.kernels.strings cimport Entry, StringTable

cdef enum:
    # Data words of an entry that is not generic.
    MAX_WORDS = 5


cdef struct Node:
    int op
    int width
    bint signed
    int32_t first
    int32_t count
    int32_t extent
    const uint8_t* data
    int64_t stride
    int64_t length
    const int64_t* offsets
    const int32_t* rows


# The documented hook behind an event: nodes of the class's top level, -1 for none (zero).
cdef struct Following:
    uint32_t hook
    bint generic
    int32_t words
    int32_t word[MAX_WORDS]
    int32_t sub
    int32_t text
    int32_t tid


cdef struct Program:
    uint32_t hook
    uint32_t sub
    bint timed
    bint followed
    Following following
    int32_t node_count
    int64_t rows
    Node* nodes


# The value of a node's column at `index`, with all that is in it.
cdef inline int put_value(
    Output* out, StringTable strings, const Program* program, const Node* node, int64_t index
) noexcept nogil:
    cdef int64_t i, first, last
    cdef int32_t tag, id
    cdef const uint8_t* at
    cdef uint16_t half
    cdef uint32_t word
    cdef uint64_t double_word
    cdef Entry* known
    cdef int status = OK
    if index < 0 or index >= node.length:
        return BAD_COLUMN
    if not ensure(out, 64):
        return NO_MEMORY
    if node.op == NODE_NUMBER:
        at = node.data + index * node.stride
        if node.width == 8:
            memcpy(&double_word, at, 8)
            put64(out, double_word)
        elif node.width == 4:
            memcpy(&word, at, 4)
            put32(out, word)
        elif node.width == 2:
            memcpy(&half, at, 2)
            put16(out, half)
        else:
            put16(out, <uint32_t><int32_t>(<int8_t>at[0]) if node.signed else at[0])
    elif node.op == NODE_BOOLEAN:
        put16(out, node.data[index * node.stride] != 0)
    elif node.op == NODE_STRING or node.op == NODE_BYTES:
        if node.offsets is NULL:
            memcpy(&id, node.data + index * node.stride, 4)
            if id < 0 or id >= strings._count:
                return BAD_COLUMN
            known = strings.entry(id)
            at = known.data
            last = known.size
        else:
            first = node.offsets[index]
            last = node.offsets[index + 1] - first
            if first < 0 or last < 0 or first > node.stride or last > node.stride - first:
                return BAD_COLUMN
            at = node.data + first
        if last > MAX_REST:
            return TOO_LARGE
        if not ensure(out, last + 8):
            return NO_MEMORY
        put32(out, <uint32_t>last)
        put_bytes(out, at, last)
    elif node.op == NODE_STRUCTURE:
        for i in range(node.count):
            status = put_value(out, strings, program, &program.nodes[node.first + i], index)
            if status != OK:
                break
    elif node.op == NODE_OPTIONAL:
        tag = node.data[index * node.stride] != 0
        put16(out, tag)
        if tag:
            status = put_value(out, strings, program, &program.nodes[node.first], index)
    elif node.op == NODE_VARIANT:
        memcpy(&half, node.data + index * node.stride, 2)
        if half >= <uint32_t>node.count:
            return BAD_COLUMN
        put16(out, half)
        status = put_value(out, strings, program, &program.nodes[node.first + half], node.rows[index])
    elif node.op == NODE_ARRAY:
        first = node.offsets[index]
        last = node.offsets[index + 1]
        if first < 0 or last < first or last - first > MAX_REST:
            return BAD_COLUMN
        put32(out, <uint32_t>(last - first))
        i = out.used
        while first < last and status == OK:
            status = put_value(out, strings, program, &program.nodes[node.first], first)
            first += 1
        if out.used == i and last - node.offsets[index] > MAX_EMPTY_ELEMENTS:
            return TOO_MANY_EMPTY
    return status


# A number of the event as 64 bits; 0 where the class has none.
cdef inline uint64_t number_of(const Program* program, int32_t which, int64_t row) noexcept nogil:
    cdef const Node* node
    cdef const uint8_t* at
    cdef int16_t half
    cdef int32_t word
    cdef uint64_t double_word
    if which < 0:
        return 0
    node = &program.nodes[which]
    if row >= node.length:
        return 0
    at = node.data + row * node.stride
    if node.width == 8:
        memcpy(&double_word, at, 8)
        return double_word
    if node.width == 4:
        memcpy(&word, at, 4)
        return <uint64_t><int64_t>word if node.signed else <uint64_t><uint32_t>word
    if node.width == 2:
        memcpy(&half, at, 2)
        return <uint64_t><int64_t>half if node.signed else <uint64_t><uint16_t>half
    return <uint64_t><int64_t><int8_t>at[0] if node.signed else at[0]


# The documented hook of an event whose fields `put_value` has put.
cdef inline int put_following(
    Output* out, StringTable strings, const Program* program, int64_t row, uint64_t tid, int64_t ts
) noexcept nogil:
    cdef const Following* following = &program.following
    cdef uint32_t sub = <uint32_t>number_of(program, following.sub, row) & 0xFFFF
    if following.tid >= 0:
        tid = number_of(program, following.tid, row)
    if not ensure(out, MAX_DATA + 2 * FRAME):
        return NO_MEMORY
    if following.generic:
        put_following_text(out, strings, program, sub, row, tid, ts)
    else:
        put_following_words(out, program, sub, row, tid, ts)
    return OK


# Cut to what an entry holds, with a NUL behind it.
cdef inline void put_following_text(
    Output* out, StringTable strings, const Program* program, uint32_t sub, int64_t row, uint64_t tid, int64_t ts
) noexcept nogil:
    cdef const Following* following = &program.following
    cdef const Node* node = &program.nodes[following.text]
    cdef const uint8_t* text
    cdef int64_t size
    cdef int32_t id
    cdef Entry* known
    begin_generic(out, following.hook, sub, number_of(program, following.word[0], row))
    if node.offsets is NULL:
        memcpy(&id, node.data + row * node.stride, 4)
        known = strings.entry(id)
        text = known.data
        size = known.size
    else:
        text = node.data + node.offsets[row]
        size = node.offsets[row + 1] - node.offsets[row]
    size = size if size < MAX_DATA else MAX_DATA - 1
    put_bytes(out, text, size)
    out.data[out.used] = 0
    out.used += 1
    end_generic(out, following.hook, size + 1, tid, ts, program.timed)


cdef inline void put_following_words(
    Output* out, const Program* program, uint32_t sub, int64_t row, uint64_t tid, int64_t ts
) noexcept nogil:
    cdef const Following* following = &program.following
    cdef int words = following.words
    cdef int64_t i
    if out.bits == 64:
        put16(out, 0x8000 if program.timed else 0)
        put16(out, 8 * words)
        put16(out, following.hook)
        put16(out, sub)
        for i in range(words):
            put64(out, number_of(program, following.word[i], row))
        put64(out, tid)
        if program.timed:
            put64(out, <uint64_t>ts)
        return
    put32(
        out,
        following.hook >> 4 << 20 | (0x80000 if program.timed else 0)
        | (0x10000 if words == 0 else 0x20000 if words == 1 else 0x60000) | sub,
    )
    # Hooks of more than one word always have five.
    for i in range(words if words < 2 else MAX_WORDS):
        put32(out, <uint32_t>number_of(program, following.word[i], row) if i < words else 0)
    put32(out, <uint32_t>tid)
    if program.timed:
        put32(out, <uint32_t>ts)
