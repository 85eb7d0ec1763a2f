# The functions that a task is in, followed by the depths of its records.
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport realloc

from converter.formats.uftrace.reading.kernels.scan_streams cimport ENTRY, EXIT, Stream


cdef enum:
    # Depths are recorded modulo this.
    DEPTHS = 1024
    # A frame whose entry is not in the recording.
    UNKNOWN = -1
    # Frames of a task that are followed.
    MOST_FRAMES = 1 << 22


# The depth that a record has: its number is modulo 1024, and the stack tells which of those it is. Functions are left
# without an exit, but never entered without an entry, unless records were lost.
cdef inline int64_t depth_of(const Stream* stream, int64_t number, int32_t kind) noexcept nogil:
    cdef int64_t expected = stream.depth if kind == ENTRY else stream.depth - 1
    cdef int64_t difference = (number - expected) & (DEPTHS - 1)
    cdef int64_t least = DEPTHS // 2 if stream.adrift else 1 if kind == ENTRY else 2
    if difference >= least and expected + difference - DEPTHS >= 0:
        difference -= DEPTHS
    elif expected + difference < 0:
        difference += DEPTHS
    return expected + difference


# Return True if an exit is that of the innermost function alone although its depth is that of one further out:
# recorders other than uftrace have counted wrongly.
cdef inline bint is_top_alone(const Stream* stream, int32_t name, int64_t depth) noexcept nogil:
    return stream.frames[stream.depth - 1] == name and stream.frames[depth] != name


# Enter or leave a function at a depth: whether the exit is that of a known entry, -1 without memory.
cdef inline int follow(Stream* stream, int32_t kind, int64_t depth, int32_t name) noexcept nogil:
    cdef int matched = 1
    cdef int64_t room
    cdef int32_t* frames
    stream.adrift = False
    if kind == EXIT:
        if stream.depth <= depth:
            # Deeper than all that is known, unless just the number is wrong.
            if stream.depth and stream.frames[stream.depth - 1] == name:
                stream.depth -= 1
                return 1
            matched = 0
        elif stream.depth > depth + 1:
            # `is_top_alone`
            stream.depth -= 1
            return 1
        else:
            # Another's: setjmp returns again where it was called, at the end of what longjmp left.
            matched = stream.frames[depth] == name
    if stream.room < depth + 1:
        room = depth + 1 + (depth >> 1) + 64
        if room > MOST_FRAMES:
            stream.tracked = False
            return matched
        frames = <int32_t*>realloc(stream.frames, room * sizeof(int32_t))
        if frames is NULL:
            return -1
        stream.frames = frames
        stream.room = room
    while stream.depth < depth:
        stream.frames[stream.depth] = UNKNOWN
        stream.depth += 1
    stream.depth = depth
    if kind == ENTRY:
        stream.frames[depth] = name
        stream.depth += 1
    return matched
