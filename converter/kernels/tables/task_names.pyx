# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Names that events give to tasks: for each task the name in the latest of them."""

# Stub:
# from collections.abc import Iterator
# from converter.kernels.tables.strings import StringTable

import os

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from converter.kernels.tables.numbers cimport free_numbers
from converter.kernels.tables.strings cimport StringTable

ctypedef fused Tid:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef class TaskNames:
    """The name of each task that events name, by its tid: the one that the latest event says."""

    def __cinit__(self):
        self._numbers.item_size = sizeof(TaskName)
        self._numbers.seed = int.from_bytes(os.urandom(8), "little")
        self.failed = False

    def __dealloc__(self):
        free_numbers(&self._numbers)

    cdef void rename(
        self, int64_t index, int64_t ts, const uint8_t* text, int64_t size, StringTable strings
    ) noexcept nogil:
        cdef TaskName* task = <TaskName*>self._numbers.items + index
        cdef int32_t name
        if size > 0x7FFFFFFF or is_no_name(text, size):
            return
        strings.lock()
        name = strings.find_or_add(text, <uint32_t>size)
        strings.unlock()
        if name < 0:
            self.failed = True
            return
        task.ts = ts
        task.name = name
        task.size = -1
        if size <= SHORT_NAME:
            memcpy(task.text, text, size)
            task.size = size

    def note_columns(
        self, const Tid[:] tids: NDArray[Any], const int32_t[:] names, const int64_t[:] ts, StringTable strings not None
    ) -> None:
        """Take names, string ids, from columns of events: that of each row's task, and the row's time.

        Tids below 0, empty names and "<...>" say nothing. Raises ValueError when the columns differ in length or a name
        is none of the strings, MemoryError as
        `check` does. Releases the GIL.
        """
        cdef int64_t i
        cdef int64_t known = strings._count
        cdef bint misplaced = False
        if names.shape[0] != tids.shape[0] or ts.shape[0] != tids.shape[0]:
            raise ValueError("the columns differ in length")
        with nogil:
            for i in range(tids.shape[0]):
                if names[i] >= known:
                    misplaced = True
                    break
                self.note(<int64_t>tids[i], ts[i], names[i], strings)
        if misplaced:
            raise ValueError("a name is none of the strings")
        self.check()

    def note_texts(
        self,
        const Tid[:] tids: NDArray[Any],
        const int64_t[:] offsets,
        const uint8_t[:] data,
        const int64_t[:] ts,
        StringTable strings,
    ) -> None:
        """The same of texts, that of row i at ``data[offsets[i]:offsets[i + 1]]``, which become strings of a table.

        Raises ValueError also when a text lies outside the data, or this has gaps.
        """
        cdef int64_t i, start
        cdef int64_t end = data.shape[0]
        cdef bint outside = False
        if offsets.shape[0] != tids.shape[0] + 1 or ts.shape[0] != tids.shape[0]:
            raise ValueError("the columns differ in length")
        if data.strides[0] != 1:
            raise ValueError("the texts are not whole")
        with nogil:
            for i in range(tids.shape[0]):
                start = offsets[i]
                if start < 0 or offsets[i + 1] < start or offsets[i + 1] > end:
                    outside = True
                    break
                if offsets[i + 1] > start:
                    self.note_text(<int64_t>tids[i], ts[i], &data[start], offsets[i + 1] - start, strings)
        if outside:
            raise ValueError("a text lies outside the data")
        self.check()

    def check(self) -> None:
        """Raise MemoryError if there was no room for a name."""
        if self.failed:
            raise MemoryError("no room for more names of tasks")

    def __len__(self) -> int:
        return self._numbers.count

    def names(self) -> Iterator[tuple[int, int]]:
        """The tids and the string ids of their names, in the order in which they were met."""
        cdef int64_t i
        cdef TaskName* task
        for i in range(self._numbers.count):
            task = <TaskName*>self._numbers.items + i
            if task.name:
                yield <int64_t>self._numbers.keys[i], task.name
