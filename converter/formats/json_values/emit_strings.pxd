# Strings of the table, quoted: they are few and occur often, so that their quoted forms are kept.

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from converter.formats.json_values.text cimport is_hexadecimal, special_number
from converter.formats.json_values.emit_programs cimport MOST_OF_TEXT, STEP
from converter.formats.json_values.emit_text cimport put_string
from converter.kernels.io.output cimport Output, append, ensure
from converter.kernels.tables.strings cimport Entry, StringTable

cdef enum:
    # Each emitter keeps quoted forms up to this number of bytes in total.
    MOST_KEPT = 1 << 23


# The position of a string's quoted form among those that are kept, and its size; 0 where it is not kept. The size is
# negative for a string that could be taken for a number.
cdef struct Quoted:
    int64_t start
    int64_t size


cdef struct QuotedStrings:
    Quoted* of
    int64_t room
    Output kept


# Room for the strings of a table; false without memory.
cdef inline bint make_room_for(QuotedStrings* quoted, int64_t count) noexcept nogil:
    cdef Quoted* grown
    if count <= quoted.room:
        return True
    count += count >> 1
    grown = <Quoted*>calloc(count, sizeof(Quoted))
    if grown is NULL:
        return False
    if quoted.room:
        memcpy(grown, quoted.of, quoted.room * sizeof(Quoted))
    free(quoted.of)
    quoted.of = grown
    quoted.room = count
    return True


# Put a string that is in the table, and keep its form; false without memory.
cdef inline bint quote(
    QuotedStrings* quoted, Output* out, StringTable strings, int64_t id, bint plain
) noexcept nogil:
    cdef Entry* entry = strings.entry(<int32_t>id)
    cdef int64_t start = out.used
    if not put_string(out, entry.data, entry.size, plain):
        return False
    if quoted.of[id].size or out.used - start > MOST_OF_TEXT or quoted.kept.used >= MOST_KEPT:
        return True
    if is_hexadecimal(entry.data, entry.size) or special_number(entry.data, entry.size):
        if not plain:
            return True
        quoted.of[id].size = start - out.used
    else:
        quoted.of[id].size = out.used - start
    quoted.of[id].start = quoted.kept.used
    return append(&quoted.kept, out.data + start, out.used - start) and ensure(&quoted.kept, STEP)
