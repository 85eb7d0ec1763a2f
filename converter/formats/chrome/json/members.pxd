"""The standard members of an event, as bits and by name."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp


cdef enum:
    HAS_NAME = 1
    HAS_CATEGORY = 2
    HAS_DURATION = 4
    HAS_THREAD_TIME = 8
    HAS_THREAD_DURATION = 16
    HAS_SCOPE = 32
    HAS_ID_SCOPE = 64
    HAS_FLOW_IN = 128
    HAS_FLOW_OUT = 256
    HAS_MEMBERS = 512
    HAS_TS = 1024
    HAS_PHASE = 2048
    HAS_PID = 4096
    HAS_TID = 8192
    HAS_ARGUMENTS = 16384
    HAS_CPU = 32768
    HAS_EVENT_PID = 65536
    HAS_EVENT_TID = 131072
    HAS_TYPES = 262144
    BINDS_ENCLOSING = 524288
    # Those that the class key tells.
    OPTIONAL = 4 + 8 + 16 + 32 + 64 + 128 + 256 + 512 + 524288

# Members without a bit in `present`.
cdef enum:
    OTHER_MEMBER = 0
    ID_MEMBER = -1
    ID2_MEMBER = -2
    BIND_ID_MEMBER = -3
    EVENT_ARGUMENTS_MEMBER = -4

cdef enum:
    # The number of bits and of members without one.
    STANDARD_MEMBERS = 24

cdef extern from *:
    int __builtin_ctz(unsigned int) noexcept nogil


# Number a standard member, from 0 on.
cdef inline int number_of(int member) noexcept nogil:
    return __builtin_ctz(<unsigned int>member) if member > 0 else 19 - member

# Which standard member a key is: one of HAS_*, or one of the above.
cdef inline int member_of(const uint8_t* key, int64_t size) noexcept nogil:
    if size == 2:
        if key[0] == c'p' and key[1] == c'h':
            return HAS_PHASE
        if key[0] == c't' and key[1] == c's':
            return HAS_TS
        if key[0] == c'i' and key[1] == c'd':
            return ID_MEMBER
        if key[0] == c'b' and key[1] == c'p':
            return BINDS_ENCLOSING
    elif size == 3:
        if memcmp(key, b"pid", 3) == 0:
            return HAS_PID
        if memcmp(key, b"tid", 3) == 0:
            return HAS_TID
        if memcmp(key, b"cat", 3) == 0:
            return HAS_CATEGORY
        if memcmp(key, b"dur", 3) == 0:
            return HAS_DURATION
        if memcmp(key, b"tts", 3) == 0:
            return HAS_THREAD_TIME
        if memcmp(key, b"id2", 3) == 0:
            return ID2_MEMBER
        if memcmp(key, b"cpu", 3) == 0:
            return HAS_CPU
    elif size == 4:
        if memcmp(key, b"name", 4) == 0:
            return HAS_NAME
        if memcmp(key, b"args", 4) == 0:
            return HAS_ARGUMENTS
        if memcmp(key, b"tdur", 4) == 0:
            return HAS_THREAD_DURATION
    elif size == 1:
        if key[0] == c's':
            return HAS_SCOPE
    elif size == 5:
        if memcmp(key, b"scope", 5) == 0:
            return HAS_ID_SCOPE
    elif size == 7:
        if memcmp(key, b"bind_id", 7) == 0:
            return BIND_ID_MEMBER
        if memcmp(key, b"flow_in", 7) == 0:
            return HAS_FLOW_IN
    elif size == 8:
        if memcmp(key, b"flow_out", 8) == 0:
            return HAS_FLOW_OUT
    elif size == 9:
        if memcmp(key, b"event_pid", 9) == 0:
            return HAS_EVENT_PID
        if memcmp(key, b"event_tid", 9) == 0:
            return HAS_EVENT_TID
        if memcmp(key, b"arg_types", 9) == 0:
            return HAS_TYPES
    elif size == 10:
        if memcmp(key, b"event_args", 10) == 0:
            return EVENT_ARGUMENTS_MEMBER
    return OTHER_MEMBER
