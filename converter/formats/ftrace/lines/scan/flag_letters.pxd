from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum:
    # The most characters of flags.
    MOST_FLAGS = 12


# The meaning of each column of the flags, as far as a header says it.
cdef struct Columns:
    int count
    uint8_t[MOST_FLAGS] meaning
    # Letters are those of trace-cmd, which has one for any need to reschedule.
    bint of_report


cdef bint read_letters(
    const Columns* columns, const uint8_t* base, int64_t at, int64_t end, int32_t* flags, int32_t* depths
) noexcept nogil
