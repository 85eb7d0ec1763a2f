"""What markers cannot say: the trace's processes, threads and clocks, in a file of this converter's own.

Events have no field for their thread (it follows from the scheduling events before them), nor does anything name
processes but events that a kernel wrote. Other readers pass over a file whose name has no underscore and number in it.
`recording.TABLES_NAME` is JSON in ASCII:

    {"version": 1,
     "processes": [[pid, name, parent pid or null, [command line]]],
     "threads": [[tid, index of the process, name]],
     "clock": CLOCK, "clock_domains": [CLOCK], "environment": {name: text or number}}

where CLOCK is [name, description, epoch in ns or null, ticks a second as a fraction or null]. In a trace with this file
each event ends with two 32-bit numbers, the pid and tid of its thread, -1 where it has none.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class TraceTables:
    """The file, read."""

    processes: list[Process] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    clock: ClockDomain = field(default_factory=lambda: ClockDomain("ns"))
    clock_domains: list[ClockDomain] = field(default_factory=list)
    environment: dict[str, str | int] = field(default_factory=dict)

    def add_to(self, trace: Trace) -> None:
        """Make these the trace's own."""
        trace.processes.extend(self.processes)
        trace.threads.extend(self.threads)
        trace.clock = self.clock
        trace.clock_domains.extend(self.clock_domains)
        trace.environment.update(self.environment)


def parse_tables(data: bytes) -> TraceTables:
    """The tables in such a file; TraceError when they are damaged."""
    try:
        held = json.loads(data)
        if held["version"] != 1:
            raise ValueError("a version that is not known")
        tables = TraceTables(
            processes=[process_of(form) for form in held["processes"]],
            clock=clock_of(held["clock"]),
            clock_domains=[clock_of(form) for form in held["clock_domains"]],
            environment=environment_of(held["environment"]),
        )
        for tid, process, name in held["threads"]:
            if not 0 <= id_of(process) < len(tables.processes):
                raise ValueError("a thread without a process")
            tables.threads.append(Thread(id_of(tid), process, text_of(name)))
    except DAMAGE as error:
        raise TraceError(f"not the tables of a trace: {error}") from error
    return tables


def build_tables(trace: Trace) -> bytes:
    """The file for a trace."""
    held = {
        "version": 1,
        "processes": [process_form(process) for process in trace.processes],
        "threads": [[thread.tid, thread.process, thread.name] for thread in trace.threads],
        "clock": clock_form(trace.clock),
        "clock_domains": [clock_form(clock) for clock in trace.clock_domains],
        "environment": trace.environment,
    }
    return json.dumps(held, separators=(",", ":")).encode("ascii") + b"\n"
