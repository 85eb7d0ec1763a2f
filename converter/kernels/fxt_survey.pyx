# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The first look at an FXT file: its providers and the rates of their clocks."""

import os

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from converter.kernels.fxt_words cimport (
    EVENT, FAILED, INITIALIZATION, LARGE, MAX_PROVIDERS, METADATA, NANOSECONDS, PROFILER, Pairs, SCHEDULING, load,
    pairs_find, pairs_free,
)

cdef enum:
    MAX_RATES = 64


cdef class Survey:
    """The first look at a file: which clock rates and providers it has. Reads no more than headers and times."""
    cdef bint _swap
    cdef Pairs _provider_ids
    # Numbers of rates. The last is of what precedes the first provider.
    cdef int32_t _provider_rates[MAX_PROVIDERS + 1]
    cdef int32_t _provider
    cdef int32_t _rate
    cdef uint64_t _rates[MAX_RATES]
    cdef uint64_t _latest[MAX_RATES]
    cdef bint _used[MAX_RATES]
    cdef int32_t _rate_count
    cdef readonly bint too_many_rates
    cdef readonly list providers
    cdef readonly int64_t extended_initialization

    def __cinit__(self, *, bint big_endian):
        self._swap = big_endian
        self._provider_ids.seed = int.from_bytes(os.urandom(8), "little")
        self._rates[0] = NANOSECONDS
        self._rate_count = 1
        self._provider = MAX_PROVIDERS
        self.providers = []
        self.extended_initialization = -1

    def __dealloc__(self):
        pairs_free(&self._provider_ids)

    def feed(self, const uint8_t[::1] window, int64_t offset):
        """Look at a window that stands at `offset` of the file; how much of it was passed. 0: no record to pass."""
        cdef int64_t size = window.shape[0]
        cdef int64_t at = 0
        cdef int64_t words
        cdef uint64_t header, ticks
        cdef uint32_t kind
        cdef const uint8_t* data
        cdef int32_t number
        if size < 8:
            return 0
        data = &window[0]
        while size - at >= 8:
            header = load(data + at, self._swap)
            kind = header & 15
            words = <uint32_t>(header >> 4) if kind == LARGE else <int64_t>((header >> 4) & 0xfff)
            if words == 0 or words > (size - at) >> 3:
                break
            if kind == EVENT or (SCHEDULING <= kind <= PROFILER):
                if words >= 2:
                    ticks = load(data + at + 8, self._swap)
                    self._used[self._rate] = True
                    if ticks > self._latest[self._rate]:
                        self._latest[self._rate] = ticks
            elif kind == METADATA and (header >> 16) & 15 in (1, 2):
                number = pairs_find(&self._provider_ids, <uint32_t>(header >> 20), 0)
                if number == FAILED:
                    raise MemoryError
                if number >= MAX_PROVIDERS:
                    break
                if number == len(self.providers):
                    self.providers.append(offset + at)
                self._provider = number
                self._rate = self._provider_rates[number]
            elif kind == INITIALIZATION and words >= 2:
                self._initialize(load(data + at + 8, self._swap))
                if words > 2 and self.extended_initialization < 0:
                    self.extended_initialization = offset + at
            at += words * 8
        return at

    cdef void _initialize(self, uint64_t rate):
        cdef int32_t i
        if rate == 0:
            rate = NANOSECONDS
        for i in range(self._rate_count):
            if self._rates[i] == rate:
                break
        else:
            if self._rate_count == MAX_RATES:
                self.too_many_rates = True
                return
            i = self._rate_count
            self._rates[i] = rate
            self._rate_count += 1
        self._rate = i
        self._provider_rates[self._provider] = i

    @property
    def rates(self):
        """(ticks per second, latest time in ticks or None where nothing happened), in the order of the file."""
        cdef int32_t i
        return [(self._rates[i], self._latest[i] if self._used[i] else None) for i in range(self._rate_count)]
