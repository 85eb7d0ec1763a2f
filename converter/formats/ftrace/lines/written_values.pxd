# Values as print formats write them: numbers, and texts with escaped bytes.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t


# A place in a text, and the record that it becomes.
cdef struct Cursor:
    const uint8_t* at
    const uint8_t* end
    # Where the record is in the output.
    int64_t record
    int32_t pid
    bint no_memory


# Digits of a base, after an 0x where it is 16; false for none, or more than 64 bits.
@cython.cdivision(True)
cdef inline bint read_number(const uint8_t** at, const uint8_t* end, uint64_t base, uint64_t* value) noexcept nogil:
    cdef const uint8_t* p = at[0]
    cdef uint64_t digit, found = 0
    cdef int count = 0
    if base == 16 and end - p > 2 and p[0] == c"0" and (p[1] == c"x" or p[1] == c"X"):
        p += 2
    while p < end:
        if c"0" <= p[0] <= c"9":
            digit = p[0] - c"0"
        elif c"a" <= p[0] <= c"f":
            digit = p[0] - c"a" + 10
        elif c"A" <= p[0] <= c"F":
            digit = p[0] - c"A" + 10
        else:
            break
        if digit >= base:
            break
        # Only large values are divided: that takes as long as several digits.
        if found >> 60 and found > (<uint64_t>0 - 1 - digit) // base:
            return False
        found = found * base + digit
        count += 1
        p += 1
    if count == 0:
        return False
    at[0] = p
    value[0] = found
    return True


# A number with up to three decimals, in thousandths; false for none, or more than 64 bits.
cdef inline bint read_thousandths(const uint8_t** at, const uint8_t* end, uint64_t* value) noexcept nogil:
    cdef const uint8_t* p = at[0]
    cdef uint64_t found
    cdef int decimals = 0
    if not read_number(&p, end, 10, &found) or found >> 53:
        return False
    if p < end and p[0] == c".":
        p += 1
        while p < end and decimals < 3 and c"0" <= p[0] <= c"9":
            found = found * 10 + p[0] - c"0"
            decimals += 1
            p += 1
        if decimals == 0:
            return False
    while decimals < 3:
        found *= 10
        decimals += 1
    at[0] = p
    value[0] = found
    return True


# Copy a text whose bytes may be written as \xNN; its size.
cdef inline int64_t unescape(uint8_t* to, const uint8_t* at, int64_t size) noexcept nogil:
    cdef const uint8_t* end = at + size
    cdef const uint8_t* stop
    cdef uint64_t value
    cdef int64_t used = 0
    while at < end:
        if at[0] == c"\\" and end - at >= 4 and at[1] == c"x":
            stop = at + 2
            if read_number(&stop, at + 4, 16, &value) and stop == at + 4:
                to[used] = <uint8_t>value
                used += 1
                at = stop
                continue
        to[used] = at[0]
        used += 1
        at += 1
    return used


# The number that is printed of a value without a name.
cdef inline bint plain_number(Cursor* cursor, uint64_t* value) noexcept nogil:
    cdef const uint8_t* at = cursor.at
    cdef bint negative = False
    cdef uint64_t base = 10
    if at < cursor.end and at[0] == c"-":
        negative = True
        at += 1
    if cursor.end - at > 2 and at[0] == c"0" and at[1] == c"x":
        base = 16
    if not read_number(&at, cursor.end, base, value):
        return False
    if negative:
        value[0] = 0 - value[0]
    cursor.at = at
    return True


# Whether an address starts here: 0x and digits, or eight or more of them.
cdef inline bint is_hexadecimal(const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef int count = 0
    if end - at > 2 and at[0] == c"0" and at[1] == c"x":
        return True
    while at < end and (c"0" <= at[0] <= c"9" or c"a" <= at[0] <= c"f"):
        count += 1
        at += 1
    return count >= 8 and (at == end or at[0] in (32, 41, 44, 62, 93, 10))
