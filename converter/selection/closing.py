"""Generates ends, at the end of a window, for slices that are open there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from converter.ir.columns import list_of_bytes, take, value
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.selection.steps import PAIRS

#: The fields that tie an end to its begin: the end of a slice repeats them.
_TIES: Final[dict[Kind, tuple[Role, ...]]] = {
    Kind.SLICE_BEGIN: (Role.NAME, Role.CATEGORY),
    Kind.ASYNC_BEGIN: (Role.NAME, Role.CATEGORY, Role.ID, Role.SCOPE),
}
_ENDS_OF_MARKS: Final = {b"B": b"E", b"S": b"F", b"G": b"H"}


class Closing:
    """The classes of the ends that are added to a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        #: By the class of the begins: two of these may have equal ends, but store their texts differently.
        self._numbers: dict[int, int] = {}

    def ends(self, begins: Batch, end: int) -> Batch | None:
        """Return the ends of slices that the events of a batch begin, inner ones first; None if there are no ends to
        write.

        Ends that a kernel would have recorded are not made up.
        """
        order = np.arange(len(begins))[::-1]
        class_id = begins.class_id[order].copy()
        rows = np.full(len(begins), -1, np.int32)
        tables: dict[int, Table] = {}
        for number in sorted(set(begins.class_id.tolist())):
            event_class = self._trace.event_classes[number]
            at = np.flatnonzero(class_id == number)
            begin_rows = begins.row[order[at]]
            if event_class.kind is Kind.MARK:
                made = self._of_marks(event_class, begins.tables[number], begin_rows)
                found = None if made is None else (event_class, *made)
            else:
                found = self._of_slices(event_class, begins.tables[number], begin_rows)
            if found is None:
                continue
            target, table, which = found
            rows[at[which]] = np.arange(len(table), dtype=np.int32)
            new = number if target is event_class else self._number(number, target)
            class_id[at] = new
            tables[new] = table
        kept = np.flatnonzero(rows >= 0)
        if not len(kept):
            return None
        order = order[kept]
        return Batch(
            ts=np.full(len(kept), end, np.int64),
            class_id=class_id[kept],
            row=rows[kept],
            tables=tables,
            thread=begins.thread[order],
            cpu=begins.cpu[order],
            track=begins.track[order],
        )

    def _number(self, begin_class: int, event_class: EventClass) -> int:
        if begin_class not in self._numbers:
            self._numbers[begin_class] = self._trace.add_class(event_class)
        return self._numbers[begin_class]

    def _of_slices(
        self, event_class: EventClass, table: Table, rows: Any
    ) -> tuple[EventClass, Table, Any] | None:
        ties = _TIES.get(event_class.kind)
        if ties is None:
            return None
        kept = [index for index, field in enumerate(event_class.fields) if field.role in ties]
        target = replace(
            event_class,
            kind=PAIRS[event_class.kind],
            fields=tuple(event_class.fields[index] for index in kept),
            native=b"",
        )
        columns = [take(table.column(index), rows) for index in kept]
        return target, table.ends(rows, columns), np.arange(len(rows))

    def _of_marks(
        self, event_class: EventClass, table: Table, rows: Any
    ) -> tuple[Table, Any] | None:
        """Return ``E|pid`` for ``B|pid|name``, and the same for other pairs of markers."""
        index = event_class.index_of(Role.MESSAGE)
        if index is None:
            return None
        field = event_class.fields[index]
        ends, which = [], []
        for position, row in enumerate(rows.tolist()):
            text = value(table.column(index), field.type, row, self._trace.strings)
            letter = _ENDS_OF_MARKS.get(text[:1])
            if letter is not None:
                rest = text[1:].rstrip(b"\n")
                ends.append(letter + (b"|".join(rest.split(b"|")[:2]) if letter == b"E" else rest))
                which.append(position)
        if not ends:
            return None
        some = table.select(rows[which])
        columns: list[Any] = [some.lazy(i) for i in range(some.width)]
        columns[index] = _as_stored(some.column(index), ends, self._trace)
        return Table(len(ends), columns), np.array(which)


def _as_stored(column: Any, texts: list[bytes], trace: Trace) -> Any:
    """Return texts in the representation of a column."""
    if isinstance(column, np.ndarray):
        return np.array([trace.strings.intern(text) for text in texts], np.int32)
    return list_of_bytes(texts)
