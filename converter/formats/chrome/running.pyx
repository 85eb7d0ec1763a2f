# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""One pass over the events of a batch: who occurs, when the last one is, and how long the threads of switches run."""

import os

from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from converter.kernels.numbers cimport Numbers, find_or_add_key, free_numbers

# So that nobody can choose CPUs that all fall into one slot.
cdef uint64_t SEED = int.from_bytes(os.urandom(8), "little")


# The first switch of a CPU, and the last one so far.
cdef struct Switches:
    int64_t first
    int64_t last


def running_times(
    const uint8_t[::1] is_switch, const int32_t[::1] class_id, const int32_t[::1] cpu, const int64_t[::1] ts,
    const int32_t[::1] thread, uint8_t[::1] used, int64_t[::1] durations,
):
    cdef int64_t count = class_id.shape[0]
    cdef int64_t classes = is_switch.shape[0]
    cdef int64_t threads = used.shape[0] - 1
    cdef int64_t latest = INT64_MIN
    cdef int64_t known = 0
    cdef int64_t failed = -1
    cdef int64_t number = 0
    cdef int64_t i, lasted
    cdef Numbers cpus
    cdef Switches* of
    if cpu.shape[0] != count or ts.shape[0] != count or thread.shape[0] != count or durations.shape[0] < count \
            or threads < 0:
        raise ValueError("columns differ in length")
    memset(&cpus, 0, sizeof(Numbers))
    cpus.item_size = sizeof(Switches)
    cpus.seed = SEED
    try:
        with nogil:
            for i in range(count):
                if not -1 <= thread[i] < threads or not 0 <= class_id[i] < classes:
                    failed = i
                    break
                # Of -1, which is no thread, the mark is the last.
                used[thread[i] if thread[i] >= 0 else threads] = 1
                if ts[i] > latest:
                    latest = ts[i]
                if not is_switch[class_id[i]]:
                    continue
                number = find_or_add_key(&cpus, <uint32_t>cpu[i])
                if number < 0:
                    break
                of = &(<Switches*>cpus.items)[number]
                if number == known:
                    known += 1
                    of.first = i
                else:
                    lasted = <int64_t>(<uint64_t>ts[i] - <uint64_t>ts[of.last])
                    durations[of.last] = lasted if lasted > 0 else 0
                of.last = i
        if failed >= 0:
            raise ValueError(f"event {failed} is of no thread or class")
        if number < 0:
            raise MemoryError
        firsts = []
        lasts = []
        of = <Switches*>cpus.items
        for i in range(known):
            number = cpu[of[i].last]
            # On no known CPU a switch ends at once, as nothing ends it.
            durations[of[i].last] = 0 if number < 0 else -1
            if number >= 0:
                firsts.append((number, ts[of[i].first]))
                lasts.append((of[i].last, number, ts[of[i].last]))
        lasts.sort()
        return latest, firsts, [(cpu_of, since) for _, cpu_of, since in lasts]
    finally:
        free_numbers(&cpus)
