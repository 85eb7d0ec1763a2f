"""Names of tasks that only events contain; the latest name of each task counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, ListColumn
from converter.ir.distinct_values import counts_of
from converter.ir.events import Batch, EventClass
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.kernels.tables.task_names import TaskNames
from converter.projection.domain.linux_tracepoints import NAMING_ROLES

#: The idle tasks of all CPUs are one thread; events name them after their CPUs, which would be wrong for it.
_IDLE: Final = 0
_IDLE_NAME: Final = b"swapper"


def task_name(tid: int, name: bytes) -> str:
    """Return the name of a task for a table, given its name in events."""
    if tid == _IDLE and name.startswith(_IDLE_NAME + b"/"):
        name = _IDLE_NAME
    return name.decode("utf-8", "surrogateescape")


class LearnedNames:
    """The names of tasks in the events of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names = TaskNames()
        #: By class: the indices of the fields with a task's tid and name.
        self._places: list[list[tuple[int, int]]] = []

    def forget(self) -> None:
        """Start a pass over the events."""
        self._names = TaskNames()

    def note(self, batch: Batch, is_named: Callable[[int], bool] | None = None) -> None:
        """Collect the names in the events of a batch, except in columns whose tasks all have a name already."""
        classes = self._trace.event_classes
        self._places += map(_naming_fields, classes[len(self._places) :])
        for number, table in batch.tables.items():
            if not self._places[number] or not len(table):
                continue
            for tid, name in self._places[number]:
                tids = table.column(tid)
                if not isinstance(tids, np.ndarray):
                    continue
                if is_named is not None and all(map(is_named, counts_of(tids))):
                    continue
                self._note(tids, table.column(name), batch.ts[batch.positions(number)])

    def _note(self, tids: NDArray[Any], names: Column, ts: NDArray[np.int64]) -> None:
        match names:
            case np.ndarray():
                self._names.note_columns(tids, names, ts, self._trace.strings)
            case ListColumn(offsets, np.ndarray() as texts):
                self._names.note_texts(tids, offsets, texts, ts, self._trace.strings)

    def names(self) -> dict[int, str]:
        """Return the names that were learned, by tid."""
        strings = self._trace.strings
        return {tid: task_name(tid, strings[name]) for tid, name in self._names.names()}


def _naming_fields(event_class: EventClass) -> list[tuple[int, int]]:
    if event_class.kind is Kind.TYPED:
        return []
    pairs = ((event_class.index_of(tid), event_class.index_of(name)) for tid, name in NAMING_ROLES)
    return [(tid, name) for tid, name in pairs if tid is not None and name is not None]
