# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Which threads have a CPU, by the switches so far."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
import numpy as np
import os

from converter.kernels.numbers cimport Numbers, find_key, find_or_add_key, free_numbers

cdef enum:
    SWITCH = 1
    WAKEUP = 2


cdef class RunningThreads:
    """Of each thread that a switch named, whether it has a CPU: the item of its id."""

    cdef Numbers _numbers

    def __cinit__(self):
        self._numbers.item_size = sizeof(uint8_t)
        self._numbers.seed = int.from_bytes(os.urandom(8), "little")

    def __dealloc__(self):
        free_numbers(&self._numbers)

    def woken(self, const uint8_t[::1] step, const int64_t[::1] thread, const int64_t[::1] next_thread):
        cdef int64_t count = step.shape[0]
        cdef int64_t i, known
        cdef bint failed = False
        if thread.shape[0] != count or next_thread.shape[0] != count:
            raise ValueError("columns differ in length")
        result = np.zeros(count, np.uint8)
        cdef uint8_t[::1] runs = result
        with nogil:
            for i in range(count):
                if step[i] == WAKEUP:
                    known = find_key(&self._numbers, <uint64_t>thread[i])
                    runs[i] = known >= 0 and (<uint8_t*>self._numbers.items)[known]
                elif step[i] == SWITCH:
                    if not self._set(thread[i], False) or not self._set(next_thread[i], True):
                        failed = True
                        break
        if failed:
            raise MemoryError("no room for more threads")
        return result.view(np.bool_)

    cdef bint _set(self, int64_t thread, bint runs) noexcept nogil:
        cdef int64_t number = find_or_add_key(&self._numbers, <uint64_t>thread)
        if number < 0:
            return False
        (<uint8_t*>self._numbers.items)[number] = runs
        return True
