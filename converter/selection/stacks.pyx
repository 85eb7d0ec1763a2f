# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Open entries of each stack, and their owners: begins, ends, and values that hold until the next."""

# Stub:
# from typing import NamedTuple
#
# #: The action of an event on its stack: it opens an entry; it closes the entry opened last, or last under its name,
# #: where there is one with that name; it sets a value that holds until the next one.
# BEGIN: int
# END: int
# VALUE: int
# #: In place of the owner of what an end closes, which may be nothing.
# UNMATCHED: int

import os
from typing import NamedTuple

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t, uint64_t

from converter.kernels.tables.open_slices cimport (
    Lanes,
    find_open,
    forget_closed,
    free_lanes,
    innermost,
    lane_of,
    pop,
    push,
    start,
)

BEGIN = 1
END = 2
VALUE = 3

UNMATCHED = -1


def steps_of_classes(
    const int32_t[:] class_id: NDArray[int32],
    const int32_t[:] thread: NDArray[int32],
    const int32_t[:] track: NDArray[int32],
    const int32_t[:] cpu: NDArray[int32],
    const int64_t[::1] family,
    const int8_t[::1] step,
    const int8_t[::1] of_cpu,
) -> tuple[NDArray[int32], NDArray[uint64]]:
    """Return the positions of events, and their stacks.

    By class: its family of stacks, its action (0: its events are left out), and whether its stacks are those of CPUs
    rather than of threads and tracks. Releases the GIL. Raises ValueError for columns that differ in length.
    """
    cdef int64_t count = class_id.shape[0]
    cdef int64_t classes = family.shape[0]
    cdef int64_t filled = 0
    cdef int64_t i
    cdef int32_t number
    cdef uint64_t key, other
    positions, stacks = np.empty(count, np.int32), np.empty(count, np.uint64)
    cdef int32_t[::1] at = positions
    cdef uint64_t[::1] stack = stacks
    if not (count == thread.shape[0] == track.shape[0] == cpu.shape[0]):
        raise ValueError("columns differ in length")
    if not (classes == step.shape[0] == of_cpu.shape[0]):
        raise ValueError("classes differ in number")
    with nogil:
        for i in range(count):
            number = class_id[i]
            if not 0 <= number < classes or not step[number]:
                continue
            key = <uint64_t>(<uint32_t>(cpu[i] if of_cpu[number] else thread[i])) << 32 | <uint32_t>track[i]
            # Events without a thread or a track are on their CPU.
            other = <uint32_t>cpu[i] if not of_cpu[number] and thread[i] < 0 and track[i] < 0 else 0
            key = mixed(key ^ mixed(<uint64_t>family[number] << 32 | other))
            at[filled] = <int32_t>i
            stack[filled] = key
            filled += 1
    return positions[:filled], stacks[:filled]


cdef inline uint64_t mixed(uint64_t value) noexcept nogil:
    value = value * <uint64_t>0xBF58476D1CE4E5B9
    value = value ^ value >> 29
    value = value * <uint64_t>0x94D049BB133111EB
    return value ^ value >> 32


class Closed(NamedTuple):
    """For each event that is an end: the owner, the number and the name of the entry that it closes (-1, -1 and 0 for
    nothing), and how much of the range between the two numbers was inside entries that had opened, and closed, in
    between.
    """

    # Stub:
    # owner: NDArray[int32]
    # number: NDArray[int64]
    # name: NDArray[int64]
    # inside: NDArray[int64]

    owner: np.ndarray
    number: np.ndarray
    name: np.ndarray
    inside: np.ndarray


cdef enum:
    _BEGIN = 1
    _END = 2
    _VALUE = 3
    _UNMATCHED = -1


cdef class Stacks:
    """Open entries of each stack. Stacks and names are numbers of any 64 bits; name 0 is none, owner 0 is nobody."""

    cdef Lanes _open

    def __cinit__(self):
        start(&self._open, int.from_bytes(os.urandom(8), "little"))

    def __dealloc__(self):
        free_lanes(&self._open)

    def follow(
        self,
        const uint64_t[::1] lane,
        const int8_t[::1] step,
        const int64_t[::1] name,
        const int64_t[::1] number,
        const int32_t[::1] owner,
    ) -> Closed:
        """Go on with events, each of which has a number of its own and an owner; neither is negative.

        Raises ValueError for columns that differ in length, MemoryError. Releases the GIL.

        """
        cdef int64_t count = lane.shape[0]
        if not (count == step.shape[0] == name.shape[0] == number.shape[0] == owner.shape[0]):
            raise ValueError("columns differ in length")
        result_owner = np.full(count, _UNMATCHED, np.int32)
        result_number = np.full(count, -1, np.int64)
        result_name, result_inside = np.zeros(count, np.int64), np.zeros(count, np.int64)
        cdef int32_t[::1] owners = result_owner
        cdef int64_t[::1] numbers = result_number
        cdef int64_t[::1] names = result_name
        cdef int64_t[::1] inside = result_inside
        cdef Lanes* held = &self._open
        cdef int64_t i
        cdef int32_t place, entry, top, after
        cdef bint failed
        with nogil:
            failed = not forget_closed(held)
            for i in range(0 if failed else count):
                place = lane_of(held, lane[i], 0)
                if place < 0:
                    failed = True
                    break
                top = innermost(held, place)
                if step[i] == _BEGIN or step[i] == _VALUE:
                    if step[i] == _BEGIN or top < 0:
                        top = push(held, place, name[i])
                        if top < 0:
                            failed = True
                            break
                    held.entries[top].number = number[i]
                    held.entries[top].owner = owner[i]
                elif step[i] == _END and top >= 0:
                    entry = find_open(held, place, name[i], True) if name[i] else top
                    if entry < 0:
                        # One of a name that nobody has ends what is innermost, as ends do that have none.
                        entry = top
                    owners[i] = held.entries[entry].owner
                    numbers[i] = held.entries[entry].number
                    names[i] = held.entries[entry].name
                    # Slices inside the one that ends are over as well.
                    while top != entry:
                        after = held.entries[top].below
                        held.entries[after].inside += held.entries[top].inside
                        pop(held, place)
                        top = after
                    inside[i] = held.entries[entry].inside
                    after = held.entries[entry].below
                    if after >= 0:
                        held.entries[after].inside += number[i] - numbers[i]
                    pop(held, place)
        if failed:
            raise MemoryError("too many slices are open")
        return Closed(result_owner, result_number, result_name, result_inside)

    def open(self) -> tuple[NDArray[int64], NDArray[int64]]:
        """The numbers, ascending, and the owners of what somebody has that is open, or holds."""
        found = np.empty((2, self._open.used), np.int64)
        cdef int64_t[:, ::1] view = found
        cdef int64_t count = 0
        cdef int64_t i
        for i in range(self._open.used):
            if self._open.entries[i].number >= 0 and self._open.entries[i].owner > 0:
                view[0, count] = self._open.entries[i].number
                view[1, count] = self._open.entries[i].owner
                count += 1
        order = np.argsort(found[0, :count])
        return found[0, :count][order], found[1, :count][order]
