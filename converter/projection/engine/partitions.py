"""Partitions: the unit in which a projection rewrites a batch.

A partition is some rows of one event class, with their columns and, where these change, their thread, CPU and track.
Rules accept and return partitions; they work on classes and whole columns, never on single events.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, string_ids
from converter.ir.events import EventClass, Field, Table
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.tables import ComputedColumn
from converter.kernels.tables.strings import StringTable
from converter.projection.engine.rows import Rows

Thunk = Callable[[], Column]
Known = TypeVar("Known")

#: Roles with the same meaning in every kind.
CONTEXT_ROLES = frozenset({Role.CONTEXT, Role.CONTEXT_FLAGS, Role.CONTEXT_PREEMPT_COUNT})


class Everywhere(ComputedColumn):
    """An index column without nulls: no entry is -1."""


#: The index of a thread, CPU or track for each row (int32), as a column or as what computes it.
Place = NDArray[np.int32] | ComputedColumn

#: Derived event classes with their origin, by the id of the origin and the change.
Derived = dict[tuple[Hashable, ...], tuple[EventClass, EventClass]]


class Partition(Rows):
    """Rows of one class, and the operations of rules on them."""

    __slots__ = ()

    def column(self, role: Role) -> Column | None:
        """Return the column of the first field with `role`, or None."""
        index = self.event_class.index_of(role)
        return None if index is None else self.table.column(index)

    def integers(self, role: Role) -> NDArray[Any] | None:
        """Return the column of the first field with `role` if it is one of integers, or None."""
        index = self.event_class.index_of(role)
        if index is None or not isinstance(self.event_class.fields[index].type, IntegerClass):
            return None
        column = self.table.column(index)
        assert isinstance(column, np.ndarray)
        return column

    def lazy_integers(self, role: Role) -> Thunk | None:
        """Like `integers`, but still decoded on demand."""
        index = self.event_class.index_of(role)
        if index is None or not isinstance(self.event_class.fields[index].type, IntegerClass):
            return None
        return self.table.lazy(index)

    def names_of_numbers(self, role: Role) -> dict[int, str]:
        """Return the labels of the values of the first field with `role`, by value."""
        index = self.event_class.index_of(role)
        held = None if index is None else self.event_class.fields[index].type
        labels = held.labels if isinstance(held, IntegerClass) else ()
        return {label.low: label.text for label in labels if label.low == label.high}

    def texts(self, role: Role, strings: StringTable) -> NDArray[np.int32] | None:
        """Return the column of the first field with `role` as ids if it is one of strings, or None."""
        index = self.event_class.index_of(role)
        if index is None or not isinstance(self.event_class.fields[index].type, StringClass):
            return None
        return string_ids(self.table.column(index), strings)

    def lazy_texts(self, role: Role, strings: StringTable) -> ComputedColumn | None:
        """Like `texts`, but still decoded on demand."""
        index = self.event_class.index_of(role)
        if index is None or not isinstance(self.event_class.fields[index].type, StringClass):
            return None
        return self.lazy_text(index, strings)

    def lazy_text(self, index: int, strings: StringTable) -> ComputedColumn:
        """Return a column of strings as ids, still decoded on demand."""
        column = self.table.lazy(index)
        return ComputedColumn(lambda _, column: string_ids(column, strings), (column,), self)

    def select(self, rows: NDArray[np.integer[Any]]) -> Partition:
        """Return some of the rows, in order."""

        def some(column: NDArray[Any] | None) -> NDArray[Any] | None:
            return None if column is None else column[rows]

        return Partition(
            self.batch,
            self.event_class,
            self.table.select(rows),
            self.positions[rows],
            (some(self.thread), some(self.cpu), some(self.track)),
            self.after,
            whole=False,
            derived=self.derived,
        )

    def split(self, condition: NDArray[np.bool_]) -> tuple[Partition | None, Partition | None]:
        """Return the rows where `condition` holds, and the others; None for no rows."""
        count = int(np.count_nonzero(condition))
        if count == len(self):
            return self, None
        if count == 0:
            return None, self
        return self.select(np.flatnonzero(condition)), self.select(np.flatnonzero(~condition))

    def rewritten(
        self,
        event_class: EventClass,
        columns: Sequence[Column | Thunk],
        *,
        thread: Place | None = None,
        cpu: Place | None = None,
        track: Place | None = None,
        after: int | None = None,
    ) -> Partition:
        """Return the same rows as another class with other columns and, where given, on another thread,
        CPU or track.
        """
        return Partition(
            self.batch,
            event_class,
            Table(len(self.table), columns),
            self.places,
            self._places_with(thread, cpu, track),
            self.after if after is None else after,
            self.whole,
            self.derived,
        )

    def _places_with(
        self, thread: Place | None, cpu: Place | None, track: Place | None
    ) -> tuple[Place | None, Place | None, Place | None]:
        """Return the columns of thread, CPU and track, with those given in place of the rows' own."""
        return (
            self.on_thread if thread is None else thread,
            self.on_cpu if cpu is None else cpu,
            self.on_track if track is None else track,
        )

    def moved(
        self,
        *,
        thread: Place | None = None,
        cpu: Place | None = None,
        track: Place | None = None,
    ) -> Partition:
        """Return the same rows on another thread, CPU or track."""
        return Partition(
            self.batch,
            self.event_class,
            self.table,
            self.places,
            self._places_with(thread, cpu, track),
            self.after,
            self.whole,
            self.derived,
        )

    def with_argument(
        self, field: Field, column: Column | Thunk, *, first: bool = False
    ) -> Partition:
        """Return the same rows with one more field: the last, or the first."""

        def extended() -> EventClass:
            fields = self.event_class.fields
            return replace(self.event_class, fields=(field, *fields) if first else (*fields, field))

        columns = self.lazy_columns()
        return self.rewritten(
            self.derive((field, first), extended),
            [column, *columns] if first else [*columns, column],
        )

    def without_field(self, field_index: int) -> Partition:
        """Return the same rows without one of the fields."""

        def shorter() -> EventClass:
            fields = self.event_class.fields
            return replace(
                self.event_class, fields=fields[:field_index] + fields[field_index + 1 :]
            )

        columns = self.lazy_columns()
        return self.rewritten(
            self.derive(("without", field_index), shorter),
            columns[:field_index] + columns[field_index + 1 :],
        )

    def with_text(self, field_index: int, texts: ComputedColumn) -> Partition:
        """Return the same rows with a text in place of one of the fields."""

        def with_text() -> EventClass:
            fields = list(self.event_class.fields)
            fields[field_index] = replace(fields[field_index], type=StringClass())
            return replace(self.event_class, fields=tuple(fields))

        columns = self.lazy_columns()
        columns[field_index] = texts
        return self.rewritten(self.derive(("with text", field_index), with_text), columns)

    def derive(self, how: tuple[Hashable, ...], make: Callable[[], EventClass]) -> EventClass:
        """Return the class that `make` makes from this one; `how` distinguishes it from others that are
        made from it.
        """
        key = (id(self.event_class), *how)
        known = self.derived.get(key)
        # The id may have belonged to another object.
        if known is None or known[0] is not self.event_class:
            known = self.derived[key] = (self.event_class, make())
        return known[1]

    def lazy_columns(self) -> list[Column | Thunk]:
        """Return all columns, still decoded on demand."""
        return self.table.lazy_columns()

    def as_kind(
        self,
        kind: Kind,
        leading: Sequence[tuple[Field, Column | Thunk]] = (),
        *,
        roles: dict[Role, Role] | None = None,
        without: frozenset[Role] = frozenset(),
        **places: Any,
    ) -> Partition:
        """Return the same rows as `kind`: `leading` fields first, then all existing ones, which lose their roles.

        Args:
            kind: the kind.
            leading: new fields.
            roles: the new roles of fields whose roles are not lost.
            without: roles whose fields are dropped, because `leading` says the same.
            places: as for `rewritten`.
        """
        roles = roles or {}

        def make_class() -> EventClass:
            kept = roles | {role: role for role in CONTEXT_ROLES}
            own = tuple(
                replace(field, role=kept.get(field.role, Role.NONE))
                for field in self.event_class.fields
                if field.role not in without
            )
            fields = tuple(field for field, _ in leading) + own
            return replace(
                self.event_class, kind=kind, name="", category="", fields=fields, native=b""
            )

        columns = [column for _, column in leading]
        columns += [
            self.table.lazy(i)
            for i, field in enumerate(self.event_class.fields)
            if field.role not in without
        ]
        how = (kind, *(field for field, _ in leading), *roles.items(), without)
        return self.rewritten(self.derive(how, make_class), columns, **places)


class ByClass(Generic[Known]):
    """A cache of results by event class: `make` is called once for each class.

    Looked up by identity, which is cheap, or else by value, which hashes all fields.
    """

    __slots__ = ("_by_id", "_by_value", "_make")

    def __init__(self, make: Callable[[EventClass], Known]) -> None:
        self._make = make
        self._by_id: dict[int, tuple[EventClass, Known]] = {}
        self._by_value: dict[EventClass, Known] = {}

    def __call__(self, event_class: EventClass) -> Known:
        entry = self._by_id.get(id(event_class))
        if entry is not None and entry[0] is event_class:
            return entry[1]
        if event_class in self._by_value:
            known = self._by_value[event_class]
        else:
            known = self._by_value[event_class] = self._make(event_class)
        # The entry keeps the class alive, so that its id is not reused.
        self._by_id[id(event_class)] = (event_class, known)
        return known
