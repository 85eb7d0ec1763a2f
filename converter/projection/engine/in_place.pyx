# cython: language_level=3, boundscheck=False, wraparound=False
"""A batch put together again in place: what the partitions say of its events is written over what was there."""

# Stub:
# from collections.abc import Callable, Sequence
# from typing import TypeVar
# from converter.ir.columns import Column
# from converter.ir.events import Batch, Table
# from converter.projection.engine.rows import Rows
#
# _Partition = TypeVar("_Partition", bound=Rows)

from libc.stdint cimport int32_t, int64_t

import numpy as np
from numpy import ndarray

from converter.ir.columns import constant_column
from converter.ir.tables cimport Table
from converter.kernels.batches.union import looked_up, put, put_by_class
from converter.projection.engine.rows cimport Rows, is_constant, settled_place

# No thread, CPU or track has this number.
cdef int32_t ABSENT = -(1 << 31)


cdef class JoinedColumn:
    """A column of several tables, one's rows after the other's, when called: `join` is for values that are no array."""

    cdef list _tables
    cdef Py_ssize_t _index
    cdef object _join

    def __cinit__(self, list tables not None: list[Table], Py_ssize_t index, join: Callable[[list[Column]], Column]):
        self._tables = tables
        self._index = index
        self._join = join

    def __call__(self) -> Column:
        cdef Table table
        cdef bint are_arrays = True
        cdef list columns = []
        for table in self._tables:
            column = table.column(self._index)
            are_arrays &= isinstance(column, ndarray)
            columns.append(column)
        return np.concatenate(columns) if are_arrays else self._join(columns)


def by_target(
    list placed not None: list[tuple[int, int, _Partition]]
) -> tuple[dict[int, list[_Partition]], list[int], int, bool]:
    """The partitions of each class, which classes have several, how many rows all have, and whether any are additional."""
    cdef dict partitions = {}
    cdef dict several = {}
    cdef int64_t size = 0
    cdef long after = 0
    cdef Rows partition
    for _, target, part in placed:
        partition = part
        known = partitions.get(target)
        if known is None:
            partitions[target] = [partition]
        else:
            (<list>known).append(partition)
            several[target] = None
        size += partition.table._length
        after |= partition.after
    return partitions, list(several), size, after != 0


def classes_and_rows(
    class_id: NDArray[int32],
    row: NDArray[int32],
    int64_t classes,
    list placed not None: Sequence[tuple[int, int, _Partition]],
    dict partitions not None: dict[int, list[_Partition]],
) -> tuple[NDArray[int32], NDArray[int32]]:
    """Class and row of each event of a batch whose classes have numbers up to `classes`: only what changed is written.

    `partitions` are those of each class, whose rows are numbered in this order.
    """
    cdef int32_t[::1] numbers = np.full(classes + 1, -1, np.int32)
    cdef bint is_same = True
    cdef int64_t source, target, start
    cdef Rows partition
    for of, becomes, part in placed:
        source, target, partition = of, becomes, part
        is_same &= partition.whole and source == target
        if partition.whole:
            if not 0 <= source <= classes:
                raise ValueError(f"class {source} of {classes}")
            numbers[source] = <int32_t>target
    target_ids = class_id if is_same else looked_up(numbers, class_id)
    rows = row
    for becomes, parts in partitions.items():
        if len(<list>parts) == 1 and (<Rows>(<list>parts)[0]).whole:
            continue
        if rows is row:
            rows = row.copy()
        start = 0
        for part in <list>parts:
            partition = part
            positions = partition.positions_of()
            if not partition.whole:
                put(target_ids, positions, constant_column(np.int32(becomes), partition.table._length))
            put(rows, positions, np.arange(start, start + partition.table._length, dtype=np.int32))
            start += partition.table._length
    return target_ids, rows


def places(
    batch: Batch, int64_t classes, list placed not None: Sequence[tuple[int, int, Rows]]
) -> tuple[NDArray[int32], NDArray[int32], NDArray[int32]]:
    """Threads, CPUs and tracks of the events of a batch, where the partitions say another."""
    cdef list threads = []
    cdef list cpus = []
    cdef list tracks = []
    cdef Rows partition
    for source, _, part in placed:
        partition = part
        if not partition.table._length:
            continue
        if partition.on_thread is not None:
            threads.append((source, partition, settled_place(partition.on_thread)))
        if partition.on_cpu is not None:
            cpus.append((source, partition, settled_place(partition.on_cpu)))
        if partition.on_track is not None:
            tracks.append((source, partition, settled_place(partition.on_track)))
    return (
        _with(batch.thread, batch.class_id, classes, len(placed), threads),
        _with(batch.cpu, batch.class_id, classes, len(placed), cpus),
        _with(batch.track, batch.class_id, classes, len(placed), tracks),
    )


cdef object _with(column, class_id, int64_t classes, int64_t partitions, list given):
    """The batch's column with what is given by some of the partitions: the class that the rows had, they, and a column."""
    cdef set constants = set()
    cdef list others = []
    cdef bint vary = False
    cdef bint always
    cdef int64_t source
    cdef int32_t[::1] of_class
    cdef Rows partition
    if not given:
        return column
    of_class = np.full(classes + 1, ABSENT, np.int32)
    for of, part, values in given:
        source, partition = of, part
        if not is_constant(values):
            vary = True
            others.append((partition, values))
            continue
        value = int(values[0])
        constants.add(value)
        if partition.whole:
            if not 0 <= source <= classes:
                raise ValueError(f"class {source} of {classes}")
            of_class[source] = value
        else:
            others.append((partition, values))
    if not vary:
        always = is_constant(column) and len(column) > 0
        if always:
            constants.add(int(column[0]))
        if len(constants) == 1 and (always or len(given) == partitions):
            return constant_column(np.int32(constants.pop()), len(column))
    if len(others) < len(given):
        result = put_by_class(column, class_id, of_class, ABSENT)
    else:
        result = column.copy()
    for part, values in others:
        put(result, (<Rows>part).positions_of(), values)
    return result
