# cython: language_level=3, boundscheck=False, wraparound=False
"""Rows of a class within a batch: what partitions are made of, compiled as each batch has some of each of its classes."""

# Stub:
# from collections.abc import Hashable
# from typing import TypeAlias
# from converter.ir.events import Batch, EventClass, Table
# from converter.ir.tables import ComputedColumn
# from converter.kernels.batches.union import DenseUnion
#
# #: _Places of rows (int32, one a row), as a column or as what computes them.
# _Place: TypeAlias = NDArray[int32] | ComputedColumn
# #: Event classes by the class that they were made of and what was changed, with the former.
# _Derived: TypeAlias = dict[tuple[Hashable, ...], tuple[EventClass, EventClass]]

import numpy as np
from numpy import ndarray

from converter.ir.tables cimport ComputedColumn, Table
from converter.kernels.batches.union cimport DenseUnion
from converter.kernels.batches.union import looked_up

cdef tuple CONSTANT = (0,)


cdef class Places:
    """The places of all rows of a class in a batch, found when somebody asks for them: then `asked` says so."""

    # Stub:
    # asked: bool
    # number: int

    def __cinit__(self, DenseUnion union not None, long number):
        self._union = union
        self.number = number

    cdef object of_all(self):
        self.asked = True
        if self._all is None:
            self._all = self._union.positions(self.number)
        return self._all

    @property
    def all(self) -> NDArray[int32]:
        """The place of each row."""
        return self.of_all()

    @property
    def first(self) -> int:
        """That of the first row, which is nothing to ask for."""
        return self._union.first(self.number)


cdef class Rows:
    """Rows of one class; nobody changes them once they are made.

    `places` (int32, one a row) are positions in `batch`; `on_thread`, `on_cpu`, `on_track` replace the batch's columns
    there; `after` > 0 puts the rows after the events at those positions, as additional events. `whole` says that the
    rows are those of a table of the batch, all and in order. `derived` remembers the classes that were made of others,
    so that a class is the same object in every batch.
    """

    # Stub:
    # batch: Batch
    # event_class: EventClass
    # table: Table
    # places: NDArray[int32] | Places
    # on_thread: _Place | None
    # on_cpu: _Place | None
    # on_track: _Place | None
    # after: int
    # whole: bool
    # derived: _Derived
    # def taken(self, column: NDArray[int32]) -> NDArray[int32]: ...

    def __init__(
        self,
        batch: Batch,
        event_class: EventClass,
        Table table not None,
        places: NDArray[int32] | Places,
        tuple on not None: tuple[_Place | None, _Place | None, _Place | None] = (None, None, None),
        long after=0,
        bint whole=True,
        dict derived: _Derived | None = None,
    ):
        self.batch = batch
        self.event_class = event_class
        self.table = table
        self.places = places
        self.on_thread, self.on_cpu, self.on_track = on
        self.after = after
        self.whole = whole
        self.derived = {} if derived is None else derived

    def __len__(self) -> int:
        return self.table._length

    cdef object positions_of(self):
        return (<Places>self.places).of_all() if isinstance(self.places, Places) else self.places

    @property
    def positions(self) -> NDArray[int32]:
        """The place of each row in the batch."""
        return self.positions_of()

    @property
    def first(self) -> int:
        """The place of the first row."""
        return (<Places>self.places).first if isinstance(self.places, Places) else int(self.places[0])

    @property
    def thread(self) -> NDArray[int32] | None:
        """The thread of each row, None where the batch says it."""
        if self.on_thread is not None:
            self.on_thread = settled_place(self.on_thread)
        return self.on_thread

    @property
    def cpu(self) -> NDArray[int32] | None:
        """The CPU of each row, None where the batch says it."""
        if self.on_cpu is not None:
            self.on_cpu = settled_place(self.on_cpu)
        return self.on_cpu

    @property
    def track(self) -> NDArray[int32] | None:
        """The track of each row, None where the batch says it."""
        if self.on_track is not None:
            self.on_track = settled_place(self.on_track)
        return self.on_track

    def settle(self) -> None:
        """Compute where the rows are: threads and tracks come to be in the order in which they are asked for."""
        self.thread, self.cpu, self.track

    cpdef object taken(self, column):
        """Return a column of the batch for each row; a constant costs nothing, and the rows are not read."""
        cdef Places places
        if is_constant(column):
            return column[:self.table._length]
        if isinstance(self.places, Places):
            places = self.places
            places.asked = True
            return places._union.taken(column, places.number)
        return looked_up(np.ascontiguousarray(column), self.places)


def threads_of(Rows rows not None) -> NDArray[int32]:
    """The thread of each row."""
    return rows.taken(rows.batch.thread) if rows.on_thread is None else rows.thread


def cpus_of(Rows rows not None) -> NDArray[int32]:
    """The CPU of each row."""
    return rows.taken(rows.batch.cpu) if rows.on_cpu is None else rows.cpu


cdef object settled_place(place):
    return place() if isinstance(place, ComputedColumn) else place


def settled(place: _Place) -> NDArray[int32]:
    """Places, computed where they are not yet."""
    return settled_place(place)


cdef bint is_constant(column) except -1:
    return column.strides == CONSTANT
