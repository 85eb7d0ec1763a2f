# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Numbers by key: what sequences interned, and the indices of threads and tracks by their identity in the file."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free

cdef enum:
    ABSENT = -2147483647 - 1


cdef inline uint64_t mix(uint64_t key, uint64_t space) noexcept nogil:
    cdef uint64_t state = (key ^ (space * <uint64_t>0xD6E8FEB86659FD93)) * <uint64_t>0x9E3779B97F4A7C15
    return state ^ (state >> 32)


cdef class KeyMap:

    def __cinit__(self):
        self._mask = 255
        self._entries = <KeyEntry*>calloc(self._mask + 1, sizeof(KeyEntry))
        if self._entries is NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._entries)

    cdef int32_t find(self, uint64_t key, uint64_t space, int32_t absent) noexcept nogil:
        cdef uint64_t slot = mix(key, space) & self._mask
        while self._entries[slot].used:
            if self._entries[slot].key == key and self._entries[slot].space == space:
                return self._entries[slot].value
            slot = (slot + 1) & self._mask
        return absent

    cdef int put(self, uint64_t key, uint64_t space, int32_t value) noexcept nogil:
        cdef uint64_t slot = mix(key, space) & self._mask
        cdef KeyEntry* entry
        while self._entries[slot].used:
            if self._entries[slot].key == key and self._entries[slot].space == space:
                self._entries[slot].value = value
                return 0
            slot = (slot + 1) & self._mask
        entry = &self._entries[slot]
        entry.key = key
        entry.space = space
        entry.value = value
        entry.used = 1
        self._count += 1
        if <uint64_t>self._count * 2 > self._mask:
            return self._resize((self._mask + 1) * 2)
        return 0

    cdef int _resize(self, uint64_t size) noexcept nogil:
        cdef KeyEntry* old = self._entries
        cdef uint64_t old_size = self._mask + 1
        cdef uint64_t i, slot
        cdef KeyEntry* entries = <KeyEntry*>calloc(size, sizeof(KeyEntry))
        if entries is NULL:
            return -1
        for i in range(old_size):
            if old[i].used:
                slot = mix(old[i].key, old[i].space) & (size - 1)
                while entries[slot].used:
                    slot = (slot + 1) & (size - 1)
                entries[slot] = old[i]
        self._entries = entries
        self._mask = size - 1
        free(old)
        return 0

    def __len__(self):
        return self._count

    def get(self, uint64_t key, uint64_t space, int32_t absent):
        return self.find(key, space, absent)

    def set(self, uint64_t key, uint64_t space, int32_t value):
        if self.put(key, space, value) < 0:
            raise MemoryError("no room for more keys")

    def keep(self, spaces, int shift):
        cdef uint64_t i
        cdef KeyEntry* old = self._entries
        cdef uint64_t old_size = self._mask + 1
        cdef KeyEntry* fresh = <KeyEntry*>calloc(256, sizeof(KeyEntry))
        cdef bint failed = False
        if fresh is NULL:
            raise MemoryError
        self._entries = fresh
        self._mask = 255
        self._count = 0
        try:
            for i in range(old_size):
                if old[i].used and (old[i].space >> shift) in spaces:
                    failed |= self.put(old[i].key, old[i].space, old[i].value) < 0
        finally:
            free(old)
        if failed:
            raise MemoryError("no room for more keys")

    def map_tids(self, const int32_t[:] tids, int32_t[::1] out):
        cdef int64_t i
        cdef int32_t found
        cdef int32_t last = -1
        cdef int32_t last_value = -1
        cdef bint complete = True
        if tids.shape[0] != out.shape[0]:
            raise ValueError("tids and out differ in length")
        with nogil:
            for i in range(tids.shape[0]):
                # Runs of one tid are long: remember the last.
                if tids[i] == last:
                    out[i] = last_value
                    continue
                if tids[i] < 0:
                    out[i] = -1
                    continue
                found = self.find(<uint64_t>tids[i], 0, -2)
                complete &= found != -2
                last = tids[i]
                last_value = found
                out[i] = found
        if complete:
            return []
        return list(dict.fromkeys(tids[i] for i in range(tids.shape[0]) if out[i] == -2))

    def map_places(self, const uint64_t[:] keys, const uint8_t[:] spaces, int32_t[::1] out):
        cdef int64_t i
        cdef int32_t found
        cdef bint complete = True
        if keys.shape[0] != out.shape[0] or spaces.shape[0] != out.shape[0]:
            raise ValueError("keys, spaces and out differ in length")
        with nogil:
            for i in range(keys.shape[0]):
                found = self.find(keys[i], spaces[i], ABSENT)
                complete &= found != ABSENT
                out[i] = found
        if complete:
            return []
        return list(
            dict.fromkeys((keys[i], spaces[i]) for i in range(keys.shape[0]) if out[i] == ABSENT)
        )
