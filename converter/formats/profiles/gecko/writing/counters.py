"""Counters: times, and changes of the value, by track and name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from converter.formats.profiles.gecko.layout import (
    ACCUMULATED,
    COUNTER_CATEGORIES,
    DRAWN_AS,
    OWN,
)
from converter.formats.profiles.gecko.writing.columns import Columns
from converter.formats.profiles.gecko.writing.texts import column_text, times_text
from converter.ir.columns import string_ids
from converter.ir.events import Batch
from converter.ir.field_classes import FloatClass
from converter.ir.kinds import Kind, Role


@dataclass(slots=True)
class CounterState:
    """A counter of the document: the track that it is on, and its last value."""

    track: int
    name: str
    category: str
    #: In the document, which may be another than the event's.
    shown_category: str
    is_real: bool
    count: int = 0
    last: Any = 0

    @property
    def is_accumulated(self) -> bool:
        """True if the document has changes of its value."""
        return self.shown_category in ACCUMULATED


class CounterWriter:
    """Adds counters to the document."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        #: By track, strings of name and category, and class.
        self.counters: dict[tuple[int, int, int, int], CounterState] = {}

    def add(self, batch: Batch) -> None:
        """Add the counters of a batch."""
        trace = self._columns.trace
        for number, table in batch.tables.items():
            event_class = trace.event_classes[number]
            if event_class.kind is not Kind.COUNTER or not len(table):
                continue
            positions = batch.positions(number)
            order = np.argsort(positions, kind="stable")
            texts = []
            for role in (Role.NAME, Role.CATEGORY):
                index = event_class.index_of(role)
                assert index is not None
                texts.append(string_ids(table.column(index), trace.strings))
            value = event_class.index_of(Role.VALUE)
            assert value is not None
            values = np.asarray(table.column(value))
            keys = np.stack([batch.track[positions], *texts], axis=1)[order]
            found, which = np.unique(keys, axis=0, return_inverse=True)
            real = isinstance(event_class.fields[value].type, FloatClass)
            for index, (track, name, category) in enumerate(found.tolist()):
                rows = order[which.reshape(-1) == index]
                state = self.counters.get((track, name, category, number))
                if state is None:
                    state = self._state(track, name, category, is_real=real)
                    self.counters[track, name, category, number] = state
                self._add(
                    (track, name, category, number), state, batch.ts[positions[rows]], values[rows]
                )

    def _state(self, track: int, name: int, category: int, *, is_real: bool) -> CounterState:
        strings = self._columns.trace.strings
        text, of = (strings[one].decode("utf-8", "replace") for one in (name, category))
        is_own = self._columns.trace.format == "gecko"
        shown = of if is_own or of in COUNTER_CATEGORIES else DRAWN_AS
        return CounterState(track, text, of, shown, is_real)

    def _add(self, key: Any, state: CounterState, ts: Any, values: Any) -> None:
        columns = self._columns
        state.count += len(values)
        columns.spool.add((key, "time"), times_text(columns.relative(ts)))
        exact: list[Any] = values.tolist()
        changes: list[Any] = exact
        if state.is_accumulated:
            before = [state.last, *exact[:-1]]
            changes = [one - last for one, last in zip(exact, before, strict=True)]
            state.last = exact[-1]
        if state.is_real:
            changes = [one if one - one == 0 else 0 for one in changes]
            exact = [one if one - one == 0 else str(one) for one in exact]
        columns.spool.add((key, "count"), column_text(changes))
        columns.spool.add((key, OWN), column_text(exact))
