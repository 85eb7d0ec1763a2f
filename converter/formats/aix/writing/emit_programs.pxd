# cython: language_level=3
"""Programs that write the fields of an event, and the entry of the hook that AIX has for it."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from converter.formats.aix.entries.nodes cimport (
    MAX_EMPTY_ELEMENTS, NODE_ARRAY, NODE_BOOLEAN, NODE_BYTES, NODE_NUMBER, NODE_OPTIONAL, NODE_STRING,
    NODE_STRUCTURE, NODE_VARIANT,
)
from converter.formats.aix.entries.own_hooks cimport MAX_REST
from converter.formats.aix.writing.emit cimport BAD_COLUMN, NO_MEMORY, OK, TOO_LARGE, TOO_MANY_EMPTY
from converter.formats.aix.writing.emit_entries cimport FRAME, MAX_DATA, Stream, begin_generic, end_generic
from converter.kernels.batches.column_view cimport (
    ColumnView, bits_of, elements_of, integer_of, option_of, text_of, value_at,
)
from converter.kernels.io.byte_order cimport HOST_IS_LITTLE
from converter.kernels.io.output cimport Output, ensure, put8, put16, put32, put64, put_bytes
from converter.kernels.tables.strings cimport StringTable

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


# The documented hook after an event: nodes of the class's top level, -1 for none (zero).
cdef struct Following:
    uint32_t hook
    bint generic
    int32_t words
    int32_t word[MAX_WORDS]
    int32_t sub
    int32_t text
    int32_t tid


# Begins as all programs do: see `programs.ProgramHead`.
cdef struct Program:
    int64_t rows
    ColumnView* views
    Node* nodes
    uint32_t hook
    uint32_t sub
    bint timed
    bint followed
    Following following
    int32_t node_count
    # The first nodes are those of the fields.
    int32_t field_count


# The value of a node's column in a row, with all that is in it.
cdef inline int put_value(
    Output* out, StringTable strings, const Program* program, int64_t which, int64_t row
) noexcept nogil:
    cdef const Node* node = &program.nodes[which]
    cdef const ColumnView* view = &program.views[which]
    cdef const uint8_t* text = NULL
    cdef int64_t i, before
    cdef int64_t first = 0
    cdef int64_t last = 0
    cdef int16_t option
    cdef int32_t chosen
    cdef int status = OK
    if row >= view.length:
        return BAD_COLUMN
    if not ensure(out, 64):
        return NO_MEMORY
    if node.op == NODE_NUMBER:
        if node.width == 8:
            put64(out, bits_of(view, row, 8), HOST_IS_LITTLE)
        elif node.width == 4:
            put32(out, bits_of(view, row, 4), HOST_IS_LITTLE)
        else:
            put16(out, integer_of(view, row, node.width, node.signed), HOST_IS_LITTLE)
    elif node.op == NODE_BOOLEAN:
        put16(out, value_at(view, row)[0] != 0, HOST_IS_LITTLE)
    elif node.op == NODE_STRING or node.op == NODE_BYTES:
        if not text_of(view, strings, strings._count, row, &text, &last):
            return BAD_COLUMN
        if last > MAX_REST:
            return TOO_LARGE
        if not ensure(out, last + 8):
            return NO_MEMORY
        put32(out, <uint32_t>last, HOST_IS_LITTLE)
        put_bytes(out, text, last)
    elif node.op == NODE_STRUCTURE:
        for i in range(node.count):
            status = put_value(out, strings, program, node.first + i, row)
            if status != OK:
                break
    elif node.op == NODE_OPTIONAL:
        put16(out, value_at(view, row)[0] != 0, HOST_IS_LITTLE)
        if value_at(view, row)[0]:
            status = put_value(out, strings, program, node.first, row)
    elif node.op == NODE_VARIANT:
        if not option_of(view, row, &option, &chosen) or option >= node.count:
            return BAD_COLUMN
        put16(out, option, HOST_IS_LITTLE)
        status = put_value(out, strings, program, node.first + option, chosen)
    elif node.op == NODE_ARRAY:
        if not elements_of(view, row, &first, &last) or last - first > MAX_REST:
            return BAD_COLUMN
        put32(out, <uint32_t>(last - first), HOST_IS_LITTLE)
        before = out.used
        for i in range(first, last):
            status = put_value(out, strings, program, node.first, i)
            if status != OK:
                break
        if out.used == before and last - first > MAX_EMPTY_ELEMENTS:
            return TOO_MANY_EMPTY
    return status


# A number of the event as 64 bits; 0 where the class has none.
cdef inline uint64_t number_of(const Program* program, int32_t which, int64_t row) noexcept nogil:
    if which < 0 or row >= program.views[which].length:
        return 0
    return integer_of(&program.views[which], row, program.nodes[which].width, program.nodes[which].signed)


# The documented hook of an event whose fields `put_value` has put.
cdef inline int put_following(
    Stream* to, StringTable strings, const Program* program, int64_t row, uint64_t tid, int64_t ts
) noexcept nogil:
    cdef const Following* following = &program.following
    cdef uint32_t sub = <uint32_t>number_of(program, following.sub, row) & 0xFFFF
    if following.tid >= 0:
        tid = number_of(program, following.tid, row)
    if not ensure(&to.out, MAX_DATA + 2 * FRAME):
        return NO_MEMORY
    if following.generic:
        return put_following_text(to, strings, program, sub, row, tid, ts)
    put_following_words(to, program, sub, row, tid, ts)
    return OK


# Cut to the capacity of an entry, with a NUL after it.
cdef inline int put_following_text(
    Stream* to, StringTable strings, const Program* program, uint32_t sub, int64_t row, uint64_t tid, int64_t ts
) noexcept nogil:
    cdef const Following* following = &program.following
    cdef const uint8_t* text = NULL
    cdef int64_t size = 0
    if not text_of(&program.views[following.text], strings, strings._count, row, &text, &size):
        return BAD_COLUMN
    begin_generic(to, following.hook, sub, number_of(program, following.word[0], row))
    size = size if size < MAX_DATA else MAX_DATA - 1
    put_bytes(&to.out, text, size)
    put8(&to.out, 0)
    end_generic(to, following.hook, size + 1, tid, ts, program.timed)
    return OK


cdef inline void put_following_words(
    Stream* to, const Program* program, uint32_t sub, int64_t row, uint64_t tid, int64_t ts
) noexcept nogil:
    cdef const Following* following = &program.following
    cdef Output* out = &to.out
    cdef int words = following.words
    cdef int64_t i
    if to.bits == 64:
        put16(out, 0x8000 if program.timed else 0, HOST_IS_LITTLE)
        put16(out, 8 * words, HOST_IS_LITTLE)
        put16(out, following.hook, HOST_IS_LITTLE)
        put16(out, sub, HOST_IS_LITTLE)
        for i in range(words):
            put64(out, number_of(program, following.word[i], row), HOST_IS_LITTLE)
        put64(out, tid, HOST_IS_LITTLE)
        if program.timed:
            put64(out, <uint64_t>ts, HOST_IS_LITTLE)
        return
    put32(
        out,
        following.hook >> 4 << 20 | (0x80000 if program.timed else 0)
        | (0x10000 if words == 0 else 0x20000 if words == 1 else 0x60000) | sub,
        HOST_IS_LITTLE,
    )
    # Hooks of more than one word always have five.
    for i in range(words if words < 2 else MAX_WORDS):
        put32(out, <uint32_t>number_of(program, following.word[i], row) if i < words else 0, HOST_IS_LITTLE)
    put32(out, <uint32_t>tid, HOST_IS_LITTLE)
    if program.timed:
        put32(out, <uint32_t>ts, HOST_IS_LITTLE)
