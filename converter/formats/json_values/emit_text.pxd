"""Values as JSON text: strings, decimal and hexadecimal numbers, doubles, bytes. False is always: no memory."""

from libc.math cimport isfinite, isnan, signbit
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from converter.formats.json_values.text cimport (
    is_hexadecimal, put_escaped, special_number,
)
from converter.kernels.batches.column_view cimport ColumnView, bits_of, fetch_ahead
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load32, load64, store32, store64
from converter.kernels.io.copying cimport copy_run
from converter.kernels.io.output cimport Output, append, ensure, put8, put_bytes
from converter.kernels.text.decimal cimport write_digits, write_integer
from converter.kernels.text.doubles cimport put_shortest

cdef extern from *:
    """
    static const long long powers_of_ten[19] = {
        1LL, 10LL, 100LL, 1000LL, 10000LL, 100000LL, 1000000LL, 10000000LL, 100000000LL, 1000000000LL, 10000000000LL,
        100000000000LL, 1000000000000LL, 10000000000000LL, 100000000000000LL, 1000000000000000LL,
        10000000000000000LL, 100000000000000000LL, 1000000000000000000LL,
    };

    /* A point and three digits, of all numbers that have as many. */
    #define TEN_OF(front) front "0" front "1" front "2" front "3" front "4" front "5" front "6" front "7" front "8" front "9"
    #define HUNDRED_OF(front) TEN_OF(front "0") TEN_OF(front "1") TEN_OF(front "2") TEN_OF(front "3") TEN_OF(front "4") \
        TEN_OF(front "5") TEN_OF(front "6") TEN_OF(front "7") TEN_OF(front "8") TEN_OF(front "9")
    static const char thousandths[] =
        HUNDRED_OF(".0") HUNDRED_OF(".1") HUNDRED_OF(".2") HUNDRED_OF(".3") HUNDRED_OF(".4")
        HUNDRED_OF(".5") HUNDRED_OF(".6") HUNDRED_OF(".7") HUNDRED_OF(".8") HUNDRED_OF(".9");

    /* The eight digits of a number of 32 bits, the highest in the lowest byte: nibbles are spread to a byte each. */
    static inline unsigned long long eight_digits(unsigned long long value)
    {
        unsigned long long letters;
        value = (value & 0xffff0000ULL) << 16 | (value & 0xffffULL);
        value = (value << 8 | value) & 0x00ff00ff00ff00ffULL;
        value = (value << 4 | value) & 0x0f0f0f0f0f0f0f0fULL;
        letters = (value + 0x0606060606060606ULL) >> 4 & 0x0101010101010101ULL;
        value += 0x3030303030303030ULL + letters * ('a' - '0' - 10);
        return __builtin_bswap64(value);
    }
    """
    uint64_t eight_digits(uint64_t value) noexcept nogil
    const char* thousandths
    const int64_t* powers_of_ten
    int __builtin_clz(unsigned int) noexcept nogil
    int __builtin_clzll(unsigned long long) noexcept nogil


cdef enum:
    # Bytes of a number in decimal at most, with a sign, a point and decimals; some are written that it does not take.
    MOST_OF_NUMBER = 48
    # Bytes of a string that is copied at once.
    MOST_OF_SHORT = 32
    # Room is made for this many integers at once.
    INTEGERS_AT_ONCE = 32


cdef inline bint has_escape(uint64_t word) noexcept nogil:
    """Return True if a string has to escape any of eight bytes."""
    cdef uint64_t quote, slash, found
    quote = word ^ <uint64_t>0x2222222222222222
    slash = word ^ <uint64_t>0x5C5C5C5C5C5C5C5C
    found = (word - <uint64_t>0x2020202020202020) & ~word
    found |= (quote - <uint64_t>0x0101010101010101) & ~quote
    found |= (slash - <uint64_t>0x0101010101010101) & ~slash
    return (found & <uint64_t>0x8080808080808080) != 0


cdef inline int64_t next_escape(const uint8_t* data, int64_t at, int64_t size) noexcept nogil:
    """The place of the first byte from `at` on that a string has escaped, or `size`. Eight bytes are ruled out at once."""
    while size - at >= 8:
        if has_escape(load64(data + at, False)):
            break
        at += 8
    else:
        # The rest are the last of eight bytes, the others of which need no escape.
        if size >= 8 and not has_escape(load64(data + size - 8, False)):
            return size
    while at < size and data[at] >= c' ' and data[at] != c'"' and data[at] != c'\\':
        at += 1
    return at


cdef inline bint put_string(Output* out, const uint8_t* data, int64_t size, bint plain) noexcept nogil:
    """A string in quotes. Unless `plain`, text that the reader takes for a number has its first character escaped."""
    cdef int64_t i = 0
    cdef int64_t run
    cdef uint8_t byte
    if not ensure(out, size + 16):
        return False
    put8(out, c'"')
    if not plain and (is_hexadecimal(data, size) or special_number(data, size)):
        put_escaped(out, data[0])
        i = 1
    while i < size:
        run = i
        i = next_escape(data, i, size)
        copy_run(out.data + out.used, data + run, i - run)
        out.used += i - run
        if i == size:
            break
        byte = data[i]
        i += 1
        # Room for this escape, for what follows and for the closing quote.
        if not ensure(out, size - i + 16):
            return False
        if byte != c'"' and byte != c'\\' and byte != c'\n' and byte != c'\t':
            put_escaped(out, byte)
        else:
            put8(out, c'\\')
            put8(out, c'n' if byte == c'\n' else c't' if byte == c'\t' else byte)
    put8(out, c'"')
    return True


cdef inline uint64_t word_of(const uint8_t* data, int64_t at, int64_t size) noexcept nogil:
    """Eight bytes from `at` < size on, the first one the lowest; bytes beyond `size` are letters "a"."""
    cdef uint64_t word = load64(data + at, HOST_IS_BIG)
    cdef uint64_t beyond
    if size - at >= 8:
        return word
    beyond = <uint64_t>0xFFFFFFFFFFFFFFFF << 8 * (size - at)
    return word & ~beyond | <uint64_t>0x6161616161616161 & beyond


cdef inline bint are_hexadecimal(uint64_t word) noexcept nogil:
    """Return True if eight bytes are all 0 to 9 or a to f."""
    cdef uint64_t tops = <uint64_t>0x8080808080808080
    cdef uint64_t rest = word & ~tops
    # A byte's highest bit is set by what brings it to 128: from "0" on, but below what follows "9"; from "a" to "f".
    cdef uint64_t digits = (rest + <uint64_t>0x5050505050505050) & ~(rest + <uint64_t>0x4646464646464646)
    cdef uint64_t letters = (rest + <uint64_t>0x1F1F1F1F1F1F1F1F) & ~(rest + <uint64_t>0x1919191919191919)
    return ((digits | letters) & ~word & tops) == tops


cdef inline uint8_t* put_short(uint8_t* at, const uint8_t* data, int64_t size) noexcept nogil:
    """Put a string of up to MOST_OF_SHORT bytes as `put_string` writes it, where MOST_OF_SHORT + 16 bytes can be
    written and MOST_OF_SHORT read. Return the position after it, or NULL for a string with escapes and for a number
    whose text is not made of digits.
    """
    cdef uint64_t word
    cdef int64_t i = 0
    cdef bint is_number = False
    at[0] = c'"'
    if size:
        word = word_of(data, 0, size)
        if has_escape(word):
            return NULL
        # "0x".
        is_number = word & 0xFFFF == 0x7830 and 3 <= size <= 18 and (data[2] != c'0' or size == 3)
        if not is_number and (data[0] == c'N' or data[0] == c'I' or data[0] == c'-'):
            return NULL
        if is_number:
            is_number = are_hexadecimal(word & ~<uint64_t>0xFFFF | <uint64_t>0x6161)
        i = 8
        while i < size:
            word = word_of(data, i, size)
            if has_escape(word):
                return NULL
            is_number = is_number and are_hexadecimal(word)
            i += 8
        if is_number:
            memcpy(at + 1, b"\\u0030", 6)
            at += 6
            data += 1
            size -= 1
        memcpy(at + 1, data, MOST_OF_SHORT)
    at[size + 1] = c'"'
    return at + size + 2


cdef inline uint8_t* put_thousandths(uint8_t* at, uint32_t part) noexcept nogil:
    """Put a point and three decimals without zeros at the end, nothing for 0, where there are 4 bytes; return the
    position after them.
    """
    cdef uint32_t text = load32(<const uint8_t*>thousandths + 4 * part, HOST_IS_BIG)
    # The difference from ".000", the last decimal highest. Which of them are zeros cannot be predicted.
    cdef uint32_t digits = text ^ <uint32_t>0x3030302E
    store32(at, text, HOST_IS_BIG)
    return at + ((39 - __builtin_clz(digits | 1)) >> 3) * (part != 0)


cdef inline uint8_t* put_decimal(uint8_t* at, int64_t value, int places) noexcept nogil:
    """Put value / 10**places, without zeros at the end, where there are MOST_OF_NUMBER bytes; return the position after
    it.
    """
    cdef uint64_t magnitude = <uint64_t>value
    cdef uint64_t whole, part
    cdef int i
    if value < 0:
        magnitude = <uint64_t>0 - magnitude
        at[0] = c'-'
        at += 1
    if places == 3:
        whole = magnitude // 1000
        return put_thousandths(at + write_digits(at, whole), <uint32_t>(magnitude - whole * 1000))
    whole = magnitude // <uint64_t>powers_of_ten[places]
    part = magnitude - whole * <uint64_t>powers_of_ten[places]
    at += write_digits(at, whole)
    if part == 0:
        return at
    at[0] = c'.'
    for i in range(places, 0, -1):
        at[i] = <uint8_t>(c'0' + part % 10)
        part //= 10
    while at[places] == c'0':
        places -= 1
    return at + places + 1


cdef inline uint8_t* put_unsigned(uint8_t* at, uint64_t value) noexcept nogil:
    """Put a number, in quotes where JSON's readers may not represent it exactly, where there are MOST_OF_NUMBER bytes;
    return the position after it.
    """
    if value >> 63 == 0:
        return at + write_digits(at, value)
    at[0] = c'"'
    at += 1 + write_digits(at + 1, value)
    at[0] = c'"'
    return at + 1


cdef inline bint append_integers(
    Output* out, const ColumnView* view, int64_t first, int64_t last, bint signed
) noexcept nogil:
    """The elements of a list of integers, rows that the view has, with commas between them."""
    cdef uint8_t* at
    cdef int64_t k = first
    cdef int64_t stop
    fetch_ahead(view, first)
    while k < last:
        stop = min(last, k + INTEGERS_AT_ONCE)
        if not ensure(out, MOST_OF_NUMBER * INTEGERS_AT_ONCE):
            return False
        at = out.data + out.used
        while k < stop:
            if signed:
                at += write_integer(at, bits_of(view, k, 8), True)
            else:
                at = put_unsigned(at, bits_of(view, k, 8))
            at[0] = c','
            at += 1
            k += 1
        out.used = at - out.data
    # No comma after the last one.
    out.used -= first < last
    return True


cdef inline uint8_t* put_hexadecimal(uint8_t* at, uint64_t value, int size) noexcept nogil:
    """Put the lowest `size` digits, 1 to 16, where there are 16 bytes; return the position after them."""
    cdef uint64_t low = eight_digits(value & <uint64_t>0xFFFFFFFF)
    if size > 8:
        store64(at, eight_digits(value >> 32) >> 8 * (16 - size), HOST_IS_BIG)
        store64(at + size - 8, low, HOST_IS_BIG)
    else:
        store64(at, low >> 8 * (8 - size), HOST_IS_BIG)
    return at + size


cdef inline uint8_t* put_address(uint8_t* at, uint64_t value) noexcept nogil:
    """Put "0x..." in quotes, without leading zeros, where there are 20 bytes; return the position after it."""
    memcpy(at, b'"0x', 3)
    at = put_hexadecimal(at + 3, value, 1 if value == 0 else (67 - __builtin_clzll(value)) >> 2)
    at[0] = c'"'
    return at + 1


cdef inline bint put_float(Output* out, double value) noexcept nogil:
    """The shortest text that reads as the same double, always with a point or an exponent."""
    cdef int places
    cdef double scaled
    cdef uint64_t bits
    if not isfinite(value):
        if isnan(value):
            memcpy(&bits, &value, 8)
            if bits == <uint64_t>0x7FF8000000000000:
                return append(out, b'"NaN"', 5)
            if not ensure(out, 32):
                return False
            put_bytes(out, b'"NaN:', 5)
            out.used = put_hexadecimal(out.data + out.used, bits, 16) - out.data
            put8(out, c'"')
            return True
        return append(out, b'"-Infinity"', 11) if value < 0 else append(out, b'"Infinity"', 10)
    if value == 0:
        return append(out, b"-0.0", 4) if signbit(value) else append(out, b"0.0", 3)
    for places in range(7):
        scaled = value * <double>powers_of_ten[places]
        if not -9007199254740992.0 < scaled < 9007199254740992.0:
            break
        # Both are exact doubles, so the quotient is the double nearest to the decimal number.
        if <double><int64_t>scaled == scaled and scaled / <double>powers_of_ten[places] == value:
            if not ensure(out, MOST_OF_NUMBER):
                return False
            out.used = put_decimal(out.data + out.used, <int64_t>scaled, places) - out.data
            return append(out, b".0", 2) if places == 0 else True
    return put_shortest(out, value)


cdef inline bint put_base64(Output* out, Output* scratch, const uint8_t* data, int64_t size) noexcept nogil:
    cdef const char* letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    cdef int64_t i = 0
    cdef uint64_t three
    cdef uint8_t* place
    scratch.used = 0
    if not ensure(scratch, (size + 2) // 3 * 4):
        return False
    place = scratch.data
    while i < size:
        three = <uint64_t>data[i] << 16
        if i + 1 < size:
            three |= <uint64_t>data[i + 1] << 8
        if i + 2 < size:
            three |= data[i + 2]
        place[0] = <uint8_t>letters[three >> 18]
        place[1] = <uint8_t>letters[three >> 12 & 63]
        place[2] = <uint8_t>(letters[three >> 6 & 63] if i + 1 < size else c'=')
        place[3] = <uint8_t>(letters[three & 63] if i + 2 < size else c'=')
        place += 4
        i += 3
    return put_string(out, scratch.data, (size + 2) // 3 * 4, False)


cdef struct Millisecond:
    # Times from `start` on, up to a millisecond later, begin with this text of up to 16 characters.
    int64_t start
    int64_t size
    uint8_t text[16]


cdef inline uint8_t* put_microseconds(uint8_t* at, Millisecond* last, int64_t value) noexcept nogil:
    """Put the same as `put_decimal` with three places. Most times are in the same millisecond as the one before."""
    cdef uint64_t beyond = <uint64_t>value - <uint64_t>last.start
    cdef uint32_t micro
    # The difference of two times may exceed 64 bits.
    if last.size == 0 or beyond >= 1000000 or value < last.start:
        if value < 1000000:
            return put_decimal(at, value, 3)
        # Up to 13 digits.
        last.size = write_digits(at, <uint64_t>value // 1000000)
        memcpy(last.text, at, 16)
        beyond = <uint64_t>value % 1000000
        last.start = value - <int64_t>beyond
    memcpy(at, last.text, 16)
    at += last.size
    micro = <uint32_t>beyond // 1000
    memcpy(at, thousandths + 4 * micro + 1, 4)
    return put_thousandths(at + 3, <uint32_t>beyond - micro * 1000)
