# Values as text: strings in quotes, bytes in hexadecimal digits, floating-point numbers. False is always: no memory.

from libc.math cimport fabs, floor, isfinite, isnan
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from converter.kernels.io.output cimport Output, append, ensure, put8
from converter.kernels.tables.strings cimport PADDING
from converter.kernels.text.doubles cimport put_shortest
from converter.printing.forms cimport lower_digits, put_decimal

cdef extern from *:
    """
    #include <stdint.h>
    /* Bit 0: needs quotes beside other texts; bit 1: is escaped in quotes; bit 2: never printed as it is.
       Bit 3: is not ASCII. */
    static unsigned char text_bytes[256];

    static void classify_bytes(void)
    {
        int i;
        for (i = 0; i < 256; i++) {
            int blank = i == ' ' || (i >= '\\t' && i <= '\\r') || (i >= 28 && i <= 31);
            int mark = i == '"' || i == '\\\\';
            int delimiter = i == '=' || i == ',' || i == '[' || i == ']' || i == '{' || i == '}';
            text_bytes[i] = (blank || mark || delimiter) | (mark || i < ' ') << 1 | (i < ' ' || i == 127) << 2 | (i > 127) << 3;
        }
    }

    /* A control character, or 0xc2, which begins those of Unicode. */
    static inline unsigned char acts(unsigned char byte)
    {
        return ((byte < ' ') & (byte != '\\t') & (byte != '\\n')) | (byte == 127) | (byte == 0xc2);
    }

    /* True if there is any: without branches, so that compilers look at many bytes at once. */
    static int may_have_controls(const unsigned char* data, int64_t size)
    {
        unsigned char found[64] = {0};
        int64_t i, j;
        for (i = 0; i + 64 <= size; i += 64)
            for (j = 0; j < 64; j++)
                found[j] |= acts(data[i + j]);
        for (; i < size; i++)
            found[0] |= acts(data[i]);
        for (j = 1; j < 64; j++)
            found[0] |= found[j];
        return found[0];
    }
    """
    bint may_have_controls(const uint8_t* data, int64_t size) noexcept nogil
    const uint8_t* text_bytes
    void classify_bytes() noexcept nogil

cdef enum:
    NEEDS_QUOTES = 1
    ESCAPED = 2
    UNPRINTABLE = 4
    NOT_ASCII = 8


# Everything that any byte of a text is.
cdef inline int traits(const uint8_t* data, int64_t size) noexcept nogil:
    cdef int found = 0
    cdef int64_t i
    for i in range(size):
        found |= text_bytes[data[i]]
    return found


# A byte as Python escapes it in a text: \x1b.
cdef inline void put_escape(Output* out, uint8_t byte) noexcept nogil:
    out.data[out.used] = c'\\'
    if byte == c'\t' or byte == c'\n' or byte == c'\r':
        out.data[out.used + 1] = c't' if byte == c'\t' else c'n' if byte == c'\n' else c'r'
        out.used += 2
        return
    out.data[out.used + 1] = c'x'
    out.data[out.used + 2] = lower_digits[byte >> 4]
    out.data[out.used + 3] = lower_digits[byte & 15]
    out.used += 4


# ASCII that needs no quotes, or has none of its own accord.
cdef inline bint put_bare(Output* out, const uint8_t* data, int64_t size) noexcept nogil:
    cdef int64_t i
    if not ensure(out, 4 * size):
        return False
    for i in range(size):
        if text_bytes[data[i]] & UNPRINTABLE:
            put_escape(out, data[i])
        else:
            put8(out, data[i])
    return True


# ASCII in quotes, as JSON has it, and without a byte that a terminal would act upon.
cdef inline bint put_json(Output* out, const uint8_t* data, int64_t size) noexcept nogil:
    cdef int64_t i
    cdef uint8_t byte, letter
    if not ensure(out, 6 * size + 2):
        return False
    put8(out, c'"')
    for i in range(size):
        byte = data[i]
        if byte == 127:
            put_escape(out, byte)
        elif not text_bytes[byte] & ESCAPED:
            put8(out, byte)
        else:
            letter = (
                byte if byte == c'"' or byte == c'\\' else c'b' if byte == c'\b' else c't' if byte == c'\t'
                else c'n' if byte == c'\n' else c'f' if byte == c'\f' else c'r' if byte == c'\r' else 0
            )
            put8(out, c'\\')
            if letter:
                put8(out, letter)
            else:
                put8(out, c'u')
                put8(out, c'0')
                put8(out, c'0')
                put8(out, lower_digits[byte >> 4])
                put8(out, lower_digits[byte & 15])
    put8(out, c'"')
    return True


# Two digits a byte, with a delimiter between bytes unless that is below 0.
cdef inline bint put_octets(Output* out, const uint8_t* data, int64_t size, int delimiter) noexcept nogil:
    cdef int64_t i
    if not ensure(out, 3 * size):
        return False
    for i in range(size):
        if i and delimiter >= 0:
            put8(out, <uint8_t>delimiter)
        put8(out, lower_digits[data[i] >> 4])
        put8(out, lower_digits[data[i] & 15])
    return True


# Millionths as a decimal number, with as many decimals as it has, but one at least.
cdef inline bint put_decimals(Output* out, int64_t value) noexcept nogil:
    cdef uint64_t magnitude = <uint64_t>value if value >= 0 else <uint64_t>0 - <uint64_t>value
    cdef uint64_t part = magnitude % 1000000
    cdef int places = 6
    cdef int i
    if not (ensure(out, 40) and (value >= 0 or append(out, b"-", 1)) and put_decimal(out, magnitude // 1000000, False)):
        return False
    while places > 1 and part % 10 == 0:
        part //= 10
        places -= 1
    put8(out, c'.')
    out.used += places
    for i in range(1, places + 1):
        out.data[out.used - i] = <uint8_t>(c'0' + part % 10)
        part //= 10
    return True


# The shortest text that reads as the same number.
cdef inline bint put_double(Output* out, double value, bint quoted) noexcept nogil:
    cdef double scaled
    cdef bint good
    if not isfinite(value):
        if quoted and not append(out, b'"', 1):
            return False
        if isnan(value):
            good = append(out, b"NaN", 3)
        else:
            good = append(out, b"Infinity", 8) if value > 0 else append(out, b"-Infinity", 9)
        return good and (not quoted or append(out, b'"', 1))
    if 1e-4 <= fabs(value) < 1e9:
        # A number of few decimals: both are exact then, so that their quotient is the nearest to what is printed.
        scaled = value * 1e6
        if floor(scaled) == scaled and scaled / 1e6 == value:
            return put_decimals(out, <int64_t>scaled)
    return put_shortest(out, value)


# A control character: all but line ends and tabs.
cdef inline bint is_control(uint8_t byte) noexcept nogil:
    return byte < c' ' and byte != c'\t' and byte != c'\n' or byte == 127


cdef inline void put_padded(Output* out, const uint8_t* data, int64_t size) noexcept nogil:
    """Put bytes with PADDING readable ones after them, in steps of PADDING, which are faster than a call."""
    cdef int64_t i = 0
    cdef uint8_t* place = out.data + out.used
    while i < size:
        memcpy(place + i, data + i, PADDING)
        i += PADDING
    out.used += size


# Return True if there is anything among some text that acts upon a terminal.
cdef inline bint has_controls(const uint8_t* data, int64_t size) noexcept nogil:
    cdef int64_t i
    if not may_have_controls(data, size):
        return False
    for i in range(size):
        if is_control(data[i]) or data[i] == 0xC2 and i + 1 < size and 0x80 <= data[i + 1] <= 0x9F:
            return True
    return False
