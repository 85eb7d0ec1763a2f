# cython: language_level=3, boundscheck=False, wraparound=False
"""Positions of the undecoded contents of a batch's events, by class: readers decode a column when it is asked for."""

# Stub:
# from collections.abc import Callable

from libc.stdint cimport int32_t, int64_t

import numpy as np

from converter.kernels.batches.order import group_by_class


cdef class Locations:
    """Locations and sizes of the events of a batch, grouped by class when the first column is asked for.

    `class_id`, `row` (int32), `location` (int64) and `size` (uint32) have an entry for each event, in its order;
    `counts` (int32) has the number of events of each class.
    """

    # Stub:
    # counts: NDArray[int32]

    cdef readonly object counts
    # Class and row of each event, location and size; these by class, when somebody has asked for one.
    cdef tuple _events
    cdef tuple _ungrouped
    cdef tuple _grouped
    cdef object _first

    def __cinit__(
        self,
        class_id: NDArray[int32],
        row: NDArray[int32],
        location: NDArray[int64],
        size: NDArray[uint32],
        counts: NDArray[int32],
    ):
        self.counts = counts
        self._events = (class_id, row)
        self._ungrouped = (location, size)
        self._first = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=self._first[1:])

    def of_class(self, int64_t id) -> Callable[[], tuple[NDArray[int64], NDArray[uint32]]]:
        """A function that returns the locations (int64) and sizes (uint32) of a class's events, a row each."""
        if not 0 <= id < len(self.counts):
            raise IndexError(f"no class {id} of {len(self.counts)}")
        return LocatedRows.__new__(LocatedRows, self, id)

    cdef tuple _located(self, int64_t id):
        cdef const int64_t[::1] first = self._first
        if self._grouped is None:
            location, size = self._ungrouped
            grouped = np.empty_like(location), np.empty_like(size)
            group_by_class(*self._events, self._first[:len(self.counts)], location, size, *grouped)
            self._grouped = grouped
        location, size = self._grouped
        return location[first[id]:first[id + 1]], size[first[id]:first[id + 1]]


cdef class LocatedRows:
    """Locations and sizes of the events of a class, when called."""

    cdef Locations _locations
    cdef int64_t _id

    def __cinit__(self, Locations locations not None, int64_t id):
        self._locations = locations
        self._id = id

    def __call__(self):
        return self._locations._located(self._id)
