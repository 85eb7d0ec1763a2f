# Times from values of a clock: shifted, and scaled to another rate. Both return 0 for a time that 64 bits do not hold.

from libc.stdint cimport int64_t, uint64_t


cdef extern from *:
    """
    #include <stdint.h>
    static inline int shifted(uint64_t value, int64_t shift, int64_t* result) {
        __int128 sum = (__int128)value + shift;
        *result = (int64_t)sum;
        return sum == *result;
    }
    /* floor((value + shift) * numerator / denominator) */
    static inline int scaled(
        uint64_t value, int64_t shift, int64_t numerator, int64_t denominator, int64_t* result
    ) {
        __int128 sum = (__int128)value + shift;
        __int128 whole = sum / denominator, rest = sum % denominator;
        if (rest < 0) { rest += denominator; whole -= 1; }
        if (whole > ((__int128)1 << 63) || whole < -((__int128)1 << 63)) return 0;
        sum = whole * numerator + rest * numerator / denominator;
        *result = (int64_t)sum;
        return sum == *result;
    }
    """
    bint shifted(uint64_t, int64_t, int64_t*) noexcept nogil
    bint scaled(uint64_t, int64_t, int64_t, int64_t, int64_t*) noexcept nogil
