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
from typing import Any

from converter.errors import TraceError
from converter.ir.trace import ClockDomain, Process, Thread, Trace, parse_epoch, parse_rate


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
            processes=[
                Process(
                    _id(pid),
                    _text(name),
                    None if parent is None else _id(parent),
                    tuple(_text(part) for part in line),
                )
                for pid, name, parent, line in held["processes"]
            ],
            clock=_clock(held["clock"]),
            clock_domains=[_clock(clock) for clock in held["clock_domains"]],
            environment={
                _text(name): value if isinstance(value, int) else _text(value)
                for name, value in held["environment"].items()
            },
        )
        for tid, process, name in held["threads"]:
            if not 0 <= _id(process) < len(tables.processes):
                raise ValueError("a thread without a process")
            tables.threads.append(Thread(_id(tid), process, _text(name)))
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        ArithmeticError,
    ) as error:
        raise TraceError(f"not the tables of a trace: {error}") from error
    return tables


def build_tables(trace: Trace) -> bytes:
    """The file for a trace."""
    held = {
        "version": 1,
        "processes": [
            [process.pid, process.name, process.parent_pid, process.command_line]
            for process in trace.processes
        ],
        "threads": [[thread.tid, thread.process, thread.name] for thread in trace.threads],
        "clock": _clock_form(trace.clock),
        "clock_domains": [_clock_form(clock) for clock in trace.clock_domains],
        "environment": trace.environment,
    }
    return json.dumps(held, separators=(",", ":")).encode("ascii") + b"\n"


def _clock_form(clock: ClockDomain) -> list[Any]:
    rate = clock.ticks_per_second
    return [clock.name, clock.description, clock.epoch_ns, None if rate is None else str(rate)]


def _clock(form: Any) -> ClockDomain:
    name, description, epoch, rate = form
    return ClockDomain(
        _text(name),
        None if rate is None else parse_rate(rate),
        None if epoch is None else parse_epoch(epoch),
        _text(description),
    )


def _id(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 1 << 64:
        raise ValueError("an id is not one of 64 bits")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a name is no text")
    # UnicodeEncodeError, a ValueError, for lone surrogates other than those of bytes that are not UTF-8.
    value.encode("utf-8", "surrogateescape")
    return value
