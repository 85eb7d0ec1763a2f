# Results of operations on numbers.

from libc.stdint cimport int64_t, uint64_t

from converter.printing.forms cimport LEFT, Form, extended
from converter.printing.program cimport (
    ADD, AND, BOTH, DIVIDE, EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, MULTIPLY, NOT_EQUAL, OR, REMAINDER,
    SHIFT_LEFT, SHIFT_RIGHT, SUBTRACT, XOR,
)

cdef extern from *:
    """
    #include <stdint.h>
    typedef unsigned __int128 traceconv_wide;
    static inline void split_time(
        uint64_t ticks, uint64_t multiplier, uint64_t divisor,
        uint64_t* seconds, uint64_t* nanos)
    {
        traceconv_wide all;
        if (multiplier == 1 && divisor == 1) {
            *seconds = ticks / 1000000000u;
            *nanos = ticks % 1000000000u;
            return;
        }
        all = (traceconv_wide)ticks * multiplier / divisor;
        *seconds = (uint64_t)(all / 1000000000u);
        *nanos = (uint64_t)(all % 1000000000u);
    }
    """
    void split_time(
        uint64_t ticks, uint64_t multiplier, uint64_t divisor, uint64_t* seconds, uint64_t* nanos
    ) noexcept nogil

cdef enum:
    MOST_WIDTH = 4096
    MOST_PRECISION = 1 << 20


cdef inline uint64_t combined(int64_t code, uint64_t left, uint64_t right) noexcept nogil:
    """Return the result of C's operator for two numbers; what it leaves undefined is 0, and a shift takes its count
    modulo 64.
    """
    if code == MULTIPLY:
        return left * right
    if code == DIVIDE:
        return left // right if right else 0
    if code == REMAINDER:
        return left % right if right else 0
    if code == ADD:
        return left + right
    if code == SUBTRACT:
        return left - right
    if code == SHIFT_LEFT:
        return left << (right & 63)
    if code == SHIFT_RIGHT:
        return left >> (right & 63)
    if code == LESS:
        return left < right
    if code == GREATER:
        return left > right
    if code == LESS_EQUAL:
        return left <= right
    if code == GREATER_EQUAL:
        return left >= right
    if code == EQUAL:
        return left == right
    if code == NOT_EQUAL:
        return left != right
    if code == AND:
        return left & right
    if code == XOR:
        return left ^ right
    if code == OR:
        return left | right
    if code == BOTH:
        return left != 0 and right != 0
    return left != 0 or right != 0


cdef inline void resolve(Form* form, int64_t stars, const uint64_t* sizes) noexcept nogil:
    """Put in the width (bit 0 of `stars`) and the precision (bit 1) that are arguments, numbers of 32 bits."""
    cdef int64_t number
    if stars & 1:
        number = <int64_t>extended(sizes[0], 32)
        if number < 0:
            form.flags |= LEFT
            number = -number
        form.width = min(number, MOST_WIDTH)
        sizes += 1
    if stars & 2:
        number = <int64_t>extended(sizes[0], 32)
        form.precision = min(number, MOST_PRECISION) if number >= 0 else -1
