"""The side table: a trace's processes, threads, clocks and environment, for formats that cannot represent them.

It is JSON in ASCII, which each format stores where its other readers ignore it:

    {"processes": [[pid, name, parent pid or null, [command line]]],
     "threads": [[number in records, tid, index of the process, name]],
     "clock": CLOCK, "clock_domains": [CLOCK], "environment": {name: text or number}}

where CLOCK is [name, description, epoch in ns or null, ticks per second as a fraction or null]. Formats whose records
name threads by their tids leave the number in records out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from converter.errors import TraceError
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
from converter.kernels.tables.tasks import TaskTable

#: Numbers of threads in records are signed 32-bit integers.
_LAST_NUMBER = (1 << 31) - 1


@dataclass(slots=True)
class SideTable:
    """The parsed table. `numbers` are the numbers of threads in records, none if records have tids."""

    processes: list[Process] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    clock: ClockDomain = field(default_factory=lambda: ClockDomain("ns"))
    clock_domains: list[ClockDomain] = field(default_factory=list)
    environment: dict[str, str | int] = field(default_factory=dict)

    def add_tasks(self, trace: Trace, tasks: TaskTable | None = None) -> None:
        """Append the processes and threads to the trace's, and let `tasks` find the threads by their numbers."""
        trace.processes.extend(self.processes)
        trace.threads.extend(self.threads)
        if tasks is not None:
            for index, number in enumerate(self.numbers):
                tasks.assign(number, index)

    def add_clocks(self, trace: Trace) -> None:
        """Replace the trace's clock, and append the clock domains and the environment to the trace's."""
        trace.clock = self.clock
        trace.clock_domains.extend(self.clock_domains)
        trace.environment.update(self.environment)


def parse_side_table(data: bytes, *, numbered: bool, version: int | None = None) -> SideTable:
    """Read a table.

    Args:
        data: the JSON text.
        numbered: True if threads have the numbers that records use for them.
        version: the required value of a member "version"; None if there is no such member.

    Raises:
        TraceError: the table is damaged.

    """
    # Imported only when needed: most inputs have no such table.
    import json

    try:
        content = json.loads(data)
        if version is not None and content["version"] != version:
            raise ValueError("a version that is not known")
        return side_table_of(content, numbered=numbered)
    except DAMAGE as error:
        raise TraceError(f"not the tables of a trace: {error}") from error


def side_table_of(content: Mapping[str, Any], *, numbered: bool) -> SideTable:
    """Return the table from parsed JSON; raise one of `DAMAGE` if it is damaged."""
    table = SideTable(
        processes=[process_of(form) for form in content["processes"]],
        clock=clock_of(content["clock"]),
        clock_domains=[clock_of(form) for form in content["clock_domains"]],
        environment=environment_of(content["environment"]),
    )
    for form in content["threads"]:
        if numbered:
            number, tid, process, name = form
            if id_of(number) > _LAST_NUMBER:
                raise ValueError("a thread without a process or number")
            table.numbers.append(number)
        else:
            tid, process, name = form
        if not 0 <= id_of(process) < len(table.processes):
            raise ValueError("a thread without a process or number")
        table.threads.append(Thread(id_of(tid), process, text_of(name)))
    return table


def print_side_table(
    trace: Trace, numbers: Sequence[int] | None = None, *, version: int | None = None
) -> bytes:
    """Return the JSON text of a trace's table; `numbers` are those that records use for the threads."""
    import json

    first = {} if version is None else {"version": version}
    return json.dumps(first | side_table_form(trace, numbers), separators=(",", ":")).encode(
        "ascii"
    )


def side_table_form(trace: Trace, numbers: Sequence[int] | None = None) -> dict[str, Any]:
    """Return a trace's table as JSON-like values."""
    threads: list[list[Any]] = [[each.tid, each.process, each.name] for each in trace.threads]
    if numbers is not None:
        threads = [[number, *form] for number, form in zip(numbers, threads, strict=True)]
    return {
        "processes": [process_form(process) for process in trace.processes],
        "threads": threads,
        "clock": clock_form(trace.clock),
        "clock_domains": [clock_form(clock) for clock in trace.clock_domains],
        "environment": trace.environment,
    }
