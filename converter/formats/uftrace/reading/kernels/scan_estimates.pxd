# Exits whose times the recorder has estimated, put between the switches of their task as `uftrace replay` puts them.
from libc.stdint cimport int64_t, INT64_MAX, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memset

from converter.formats.uftrace.reading.kernels.scan_streams cimport clipped, ENTRY, Estimates, EXIT, Frame, LOST


cdef enum:
    # As in layout.PERF_MISC_SWITCH_OUT; where a switch has its bits and its task.
    SWITCH_OUT = 1 << 13
    MISC_AT = 4
    TID_AT = 12
    SWITCH_END = 16

cdef inline Frame* frame_at(const Estimates* task, int64_t depth) noexcept nogil:
    return &task.frames[depth] if 0 <= depth < task.room else NULL


# Make room for `count` frames, as far as the recording has that many; false without memory for them.
cdef inline bint reach(Estimates* task, int64_t count) noexcept nogil:
    cdef int64_t room
    cdef Frame* frames
    if count <= task.room or task.room >= task.most:
        return True
    room = min(count + (count >> 1) + 16, task.most)
    frames = <Frame*>realloc(task.frames, room * sizeof(Frame))
    if frames is NULL:
        return False
    memset(frames + task.room, 0, (room - task.room) * sizeof(Frame))
    task.frames = frames
    task.room = room
    return True


# Account for a function, or for the time that a task is off its CPU, which begins or ends. Stacks are followed as
# replay follows them, which counts and heeds depths only where it begins and after lost records. False without memory
# for it.
cdef inline bint account(
    Estimates* task, int kind, int64_t depth, uint64_t address, int64_t ts, bint is_own
) noexcept nogil:
    cdef int64_t i
    cdef Frame* frame
    if not reach(task, max(task.depth, depth + task.own) + 2):
        return False
    if not task.begun:
        task.begun = True
        task.depth = depth + (kind == EXIT)
        for i in range(min(task.depth, task.room)):
            task.frames[i].start = ts
    if task.is_lost and kind != LOST:
        task.is_lost = False
        task.depth = depth + (kind == EXIT)
        for i in range(depth + 1):
            frame = frame_at(task, i + task.own)
            if frame is not NULL:
                frame.start = ts - 1
    if kind == ENTRY:
        frame = frame_at(task, task.depth)
        if frame is not NULL:
            frame.address = address
            frame.start = ts
        task.depth += 1
        task.own += is_own
    elif kind == LOST:
        task.is_lost = True
    else:
        task.depth -= task.depth > 0
        task.own -= is_own and task.own > 0
    return True


# The task is switched: return True if its next record, of this time, is moved. The time halfway between an exit and the
# next entry is what the recorder gives an exit; so is the rest of it after the switch.
cdef inline bint move_next(
    Estimates* task, bint leaves, uint64_t ts, int kind, uint64_t address, uint64_t time
) noexcept nogil:
    cdef const Frame* frame
    if task.depth <= 0:
        return False
    if kind == ENTRY:
        task.next_entry = 0
        return False
    # The innermost function is before the time off the CPU that ends.
    frame = frame_at(task, task.depth - (1 if leaves or task.depth < 2 else 2))
    if kind != EXIT or frame is NULL or frame.address != address:
        return False
    task.is_moved = True
    if leaves:
        if task.next_entry == 0:
            task.next_entry = 2 * time - frame.start
        task.moved_to = INT64_MAX
        return True
    if task.last <= ts:
        task.last = (ts + task.next_entry) // 2
    task.moved_to = clipped(task.last)
    return True


# The time that the next record has at last: exits follow each other, and all else has times that are exact. Replay does
# this each time that it looks at the record, also when it has looked ahead from the record before.
cdef inline int64_t settle(Estimates* task, int kind, int64_t ts, bint is_seen) noexcept nogil:
    task.is_moved = False
    if task.last:
        if kind == EXIT and <uint64_t>ts <= task.last:
            task.last += 1 + is_seen
            return clipped(task.last)
        task.last = 0
        task.next_entry = 0
    return ts
