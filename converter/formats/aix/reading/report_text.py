"""Reads the text of trcrpt reports, which people send when the trace file itself is not available."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, TraceWarning, note
from converter.formats.aix.reading.report_classes import (
    LEVEL,
    MESSAGE,
    TEXT_LINE,
    Texts,
    log_class,
    meanings,
)
from converter.formats.aix.reading.report_header import TITLE, FrontColumn, Heading, parse_heading
from converter.formats.aix.reading.report_scan import scan
from converter.ir.columns import Column, value
from converter.ir.distinct_values import values_of
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Process, Thread, Trace
from converter.kernels.batches.union import number_rows
from converter.limits import allowed, limit
from converter.storage.source import Source

#: The `Trace.format` of such a trace, which has none of the bytes of a trace file.
FORMAT = "trcrpt"

_WINDOW = 1 << 22
#: The heading must start within this many bytes.
_HEAD = 1 << 16
_MAX_LINE = 1 << 20
_MAX_PREAMBLE = 100
_ROW_SIZE = 13
#: Events of a batch.
_MAX_ROWS = 1 << 17

_PROCESS_NAME = Field("process_name", StringClass(), Role.CONTEXT)
_SYSTEM_CALL = Field("system_call", StringClass(), Role.CONTEXT)
_DEPTH = Field("interrupt_depth", IntegerClass(16, signed=True), Role.CONTEXT)


def sniff(head: bytes) -> bool:
    """Return True if the start of a file has the heading of a report."""
    if b"\0" in head:
        return False
    lines = head.split(b"\n")
    return any(
        parse_heading(line, lines[number - 1] if number else b"") is not None
        for number, line in enumerate(lines)
    )


def read_report(source: Source) -> Trace:
    """Open a report, whose events are read window by window; only the names in it are kept.

    Raises:
        TraceError: there is no heading near the start.

    """
    head = source.read(0, _HEAD)
    lines = head.split(b"\n")
    for number, line in enumerate(lines):
        heading = parse_heading(line, lines[number - 1] if number else b"")
        if heading is not None:
            break
    else:
        raise TraceError(
            format=FORMAT, path=source.name, offset=0, field="heading", expected=_EXPECTED
        )
    start = sum(len(each) + 1 for each in lines[: number + 1])
    return _Reader(source, heading, lines[: number + 1], min(start, source.size)).trace


_EXPECTED = "a line that ends in APPL SYSCALL KERNEL INTERRUPT"


@dataclass(slots=True)
class _Threads:
    """The threads of the trace by the columns' values: tid, or pid if there is none."""

    trace: Trace
    by_id: dict[int, int] = field(default_factory=dict)
    by_pid: dict[int, int] = field(default_factory=dict)

    def indices(self, pid: NDArray[np.int64], tid: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the index of each event's thread, -1 for none. A thread's process is that of its first event."""
        key = np.where(tid >= 0, tid, pid)
        distinct, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        index = np.empty(len(distinct), np.int32)
        for i, (number, row) in enumerate(zip(distinct.tolist(), first.tolist(), strict=True)):
            index[i] = self._index(number, int(pid[row])) if number >= 0 else -1
        return index[inverse]

    def _index(self, tid: int, pid: int) -> int:
        known = self.by_id.get(tid)
        if known is not None:
            return known
        # Without a process ID, a thread is all that is known of its process.
        process = self.by_pid.setdefault(pid if pid >= 0 else tid, len(self.trace.processes))
        if process == len(self.trace.processes):
            self.trace.processes.append(Process(pid if pid >= 0 else tid))
        self.trace.threads.append(Thread(tid, process))
        self.by_id[tid] = len(self.trace.threads) - 1
        return self.by_id[tid]


#: An additional field of events, and a function that builds its column for some positions of a batch.
_Kept = tuple[Field, Callable[[NDArray[np.intp]], Column]]


class _Reader:
    def __init__(self, source: Source, heading: Heading, preamble: list[bytes], start: int) -> None:
        self.source = source
        self.start = start
        self.heading = heading
        facts = [line.decode("utf-8", "replace").strip() for line in preamble[:_MAX_PREAMBLE]]
        self.trace = Trace(
            format=FORMAT,
            clock=ClockDomain("elapsed", description="since the start of the trace"),
            environment=_environment(facts),
            sidecar={FORMAT: {"preamble": [fact for fact in facts if fact]}},
            make_batches=self.batches,
            describe=self.describe,
        )
        self.threads = _Threads(self.trace)
        self.numbers: dict[EventClass, int] = {}
        self.done = 0
        self.trace.progress = lambda: (self.done, source.size)

    def batches(self) -> Iterator[Batch]:
        """Decode window after window."""
        at = self.start
        heading = self.heading
        last = 0
        while at < self.source.size:
            data = self.source.read(at, _WINDOW)
            if not data:
                return  # the file has become shorter
            final = at + len(data) >= self.source.size
            room = min(data.count(b"\n") + 1, _MAX_ROWS)
            rows = np.empty((room, _ROW_SIZE), np.int64)
            count, consumed, is_title = scan(data, 0, final, heading, rows)
            if count:
                yield (batch := self.batch(data, rows[:count], heading, last))
                last = int(batch.ts[-1])
            if is_title:
                heading, consumed = self.next_heading(data, consumed, heading)
            elif not consumed:
                consumed = len(data)
                self.warn(at, consumed)
            at += consumed
            self.done = at

    def warn(self, offset: int, size: int) -> None:
        """Warn, once, that part of a line longer than any of trcrpt's is left out."""
        warning = TraceWarning(
            format=FORMAT,
            path=self.source.name,
            offset=offset,
            expected=f"lines of less than {_WINDOW} bytes",
            found=f"{size} bytes without an end",
            is_damage=True,
        )
        note(self.trace.warnings, warning)

    def next_heading(self, data: bytes, at: int, heading: Heading) -> tuple[Heading, int]:
        """Return the heading at `at`, and the offset of the following line.

        Each page of a report may repeat the heading, and several reports in one file may have different ones.
        """
        end = data.find(b"\n", at, at + _MAX_LINE)
        end = len(data) if end < 0 else end
        above = data.rfind(b"\n", 0, max(at - 1, 0)) + 1
        found = parse_heading(data[at:end], data[above:at])
        return found or heading, min(end + 1, len(data))

    def batch(self, data: bytes, rows: NDArray[np.int64], heading: Heading, last: int) -> Batch:
        columns = np.ascontiguousarray(rows.T)
        ts, ids, cpu, pid, tid = columns[:5]
        texts = Texts(data, columns[10], columns[11])
        if not heading.timed:
            ts[:] = 0
        elif ids[0] == -2:
            ts[: int(np.argmax(ids != -2)) if (ids != -2).any() else len(ids)] = last
        cpu = cpu.astype(np.int32)
        thread = self.threads.indices(pid, tid)
        names = Texts(data, columns[6], columns[7])
        self.name_threads(thread, names)
        kept = [
            (MESSAGE, lambda at: _text_column(texts, at)()),
            *self.contexts(heading, columns, names),
        ]
        class_id = np.empty(len(ts), np.int32)
        tables: dict[int, Table] = {}
        nameless: list[NDArray[np.intp]] = []
        for id16 in values_of(ids).tolist():
            positions = np.flatnonzero(ids == id16)
            if id16 == -2:
                number = self.number(TEXT_LINE)
                class_id[positions] = number
                tables[number] = Table(len(positions), [_text_column(texts, positions)])
                continue
            left = self.hook(id16, positions, heading, texts, cpu, class_id, tables, kept)
            if id16 < 0 or (len(left) and self.is_full()):
                nameless.append(left)
            elif len(left):
                event_class = replace(log_class(id16), timed=heading.timed)
                self.add(event_class, [], kept, left, class_id, tables)
        if nameless:
            event_class = replace(log_class(-1), timed=heading.timed)
            self.add(event_class, [], kept, np.concatenate(nameless), class_id, tables)
        thread[
            np.isin(class_id, [self.numbers[each] for each in self.numbers if _on_cpu(each)])
        ] = -1
        row = np.empty(len(ts), np.int32)
        number_rows(class_id, row, np.zeros(len(self.trace.event_classes), np.int32))
        return Batch(ts=ts, class_id=class_id, row=row, tables=tables, thread=thread, cpu=cpu)

    def is_full(self) -> bool:
        """True if further events get the nameless classes, as the limit of classes is reached."""
        if len(self.trace.event_classes) < limit("aix.report-classes"):
            return False
        expected = allowed("aix.report-classes")
        what = "more events are not distinguished by their names"
        name = self.source.name
        warning = TraceWarning(
            message=what, format=FORMAT, path=name, expected=expected, is_damage=False
        )
        note(self.trace.warnings, warning)
        return True

    def describe(self, batch: Batch) -> Callable[[int], str | None]:
        """Return the function that returns the text of an event in the report, on one line."""
        classes = self.trace.event_classes
        indices = [each.index_of(Role.MESSAGE) for each in classes]

        def text(position: int) -> str | None:
            number = int(batch.class_id[position])
            index, row = indices[number], int(batch.row[position])
            if index is None:
                return None
            message = value(
                batch.tables[number].column(index), MESSAGE.type, row, self.trace.strings
            )
            return " ".join(message.decode("utf-8", "replace").split())

        return text

    def hook(
        self,
        id16: int,
        positions: NDArray[np.intp],
        heading: Heading,
        texts: Texts,
        cpu: NDArray[np.int32],
        class_id: NDArray[np.int32],
        tables: dict[int, Table],
        kept: list[_Kept],
    ) -> NDArray[np.intp]:
        """Assign classes to events of a hook that mean more than a message; return the positions of the others."""
        own = Texts(texts.data, texts.starts[positions], texts.sizes[positions])
        left = np.ones(len(positions), np.bool_)
        for meaning in meanings(id16, own, cpu[positions] >= 0, self.trace.strings):
            rows = meaning.rows & left
            event_class = replace(meaning.event_class, timed=heading.timed)
            if not rows.any() or self.is_full():
                continue
            if self.numbers.get(_with_kept(event_class, kept)) in tables:
                continue  # two names that differ only in bytes that are not text
            left &= ~rows
            at = positions[rows]
            if meaning.cpu is not None:
                cpu[at] = np.where(cpu[at] < 0, meaning.cpu, cpu[at])
            self.add(event_class, meaning.columns, kept, at, class_id, tables)
        return positions[left]

    def add(
        self,
        event_class: EventClass,
        columns: list[Column | Callable[[], Column]],
        kept: list[_Kept],
        at: NDArray[np.intp],
        class_id: NDArray[np.int32],
        tables: dict[int, Table],
    ) -> None:
        number = self.number(_with_kept(event_class, kept))
        class_id[at] = number
        lazy = [_bound(make, at) for _, make in kept]
        tables[number] = Table(len(at), [*columns, *lazy])

    def number(self, event_class: EventClass) -> int:
        known = self.numbers.get(event_class)
        if known is None:
            known = self.numbers[event_class] = self.trace.add_class(event_class)
        return known

    def contexts(self, heading: Heading, columns: NDArray[np.int64], names: Texts) -> list[_Kept]:
        """Return fields for the report's additional columns that the trace cannot represent otherwise."""
        strings = self.trace.strings
        level = columns[12].astype(np.uint8)
        found: list[_Kept] = [(LEVEL, lambda at: level[at])]
        identified = heading.has(FrontColumn.PID) or heading.has(FrontColumn.TID)
        if heading.has(FrontColumn.PROCESS_NAME) and not identified:
            process_names = names.interned(strings)
            found.append((_PROCESS_NAME, lambda at: process_names[at]))
        if heading.has(FrontColumn.SYSTEM_CALL):
            calls = Texts(names.data, columns[8], columns[9]).interned(strings)
            found.append((_SYSTEM_CALL, lambda at: calls[at]))
        if heading.has(FrontColumn.DEPTH):
            depth = columns[5].astype(np.int16)
            found.append((_DEPTH, lambda at: depth[at]))
        return found

    def name_threads(self, thread: NDArray[np.int32], names: Texts) -> None:
        """Fill in the names of processes that have none yet from the first line with a name."""
        named = np.flatnonzero((names.sizes > 0) & (thread >= 0))
        distinct, first = np.unique(thread[named], return_index=True)
        for index, at in zip(distinct.tolist(), named[first].tolist(), strict=True):
            process = self.trace.processes[self.trace.threads[index].process]
            if not process.name:
                start, size = int(names.starts[at]), int(names.sizes[at])
                text = names.data[start : start + size].decode("utf-8", "replace")
                # trcrpt prints IDs between hyphens for processes whose name it does not know.
                process.name = "" if text.startswith("-") else text


def _with_kept(event_class: EventClass, kept: list[_Kept]) -> EventClass:
    """Return the class with the message and the other columns of lines, as arguments of a slice, for example."""
    return replace(event_class, fields=(*event_class.fields, *(each for each, _ in kept)))


def _on_cpu(event_class: EventClass) -> bool:
    """Return True if a slice of this class belongs to its CPU: that of an interrupt handler."""
    return event_class.kind in (Kind.SLICE_BEGIN, Kind.SLICE_END)


def _text_column(texts: Texts, at: NDArray[np.intp]) -> Callable[[], Column]:
    return lambda: Texts(texts.data, texts.starts[at], texts.sizes[at]).column()


def _bound(
    make: Callable[[NDArray[np.intp]], Column], at: NDArray[np.intp]
) -> Callable[[], Column]:
    return lambda: make(at)


def _environment(facts: list[str]) -> dict[str, str | int]:
    """Return the facts above the heading: ``System: AIX host``, a command line, and the like."""
    environment: dict[str, str | int] = {"tool": "trcrpt"}
    for fact in facts:
        name, colon, said = fact.partition(": ")
        if colon and name.replace(" ", "").isalpha() and len(name) <= 40 and not TITLE.search(fact):
            environment.setdefault(f"aix_{name.lower().replace(' ', '_')}", said.strip())
    return environment
