"""Compares two traces except for their events."""

from __future__ import annotations

from collections import Counter

from converter.ir.trace import Trace
from converter.jobs.comparing.differences import Aspect, TraceDifference


def compare_tables(
    first: Trace, second: Trace, aspects: frozenset[Aspect], result: TraceDifference
) -> None:
    """Compare everything except the events."""
    if Aspect.CLOCK_OFFSET not in aspects:
        _compare_values("clock", first.clock, second.clock, result)
        _compare_values("clock domains", first.clock_domains, second.clock_domains, result)
    if Aspect.ENVIRONMENT not in aspects:
        for key in sorted(first.environment.keys() | second.environment.keys()):
            _compare_values(
                f"environment {key!r}",
                first.environment.get(key),
                second.environment.get(key),
                result,
            )
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
                result.tables.append(f"sidecar of {name} differs")


def _compare_values(what: str, first: object, second: object, result: TraceDifference) -> None:
    if first != second:
        result.tables.append(f"{what}: {first!r} became {second!r}")


def compare_sets(
    what: str, first: Counter[str], second: Counter[str], result: TraceDifference
) -> None:
    """Record the items that one side has more often than the other."""
    result.tables += [f"{what} only in the first: {item}" for item in sorted(first - second)]
    result.tables += [f"{what} only in the second: {item}" for item in sorted(second - first)]


def _processes(trace: Trace) -> Counter[str]:
    return Counter(
        f"{p.pid} {p.name!r} parent {p.parent_pid} {list(p.command_line)}" for p in trace.processes
    )


def _threads(trace: Trace) -> Counter[str]:
    return Counter(
        f"{trace.processes[thread.process].pid}/{thread.tid} {thread.name!r}"
        for thread in trace.threads
    )
