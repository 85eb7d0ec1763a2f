"""What trace.dat has no place for: the trace's processes, threads and clocks, in an option of this converter's own.

A record names a task by a number of 31 bits and nothing more, and the file has no map from tasks to processes.
libtracecmd complains of each option that it does not know, so that this one has the number of PROCMAPS, whose data it
leaves aside if they do not end with a NUL (lib/trace-cmd/trace-input.c, handle_options). They are JSON in ASCII:

    {"processes": [[pid, name, parent pid or null, [command line]]],
     "threads": [[number in records, tid, index of the process, name]],
     "clock": CLOCK, "clock_domains": [CLOCK], "environment": {name: text or number}}

where CLOCK is [name, description, epoch in ns or null, ticks a second as a fraction or null].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.trace_cmd.layout import OptionId
from converter.ir.table_forms import (
    DAMAGE,
    clock_form,
    clock_of,
    environment_of,
    id_of,
    process_form,
    process_of,
    text_of,
)
from converter.ir.trace import ClockDomain, Process, Thread, Trace
from converter.kernels.tasks import TaskTable

#: The option's id, and the one that it had before, far from those that trace-cmd gives one after the other.
TABLES_OPTION: Final = OptionId.PROCMAPS
_FORMER_OPTION: Final = 0x5443

#: Numbers of tasks are signed 32-bit numbers; those that stand for no tid start here, beyond any pid of Linux.
_FIRST_NUMBER = 1 << 30
_LAST_NUMBER = (1 << 31) - 1


@dataclass(slots=True)
class TraceTables:
    """The option, read. `numbers` are those by which records name the threads."""

    processes: list[Process] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    clock: ClockDomain = field(default_factory=lambda: ClockDomain("local"))
    clock_domains: list[ClockDomain] = field(default_factory=list)
    environment: dict[str, str | int] = field(default_factory=dict)

    def add_to(self, trace: Trace, tasks: TaskTable) -> None:
        """Make these the trace's processes and threads, and let `tasks` find them by their numbers."""
        trace.processes.extend(self.processes)
        trace.threads.extend(self.threads)
        for index, number in enumerate(self.numbers):
            tasks.assign(number, index)


def is_tables(id: int, data: bytes) -> bool:
    """Whether an option has the tables: the maps of a process begin with its number, and end with a NUL."""
    return id == _FORMER_OPTION or (id == TABLES_OPTION and data[:1] == b"{" and data[-1:] == b"}")


def read_tables(options: list[tuple[int, bytes]]) -> TraceTables | None:
    """The tables of a file with these options, None if it has none; TraceError when they are damaged."""
    data = next((data for id, data in options if is_tables(id, data)), None)
    if data is None:
        return None
    # Imported only now: recordings of the kernel's own tools have no such option.
    import json

    try:
        held = json.loads(data)
        tables = TraceTables(
            processes=[process_of(form) for form in held["processes"]],
            clock=clock_of(held["clock"]),
            clock_domains=[clock_of(form) for form in held["clock_domains"]],
            environment=environment_of(held["environment"]),
        )
        for number, tid, process, name in held["threads"]:
            if not 0 <= id_of(process) < len(tables.processes) or id_of(number) > _LAST_NUMBER:
                raise ValueError("a thread without a process or number")
            tables.threads.append(Thread(id_of(tid), process, text_of(name)))
            tables.numbers.append(number)
    except DAMAGE as error:
        raise TraceError(f"not the tables of a trace: {error}", field="options.TABLES") from error
    return tables


def build_tables(trace: Trace, numbers: TaskNumbers) -> bytes:
    """The option's data for a trace whose threads have these numbers."""
    import json

    held = {
        "processes": [process_form(process) for process in trace.processes],
        "threads": [
            [number, thread.tid, thread.process, thread.name]
            for number, thread in zip(numbers.all(), trace.threads, strict=True)
        ],
        "clock": clock_form(trace.clock),
        "clock_domains": [clock_form(clock) for clock in trace.clock_domains],
        "environment": trace.environment,
    }
    return json.dumps(held, separators=(",", ":")).encode("ascii")


class TaskNumbers:
    """The number by which records name each thread: its tid where it can be, and another thread does not have it."""

    #: The largest that a tid can be, and where the numbers start that stand for no tid.
    largest = _LAST_NUMBER
    first_free = _FIRST_NUMBER

    def __init__(self, trace: Trace, numbers: list[int] | None = None) -> None:
        self._threads = trace.threads
        self._numbers = list(numbers or ())
        self._taken = set(self._numbers)
        self._next = self.first_free
        self._column: NDArray[np.int32] = np.full(1, -1, np.int32)

    def all(self) -> list[int]:
        """The numbers of all threads so far."""
        for thread in self._threads[len(self._numbers) :]:
            number = thread.tid
            if number > self.largest or number in self._taken:
                while self._next in self._taken:
                    self._next += 1
                number = self._next
            self._taken.add(number)
            self._numbers.append(number)
        return self._numbers

    def of(self, thread: NDArray[np.int32]) -> NDArray[np.int32]:
        """The number of each event's thread, -1 where there is none."""
        if len(self._column) <= len(self._threads):
            # The last entry is that of no thread.
            self._column = np.array([*self.all(), -1], np.int32)
        return self._column[thread]
