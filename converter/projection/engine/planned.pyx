# cython: language_level=3, boundscheck=False, wraparound=False
"""Plans of classes carried out: for the classes of a batch one after the other, without a call a class and column."""

# Stub:
# from collections.abc import Callable, Hashable, Iterable, Sequence
# from typing import TypeVar
# from converter.ir.events import Batch, EventClass, Table
# from converter.ir.kinds import Kind
# from converter.ir.tables import RecipePart
# from converter.projection.engine.rows import Rows
#
# _Partition = TypeVar("_Partition", bound=Rows)

from libc.stdint cimport int64_t

from converter.ir.tables cimport Table
from converter.kernels.batches.union cimport DenseUnion
from converter.projection.engine.rows cimport Places, Rows


cdef class LossTally:
    """Losses that come again with each batch, which are summed together until somebody asks."""

    # Stub:
    # losses: tuple[Any, ...]
    # event_kinds: frozenset[Kind]
    # count: int
    # first_ts: int
    # def add(self, count: int, first_ts: int) -> int: ...

    cdef readonly tuple losses
    cdef readonly object event_kinds
    cdef readonly int64_t count
    cdef readonly int64_t first_ts

    def __cinit__(self, tuple losses not None, event_kinds: frozenset[Kind]):
        self.losses = losses
        self.event_kinds = event_kinds

    cpdef int add(self, int64_t count, int64_t first_ts) except -1:
        """Count `count` of them, the first of these at the time `first_ts`."""
        if not self.count or first_ts < self.first_ts:
            self.first_ts = first_ts
        self.count += count
        return 0

    def take(self) -> tuple[int, int]:
        """Return the count since the last call, and the time of the first of them."""
        count, self.count = self.count, 0
        return count, self.first_ts


cdef class PlannedPart:
    """One partition that the events of a class become: the number of its class, that, and what makes its columns.

    `places` say threads, CPUs and tracks: None for those of the batch, and where all are.
    """

    cdef readonly int64_t number
    cdef readonly object event_class
    cdef readonly tuple recipe
    cdef readonly tuple places
    cdef readonly long after

    def __cinit__(
        self,
        int64_t number,
        event_class: EventClass,
        tuple recipe not None: tuple[RecipePart, ...],
        tuple places: tuple[RecipePart | None, ...] | None,
        long after,
    ):
        self.number = number
        self.event_class = event_class
        self.recipe = recipe
        self.places = places
        self.after = after


cdef class ClassPlan:
    """The compiled plan of a class: the results for its events, and the losses of each; `exceptions` must hold for no
    row.

    `made` is the class of its partitions, which has nothing of its own besides what `Rows` has.
    """

    cdef readonly tuple parts
    cdef readonly object tally
    cdef readonly tuple exceptions
    cdef type _made

    def __cinit__(
        self,
        tuple parts not None: tuple[PlannedPart, ...],
        tally: LossTally | None,
        tuple exceptions not None: tuple[RecipePart, ...],
        type made not None: type[Rows],
    ):
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
    batch: Batch,
    numbers: Iterable[int],
    dict plans not None: dict[tuple[int, bool], ClassPlan | None],
    off_threads: frozenset[int] | None,
    bint counts,
    list classes not None: Sequence[EventClass],
    dict derived: dict[tuple[Hashable, ...], tuple[EventClass, EventClass]],
    unplanned: Callable[[int], list[tuple[int, _Partition]]],
) -> list[tuple[int, int, _Partition]]:
    """Return the results for the events of some classes of a batch: the class that they had, the number of the one that
    they have, and the partition.

    Args:
        batch: whose columns are placed already.
        numbers: of the classes, in the order in which they are to be projected.
        plans: by class, and by whether all its events are on threads.
        off_threads: the classes with events on no thread; None: all.
        counts: whether losses are counted.
        classes: the event classes of the batch.
        derived: as `Rows` has it.
        unplanned: projects a class that has no plan, or has rows that its plan does not cover.
    """
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


def occurring(dict tables not None: dict[int, Table]) -> set[int]:
    """The numbers of the classes with rows."""
    cdef set present = set()
    for number, table in tables.items():
        if len(table):
            present.add(number)
    return present
