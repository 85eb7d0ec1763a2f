"""What the programs of CTF, uftrace and trace.dat print of a conversion, and what the projected trace says."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from viewers.conversions import Conversion
from viewers.kernel_model import function_name

from converter.ir.kinds import Kind, Role

_LINE = re.compile(r"\[(\d+)\.(\d{9})\] \([^)]*\) (.*?): \{ (.*)", re.DOTALL)
_EVENT = re.compile(r"\s*\S.*?-(-?\d+) +\[(\d+)\](?: \S+)? +(\d+)\.(\d{9}): (\S+?):")
#: The function that is entered for events outside of all functions.
_FILLER = "(traceconv)"
_RECORD = re.compile(r"(\d+)\.(\d{9}) +(\d+): \[(entry|exit )\] (.*)\([0-9a-f]+\) depth: (\d+)")


def printed(*command: str) -> list[str]:
    """The lines that a program prints; it must succeed."""
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    told = done.stderr.decode(errors="replace")[-2000:]
    assert done.returncode == 0, f"ended with {done.returncode}: {told}"
    return done.stdout.decode(errors="surrogateescape").split("\n")


def babeltrace_rows(program: str, path: Path) -> Iterator[tuple[Any, ...]]:
    """Time, CPU and name of each event."""
    for line in printed(program, "--clock-seconds", "--clock-gmt", str(path)):
        found = _LINE.match(line)
        if found:
            cpu = re.search(r"cpu_id = (\d+) \}", found[4])
            yield (
                int(found[1]) * 10**9 + int(found[2]),
                cpu and int(cpu[1]),
                found[3].split(" ")[-1],
            )


def ctf_rows(conversion: Conversion) -> Iterator[tuple[Any, ...]]:
    """Time and CPU of each event of the projected trace, and what its name is made of."""
    clock = conversion.trace.clock
    rate = clock.ticks_per_second
    assert rate is not None
    # The file says the time of day in whole seconds and ticks.
    seconds, rest = divmod(clock.epoch_ns or 0, 10**9)
    ticks = int(rest * rate / 10**9)
    for event in conversion.events:
        if event.kind is not Kind.DISCARDED and event.event_class.timed:
            told = (event.kind, event.event_class.category, event.event_class.name)
            parts = nanoseconds(event.ts, rate) + nanoseconds(ticks, rate)
            yield parts + seconds * 10**9, event.cpu, told


def nanoseconds(ticks: int, rate: Fraction) -> int:
    """As Babeltrace computes them: rounded down, with floating-point numbers where ticks are no nanoseconds."""
    return ticks if rate == 10**9 else int(1e9 * ticks / float(rate))


def trace_cmd_rows(program: str, path: Path) -> Iterator[tuple[Any, ...]]:
    """Time, name, CPU and task of each event."""
    for line in printed(program, "report", "-t", "-N", str(path)):
        found = _EVENT.match(line)
        if found:
            ts = int(found[3]) * 10**9 + int(found[4])
            yield ts, found[5], int(found[2]), int(found[1])


def trace_dat_rows(conversion: Conversion) -> Iterator[tuple[Any, ...]]:
    """The same of the projected trace."""
    # The file says the time of day in microseconds.
    epoch = (conversion.trace.clock.epoch_ns or 0) // 1000 * 1000
    for event in conversion.events:
        if event.kind is not Kind.DISCARDED and event.event_class.timed:
            tid = -1 if event.thread is None else event.thread.tid
            yield event.ts + epoch, event.event_class.name, event.cpu or 0, tid


def uftrace_rows(program: str, path: Path) -> Iterator[tuple[Any, ...]]:
    """Time of each begin and end of a function, and its name where it begins."""
    for line in printed(program, "dump", "--no-pager", "-D", "5000", "-d", str(path)):
        if line.startswith("reading perf"):
            return
        found = _RECORD.fullmatch(line)
        if found and found[5] != _FILLER:
            ts = int(found[1]) * 10**9 + int(found[2])
            begins = found[4] == "entry"
            name = "" if found[5].startswith("<") else found[5]
            yield ts, found[4].strip(), name if begins else ""


def function_rows(conversion: Conversion) -> Iterator[tuple[Any, ...]]:
    """The same of the projected trace; kernel functions without a name are shown by their addresses."""
    clock = conversion.trace.clock
    assert clock.ticks_per_second is not None
    for event in conversion.events:
        ts = int(event.ts * 10**9 / clock.ticks_per_second)
        match event.kind:
            case Kind.SLICE_BEGIN:
                yield ts, "entry", event.of(Role.NAME) or "(no name)"
            case Kind.FUNCTION_ENTRY:
                name = function_name(conversion.trace.symbols, event.of(Role.FUNCTION))
                yield ts, "entry", "" if str(name).startswith("0x") else name
            case Kind.SLICE_END | Kind.FUNCTION_EXIT:
                yield ts, "exit", ""
