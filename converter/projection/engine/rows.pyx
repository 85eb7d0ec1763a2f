# cython: language_level=3, boundscheck=False, wraparound=False
"""Rows of a class within a batch: what pieces are made of, compiled as each batch has some of each of its classes."""

import numpy as np
from numpy import ndarray

from converter.ir.tables cimport ComputedColumn, Table
from converter.kernels.batches.union cimport DenseUnion
from converter.kernels.batches.union import looked_up

cdef tuple CONSTANT = (0,)


cdef class Places:
    def __cinit__(self, DenseUnion union not None, long number):
        self._union = union
        self.number = number

    cdef object of_all(self):
        self.asked = True
        if self._all is None:
            self._all = self._union.positions(self.number)
        return self._all

    @property
    def all(self):
        return self.of_all()

    @property
    def first(self):
        return self._union.first(self.number)


cdef class Rows:
    def __init__(
        self,
        batch,
        event_class,
        Table table not None,
        places,
        tuple on not None=(None, None, None),
        long after=0,
        bint whole=True,
        dict derived=None,
    ):
        self.batch = batch
        self.event_class = event_class
        self.table = table
        self.places = places
        self.on_thread, self.on_cpu, self.on_track = on
        self.after = after
        self.whole = whole
        self.derived = {} if derived is None else derived

    def __len__(self):
        return self.table._length

    cdef object positions_of(self):
        return (<Places>self.places).of_all() if isinstance(self.places, Places) else self.places

    @property
    def positions(self):
        return self.positions_of()

    @property
    def first(self):
        return (<Places>self.places).first if isinstance(self.places, Places) else int(self.places[0])

    @property
    def thread(self):
        if self.on_thread is not None:
            self.on_thread = settled_place(self.on_thread)
        return self.on_thread

    @property
    def cpu(self):
        if self.on_cpu is not None:
            self.on_cpu = settled_place(self.on_cpu)
        return self.on_cpu

    @property
    def track(self):
        if self.on_track is not None:
            self.on_track = settled_place(self.on_track)
        return self.on_track

    def settle(self):
        self.thread, self.cpu, self.track

    cpdef object taken(self, column):
        cdef Places places
        if is_constant(column):
            return column[:self.table._length]
        if isinstance(self.places, Places):
            places = self.places
            places.asked = True
            return places._union.taken(column, places.number)
        return looked_up(np.ascontiguousarray(column), self.places)


def threads_of(Rows rows not None):
    return rows.taken(rows.batch.thread) if rows.on_thread is None else rows.thread


def cpus_of(Rows rows not None):
    return rows.taken(rows.batch.cpu) if rows.on_cpu is None else rows.cpu


cdef object settled_place(place):
    return place() if isinstance(place, ComputedColumn) else place


def settled(place):
    return settled_place(place)


cdef bint is_constant(column) except -1:
    return column.strides == CONSTANT
