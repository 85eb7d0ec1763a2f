# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What is open on each lane, and who opened it: begins, ends, and values that hold until the next."""

from typing import NamedTuple

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t

BEGIN = 1
END = 2
VALUE = 3

UNMATCHED = 0
DROPPED = 1
KEPT = 2

class Closed(NamedTuple):
    state: np.ndarray
    number: np.ndarray
    name: np.ndarray
    inside: np.ndarray


cdef enum:
    _BEGIN = 1
    _END = 2
    _VALUE = 3
    _UNMATCHED = 0
    _DROPPED = 1
    _KEPT = 2


cdef class Stacks:
    """The lanes are a hash table of open addressing; the entries of a lane are linked from the innermost outwards."""

    cdef object _keys, _tops, _numbers, _names, _below, _wanted, _inside
    cdef int64_t _lanes
    cdef int64_t _used
    cdef int32_t _free

    def __init__(self):
        self._keys = np.zeros(64, np.uint64)
        # -2: nobody has this place, -1: nothing is open.
        self._tops = np.full(64, -2, np.int32)
        self._lanes = 0
        self._numbers = np.full(64, -1, np.int64)
        self._names = np.zeros(64, np.int64)
        self._below = np.full(64, -1, np.int32)
        self._wanted = np.zeros(64, np.uint8)
        self._inside = np.zeros(64, np.int64)
        self._used = 0
        self._free = -1

    def follow(
        self,
        const uint64_t[::1] lane,
        const int8_t[::1] step,
        const int64_t[::1] name,
        const int64_t[::1] number,
        const uint8_t[::1] wanted,
    ):
        cdef int64_t count = lane.shape[0]
        if not (count == step.shape[0] == name.shape[0] == number.shape[0] == wanted.shape[0]):
            raise ValueError("columns differ in length")
        self._make_room(count)
        result_state = np.zeros(count, np.uint8)
        result_partner = np.full(count, -1, np.int64)
        result_name, result_inside = np.zeros(count, np.int64), np.zeros(count, np.int64)
        cdef uint8_t[::1] state = result_state
        cdef int64_t[::1] partner = result_partner
        cdef int64_t[::1] closed = result_name
        cdef int64_t[::1] inside = result_inside
        cdef uint64_t[::1] keys = self._keys
        cdef int32_t[::1] tops = self._tops
        cdef int64_t[::1] numbers = self._numbers
        cdef int64_t[::1] names = self._names
        cdef int32_t[::1] below = self._below
        cdef uint8_t[::1] is_wanted = self._wanted
        cdef int64_t[::1] held_inside = self._inside
        cdef uint64_t mask = <uint64_t>keys.shape[0] - 1
        cdef int64_t used = self._used
        cdef int64_t lanes = self._lanes
        cdef int32_t free = self._free
        cdef int64_t i
        cdef uint64_t place
        cdef int32_t entry, top, after
        with nogil:
            for i in range(count):
                place = lane[i] * <uint64_t>0x9E3779B97F4A7C15
                place = (place ^ (place >> 32)) & mask
                while tops[place] != -2 and keys[place] != lane[i]:
                    place = (place + 1) & mask
                if tops[place] == -2:
                    keys[place] = lane[i]
                    tops[place] = -1
                    lanes += 1
                top = tops[place]
                if step[i] == _BEGIN or (step[i] == _VALUE and top < 0):
                    if free >= 0:
                        entry = free
                        free = below[entry]
                    else:
                        entry = <int32_t>used
                        used += 1
                    numbers[entry] = number[i]
                    names[entry] = name[i]
                    is_wanted[entry] = wanted[i]
                    held_inside[entry] = 0
                    below[entry] = top
                    tops[place] = entry
                elif step[i] == _VALUE:
                    numbers[top] = number[i]
                    is_wanted[top] = wanted[i]
                elif step[i] == _END and top >= 0:
                    entry = top
                    if name[i]:
                        while entry >= 0 and names[entry] and names[entry] != name[i]:
                            entry = below[entry]
                    if entry < 0:
                        # One of a name that nobody has ends what is innermost, as ends do that have none.
                        entry = top
                    state[i] = _KEPT if is_wanted[entry] else _DROPPED
                    partner[i] = numbers[entry]
                    closed[i] = names[entry]
                    # What is inside the slice that ends is over as well.
                    tops[place] = below[entry]
                    while True:
                        after = below[top]
                        if top != entry:
                            held_inside[after] += held_inside[top]
                        else:
                            inside[i] = held_inside[top]
                            if after >= 0:
                                held_inside[after] += number[i] - numbers[top]
                        numbers[top] = -1
                        below[top] = free
                        free = top
                        if top == entry:
                            break
                        top = after
        self._used, self._lanes, self._free = used, lanes, free
        return Closed(result_state, result_partner, result_name, result_inside)

    def open(self):
        numbers = self._numbers[: self._used]
        return np.sort(numbers[(numbers >= 0) & (self._wanted[: self._used] != 0)])

    cdef _make_room(self, int64_t count):
        needed = self._used + count
        if needed > 1 << 30:
            raise MemoryError("too many slices are open")
        if needed > len(self._numbers):
            more = max(needed, 2 * len(self._numbers)) - len(self._numbers)
            self._numbers = np.concatenate((self._numbers, np.full(more, -1, np.int64)))
            self._names = np.concatenate((self._names, np.zeros(more, np.int64)))
            self._below = np.concatenate((self._below, np.full(more, -1, np.int32)))
            self._wanted = np.concatenate((self._wanted, np.zeros(more, np.uint8)))
            self._inside = np.concatenate((self._inside, np.zeros(more, np.int64)))
        if 2 * (self._lanes + count) > len(self._keys):
            self._rehash(count)

    cdef _rehash(self, int64_t count):
        """Lanes on which nothing is open are forgotten."""
        held = self._tops >= 0
        old_keys, old_tops = self._keys[held], self._tops[held]
        self._lanes = len(old_keys)
        size = 64
        while size < 4 * (self._lanes + count):
            size *= 2
        self._keys = np.zeros(size, np.uint64)
        self._tops = np.full(size, -2, np.int32)
        cdef uint64_t[::1] keys = self._keys
        cdef int32_t[::1] tops = self._tops
        cdef const uint64_t[::1] from_keys = old_keys
        cdef const int32_t[::1] from_tops = old_tops
        cdef uint64_t mask = <uint64_t>size - 1
        cdef uint64_t place
        cdef int64_t i
        for i in range(self._lanes):
            place = from_keys[i] * <uint64_t>0x9E3779B97F4A7C15
            place = (place ^ (place >> 32)) & mask
            while tops[place] != -2:
                place = (place + 1) & mask
            keys[place] = from_keys[i]
            tops[place] = from_tops[i]
