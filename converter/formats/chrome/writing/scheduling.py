"""Scheduling for importers: a text as ftrace prints it, the object's member ``systemTraceEvents``.

Importers of the format read no scheduling from its events. The text is derived from the events while they are written,
and kept in a temporary file until the end of the object. The reader skips it: all of it is in the events.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from converter.errors import OutputError
from converter.formats.chrome.layout import DERIVED_TEXT
from converter.formats.chrome.mapping import SWITCH_FIELDS, WAKEUPS
from converter.formats.chrome.metadata import FIRST_TEXT_ID
from converter.formats.chrome.writing.sched_lines import LineColumns, SchedLines
from converter.ir.columns import Column, ListColumn, constant_column
from converter.ir.distinct_values import map_distinct
from converter.ir.events import Batch, EventClass
from converter.ir.kinds import Kind, Role
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable

if TYPE_CHECKING:
    from converter.ir.trace import Trace

#: Bytes of text that are kept in memory, and the size of the blocks that are moved at a time.
_MOST_IN_MEMORY: Final = 32 << 20
_BLOCK: Final = 1 << 18
_ID: Final = 0xFFFF_FFFF
#: Replaces line ends, and characters that a string escapes, in names of threads; spaces stay.
_CLEANED: Final = dict.fromkeys((*range(32), 34, 92, 127), "?")
_OF_WAKEUPS: Final = (Role.TID, Role.COMM, Role.PRIORITY, Role.TARGET_CPU)
#: The letters of states by bits, and the bit of tasks that were preempted, since these versions of Linux. Perfetto's
#: importer treats an unknown version as an old one.
_STATES: Final = (
    ((4, 14), (b"SDTtXZPI", 8)),
    ((4, 8), (b"SDTtXZxKWPN", 12)),
    ((0, 0), (b"SDTtXZxKWPN", 11)),
)
_RELEASE: Final = re.compile(r"(\d+)\.(\d+)")
#: The event names in lines of wakeups. Importers show a thread as runnable from sched_waking on, not from others.
_LINE_OF_WAKEUP: Final = {
    Kind.SCHED_WAKING: b"sched_waking",
    Kind.SCHED_WAKEUP: b"sched_wakeup",
    Kind.SCHED_WAKEUP_NEW: b"sched_wakeup_new",
    Kind.TASK_NEW: b"sched_waking",
}
#: The columns of a batch's scheduling classes; None for others.
Classes = list[LineColumns | None]


class SchedulingText:
    """The text of a trace's scheduling, kept until the end of the object."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.states = _states_of(str(trace.environment.get("kernel_release", "")))
        self._held: IO[bytes] | None = None
        self._latest = 0
        #: The first thread that has a tid, by tid, and the number of threads that were looked at.
        self._threads: dict[int, int] = {}
        self._done = 0
        #: Tids of lines.
        self._seen: set[int] = set()
        self.tids = self.pids = np.zeros(0, np.int64)

    def classes(self, batch: Batch) -> Classes | None:
        """Return the columns of the batch that lines are made of; None where it has no scheduling."""
        kinds = self._trace.event_classes
        found = [
            number
            for number, table in batch.tables.items()
            if len(table)
            and (kinds[number].kind is Kind.SCHED_SWITCH or kinds[number].kind in WAKEUPS)
        ]
        if not found:
            return None
        self._follow()
        result: Classes = [None] * (max(found) + 1)
        for number in found:
            columns = batch.tables[number].columns()
            result[number] = (
                self._switches(columns)
                if kinds[number].kind is Kind.SCHED_SWITCH
                else self._wakeups(kinds[number], columns, len(batch.tables[number]))
            )
        return result

    def _follow(self) -> None:
        threads, processes = self._trace.threads, self._trace.processes
        if self._done == len(threads):
            return
        new = threads[self._done :]
        for index, thread in enumerate(new, self._done):
            self._threads.setdefault(thread.tid, index)
        tids = [_signed(thread.tid) for thread in new]
        pids = [_signed(processes[thread.process].pid) for thread in new]
        self.tids = np.append(self.tids, np.array(tids, np.int64))
        self.pids = np.append(self.pids, np.array(pids, np.int64))
        self._done += len(new)

    def _switches(self, columns: list[Column]) -> LineColumns:
        bound: list[Any] = [_bindable(column) for column in columns[: len(SWITCH_FIELDS)]]
        for field, column in zip(SWITCH_FIELDS, tuple(bound), strict=True):
            if field.role is Role.PREV_TID:
                # Index -1 selects the last.
                bound.append(np.append(self.pids, 0)[map_distinct(column, self._thread_of)])
            elif field.role is Role.NEXT_TID:
                map_distinct(column, self._thread_of)
        return LineColumns(b"", bound)

    def _wakeups(self, event_class: EventClass, columns: list[Column], count: int) -> LineColumns:
        bound: list[Any] = []
        for role in _OF_WAKEUPS:
            index = event_class.index_of(role)
            if index is not None:
                bound.append(_bindable(columns[index]))
            else:
                absent = np.int32(0) if role is Role.COMM else np.int64(0)
                bound.append(constant_column(absent, count))
        map_distinct(bound[0], self._thread_of)
        return LineColumns(_LINE_OF_WAKEUP[event_class.kind], bound)

    def _thread_of(self, tid: int) -> int:
        """Return the first thread that has a tid, to which lines belong; -1 where none has."""
        self._seen.add(tid)
        return self._threads.get(tid, -1)

    def add(self, text: memoryview, latest: int) -> None:
        """Keep lines, of which `latest` is the greatest time in nanoseconds."""
        self._latest = max(self._latest, latest)
        if not len(text):
            return
        with _temporary_errors():
            if self._held is None:
                self._held = io.BytesIO()
            self._held.write(text)
            if isinstance(self._held, io.BytesIO) and self._held.tell() > _MOST_IN_MEMORY:
                self._held = _in_a_file(self._held)

    def blocks(self) -> Iterator[bytes]:
        """Yield the text as a JSON string, in blocks; none where there is no scheduling."""
        if self._held is None:
            return
        yield b'"' + DERIVED_TEXT
        with _temporary_errors():
            self._held.seek(0)
        while True:
            with _temporary_errors():
                block = self._held.read(_BLOCK)
            if not block:
                break
            yield block
        yield "".join(self._names()).encode("utf-8", "replace") + b'"'

    def _names(self) -> Iterator[str]:
        """Yield lines from which importers read the names of threads, which may contain spaces."""
        second, part = divmod(self._latest, 10**9)
        self._follow()
        for tid in sorted(self._seen):
            index = self._threads.get(tid, -1)
            name = self._trace.threads[index].name if index >= 0 else ""
            if not name or tid >= FIRST_TEXT_ID:
                continue
            pid = int(self.pids[index])
            process = f"{pid & _ID}" if 0 < pid < FIRST_TEXT_ID else "-----"
            yield (
                f"{name.translate(_CLEANED)}-{tid & _ID} ({process}) [000] .... {second}.{part:09}5: "
                "tracing_mark_write: trace_event_clock_sync:\\n"
            )

    def close(self) -> None:
        """Release the temporary file."""
        if self._held is not None:
            self._held.close()


class LinePrinter:
    """Prints the lines of parts of a batch; several printers may run at the same time."""

    def __init__(self, text: SchedulingText, strings: StringTable, decimals: int) -> None:
        self._text = text
        self._lines = SchedLines(strings, decimals, *text.states)

    def lines(
        self,
        classes: Classes,
        columns: EventArrays,
        start: int,
        stop: int,
    ) -> tuple[memoryview, int]:
        """Return the lines of events of a batch and their latest time; `columns` are as `SchedLines` accepts them."""
        return self._lines.lines(classes, columns, self._text.tids, self._text.pids, start, stop)


def _states_of(release: str) -> tuple[bytes, int]:
    """Return the letters of states of a version of Linux, given by its name."""
    found = _RELEASE.match(release)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    return next(states for since, states in _STATES if version >= since)


def _bindable(column: Column) -> Any:
    if isinstance(column, ListColumn):
        return np.ascontiguousarray(column.values), np.ascontiguousarray(column.offsets)
    return column


def _signed(number: int) -> int:
    """Return an unsigned number of 64 bits as a signed one."""
    return number - (1 << 64) if number >= 1 << 63 else number


def _in_a_file(held: io.BytesIO) -> IO[bytes]:
    """Move the contents of memory to a temporary file."""
    # Imported here because few traces need it, and importing takes as long as converting a small trace.
    from tempfile import TemporaryFile

    file = TemporaryFile()  # noqa: SIM115 - `SchedulingText.close` does
    file.write(held.getbuffer())
    return file


@contextmanager
def _temporary_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        from tempfile import gettempdir

        raise OutputError(error.strerror or str(error), path=gettempdir()) from error
