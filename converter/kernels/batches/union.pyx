# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The dense union of a batch: numbering the rows of each class, finding their places again, and looking up by number.

Distinct values of columns whose values lie far apart: addresses, identities. A hash table instead of a sort.
"""

# Stub:
# from typing import TypeVar
#
# _Entry = TypeVar("_Entry", int32, int64)

from cpython.pythread cimport (
    NOWAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock, WAIT_LOCK,
)
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset
import numpy as np
import os

from converter.kernels.tables.numbers cimport Numbers, find_or_add_key, free_numbers


cdef enum:
    # Positions of up to this number of classes are sought one by one,
    ONE_BY_ONE = 4
    # of those that have less than one event in this number.
    FEW_OF = 8


# A column of one class: its first value, how far the next is, and how many there are.
cdef struct Values:
    const uint8_t* first
    int64_t stride
    int64_t length


def number_rows(const int32_t[:] class_id, int32_t[::1] row, int32_t[::1] counts) -> None:
    """Give event i the next row of its class; `counts`, one per class id, go on from what they hold.

    Raises ValueError for a class id outside `counts`. Releases the GIL.
    """
    cdef int64_t i
    cdef int64_t classes = counts.shape[0]
    cdef int32_t id
    cdef int64_t failed = -1
    if row.shape[0] != class_id.shape[0]:
        raise ValueError("row and class_id differ in length")
    with nogil:
        for i in range(class_id.shape[0]):
            id = class_id[i]
            if id < 0 or id >= classes or counts[id] == INT32_MAX:
                failed = i
                break
            row[i] = counts[id]
            counts[id] += 1
    if failed >= 0:
        raise ValueError(f"event {failed} is of class {class_id[failed]}, which does not exist or is full")


# Return the index of a row among those of all classes, -1 where there is none such.
cdef inline int64_t place_of(
    const int64_t* start, const int64_t* end, int64_t highest, int32_t number, int32_t row
) noexcept nogil:
    if <uint32_t>number > highest or row < 0 or start[number] + row >= end[number]:
        return -1
    return start[number] + row


cdef class RowBounds:
    """Offsets of the rows of each class among those of all classes: after those of classes with lower numbers."""

    def __cinit__(self, dict lengths not None):
        cdef int64_t at = 0
        cdef int64_t key
        self.highest = max(lengths, default=-1)
        self.start = <int64_t*>calloc(self.highest + 2, sizeof(int64_t))
        self.end = <int64_t*>calloc(self.highest + 2, sizeof(int64_t))
        if self.start is NULL or self.end is NULL:
            raise MemoryError
        for number in sorted(lengths):
            key = number
            if key < 0 or lengths[number] < 0:
                raise ValueError(f"class {key} of {lengths[number]} rows")
            self.start[key] = at
            at += lengths[number]
            self.end[key] = at
        self.rows = at

    def __dealloc__(self):
        free(self.start)
        free(self.end)

    cdef object of_class(self, flat, int64_t number):
        """A class's part of what has an entry for each row."""
        if not 0 <= number <= self.highest:
            raise KeyError(number)
        return flat[self.start[number]:self.end[number]]

    cdef object positions(self, const int32_t[:] class_id, const int32_t[:] row):
        """Return the position of each row in the batch, -1 if nowhere."""
        cdef int64_t i, at
        cdef int64_t failed = -1
        cdef const int64_t* start = self.start
        cdef const int64_t* end = self.end
        cdef int64_t highest = self.highest
        flat = np.full(self.rows, -1, np.int32)
        cdef int32_t[::1] places = flat
        if row.shape[0] != class_id.shape[0]:
            raise ValueError("row and class_id differ in length")
        with nogil:
            for i in range(class_id.shape[0]):
                at = place_of(start, end, highest, class_id[i], row[i])
                if at < 0:
                    failed = i
                    break
                places[at] = <int32_t>i
        if failed >= 0:
            raise ValueError(f"event {failed} is row {row[failed]} of class {class_id[failed]}, which does not exist")
        return flat

    cdef object taken(self, const int32_t[:] class_id, const int32_t[:] row, column):
        """Return the batch's column for each row, 0 for one that is nowhere."""
        cdef int64_t failed
        if column.dtype.itemsize == 8:
            found = np.empty(self.rows, np.int64) if len(column) == self.rows else np.zeros(self.rows, np.int64)
            failed = take_rows[int64_t](self, class_id, row, column, found)
        else:
            found = np.empty(self.rows, np.int32) if len(column) == self.rows else np.zeros(self.rows, np.int32)
            failed = take_rows[int32_t](self, class_id, row, column, found)
        if failed >= 0:
            raise ValueError(f"event {failed} is row {row[failed]} of class {class_id[failed]}, which does not exist")
        return found


ctypedef fused Entry:
    int32_t
    int64_t


# Copy a column of the batch, one row of a class after the other; return the event whose row does not exist, or -1.
cdef int64_t take_rows(
    RowBounds bounds, const int32_t[:] class_id, const int32_t[:] row, const Entry[:] column, Entry[::1] out
) except -2:
    cdef int64_t count = class_id.shape[0]
    cdef int64_t i, at
    cdef const int64_t* start = bounds.start
    cdef const int64_t* end = bounds.end
    cdef int64_t highest = bounds.highest
    if row.shape[0] != count or column.shape[0] != count or out.shape[0] != bounds.rows:
        raise ValueError("row, class_id and column differ in length")
    with nogil:
        for i in range(count):
            at = place_of(start, end, highest, class_id[i], row[i])
            if at < 0:
                return i
            out[at] = column[i]
    return -1


# The entries of a column at some positions, 0 at -1; which of them it does not have, or -1.
cdef int64_t take_at(const Entry[:] column, const int32_t[:] positions, Entry[::1] out) except -2:
    cdef int64_t size = column.shape[0]
    cdef int64_t i, at
    if out.shape[0] != positions.shape[0]:
        raise ValueError("positions and entries differ in number")
    with nogil:
        for i in range(positions.shape[0]):
            at = positions[i]
            if at < -1 or at >= size:
                return i
            out[i] = column[at] if at >= 0 else 0
    return -1


def positions_of(int32_t number, const int32_t[:] class_id, const int32_t[:] row, int64_t length) -> NDArray[int32]:
    """Return the positions in the batch of the `length` rows of one class: entry r is the position of row r, -1 if
    nowhere.

    For a class that has few it costs a glance at all events. Raises ValueError for a row that the class does not have.
    """
    cdef int64_t count = class_id.shape[0]
    cdef int64_t i
    cdef int64_t failed = -1
    if row.shape[0] != count:
        raise ValueError("row and class_id differ in length")
    found = np.full(length, -1, np.int32)
    cdef int32_t[::1] places = found
    with nogil:
        for i in range(count):
            if class_id[i] != number:
                continue
            if not 0 <= row[i] < length:
                failed = i
                break
            places[row[i]] = <int32_t>i
    if failed >= 0:
        raise ValueError(f"event {failed} is row {row[failed]} of class {number}, which does not exist")
    return found


def values_by_class(
    const int32_t[:] class_id, const int32_t[:] row, dict columns: dict[int, NDArray[int32]]
) -> NDArray[int32]:
    """Return the value of each event in the column of its class, 0 where that has none, or one without rows.

    Raises ValueError for a row that the column does not have. Releases the GIL.
    """
    cdef int64_t count = class_id.shape[0]
    cdef int32_t classes = max(columns, default=-1) + 1
    cdef int64_t i
    cdef int64_t failed = -1
    cdef const int32_t[:] values
    cdef Values* of
    if row.shape[0] != count:
        raise ValueError("row and class_id differ in length")
    found = np.zeros(count, np.int32)
    cdef int32_t[::1] out = found
    cdef Values* held = <Values*>calloc(classes + 1, sizeof(Values))
    if held is NULL:
        raise MemoryError
    try:
        for number, column in columns.items():
            if number < 0:
                raise ValueError(f"class {number}")
            # The caller holds the columns as long as this runs.
            values = column
            held[<int32_t>number].length = values.shape[0]
            held[<int32_t>number].stride = values.strides[0]
            held[<int32_t>number].first = <const uint8_t*>&values[0] if values.shape[0] else NULL
        with nogil:
            for i in range(count):
                if class_id[i] < 0 or class_id[i] >= classes:
                    continue
                of = &held[class_id[i]]
                if of.first is NULL:
                    continue
                if not 0 <= row[i] < of.length:
                    failed = i
                    break
                out[i] = (<const int32_t*>(of.first + row[i] * of.stride))[0]
    finally:
        free(held)
    if failed >= 0:
        raise ValueError(f"event {failed} is row {row[failed]} of class {class_id[failed]}, which does not exist")
    return found


def looked_up(const int32_t[::1] table, const int32_t[:] numbers) -> NDArray[int32]:
    """Return the table's entry for each number; -1 means the last one.

    Raises ValueError for other numbers that the table does not have. Releases the GIL.
    """
    cdef int64_t count = numbers.shape[0]
    cdef int64_t size = table.shape[0]
    cdef int64_t i
    cdef int64_t failed = -1
    cdef uint64_t number
    found = np.empty(count, np.int32)
    cdef int32_t[::1] out = found
    with nogil:
        for i in range(count):
            number = <uint64_t>(numbers[i] if numbers[i] != -1 else size - 1)
            if number >= <uint64_t>size:
                failed = i
                break
            out[i] = table[number]
    if failed >= 0:
        raise ValueError(f"number {numbers[failed]} of a table of {size}")
    return found


def put(int32_t[::1] column, const int32_t[:] positions, const int32_t[:] values) -> None:
    """Set what a column has at some positions.

    Raises ValueError for positions outside of it. Releases the GIL.
    """
    cdef int64_t count = positions.shape[0]
    cdef int64_t size = column.shape[0]
    cdef int64_t i
    cdef int64_t failed = -1
    if values.shape[0] != count:
        raise ValueError("positions and values differ in number")
    with nogil:
        for i in range(count):
            if not 0 <= positions[i] < size:
                failed = i
                break
            column[positions[i]] = values[i]
    if failed >= 0:
        raise ValueError(f"position {positions[failed]} of {size}")


def put_by_class(
    const int32_t[:] column, const int32_t[:] class_id, const int32_t[::1] values, int32_t absent
) -> NDArray[int32]:
    """The column with the value of each event's class, where that has one that is not `absent`.

    Raises ValueError for columns that differ in length. Releases the GIL.
    """
    cdef int64_t count = column.shape[0]
    cdef uint32_t classes = <uint32_t>values.shape[0]
    cdef int64_t i
    cdef int32_t value
    result = np.empty(count, np.int32)
    cdef int32_t[::1] out = result
    if class_id.shape[0] != count:
        raise ValueError("columns differ in length")
    with nogil:
        for i in range(count):
            value = values[class_id[i]] if <uint32_t>class_id[i] < classes else absent
            out[i] = column[i] if value == absent else value
    return result


def mark(uint8_t[::1] marks, const int32_t[:] numbers) -> None:
    """Set the marker of each number that occurs to 1; -1 means the last one.

    Raises ValueError for other numbers that have no marker. Releases the GIL.
    """
    cdef int64_t size = marks.shape[0]
    cdef int64_t i
    cdef int64_t failed = -1
    cdef uint64_t number
    with nogil:
        for i in range(numbers.shape[0]):
            number = <uint64_t>(numbers[i] if numbers[i] != -1 else size - 1)
            if number >= <uint64_t>size:
                failed = i
                break
            marks[number] = 1
    if failed >= 0:
        raise ValueError(f"number {numbers[failed]} of {size}")


# So that nobody can choose values that all fall into one slot.
cdef uint64_t SEED = int.from_bytes(os.urandom(8), "little")


def number_values(const uint64_t[:] column) -> tuple[NDArray[uint64], NDArray[int32]]:
    """The distinct values of a column in the order in which they first occur, and for each row which of them it holds.

    Raises ValueError for more than 2^30 rows, MemoryError. Releases the GIL.
    """
    cdef int64_t rows = column.shape[0]
    cdef int64_t i
    cdef int32_t found = 0
    cdef Numbers known
    if rows > 1 << 30:
        raise ValueError(f"{rows} rows")
    numbers = np.empty(rows, np.int32)
    cdef int32_t[::1] number = numbers
    cdef uint64_t[::1] values
    memset(&known, 0, sizeof(Numbers))
    known.seed = SEED
    try:
        with nogil:
            for i in range(rows):
                found = find_or_add_key(&known, column[i])
                if found < 0:
                    break
                number[i] = found
        if found < 0:
            raise MemoryError("no room for distinct values")
        distinct = np.empty(known.count, np.uint64)
        values = distinct
        if known.count:
            memcpy(&values[0], known.keys, known.count * sizeof(uint64_t))
    finally:
        free_numbers(&known)
    return distinct, numbers


cdef class DenseUnion:
    """The classes and rows of the events of a batch: positions of each class's rows are computed on first use.

    `lengths` are the numbers of rows by class.

    Any thread may call it.
    """

    # Stub:
    # def first(self, number: int) -> int: ...
    # def positions(self, number: int) -> NDArray[int32]: ...
    # def taken(self, column: NDArray[_Entry], number: int) -> NDArray[_Entry]: ...

    def __cinit__(self, class_id: NDArray[int32], row: NDArray[int32], dict lengths not None: dict[int, int]):
        self._class_id = class_id
        self._row = row
        self._lengths = lengths
        self._lock = PyThread_allocate_lock()
        if self._lock is NULL:
            raise MemoryError
        self._positions = {}
        self._taken = {}

    def __dealloc__(self):
        free(self._firsts)
        if self._lock is not NULL:
            PyThread_free_lock(self._lock)

    cpdef int64_t first(self, int64_t number) except -1:
        """Return the position of the first row of a class. Raises KeyError where it has none."""
        if self._firsts is NULL:
            self._find_firsts()
        if not 0 <= number <= self._highest or self._firsts[number] < 0:
            raise KeyError(number)
        return self._firsts[number]

    cpdef object positions(self, int64_t number):
        """Return the positions of the rows of a class: entry r is the position of row r, -1 if nowhere.

        Raises ValueError for a row that no table has.
        """
        known = self._positions.get(number)
        if known is not None:
            return known
        self._enter()
        try:
            # Another thread may have found them meanwhile.
            known = self._positions.get(number)
            if known is None:
                known = self._found(number, ONE_BY_ONE)
                if known is None:
                    self._flat = self._bounds.positions(self._class_id, self._row)
                    known = self._bounds.of_class(self._flat, number)
                self._positions[number] = known
        finally:
            PyThread_release_lock(self._lock)
        return known

    cpdef object taken(self, column, int64_t number):
        """Return a column of the batch for the rows of a class; one pass over the batch serves all classes."""
        cdef int64_t failed
        self._enter()
        try:
            found = self._found(number, 1)
            if found is None:
                _, flat = self._taken.get(id(column), (None, None))
                if flat is None:
                    flat = self._bounds.taken(self._class_id, self._row, column)
                    # The column is kept, so that its id stays its own.
                    self._taken[id(column)] = (column, flat)
                return self._bounds.of_class(flat, number)
        finally:
            PyThread_release_lock(self._lock)
        if column.dtype.itemsize == 8:
            entries = np.empty(len(found), np.int64)
            failed = take_at[int64_t](column, found, entries)
        else:
            entries = np.empty(len(found), np.int32)
            failed = take_at[int32_t](column, found, entries)
        if failed >= 0:
            raise ValueError(f"position {found[failed]} of {len(column)}")
        return entries

    cdef object _found(self, int64_t number, int64_t one_by_one):
        """The positions of a class as far as they are known, or of one that is sought for itself; else None."""
        known = self._positions.get(number)
        if known is not None:
            return known
        if self._bounds is None:
            length = self._lengths[number]
            if length * FEW_OF < len(self._class_id) and len(self._positions) < one_by_one:
                known = positions_of(number, self._class_id, self._row, length)
                self._positions[number] = known
                return known
            self._bounds = RowBounds(self._lengths)
        if self._flat is not None:
            return self._bounds.of_class(self._flat, number)
        return None

    cdef int _enter(self) except -1:
        if not PyThread_acquire_lock(self._lock, NOWAIT_LOCK):
            with nogil:
                PyThread_acquire_lock(self._lock, WAIT_LOCK)
        return 0

    cdef int _find_firsts(self) except -1:
        cdef const int32_t[:] class_id = self._class_id
        cdef const int32_t[:] row = self._row
        cdef int64_t i, number
        cdef int64_t highest = max(self._lengths, default=-1)
        cdef int64_t* firsts
        if row.shape[0] != class_id.shape[0]:
            raise ValueError("row and class_id differ in length")
        firsts = <int64_t*>malloc((highest + 2) * sizeof(int64_t))
        if firsts is NULL:
            raise MemoryError
        for i in range(highest + 1):
            firsts[i] = -1
        for i in range(class_id.shape[0]):
            if row[i] == 0 and 0 <= class_id[i] <= highest:
                firsts[class_id[i]] = i
        self._highest = highest
        self._firsts = firsts
        return 0
