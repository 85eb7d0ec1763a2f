# Functions as print formats write them. Each name has an address: that of the first, and a distance for each name.

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from converter.formats.ftrace.lines.scan.words cimport hexadecimal
from converter.formats.ftrace.lines.written_values cimport Cursor, is_hexadecimal, read_number
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    SHIFT = 20


# The address of the first name.
cdef inline uint64_t first_address() noexcept nogil:
    return <uint64_t>0xffff8 << 44


# name+0xdistance/0xsize [module], 0xaddress, or an address.
cdef inline bint read_function(
    StringTable names, Cursor* cursor, uint64_t* value, const uint8_t* end
) noexcept nogil:
    cdef const uint8_t* at = cursor.at
    cdef const uint8_t* name = at
    cdef const uint8_t* stop
    cdef uint64_t distance = 0
    cdef int32_t number
    if at < end and is_hexadecimal(at, end):
        if not read_number(&at, end, 16, value):
            return False
        cursor.at = at
        return True
    while at < end and at[0] not in (32, 9, 10, 43, 44, 41, 93, 62, 61, 59):
        if at[0] == c"(" or (at[0] == c"/" and end - at > 2 and at[1] == c"0" and at[2] == c"x"):
            break
        if at[0] == c":" and (end - at < 2 or at[1] == c" "):
            break
        at += 1
    stop = at
    if stop == name or stop - name > 512:
        return False
    if stop - name == 5 and (memcmp(name, <const char*>b"(nil)", 5) == 0):
        return False
    if at < end and at[0] == c"+":
        at += 1
        if not read_number(&at, end, 16, &distance) or distance >> SHIFT:
            return False
    if at < end and at[0] == c"/":
        at += 1
        if not read_number(&at, end, 16, value):
            return False
    number = names.find_or_add(name, <uint32_t>(stop - name))
    if number < 0:
        cursor.no_memory = True
        return False
    # The module is part of the text that says where the function is, not of its name.
    if end - at > 3 and at[0] == c" " and at[1] == c"[":
        stop = at + 2
        while stop < end and stop[0] != c"]" and stop[0] != c" " and stop[0] != 10:
            stop += 1
        if stop < end and stop[0] == c"]":
            at = stop + 1
    # So is the address of the option sym-addr.
    if end - at > 3 and at[0] == c" " and at[1] == c"<" and hexadecimal(at[2]) >= 0:
        stop = at + 2
        while stop < end and hexadecimal(stop[0]) >= 0:
            stop += 1
        if stop < end and stop[0] == c">":
            at = stop + 1
    cursor.at = at
    value[0] = first_address() + (<uint64_t>number << SHIFT) + distance
    return True
