# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Texts by numbers, for programs: names of functions and tasks, strings that pointers lead to."""

# Stub:
# from collections.abc import Callable

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from converter.kernels.tables.strings cimport PADDING

cdef enum:
    FIRST_PLACES = 64

cdef bytes PADDED = bytes(PADDING)


cdef class Directory:
    """Texts by numbers, such as the names of functions by their addresses; each is asked for once, when it is needed.

    `ask` returns the text of a key and a number that comes with it, None where there is none. Events may give a text
    for a key whose number is 0; the other function turns it into the entry that holds from then on.
    """

    def __cinit__(
        self,
        ask: Callable[[int], tuple[bytes, int] | None],
        told: Callable[[int, bytes], tuple[bytes, int]] | None = None,
    ):
        self._ask = ask
        self._told = told
        self._texts = {}
        self._mask = FIRST_PLACES - 1
        self._places = <Place*>calloc(FIRST_PLACES, sizeof(Place))
        if self._places is NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._places)

    def __setitem__(self, key: int, entry: tuple[bytes, int] | None) -> None:
        """Set the entry of a key."""
        self.put(key, entry)

    def forget(self) -> None:
        """Ask again for all keys."""
        memset(self._places, 0, (self._mask + 1) * sizeof(Place))
        self._count = 0
        self._texts.clear()

    cdef int find(self, uint64_t key, Found* found) except -1 nogil:
        cdef Place* place = self._place(key)
        if place.taken:
            found[0] = place.found
            return 0
        with gil:
            return self.ask(key, found)

    cdef int ask(self, uint64_t key, Found* found) except -1:
        self.put(key, self._ask(key))
        found[0] = self._place(key).found
        return 0

    cdef int learn(self, uint64_t key, text) except -1:
        return self.put(key, self._told(key, text))

    cdef int put(self, uint64_t key, entry) except -1:
        cdef Place* place
        cdef bytes text, held
        cdef Found found = Found(NULL, 0, 0)
        if entry is not None:
            text, number = entry
            held = text + PADDED
            found = Found(<const uint8_t*><const char*>held, len(text), number)
            self._texts[key] = held
        if 2 * self._count > <int64_t>self._mask:
            self._grow()
        place = self._place(key)
        self._count += not place.taken
        place[0] = Place(key, True, found)
        return 0

    cdef Place* _place(self, uint64_t key) noexcept nogil:
        cdef uint64_t hashed = key * <uint64_t>0x9E3779B97F4A7C15
        cdef Place* place
        hashed ^= hashed >> 32
        while True:
            place = &self._places[hashed & self._mask]
            if not place.taken or place.key == key:
                return place
            hashed += 1

    cdef int _grow(self) except -1:
        cdef Place* old = self._places
        cdef uint64_t count = self._mask + 1
        cdef uint64_t i
        cdef Place* grown = <Place*>calloc(2 * count, sizeof(Place))
        if grown is NULL:
            raise MemoryError
        self._places = grown
        self._mask = 2 * count - 1
        for i in range(count):
            if old[i].taken:
                self._place(old[i].key)[0] = old[i]
        free(old)
        return 0
