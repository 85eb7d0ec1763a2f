# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The columns of events that kernels read or fill, checked once: all are contiguous and have the same length."""

# Stub:
# from numpy import number
#
# #: The names of the common columns.
# COMMON: tuple[str, ...]

from cpython.buffer cimport PyBUF_ND, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t

import numpy as np

COMMON = ("ts", "class_id", "row", "thread", "cpu", "track")


cdef class EventArrays:
    """Columns of events that a kernel reads.

    Those that all events have in common are ts (int64), class_id, row, thread, cpu and track (int32). `class_id` is the
    event class or, for emitters with numbered programs, the program. Others are the format's own.

    Args:
        events: a batch, or whatever has common columns as attributes: they are taken from there unless they are given.
        columns: the others, by name.

    Raises:
        ValueError: the columns differ in length or have another width, or `ts` is missing.

    """

    def __cinit__(self, events: object = None, /, **columns: NDArray[number[Any]]):
        self._writable = isinstance(self, OutputArrays)
        self._numbers = {}
        for name, column in columns.items():
            self._hold(name, column)
        for name in COMMON:
            if name not in columns and hasattr(events, name):
                self._hold(name, getattr(events, name))
        if "ts" not in self._numbers:
            raise ValueError("events have no time stamps")
        self._events.count = self.count
        self._events.ts = <int64_t*>self.own("ts", 8)
        self._events.class_id = self._common("class_id")
        self._events.row = self._common("row")
        self._events.thread = self._common("thread")
        self._events.cpu = self._common("cpu")
        self._events.track = self._common("track")

    def __dealloc__(self):
        cdef int i
        for i in range(self._held):
            PyBuffer_Release(&self._buffers[i])

    def __len__(self) -> int:
        return self.count

    cdef int _hold(self, str name, column) except -1:
        cdef Py_buffer* buffer = &self._buffers[self._held]
        if self._held == MOST_COLUMNS:
            raise ValueError(f"more than {MOST_COLUMNS} columns")
        if not self._writable:
            column = np.ascontiguousarray(column)
        PyObject_GetBuffer(column, buffer, PyBUF_ND | (PyBUF_WRITABLE if self._writable else 0))
        self._numbers[name] = self._held
        self._held += 1
        if buffer.ndim != 1:
            raise ValueError(f"the column {name} has {buffer.ndim} dimensions")
        if self._held == 1:
            self.count = buffer.shape[0]
        if buffer.shape[0] != self.count:
            raise ValueError("columns differ in length")
        return 0

    cdef int32_t* _common(self, str name) except? NULL:
        return <int32_t*>self.own(name, 4) if name in self._numbers else NULL

    cdef Events common(self, int needed) except *:
        cdef Events* events = &self._events
        if (
            needed & WITH_CLASS and events.class_id is NULL or needed & WITH_ROW and events.row is NULL
            or needed & WITH_THREAD and events.thread is NULL or needed & WITH_CPU and events.cpu is NULL
            or needed & WITH_TRACK and events.track is NULL
        ):
            raise ValueError(f"columns are missing: there are {list(self._numbers)}")
        return events[0]

    cdef void* own(self, str name, int64_t width) except? NULL:
        cdef Py_buffer* buffer
        if name not in self._numbers:
            raise ValueError(f"the column {name} is missing")
        buffer = &self._buffers[<int>self._numbers[name]]
        if buffer.itemsize != width:
            raise ValueError(f"the column {name} has elements of {buffer.itemsize} bytes, not {width}")
        return buffer.buf


cdef class OutputArrays(EventArrays):
    """Columns that a kernel fills: contiguous arrays that may be written to."""
