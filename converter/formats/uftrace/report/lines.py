"""The report of a data directory, as `uftrace replay` of uftrace 0.19 prints it."""

from __future__ import annotations

import re
from collections import deque
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.errors.terminal import printable
from converter.formats.ftrace.event_format.record_tables import Records, RecordTable
from converter.formats.uftrace.directory import DataDirectory
from converter.formats.uftrace.mapping import (
    EXECUTING,
    EXTERNAL,
    FORKING,
    JUMPING,
    SCHEDULE,
    SETTING_JUMP,
    TASK_EXIT,
    TASK_NAME,
    TASK_NEW,
)
from converter.formats.uftrace.report import call_stacks as stack
from converter.formats.uftrace.report.call_stacks import CallStacks
from converter.formats.uftrace.report.texts import EventColumns, EventTexts, is_kernel_function
from converter.formats.uftrace.task_records import CallTable
from converter.ir.display.text import utf8_text
from converter.ir.distinct_values import names_by_value
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.printing.code import Printed
from converter.printing.lines import Write
from converter.printing.printer import Printer
from converter.printing.program import Program
from converter.projection.domain.scheduling.switched_tasks import UNKNOWN_TASK

_HEADING: Final = b"# DURATION     TID      FUNCTION\n"
_REMAINING: Final = (
    "\nuftrace stopped tracing with remaining functions\n"
    "================================================\n"
)
_SWITCHED: Final = {
    stack.SWITCHED: "linux:schedule",
    stack.SWITCHED_PREEMPTED: "linux:schedule (pre-empted)",
}
#: The line of a record (`CallStacks.follow`).
_LINE: Final = np.dtype(
    [
        ("part", "u1"),
        ("unit", "u1"),
        ("whole", "u2"),
        ("thousandths", "u2"),
        ("text", "i2"),
        ("indent", "i4"),
        ("name", "i4"),
    ]
)
#: The effect on the stack of functions with a special one.
_DOES: Final = {
    **dict.fromkeys(EXECUTING, stack.EXECUTES),
    **dict.fromkeys(SETTING_JUMP, stack.SETS_JUMP),
    **dict.fromkeys(JUMPING, stack.JUMPS),
    **dict.fromkeys(FORKING, stack.FORKS),
}
_KINDS: Final = {
    Kind.SLICE_BEGIN: stack.CALL,
    Kind.SLICE_END: stack.RETURN,
    Kind.DISCARDED: stack.LOST,
}
#: The kinds of the kernel's records that have the addresses of functions.
_KERNEL_KINDS: Final = {
    Kind.FUNCTION_ENTRY: stack.KERNEL_CALL,
    Kind.FUNCTION_EXIT: stack.KERNEL_RETURN,
}
_LIFE: Final = (TASK_NEW, TASK_EXIT, TASK_NAME)
_LEVELS: Final = 1024
_OPTION: Final = re.compile(r"(?:-D|--depth[= ])\s*(\d{1,6})")


def print_report(trace: Trace, write: Write) -> bool:
    """Write the report in parts; return False for a trace that was not read from such a directory."""
    directory = trace.sidecar.get("uftrace", {}).get("directory")
    if not isinstance(directory, DataDirectory):
        return False
    _Report(trace, directory).print(write)
    return True


class _Followed(NamedTuple):
    """A batch, the threads of its events, and their lines, to be printed once no record of it is pending."""

    batch: Batch
    thread: NDArray[np.int32]
    lines: NDArray[Any]


class _Report:
    def __init__(self, trace: Trace, directory: DataDirectory) -> None:
        self._trace = trace
        self._directory = directory
        self._texts = EventTexts(trace)
        #: By class, and by whether its tables have more than columns.
        self._programs: dict[tuple[int, bool], Printed] = {}
        self._printer = Printer(trace.strings, escapes=True)
        does = {
            trace.strings.intern(name): what
            for name, what in _DOES.items()
            if name in directory.meanings
        }
        self._does = np.zeros(max(does, default=0) + 1, np.int8)
        self._does[list(does)] = list(does.values())
        self._recorded: dict[int, int] | None = None

    def print(self, write: Write) -> None:
        """Print all lines."""
        waiting: deque[_Followed] = deque()
        stacks: CallStacks | None = None
        done = 0
        for batch in self._trace.batches():
            if stacks is None:
                # The tables are filled by the first batch.
                stacks = self._stacks()
                write(_HEADING)
            waiting.append(self._follow(batch, stacks))
            while done < stacks.settled:
                self._events(waiting.popleft(), write)
                done += 1
        if stacks is None:
            write(b"\n")
            return
        stacks.end()
        for followed in waiting:
            self._events(followed, write)
        self._printer.flush(write)
        write(self._remaining(stacks).encode("utf-8", "surrogateescape"))

    def _stacks(self) -> CallStacks:
        trace = self._trace
        options = self._options()
        depth = _OPTION.search(options)
        first: dict[int, int] = {}
        for number, thread in enumerate(trace.threads):
            first.setdefault(thread.tid, number)
        parents = []
        for thread in trace.threads:
            process = trace.processes[thread.process] if thread.process >= 0 else None
            forked = process is not None and process.pid == thread.tid
            parent = process.parent_pid if process is not None and forked else None
            parents.append(-1 if parent is None else first.get(parent, -1))
        return CallStacks(
            np.array(parents, np.int32),
            self._directory.header.max_stack,
            int(depth[1]) if depth else _LEVELS,
            events_outside="--event-full" in options,
            kernel_outside="--kernel-full" in options,
        )

    def _options(self) -> str:
        """Return the content of `default.opts`."""
        text = self._directory.read_if_there("default.opts") or b""
        return text.decode("utf-8", "replace")

    # Following

    def _follow(self, batch: Batch, stacks: CallStacks) -> _Followed:
        classes, count = self._trace.event_classes, len(batch)
        kinds = np.zeros(len(classes), np.int8)
        depths, names = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
        thread = batch.thread.copy()
        for number in batch.tables:
            kinds[number] = self._kind(classes[number])
        kind = kinds[batch.class_id]
        for number, table in batch.tables.items():
            event_class = classes[number]
            if isinstance(table, CallTable):
                positions = batch.positions(number)
                depths[positions] = table.depths.view(np.int32) - 1
                names[positions] = table.names
                kind[positions[table.depths == 0]] = stack.NOTHING
            elif event_class.kind is Kind.SLICE_BEGIN:
                index = event_class.index_of(Role.NAME)
                if index is not None:
                    names[batch.positions(number)] = np.asarray(table.column(index))
            elif kinds[number] in _KERNEL_KINDS.values():
                names[batch.positions(number)] = self._kernel_names(event_class, table)
            elif event_class.category == SCHEDULE.category and event_class.name:
                self._switches(batch, number, table, kind, thread)
        lines = np.zeros(count, _LINE)
        stacks.follow(
            np.ascontiguousarray(batch.ts),
            kind,
            thread,
            depths,
            names,
            self._does,
            lines.view(np.uint8).reshape(count, _LINE.itemsize),
        )
        return _Followed(batch, thread, lines)

    def _kind(self, event_class: EventClass) -> int:
        if event_class == EXTERNAL:
            return stack.EXTERNAL
        if not event_class.native:
            return _KINDS.get(event_class.kind, stack.EVENT)
        if is_kernel_function(event_class):
            return _KERNEL_KINDS[event_class.kind]
        return _KINDS.get(event_class.kind, stack.KERNEL_EVENT)

    def _kernel_names(self, event_class: EventClass, table: Table) -> NDArray[np.int32]:
        """Return the names of the kernel's functions."""
        index = event_class.index_of(Role.FUNCTION)
        assert index is not None
        addresses: Any = table.column(index)
        symbols = self._trace.symbols

        def name(address: int) -> str:
            found = None if symbols is None else symbols.lookup(address)
            return f"<{address:x}>" if found is None else printable(utf8_text(found[0]))

        return names_by_value(addresses, name, self._trace.strings)

    def _switches(
        self,
        batch: Batch,
        number: int,
        table: Table,
        kind: NDArray[np.int8],
        thread: NDArray[np.int32],
    ) -> None:
        """Set the tasks of perf events, which are on a CPU, and the direction of switches."""
        event_class = self._trace.event_classes[number]
        positions = batch.positions(number)
        if event_class == SCHEDULE:
            prev_tid, next_tid, state = (np.asarray(table.column(index)) for index in range(3))
            leaves = prev_tid != UNKNOWN_TASK
            thread[positions] = self._threads(np.where(leaves, prev_tid, next_tid))
            left = np.where(state == 0, stack.PREEMPTED, stack.LEAVES_CPU)
            kind[positions] = np.where(leaves, left, stack.GETS_CPU)
        elif event_class in _LIFE:
            index = event_class.index_of(Role.TID)
            assert index is not None
            thread[positions] = self._threads(np.asarray(table.column(index)))

    def _threads(self, tids: NDArray[Any]) -> NDArray[np.int32]:
        """Return the threads of tasks that have a file, -1 for others."""
        if self._recorded is None:
            self._recorded = {
                thread.tid: number
                for number, thread in enumerate(self._trace.threads)
                if f"{thread.tid}.dat" in self._directory
            }
        values, inverse = np.unique(tids, return_inverse=True)
        found = [self._recorded.get(tid, -1) for tid in values.tolist()]
        return np.array(found, np.int32)[inverse]

    # Printing

    def _events(self, followed: _Followed, write: Write) -> None:
        batch = followed.batch
        bound: list[Program | None] = [None] * len(self._trace.event_classes)
        for number, table in batch.tables.items():
            columns = EventColumns(followed.lines, followed.thread, table)
            records = table.records if isinstance(table, RecordTable) else None
            located = None if records is None else (records.segments, *records.located)
            bound[number] = self._program(number, table, records).bind(columns.get, located)
        self._printer.print(bound, batch.class_id, batch.row, write)

    def _program(self, number: int, table: Table, records: Records | None) -> Printed:
        """Return the program that prints the events of a class, compiled when first needed."""
        known = isinstance(table, CallTable) or records is not None
        key = number, known
        if key not in self._programs:
            event_class = self._trace.event_classes[number]
            self._programs[key] = self._texts.program(
                event_class, table if isinstance(table, CallTable) else None, records
            )
        return self._programs[key]

    def _remaining(self, stacks: CallStacks) -> str:
        """Return the lines of functions that tasks are still in."""
        found = stacks.remaining()
        lines = [_REMAINING] if found else []
        for number, names in found:
            lines.append(f"task: {self._trace.threads[number].tid}\n")
            lines += [
                f"[{depth}] {printable(self._name(names[depth]))}\n"
                for depth in range(len(names) - 1, -1, -1)
            ]
            lines.append("\n")
        return "".join(lines)

    def _name(self, id: int) -> str:
        if id == stack.NO_NAME:
            return "<0>"
        if id < 0:
            return _SWITCHED[id]
        return self._trace.strings[id].decode("utf-8", "surrogateescape")
