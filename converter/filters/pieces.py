"""Pieces: the unit in which a projection rewrites a batch.

A piece is some rows of one event class, with columns and, where they change, places. Rules take a piece and give
pieces; they work on classes and whole columns, never on single events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace, TrackScope
from converter.losses import Capabilities, LossKind

Thunk = Callable[[], Column]


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one class.

    `positions` (int32, one a row) are the places in the batch; `thread`, `cpu`, `track` (int32, one a row) replace the
    batch's columns there; `after` > 0 puts the rows behind the events at those positions, as additional events.
    `whole` says that the rows are those of a table of the batch, all and in order.
    """

    event_class: EventClass
    table: Table
    positions: NDArray[np.int32]
    thread: NDArray[np.int32] | None = None
    cpu: NDArray[np.int32] | None = None
    track: NDArray[np.int32] | None = None
    ts: NDArray[np.int64] | None = None
    after: int = 0
    whole: bool = True

    def __len__(self) -> int:
        return len(self.table)

    def column(self, role: Role) -> Column | None:
        """The column of the first field with `role`, or None."""
        index = self.event_class.index_of(role)
        return None if index is None else self.table.column(index)

    def integers(self, role: Role) -> NDArray[Any] | None:
        """The column of the first field with `role` where it is one of integers, or None."""
        column = self.column(role)
        return column if isinstance(column, np.ndarray) and column.dtype.kind in "iu" else None

    def select(self, rows: NDArray[np.integer[Any]]) -> Piece:
        """Some of the rows, in order."""

        def some(column: NDArray[Any] | None) -> NDArray[Any] | None:
            return None if column is None else column[rows]

        return replace(
            self,
            table=self.table.select(rows),
            positions=self.positions[rows],
            thread=some(self.thread),
            cpu=some(self.cpu),
            track=some(self.track),
            ts=some(self.ts),
            whole=False,
        )

    def rewritten(
        self, event_class: EventClass, columns: Sequence[Column | Thunk], **places: Any
    ) -> Piece:
        """The same rows as another class with other columns, and other places where given."""
        return replace(
            self, event_class=event_class, table=Table(len(self.table), columns), **places
        )

    def as_kind(
        self,
        kind: Kind,
        leading: Sequence[tuple[Field, Column | Thunk]] = (),
        keep: frozenset[Role] = frozenset(),
        **places: Any,
    ) -> Piece:
        """The same rows as `kind`: `leading` fields first, then all others, without roles but for `keep`."""
        kept = keep | CONTEXT_ROLES
        fields = tuple(field for field, _ in leading) + tuple(
            field if field.role in kept else replace(field, role=Role.NONE)
            for field in self.event_class.fields
        )
        columns: list[Column | Thunk] = [column for _, column in leading]
        columns += [self.table.lazy(i) for i in range(self.table.width)]
        return self.rewritten(
            replace(self.event_class, kind=kind, name="", category="", fields=fields),
            columns,
            **places,
        )


#: Roles that mean the same in every kind.
CONTEXT_ROLES = frozenset({Role.CONTEXT, Role.CONTEXT_FLAGS, Role.CONTEXT_PREEMPT_COUNT})


class Projection(Protocol):
    """What a rule may ask of the projection that runs it."""

    source: Trace
    target: Trace
    capabilities: Capabilities
    batch: Batch

    def lose(self, kind: LossKind, what: str, piece: Piece, count: int | None = None) -> None:
        """Count a loss at the rows of `piece` (at `count` of them when given)."""

    def constant(self, text: str | bytes, length: int) -> NDArray[np.int32]:
        """A string column of one value."""

    def threads_of(self, piece: Piece) -> NDArray[np.int32]:
        """The thread of each row."""

    def cpus_of(self, piece: Piece) -> NDArray[np.int32]:
        """The CPU of each row."""

    def place_on_cpu_track(self, piece: Piece, name: str, cpus: NDArray[Any]) -> dict[str, Any]:
        """Where rows go that belong to the track called `name` of a CPU: keyword arguments for `rewritten`."""

    def place_on_track(
        self, piece: Piece, name: str, scope: TrackScope, owners: NDArray[Any]
    ) -> dict[str, Any]:
        """Where rows go that belong to the track called `name` of each owner: keyword arguments for `rewritten`."""

    def thread_of_tid(self, tids: NDArray[Any]) -> NDArray[np.int32]:
        """The thread that has each tid, -1 where none has."""


def distinct(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The distinct values of a column and, for each row, which of them it holds.

    Small ranges (ids, vectors, numbers of system calls) take a lookup table instead of a sort.
    """
    if len(column) == 0:
        return column[:0], np.zeros(0, np.intp)
    low, high = int(column.min()), int(column.max())
    if high - low < 1 << 20 and high - low < 64 * len(column) + 1024:
        wide = np.dtype(np.uint64 if column.dtype.kind == "u" else np.int64)
        base = wide.type(low)
        offset = column.astype(wide) - base
        present = np.zeros(high - low + 1, np.bool_)
        present[offset] = True
        values = np.flatnonzero(present)
        number = np.zeros(high - low + 1, np.intp)
        number[values] = np.arange(len(values))
        return (values.astype(wide) + base).astype(column.dtype), number[offset]
    values, inverse = np.unique(column, return_inverse=True)
    return values, inverse


def names_by_value(
    column: NDArray[Any], name: Callable[[int], str | bytes], intern: Callable[[str | bytes], int]
) -> NDArray[np.int32]:
    """A string column made from another column: `name` is called once per distinct value."""
    values, inverse = distinct(column)
    ids = np.array([intern(name(int(item))) for item in values], np.int32)
    return ids[inverse]
