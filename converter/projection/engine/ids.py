"""Ids of processes and threads as a target holds them, or as its viewers tell them apart.

Ids beyond these bits, such as those of processes that are known by a text, get another number. It follows from the id
itself, so that outputs of several inputs agree, unless another id already has it. No two ids meet: one that occurs
later and is a number that was given away gets another one, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.distinct_values import distinct
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import ID_ROLES
from converter.ir.semantics import Semantics
from converter.ir.trace import Process, Thread, Trace
from converter.projection.capabilities import Capabilities
from converter.projection.loss_codes.entry import Value
from converter.projection.losses import LossReport

#: The first id of synthetic processes and threads.
SYNTHETIC_ID: Final = 0x7FFF_0000
#: New numbers have the highest of these bits set: they are beyond any pid of Linux (PID_MAX_LIMIT, 2^22).
_NEW_BITS: Final = 31
#: A field of more bits may have an id that is in no table.
_USUAL_BITS: Final = 32
_ALL_BITS: Final = 64
#: Ids from here on are those of processes and threads that have only a name.
_NOBODYS: Final = 1 << 62


class ShownIds:
    """The numbers of ids, each of which is one process's and one thread's: a main thread has the id of its process.

    Args:
        capabilities: they say which ids the target holds, and its viewers tell apart.
        report: receives the losses.
        semantics: what ids mean to viewers of the source.
        is_own: the trace was read from the target's format, whose viewers show it as it is.
    """

    def __init__(
        self, capabilities: Capabilities, report: LossReport, semantics: Semantics, *, is_own: bool
    ) -> None:
        bits = capabilities.id_bits
        if not is_own:
            bits = min(bits, capabilities.shown_id_bits)
        self._bits = bits
        self._report = report
        #: For viewers of the target but not of the source, and the other way round.
        self._zero_is_main = capabilities.zero_is_main and not semantics.zero_is_main
        self._zero_was_main = semantics.zero_is_main and not capabilities.zero_is_main
        new_bits = min(bits, _NEW_BITS)
        #: Lower ids are common, and never given to another.
        self.first = 1 << max(new_bits - 1, 0)
        self._last = (1 << new_bits) - 1
        #: Where the searches for free numbers start.
        self._next = 3 << max(new_bits - 2, 0)
        self._next_synthetic = min(SYNTHETIC_ID, 3 << max(bits - 2, 0))
        self._numbers: dict[int, int] = {}
        # Of threads 0, by the ids of their processes.
        self._of_zeros: dict[int, int] = {}
        self._taken: set[int] = set()
        self._reported: set[tuple[str, int]] = set()
        self._losses: dict[tuple[str, bool], tuple[Value, int]] = {}

    @property
    def all_fit(self) -> bool:
        """True if each id is its own number."""
        return self._bits >= _ALL_BITS

    @property
    def any_changed(self) -> bool:
        """True if an id got another number."""
        return bool(self._losses)

    def is_common(self, id: int) -> bool:
        """Return True if an id is its own number whatever other ids there are."""
        return 0 <= id < self.first

    def of_thread(self, thread: Thread, process: Process) -> int:
        """Return the number of a thread's id in a table, and report it if it is another one."""
        if thread.tid == 0 and process.pid and self._zero_was_main:
            self._report.add("thread-0-apart", pid=process.pid)
        if thread.tid or not process.pid or not self._zero_is_main:
            return self.of(thread.tid, "thread", thread.name)
        number = self._of_zeros.get(process.pid)
        if number is None:
            number = self._of_zeros[process.pid] = self._take(self.first)
            # One example says enough.
            pid, shown = self._losses.setdefault(("thread 0", True), (process.pid, number))
            self._report.add("thread-0-renumbered", pid=pid, shown=shown)
        return number

    def of(self, id: int, what: str, called: str = "") -> int:
        """Return the number of an id, and report it if it is another one.

        Args:
            id: the id.
            what: "process" or "thread".
            called: its name, for an id that nobody chose.
        """
        if 0 <= id < self.first:
            return id
        number = self._numbers.get(id)
        if number is None:
            wanted = id if self._fits(id) else self.first | id & (self.first - 1)
            number = self._numbers[id] = self._take(wanted)
        if number != id and (what, id) not in self._reported:
            self._reported.add((what, id))
            one: Value = repr(called) if called and id >= _NOBODYS else id
            was, shown = self._losses.setdefault((what, self._fits(id)), (one, number))
            if self._fits(id):
                self._report.add("id-taken", what=what, was=was, shown=shown)
            else:
                bits = self._bits
                self._report.add("id-too-large", bits=bits, what=what, was=was, shown=shown)
        return number

    def known(self, id: int) -> int:
        """Return the number of a value that need not be an id: itself, unless a table has it as one."""
        return self._numbers.get(id, id)

    def _take(self, wanted: int) -> int:
        """Return the wanted number, or another one if an id has it."""
        number = wanted
        if number in self._taken:
            number = self._next = self._free_from(self._next)
        self._taken.add(number)
        return number

    def new(self) -> int:
        """Return the id of a process or thread that the source does not have."""
        number = self._next_synthetic = self._free_from(self._next_synthetic)
        self._taken.add(number)
        return number

    def _free_from(self, number: int) -> int:
        while number in self._taken:
            number = number + 1 if number < self._last else self.first
        return number

    def _fits(self, id: int) -> bool:
        return id >> self._bits == 0


class _Tables:
    """The processes and threads of a source under the numbers of their ids."""

    def __init__(self, source: Trace, ids: ShownIds) -> None:
        self._source = source
        self._ids = ids
        self.processes: list[Process] = []
        self.threads: list[Thread] = []
        #: Entries with another id, which may still get a name, and those of the source.
        self._unnamed: list[tuple[Process | Thread, Process | Thread]] = []

    def follow(self) -> None:
        """Add what is new in the source's tables."""
        ids, source = self._ids, self._source
        if self._unnamed:
            for one, own in self._unnamed:
                one.name = own.name
            self._unnamed = [(one, own) for one, own in self._unnamed if not own.name]
        for process in source.processes[len(self.processes) :]:
            held, parent = process, process.parent_pid
            if parent is not None and not ids.is_common(parent):
                held = replace(held, parent_pid=ids.of(parent, "process"))
            if not ids.is_common(process.pid):
                pid = ids.of(process.pid, "process", process.name)
                held = held if pid == process.pid else replace(held, pid=pid)
            self._hold(held, process)
            self.processes.append(held)
        for thread in source.threads[len(self.threads) :]:
            one = thread
            if not ids.is_common(thread.tid) or not thread.tid:
                tid = ids.of_thread(thread, source.processes[thread.process])
                one = thread if tid == thread.tid else replace(thread, tid=tid)
            self._hold(one, thread)
            self.threads.append(one)

    def _hold(self, held: Process | Thread, own: Process | Thread) -> None:
        if held is not own and not own.name:
            self._unnamed.append((held, own))


def with_shown_ids(trace: Trace, ids: ShownIds) -> Trace:
    """Return the trace with other ids of processes and threads, in its tables and in the fields of its events."""
    if ids.all_fit:
        return trace
    tables = _Tables(trace, ids)
    tables.follow()
    result = dataclasses.replace(trace, processes=tables.processes, threads=tables.threads)
    fields: list[tuple[tuple[int, ...], tuple[int, ...]]] = []

    def batches() -> Iterator[Batch]:
        for batch in trace.batches():
            tables.follow()
            fields.extend(map(_fields_with_ids, trace.event_classes[len(fields) :]))
            changed = {}
            for number, table in batch.tables.items():
                every, wide = fields[number]
                held = _with_numbers(table, every if ids.any_changed else wide, ids)
                if held is not table:
                    changed[number] = held
            yield batch.with_tables({**batch.tables, **changed}) if changed else batch
        tables.follow()

    result.make_batches = batches
    return result


def _fields_with_ids(event_class: EventClass) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the indices of the fields that are ids, and of those that may have one that no table has."""
    found = [
        (index, field.type.bits)
        for index, field in enumerate(event_class.fields)
        if field.role in ID_ROLES and isinstance(field.type, IntegerClass)
        if field.type.bits >= _NEW_BITS
    ]
    every = tuple(index for index, _ in found)
    return every, tuple(index for index, bits in found if bits > _USUAL_BITS)


def _with_numbers(table: Table, fields: tuple[int, ...], ids: ShownIds) -> Table:
    columns = None
    for index in fields:
        column = table.column(index)
        if not isinstance(column, np.ndarray) or not len(column):
            continue
        numbers = _numbered(column, ids)
        if numbers is not column:
            columns = table.lazy_columns() if columns is None else columns
            columns[index] = numbers
    return table if columns is None else Table(len(table), columns)


def _numbered(column: NDArray[Any], ids: ShownIds) -> NDArray[Any]:
    if int(column.max()) < ids.first and int(column.min()) >= -1:
        return column
    values, rows = distinct(column)
    # All ones is no id.
    none = np.iinfo(column.dtype).max if column.dtype.kind == "u" else -1
    numbers = [
        ids.known(one) if one < 0 or one == none else ids.of(one, "thread")
        for one in values.tolist()
    ]
    held = np.array(numbers, column.dtype)
    return column if (held == values).all() else held[rows]
