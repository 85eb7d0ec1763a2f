# cython: language_level=3, boundscheck=False, wraparound=False
"""Plans of classes carried out: for the classes of a batch one after the other, without a call a class and column."""

from libc.stdint cimport int64_t

from converter.ir.tables cimport Table
from converter.kernels.batches.union cimport DenseUnion
from converter.projection.engine.rows cimport Places, Rows


cdef class LossTally:
    cdef readonly tuple losses
    cdef readonly object event_kinds
    cdef readonly int64_t count
    cdef readonly int64_t first_ts

    def __cinit__(self, tuple losses not None, event_kinds):
        self.losses = losses
        self.event_kinds = event_kinds

    cpdef int add(self, int64_t count, int64_t first_ts) except -1:
        if not self.count or first_ts < self.first_ts:
            self.first_ts = first_ts
        self.count += count
        return 0

    def take(self):
        count, self.count = self.count, 0
        return count, self.first_ts


cdef class PlannedPart:
    cdef readonly int64_t number
    cdef readonly object event_class
    cdef readonly tuple recipe
    cdef readonly tuple places
    cdef readonly long after

    def __cinit__(self, int64_t number, event_class, tuple recipe not None, tuple places, long after):
        self.number = number
        self.event_class = event_class
        self.recipe = recipe
        self.places = places
        self.after = after


cdef class ClassPlan:
    cdef readonly tuple parts
    cdef readonly object tally
    cdef readonly tuple exceptions
    cdef type _made

    def __cinit__(self, tuple parts not None, tally, tuple exceptions not None, type made not None):
        if not issubclass(made, Rows):
            raise TypeError(f"{made} are no rows")
        self.parts = parts
        self.tally = tally
        self.exceptions = exceptions
        self._made = made

    cdef Rows _rows(self, batch, event_class, Table table, Places places, dict derived):
        """Return the rows of a class of a batch."""
        cdef Rows rows = self._made.__new__(self._made)
        rows.batch = batch
        rows.event_class = event_class
        rows.table = table
        rows.places = places
        rows.whole = True
        rows.derived = derived
        return rows

    cdef bint _is_for(self, Rows rows) except -1:
        """Return True if the plan covers all of these rows of the class."""
        for holds in Table.settled(rows.table, self.exceptions, rows):
            if holds.any():
                return False
        return True

    cdef int _add_parts(self, list placed, Rows of) except -1:
        """Append the results for the rows."""
        cdef PlannedPart planned
        cdef Rows rows, part
        cdef tuple given
        for planned in self.parts:
            rows = self._rows(of.batch, planned.event_class, of.table, of.places, of.derived)
            part = self._rows(of.batch, planned.event_class, None, of.places, of.derived)
            part.table = Table.derived(of.table, planned.recipe, rows)
            part.after = planned.after
            if planned.places is not None:
                # At once: threads and tracks come to be in the order in which they are asked for.
                given = Table.settled(of.table, planned.places, rows)
                part.on_thread, part.on_cpu, part.on_track = given
            placed.append(((<Places>of.places).number, planned.number, part))
        return 0


def placed_parts(
    batch, numbers, dict plans not None, off_threads, bint counts, list classes not None, dict derived, unplanned
):
    cdef list placed = []
    cdef dict tables = batch.tables
    cdef DenseUnion union = batch.union
    cdef const int64_t[:] ts = batch.ts
    cdef ClassPlan plan
    cdef Rows rows
    cdef Places places
    cdef int64_t number, first
    for key in numbers:
        number = key
        if not 0 <= number < len(classes):
            raise ValueError(f"class {number} of {len(classes)}")
        places = Places.__new__(Places, union, number)
        plan = plans.get((number, off_threads is not None and number not in off_threads))
        if plan is not None:
            rows = plan._rows(batch, classes[number], tables[number], places, derived)
            if not plan.exceptions or plan._is_for(rows):
                plan._add_parts(placed, rows)
                if counts and plan.tally is not None:
                    first = union.first(number)
                    if not 0 <= first < ts.shape[0]:
                        raise ValueError("columns differ in length")
                    (<LossTally>plan.tally).add(rows.table._length, ts[first])
                continue
        for target, part in unplanned(number):
            placed.append((number, target, part))
    return placed


def occurring(dict tables not None):
    """The numbers of the classes with rows."""
    cdef set present = set()
    for number, table in tables.items():
        if len(table):
            present.add(number)
    return present
