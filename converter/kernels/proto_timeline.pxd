from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t


# What one TrackEvent consists of, before it is put together.
cdef struct Parsed:
    uint64_t type
    int32_t name
    int32_t category
    uint8_t has_name
    uint8_t has_track
    uint8_t has_counter
    uint8_t has_double
    uint8_t has_delta
    uint8_t has_absolute
    uint8_t has_correlation
    uint8_t has_weight
    uint8_t has_callstack
    int32_t correlation_name
    uint64_t track
    uint64_t counter
    int64_t time_us
    uint64_t correlation
    uint64_t weight
    uint64_t callstack
    int64_t callstack_start
    int64_t callstack_size
    int64_t legacy_start
    int64_t legacy_size
    uint8_t has_legacy
