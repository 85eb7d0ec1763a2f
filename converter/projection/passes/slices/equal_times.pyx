# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Events of one time and thread, for viewers that take ends of slices first, then complete slices, the longest first."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t

cdef enum:
    BEGIN = 1
    END = 2
    # A complete slice that lasts, and one that takes no time, such as an instant.
    LASTING = 3
    POINT = 4
    FLOW = 5
    # What becomes of an event.
    MOVES = 1
    COMPLETES = 2
    GOES = 4
    OTHER_ARROW = 8
    OTHER_DEPTH = 16


def fates(
    const uint8_t[::1] step, const uint8_t[::1] joins, const int64_t[::1] starts
) -> NDArray[uint8]:
    """Return what becomes of events, which are in groups of one time and thread, each in the order of the source.

    Args:
        step: what each event is: 1 begin, 2 end, 3 complete slice that lasts, 4 one that does not, 5 flow; shape (n,).
        joins: 1 for ends that with a begin of their time may become a complete slice; shape (n,).
        starts: the first event of each group, and n.

    Returns:
        0 for events that stay as they are, else bits: 1 for flows to move before the group, 2 for begins that become a
        complete slice, 4 for ends that go then, 8 for flows that viewers attach to another slice, 16 for slices that
        viewers find at another depth.

    """
    cdef int64_t count = step.shape[0]
    cdef int64_t groups = starts.shape[0] - 1
    cdef int64_t group, i
    if joins.shape[0] != count or groups < 0 or starts[0] != 0 or starts[groups] != count:
        raise ValueError("columns differ in length")
    for group in range(groups):
        if starts[group + 1] < starts[group]:
            raise ValueError("groups are not in order")
    result = np.zeros(count, np.uint8)
    # The begins of a group that are open, one on the other.
    stacked = np.empty(count, np.int64)
    cdef uint8_t[::1] fate = result
    cdef int64_t[::1] open = stacked
    with nogil:
        for group in range(groups):
            decide(step, joins, fate, open, starts[group], starts[group + 1])
    return result


cdef void decide(
    const uint8_t[::1] step,
    const uint8_t[::1] joins,
    uint8_t[::1] fate,
    int64_t[::1] open,
    int64_t first,
    int64_t last,
) noexcept nogil:
    cdef int64_t depth = 0
    cdef int64_t i
    cdef bint later_end = False
    cdef bint later_lasting = False
    cdef bint later_point = False
    cdef int64_t begin
    cdef int64_t first_slice = last
    cdef int64_t first_point = last
    # Complete slices after a begin become begins.
    cdef int64_t first_begin = last
    for i in range(first, last):
        if step[i] != FLOW and first_slice == last:
            first_slice = i
        if step[i] == BEGIN and first_begin == last:
            first_begin = i
        if step[i] == POINT and first_point == last:
            first_point = i
        elif step[i] == BEGIN:
            open[first + depth] = i
            depth += 1
        elif step[i] == END and depth:
            depth -= 1
            if joins[i]:
                begin = open[first + depth]
                # It would be inside of what takes no time before it.
                fate[begin] = COMPLETES | (OTHER_DEPTH if first_point < begin else 0)
                fate[i] = GOES
    for i in range(last - 1, first - 1, -1):
        if fate[i] == GOES:
            # What takes no time after the slice would be inside of it.
            if later_point:
                fate[i] |= OTHER_DEPTH
        elif step[i] == END:
            later_end = True
        elif step[i] == FLOW:
            if later_end or later_lasting:
                fate[i] = MOVES if i < first_slice else OTHER_ARROW
        else:
            if later_end or later_lasting and step[i] != LASTING:
                fate[i] |= OTHER_DEPTH
            later_lasting = later_lasting or step[i] == LASTING and i < first_begin
            later_point = later_point or step[i] == POINT or (fate[i] & COMPLETES) != 0
