"""Helpers shared by scanning and emitting JSON: growing text, times in decimal, and a checked compact copy of a value.

All functions are inline and touch nothing but the memory they are given; `end` is always the first byte that is not
readable.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from converter.kernels.io.byte_order cimport HOST_IS_BIG, load64
from converter.kernels.io.output cimport Output, append, ensure, put8, put_bytes
from converter.kernels.text.utf8 cimport is_utf8


# Results of scanning: the text ended first, it is not JSON, there is no memory, or it is fine.
cdef enum Scanned:
    UNFINISHED = 0
    FINE = 1
    MALFORMED = -1
    NO_MEMORY = -2


cdef enum:
    # Nesting beyond this is refused: no trace needs it, and readers of the output recurse.
    MAX_DEPTH = 512
    # Words that are longer are damage.
    MAX_BARE = 64


cdef extern from *:
    """
    static const char hexadecimal_digits[] = "0123456789abcdef";
    """
    const char* hexadecimal_digits
    int __builtin_ctzll(unsigned long long) noexcept nogil


cdef inline int64_t skip_space(const uint8_t* data, int64_t at, int64_t end) noexcept nogil:
    while at < end and (data[at] == c' ' or data[at] == c'\n' or data[at] == c'\r' or data[at] == c'\t'):
        at += 1
    return at


# Return the position of the closing quote, given the position after the opening one, or -1 where the text ends before.
# `escaped` becomes true where there is a backslash. Reads eight bytes at a time: the lowest byte of `found` whose high
# bit is set is a quote or backslash.
cdef inline int64_t string_end(const uint8_t* data, int64_t at, int64_t end, bint* escaped) noexcept nogil:
    cdef uint64_t word, quote, slash, found
    while True:
        while end - at >= 8:
            word = load64(data + at, HOST_IS_BIG)
            quote = word ^ <uint64_t>0x2222222222222222
            slash = word ^ <uint64_t>0x5C5C5C5C5C5C5C5C
            found = ((quote - <uint64_t>0x0101010101010101) & ~quote)
            found |= ((slash - <uint64_t>0x0101010101010101) & ~slash)
            found &= <uint64_t>0x8080808080808080
            if found:
                at += __builtin_ctzll(found) >> 3
                break
            at += 8
        else:
            while at < end and data[at] != c'"' and data[at] != c'\\':
                at += 1
            if at >= end:
                return -1
        if data[at] == c'"':
            return at
        escaped[0] = True
        at += 2
        if at > end:
            return -1


cdef inline bint is_digit(uint8_t byte) noexcept nogil:
    return c'0' <= byte <= c'9'


cdef inline bint is_hex_digit(uint8_t byte) noexcept nogil:
    return c'0' <= byte <= c'9' or c'a' <= byte <= c'f' or c'A' <= byte <= c'F'


cdef inline bint is_bare(uint8_t byte) noexcept nogil:
    return is_digit(byte) or c'a' <= byte <= c'z' or c'A' <= byte <= c'Z' or byte in b"+-._#()"


# Return True if text is a number as this project writes unsigned ones: 0x0, or 0x and up to 16 lower-case digits, not 0
# first.
cdef inline bint is_hexadecimal(const uint8_t* data, int64_t size) noexcept nogil:
    cdef int64_t i
    if size < 3 or size > 18 or data[0] != c'0' or data[1] != c'x':
        return False
    if data[2] == c'0':
        return size == 3
    for i in range(2, size):
        if not (c'0' <= data[i] <= c'9' or c'a' <= data[i] <= c'f'):
            return False
    return True


# NaN, Infinity, -Infinity: 1, 2, 3; NaN:<its 16 hexadecimal digits>, for those of other bits: 4; 0 for any other text.
cdef inline int special_number(const uint8_t* data, int64_t size) noexcept nogil:
    cdef int64_t i
    if size == 3 and data[0] == c'N' and data[1] == c'a' and data[2] == c'N':
        return 1
    if size == 8 and data[0] == c'I' and data[1] == c'n' and data[2] == c'f' and data[3] == c'i' and data[4] == c'n' \
            and data[5] == c'i' and data[6] == c't' and data[7] == c'y':
        return 2
    if size == 9 and data[0] == c'-' and special_number(data + 1, 8) == 2:
        return 3
    if size == 20 and special_number(data, 3) == 1 and data[3] == c':':
        for i in range(4, 20):
            if not (c'0' <= data[i] <= c'9' or c'a' <= data[i] <= c'f'):
                return 0
        return 4
    return 0


# The end of the number at `at` (JSON's grammar), -1 if there is none. One that touches `end` may go on beyond it.
cdef inline int64_t number_end(const uint8_t* data, int64_t at, int64_t end, bint* integer) noexcept nogil:
    integer[0] = True
    if at < end and data[at] == c'-':
        at += 1
    if at >= end or not is_digit(data[at]):
        return -1
    while at < end and is_digit(data[at]):
        at += 1
    if at < end and data[at] == c'.':
        integer[0] = False
        at += 1
        if at >= end or not is_digit(data[at]):
            return -1
        while at < end and is_digit(data[at]):
            at += 1
    if at < end and (data[at] == c'e' or data[at] == c'E'):
        integer[0] = False
        at += 1
        if at < end and (data[at] == c'+' or data[at] == c'-'):
            at += 1
        if at >= end or not is_digit(data[at]):
            return -1
        while at < end and is_digit(data[at]):
            at += 1
    return at


cdef inline bint starts_word(
    const uint8_t* data, int64_t at, int64_t end, const char* word, int64_t size
) noexcept nogil:
    cdef int64_t i
    if end - at < size:
        return False
    for i in range(size):
        if data[at + i] != <uint8_t>word[i]:
            return False
    return True


# The end of true, false or null at `at`, or -1.
cdef inline int64_t word_end(const uint8_t* data, int64_t at, int64_t end) noexcept nogil:
    cdef int64_t stop = -1
    if starts_word(data, at, end, b"true", 4) or starts_word(data, at, end, b"null", 4):
        stop = at + 4
    elif starts_word(data, at, end, b"false", 5):
        stop = at + 5
    return stop if stop < 0 or stop == end or not is_bare(data[stop]) else -1


# Return True if the number or word at `at` reaches the end of the text, where it may be cut.
cdef inline bint runs_to_end(const uint8_t* data, int64_t at, int64_t end) noexcept nogil:
    while at < end:
        if not is_bare(data[at]):
            return False
        at += 1
    return True


# Return True if a number that ends at `at` is one: a comma, bracket or white space follows.
cdef inline bint ends_number(const uint8_t* data, int64_t at) noexcept nogil:
    return data[at] == c',' or data[at] == c'}' or not is_bare(data[at])


# Return the end of a value that is neither JSON's nor in quotes but between others, such as inf, 1.#INF, None or .5; -1 if
# there is none.
cdef inline int64_t bare_end(const uint8_t* data, int64_t at, int64_t end) noexcept nogil:
    cdef int64_t start = at
    cdef int64_t following
    while at < end and at - start < MAX_BARE and is_bare(data[at]):
        at += 1
    following = skip_space(data, at, end)
    if at == start or following >= end or data[following] not in b",}]":
        return -1
    return at


# Return True if only white space follows the word at `at`: what it ends at is not known yet.
cdef inline bint ends_bare(const uint8_t* data, int64_t at, int64_t end) noexcept nogil:
    while at < end and is_bare(data[at]):
        at += 1
    return skip_space(data, at, end) >= end


cdef inline bint is_word(const uint8_t* data, int64_t size, const char* word, int64_t length) noexcept nogil:
    cdef int64_t i
    if size < length:
        return False
    for i in range(length):
        if data[i] | 0x20 != <uint8_t>word[i]:
            return False
    return True


# The number that C's libraries print as a bare word: 1 nan, 2 inf, 3 -inf as in `special_number`; 0 for other words.
cdef inline int printed_number(const uint8_t* data, int64_t size) noexcept nogil:
    cdef bint negative = size > 0 and data[0] == c'-'
    if negative or (size > 0 and data[0] == c'+'):
        data += 1
        size -= 1
    if size > 4 and data[0] == c'1' and data[1] == c'.' and data[2] == c'#':
        # Microsoft's: 1.#INF, 1.#QNAN, -1.#IND, with more digits where the format has a precision.
        if is_word(data + 3, size - 3, b"inf", 3):
            return 3 if negative else 2
        return 1
    if is_word(data, size, b"nan", 3) and (size == 3 or data[3] == c'('):
        return 1
    if is_word(data, size, b"inf", 3) and (size == 3 or (size == 8 and is_word(data, size, b"infinity", 8))):
        return 3 if negative else 2
    return 0


# Append a bare word as a string: a number that C prints as JSON's readers know it, any other as it is.
cdef inline bint append_bare(Output* out, const uint8_t* data, int64_t size) noexcept nogil:
    cdef int number = printed_number(data, size)
    if number == 1:
        return append(out, b'"NaN"', 5)
    if number == 2:
        return append(out, b'"Infinity"', 10)
    if number == 3:
        return append(out, b'"-Infinity"', 11)
    return append(out, b'"', 1) and append(out, data, size) and append(out, b'"', 1)


# A character as its escape. The caller has ensured room.
cdef inline void put_escaped(Output* out, uint8_t byte) noexcept nogil:
    put_bytes(out, b"\\u00", 4)
    put8(out, <uint8_t>hexadecimal_digits[byte >> 4])
    put8(out, <uint8_t>hexadecimal_digits[byte & 15])


# The size of the escape at `at`, 0 where it is none of JSON's.
cdef inline int64_t escape_size(const uint8_t* data, int64_t at, int64_t end) noexcept nogil:
    if end - at < 2:
        return 0
    if data[at + 1] == c'u':
        if end - at < 6 or not (is_hex_digit(data[at + 2]) and is_hex_digit(data[at + 3])
                                and is_hex_digit(data[at + 4]) and is_hex_digit(data[at + 5])):
            return 0
        return 6
    return 2 if data[at + 1] in b'"\\/bfnrt' else 0


# Return True if the escapes inside a string are JSON's.
cdef inline bint good_escapes(const uint8_t* data, int64_t at, int64_t end) noexcept nogil:
    cdef int64_t size
    while at < end:
        if data[at] != c'\\':
            at += 1
            continue
        size = escape_size(data, at, end)
        if size == 0:
            return False
        at += size
    return True


# Append the inside of a string with control characters escaped and bytes that are not UTF-8 replaced by U+FFFD. With
# `repaired`, backslashes that begin no escape of JSON are escaped as well.
cdef inline bint append_cleaned(Output* out, const uint8_t* data, int64_t size, bint repaired) noexcept nogil:
    cdef int64_t i = 0
    cdef int64_t width
    cdef bint plain = not repaired and is_utf8(data, size)
    if plain:
        for i in range(size):
            if data[i] < c' ':
                plain = False
                break
    if plain:
        return append(out, data, size)
    i = 0
    while i < size:
        if not ensure(out, 8):
            return False
        if data[i] < c' ':
            put_escaped(out, data[i])
            i += 1
            continue
        if data[i] == c'\\' and repaired:
            width = escape_size(data, i, size)
            if width:
                put_bytes(out, data + i, width)
                i += width
            else:
                put_bytes(out, b"\\\\", 2)
                i += 1
            continue
        width = 1
        while width <= 4 and i + width <= size and not is_utf8(data + i, width):
            width += 1
        if width > 4 or i + width > size:
            put_bytes(out, b"\xef\xbf\xbd", 3)
            i += 1
        else:
            put_bytes(out, data + i, width)
            i += width
    return True


# Copy the value at `at` without white space, as valid JSON in UTF-8, and set `after` to its end. Common deviations from
# JSON (bare words, raw control characters, backslashes that begin no escape, a comma after the last element) are
# corrected; on any result but FINE the copy is removed again.
cdef inline Scanned compact(
    const uint8_t* data, int64_t at, int64_t end, Output* out, int64_t* after
) noexcept nogil:
    cdef uint64_t nesting[8]
    cdef int64_t depth = 0
    cdef int64_t started = out.used
    cdef int64_t stop
    cdef bint integer, escaped, is_object
    cdef uint8_t byte
    cdef Scanned result = UNFINISHED
    # 0: a value must follow; 1: a value or the end of the array; 2: a key; 3: a key or the end of the object;
    # 4: a value has ended.
    cdef int expected = 0
    while True:
        if expected == 4 and depth == 0:
            after[0] = at
            return FINE
        at = skip_space(data, at, end)
        if at >= end:
            break
        byte = data[at]
        result = MALFORMED
        if expected == 4:
            is_object = nesting[(depth - 1) >> 6] >> ((depth - 1) & 63) & 1
            if byte == c',':
                stop = skip_space(data, at + 1, end)
                if stop >= end:
                    result = UNFINISHED
                    break
                if data[stop] == (c'}' if is_object else c']'):
                    at = stop
                    result = UNFINISHED
                    continue
                expected = 2 if is_object else 0
            elif byte == (c'}' if is_object else c']'):
                depth -= 1
            else:
                break
            if not append(out, &byte, 1):
                result = NO_MEMORY
                break
            at += 1
        elif (expected == 3 and byte == c'}') or (expected == 1 and byte == c']'):
            depth -= 1
            expected = 4
            if not append(out, &byte, 1):
                result = NO_MEMORY
                break
            at += 1
        elif byte == c'"':
            escaped = False
            stop = string_end(data, at + 1, end, &escaped)
            if stop < 0:
                result = UNFINISHED
                break
            escaped = escaped and not good_escapes(data, at + 1, stop)
            result = NO_MEMORY
            if not append(out, b'"', 1) or not append_cleaned(out, data + at + 1, stop - at - 1, escaped):
                break
            if not append(out, b'"', 1):
                break
            at = stop + 1
            if expected < 2:
                expected = 4
            else:
                at = skip_space(data, at, end)
                if at >= end:
                    result = UNFINISHED
                    break
                if data[at] != c':':
                    result = MALFORMED
                    break
                if not append(out, b":", 1):
                    break
                at += 1
                expected = 0
        elif expected >= 2:
            break
        elif byte == c'{' or byte == c'[':
            if depth >= MAX_DEPTH:
                break
            if byte == c'{':
                nesting[depth >> 6] |= <uint64_t>1 << (depth & 63)
            else:
                nesting[depth >> 6] &= ~(<uint64_t>1 << (depth & 63))
            depth += 1
            expected = 3 if byte == c'{' else 1
            if not append(out, &byte, 1):
                result = NO_MEMORY
                break
            at += 1
        else:
            stop = word_end(data, at, end)
            if stop < 0:
                if runs_to_end(data, at, end):
                    result = UNFINISHED
                    break
                stop = number_end(data, at, end, &integer)
                if stop < 0 or not ends_number(data, stop):
                    stop = bare_end(data, at, end)
                    if stop < 0:
                        result = UNFINISHED if ends_bare(data, at, end) else MALFORMED
                        break
                    if not append_bare(out, data + at, stop - at):
                        result = NO_MEMORY
                        break
                    at = stop
                    expected = 4
                    result = UNFINISHED
                    continue
            if not append(out, data + at, stop - at):
                result = NO_MEMORY
                break
            at = stop
            expected = 4
        result = UNFINISHED
    out.used = started
    return result


# Return the end of a number at `at` that consists of digits, optionally with a point and no more decimals than ticks
# have, and set its ticks and places as `parse_ticks` does; -1 for other numbers, and for one that may continue after
# `end`.
cdef inline int64_t plain_ticks(
    const uint8_t* data, int64_t at, int64_t end, int digits, int64_t* ticks, int* places
) noexcept nogil:
    cdef int64_t i = at
    cdef int64_t point
    cdef uint64_t value = 0
    places[0] = 0
    while i < end and is_digit(data[i]):
        value = value * 10 + (data[i] - c'0')
        i += 1
    point = i
    # All below 10**18 fit.
    if point == at or point - at + digits > 18:
        return -1
    if i < end and data[i] == c'.':
        i += 1
        while i < end and is_digit(data[i]):
            value = value * 10 + (data[i] - c'0')
            if data[i] != c'0':
                places[0] = <int>(i - point)
            i += 1
        digits -= <int>(i - point - 1)
        if i - point == 1 or i - point > 18 or digits < 0:
            return -1
    if i == end or data[i] | 0x20 == c'e':
        return -1
    while digits:
        value *= 10
        digits -= 1
    ticks[0] = <int64_t>value
    return i


# A decimal number of microseconds as ticks of 10**-digits microseconds, exact or rounded to the nearest (away from zero
# at a tie). `rounded` tells, `places` is the number of decimals that it has. False when it is out of range.
cdef inline bint parse_ticks(
    const uint8_t* text, int64_t size, int digits, int64_t* ticks, bint* rounded, int* places
) noexcept nogil:
    cdef int64_t i = 0
    cdef bint negative = False
    cdef uint64_t value = 0
    cdef int64_t exponent = 0
    cdef int64_t shift, last
    cdef bint exponent_negative = False
    cdef int64_t mantissa_end = size
    cdef int64_t point = -1
    cdef bint half = False
    cdef uint64_t most = <uint64_t>9223372036854775807
    rounded[0] = False
    if size and text[0] == c'-':
        negative = True
        most += 1
        i = 1
    for last in range(i, size):
        if text[last] == c'.':
            point = last
        elif text[last] == c'e' or text[last] == c'E':
            mantissa_end = last
            last += 1
            if text[last] == c'+' or text[last] == c'-':
                exponent_negative = text[last] == c'-'
                last += 1
            while last < size:
                if exponent < 100000:
                    exponent = exponent * 10 + (text[last] - c'0')
                last += 1
            break
    if exponent_negative:
        exponent = -exponent
    # The number of digits of the mantissa that count: those before the point, moved by the exponent and the ticks' own
    # decimals.
    shift = ((point if point >= 0 else mantissa_end) - i) + exponent + digits
    places[0] = 0
    for last in range(i, mantissa_end):
        if last == point:
            continue
        if shift > 0:
            if value > <uint64_t>922337203685477580:
                return False
            value = value * 10 + (text[last] - c'0')
            if value > most:
                return False
        else:
            if shift == 0 and text[last] >= c'5':
                half = True
            if text[last] != c'0':
                rounded[0] = True
        shift -= 1
        if text[last] != c'0' and digits - shift > places[0]:
            # Digit number k after the (moved) point is not zero.
            places[0] = <int>(digits - shift if digits - shift < 1000 else 1000)
    while shift > 0 and value:
        if value > <uint64_t>922337203685477580:
            return False
        value = value * 10
        if value > most:
            return False
        shift -= 1
    if half:
        value += 1
        if value > most:
            return False
    ticks[0] = <int64_t>(0 - value) if negative else <int64_t>value
    return True


# The value of hexadecimal digits that `is_hexadecimal` has accepted.
cdef inline uint64_t hexadecimal(const uint8_t* text, int64_t size) noexcept nogil:
    cdef uint64_t value = 0
    cdef int64_t i
    for i in range(size):
        value = (value << 4) | <uint64_t>((text[i] - c'0') if text[i] <= c'9' else (text[i] - c'a' + 10))
    return value
