"""Compares two traces except for their events."""

from __future__ import annotations

from collections import Counter

from converter.ir.trace import ClockDomain, Trace
from converter.jobs.comparing.differences import Aspect, TraceDifference


def compare_tables(
    first: Trace, second: Trace, aspects: frozenset[Aspect], result: TraceDifference
) -> None:
    """Compare everything except the events."""
    if Aspect.CLOCK_OFFSET not in aspects:
        _compare_clocks(first, second, result)
    if Aspect.ENVIRONMENT not in aspects:
        for key in sorted(first.environment.keys() | second.environment.keys()):
            one, other = first.environment.get(key), second.environment.get(key)
            _compare_values(f"environment: {key} is", one, other, result)
    if Aspect.NAMES not in aspects:
        compare_sets("process", _processes(first), _processes(second), result)
        compare_sets("thread", _threads(first), _threads(second), result)
    if Aspect.NATIVE not in aspects and first.format == second.format:
        from converter.formats.table import portable_sidecar
        from converter.ir.forms import sidecar_form

        one = sidecar_form(portable_sidecar(first))
        other = sidecar_form(portable_sidecar(second))
        for name in sorted(one.keys() | other.keys()):
            if one.get(name) != other.get(name):
                result.tables.append(
                    f"what only {name} files have differs (headers, options, unknown records)"
                )


def _compare_clocks(first: Trace, second: Trace, result: TraceDifference) -> None:
    one, other = first.clock, second.clock
    _compare_values("the clock is called", one.name, other.name, result)
    _compare_values("ticks per second of the clock:", _rate(one), _rate(other), result)
    _compare_values("the clock's zero is", _epoch(one), _epoch(other), result)
    _compare_values("the clock is described as", one.description, other.description, result)
    domains = Counter(map(_domain, first.clock_domains))
    compare_sets("related clock", domains, Counter(map(_domain, second.clock_domains)), result)


def _rate(clock: ClockDomain) -> str:
    return "unknown" if clock.ticks_per_second is None else f"{clock.ticks_per_second}"


def _epoch(clock: ClockDomain) -> str:
    if clock.epoch_ns is None:
        return "at an unknown time of day"
    return f"{clock.epoch_ns:,} ns after 1970"


def _domain(clock: ClockDomain) -> str:
    return f"{clock.name}, {_rate(clock)} ticks per second, its zero {_epoch(clock)}"


def _compare_values(what: str, first: object, second: object, result: TraceDifference) -> None:
    """Add a line if two values differ; None and empty texts are missing ones."""
    if first == second:
        return
    one, other = ("missing" if value in (None, "") else str(value) for value in (first, second))
    result.tables.append(f"{what} {one} in the first, {other} in the second")


def compare_sets(
    what: str, first: Counter[str], second: Counter[str], result: TraceDifference
) -> None:
    """Record the items that one side has more often than the other."""
    result.tables += [f"{what} only in the first: {item}" for item in sorted(first - second)]
    result.tables += [f"{what} only in the second: {item}" for item in sorted(second - first)]


def _processes(trace: Trace) -> Counter[str]:
    lines = []
    for process in trace.processes:
        parent = "" if process.parent_pid is None else f", parent {process.parent_pid}"
        command = f", command line {' '.join(process.command_line)}" if process.command_line else ""
        lines.append(f"{process.pid} {process.name or '(no name)'}{parent}{command}")
    return Counter(lines)


def _threads(trace: Trace) -> Counter[str]:
    return Counter(
        f"{thread.tid} {thread.name or '(no name)'}, process {trace.processes[thread.process].pid}"
        for thread in trace.threads
    )
