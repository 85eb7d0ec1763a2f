# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The dense union of a batch: numbering the rows of each class, finding their places again, and looking up by number.

Distinct values of columns whose values lie far apart: addresses, identities. A hash table instead of a sort.
"""

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset
import numpy as np
import os

from converter.kernels.numbers cimport Numbers, find_or_add_key, free_numbers


# A column of one class: its first value, how far the next is, and how many there are.
cdef struct Values:
    const uint8_t* first
    int64_t stride
    int64_t length


def number_rows(const int32_t[:] class_id, int32_t[::1] row, int32_t[::1] counts):
    """Give event i the next row of its class; `counts`, one per class id, go on from what they hold."""
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


def positions_by_class(const int32_t[:] class_id, const int32_t[:] row, dict lengths):
    """For each class: where its rows stand in the batch (int32, entry r is the position of row r, -1 if nowhere)."""
    cdef int64_t count = class_id.shape[0]
    cdef int64_t i
    cdef int32_t highest = max(lengths, default=-1)
    cdef int32_t id, at
    if row.shape[0] != count:
        raise ValueError("row and class_id differ in length")
    bounds = np.zeros((highest + 2,), np.int64)
    ends = np.zeros((highest + 2,), np.int64)
    at_next = 0
    for key in sorted(lengths):
        bounds[key] = at_next
        at_next += lengths[key]
        ends[key] = at_next
    flat = np.full(at_next, -1, np.int32)
    cdef const int64_t[::1] start = bounds
    cdef const int64_t[::1] end = ends
    cdef int32_t[::1] places = flat
    cdef int64_t failed = -1
    with nogil:
        for i in range(count):
            id = class_id[i]
            if id < 0 or id > highest or row[i] < 0 or start[id] + row[i] >= end[id]:
                failed = i
                break
            places[start[id] + row[i]] = <int32_t>i
    if failed >= 0:
        raise ValueError(f"event {failed} is row {row[failed]} of class {class_id[failed]}, which does not exist")
    return {key: flat[bounds[key]:ends[key]] for key in lengths}


def positions_of(int32_t number, const int32_t[:] class_id, const int32_t[:] row, int64_t length):
    """Where the rows of one class stand in the batch, as `positions_by_class` says it of all."""
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


def values_by_class(const int32_t[:] class_id, const int32_t[:] row, dict columns):
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


def looked_up(const int32_t[::1] table, const int32_t[:] numbers):
    """The table's entry for each number (int32); -1 stands for the last one."""
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


def put(int32_t[::1] column, const int32_t[:] positions, const int32_t[:] values):
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
):
    """The column with what `values` has for the classes of events, where that is not `absent`."""
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


def mark(uint8_t[::1] marks, const int32_t[:] numbers):
    """Set the mark of each number that occurs; -1 stands for the last one."""
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


def number_values(const uint64_t[:] column):
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
