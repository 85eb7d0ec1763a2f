"""Samples: columns of tables of the document's threads; those of a second event have a thread of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.gecko.mapping import CPU_CYCLES, CPU_DELTA, EVENT_DELAY
from converter.formats.profiles.gecko.writing.columns import Columns
from converter.formats.profiles.gecko.writing.texts import are_exact, column_text, times_text
from converter.formats.profiles.gecko.writing.threads import EXTRA, ThreadTables
from converter.formats.profiles.samples import SampleColumns, unit_of
from converter.ir.columns import string_ids
from converter.ir.events import Batch
from converter.ir.kinds import Role
from converter.projection.domain.stack_table import StackTable


class SampleWriter:
    """Adds samples to the threads of the document."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.stacks = StackTable(columns.trace.strings)
        self._samples = SampleColumns(columns.trace, self.stacks)
        #: By number of a stack: the one around it.
        self._outer: list[int] = [0]
        #: Threads of samples of a second class.
        self.extra: dict[tuple[int, int], tuple[int, ThreadTables]] = {}

    def add(self, batch: Batch) -> None:
        """Add the samples of a batch."""
        samples = self._samples.of(batch)
        if not len(samples):
            return
        new = self.stacks.new_stacks(len(self._outer))
        self._outer += new["outer"].tolist()
        keys = samples.thread.astype(np.int64) << 32 | samples.event
        order = np.argsort(keys, kind="stable")
        bounds = np.flatnonzero(np.diff(keys[order], prepend=keys[order[0]] - 1))
        times = self._columns.relative(samples.ts)
        for rows in np.split(order, bounds[1:]):
            number, thread = int(samples.event[rows[0]]), int(samples.thread[rows[0]])
            home, tables = self._thread(thread, number)
            self._add(home, tables, batch, number, samples.at[rows], times[rows])
            categories = self._categories(batch, number, samples.at[rows])
            stacks = tables.stack_numbers(samples.stack[rows], categories, self._outer)
            self._columns.spool.add((home, "stack"), column_text(stacks))
            weights = samples.weight[rows]
            unit = unit_of(self._columns.trace.event_classes[number])
            tables.has_weights |= unit != "count" or bool((weights != 1).any())
            if unit == "ns":
                self._columns.is_exact &= are_exact(weights)
            text = times_text(weights) if unit == "ns" else column_text(weights.tolist())
            self._columns.spool.add((home, "weight"), text)

    def _thread(self, thread: int, number: int) -> tuple[int, ThreadTables]:
        """Return the thread of the document that samples of a class are in, and its home."""
        home = 2 * thread if thread >= 0 else -1
        tables = self._columns.thread(home)
        if tables.sampled in (None, number):
            tables.sampled = number
            return home, tables
        found = self.extra.get((thread, number))
        if found is None:
            home = -2 - len(self.extra)
            found = home, ThreadTables(thread, EXTRA, number)
            self.extra[thread, number] = found
        return found

    def _add(
        self,
        home: int,
        tables: ThreadTables,
        batch: Batch,
        number: int,
        at: NDArray[np.int32],
        times: NDArray[np.int64],
    ) -> None:
        """Add the times and the columns that few samples have."""
        spool, event_class = self._columns.spool, self._columns.trace.event_classes[number]
        tables.is_sorted &= int(times[0]) >= tables.last_time and bool(
            (times[1:] >= times[:-1]).all()
        )
        tables.last_time = max(tables.last_time, int(times.max()))
        tables.samples += len(times)
        spool.add((home, "time"), times_text(times))
        for name, fields in (
            ("threadCPUDelta", (CPU_DELTA, CPU_CYCLES)),
            ("eventDelay", (EVENT_DELAY,)),
        ):
            index = next((i for i, one in enumerate(event_class.fields) if one in fields), None)
            if index is not None:
                column: Any = batch.tables[number].column(index)
                spool.add((home, name), column_text(column[batch.row[at]].tolist()))

    def _categories(self, batch: Batch, number: int, at: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the category of each sample; samples without one have that of events without one."""
        columns = self._columns
        index = columns.trace.event_classes[number].index_of(Role.CATEGORY)
        if index is None:
            return np.full(len(at), columns.categories.number(""), np.int32)
        column = string_ids(batch.tables[number].column(index), columns.trace.strings)
        return columns.category_numbers(column[batch.row[at]]).astype(np.int32)
