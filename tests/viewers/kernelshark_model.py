"""What KernelShark lists of a trace.dat file, and what the projected trace and `trace-cmd report` say of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from support.viewers.kernelshark import Entry
from viewers.conversions import Conversion, source_trace
from viewers.programs_model import printed
from viewers.projected import events_of

from converter.ir.kinds import Kind, Role

#: Lost events whose number is not known, in a row or in the text of KernelShark.
UNKNOWN = -1
#: The name of a buffer of several, and a call whose text KernelShark draws.
_BUFFER = re.compile(r"^ *[\w.]+: +(?=\S.*-\d+ +\[\d{3}\])")
_GRAPH = re.compile(r"(\] [\d.]+: funcgraph_(?:entry|exit):).*")
_SWITCH = re.compile(
    r"prev_comm=(.*) prev_pid=(-?\d+) prev_prio=.* ==> next_comm=(.*) next_pid=(-?\d+)", re.DOTALL
)
#: Names of tasks that a file does not name, and of the idle tasks.
NAMELESS, IDLE = "<...>", "<idle>"


def lost(entry: Entry) -> int:
    """The number of lost events of an entry that stands for them."""
    return int(entry.info.removeprefix("missed_events="))


def listed_rows(entries: list[Entry]) -> dict[int, list[tuple[Any, ...]]]:
    """By CPU: time, system and name, and task of each event, and lost events, in order."""
    rows: dict[int, list[tuple[Any, ...]]] = {}
    for entry in entries:
        row = (lost(entry),) if entry.missed else (entry.ts, entry.event, entry.pid)
        rows.setdefault(entry.cpu, []).append(row)
    return rows


def projected_rows(conversion: Conversion) -> dict[int, list[tuple[Any, ...]]]:
    """The same of the projected trace; losses after the last event of a CPU are not shown."""
    # The file says the time of day in microseconds.
    epoch = (conversion.trace.clock.epoch_ns or 0) // 1000 * 1000
    losses = iter(_losses(conversion.source))
    counts = {
        id(event): next(losses, UNKNOWN)
        for event in conversion.events
        if event.kind is Kind.DISCARDED
    }
    rows: dict[int, list[tuple[Any, ...]]] = {}
    for event in sorted(conversion.events, key=lambda event: event.ts):
        known = event.event_class
        row: tuple[Any, ...]
        if event.kind is Kind.DISCARDED:
            row = (counts[id(event)],)
        elif known.timed:
            tid = -1 if event.thread is None else event.thread.tid
            row = (event.ts + epoch, f"{known.category}/{known.name}", tid)
        else:
            continue
        rows.setdefault(event.cpu or 0, []).append(row)
    for cpu in list(rows):
        while rows[cpu] and len(rows[cpu][-1]) == 1:
            rows[cpu].pop()
        if not rows[cpu]:
            del rows[cpu]
    return rows


def _losses(source: str) -> list[int]:
    """The numbers of lost events of a source, in the order of its stream."""
    found = (event for event in events_of(source_trace(source)) if event.kind is Kind.DISCARDED)
    counts = [event.of(Role.COUNT) for event in found]
    return [UNKNOWN if count is None or count < 0 else count for count in counts]


def task_names(conversion: Conversion) -> dict[int, set[str]]:
    """The names of the threads of each id, "" where it has none."""
    names: dict[int, set[str]] = {}
    for thread in conversion.trace.threads:
        names.setdefault(thread.tid, set()).add(thread.name)
    return names


def possible_names(pid: int, names: dict[int, set[str]]) -> set[str]:
    """The names that a task may be shown with: its own, or of one without, what switches call it."""
    if pid == 0:
        return {IDLE}
    known = names.get(pid, {""})
    return known if all(known) else _AnyName(known)


class _AnyName(set[str]):
    """Any name but an empty one."""

    def __contains__(self, name: object) -> bool:
        return bool(name)


def switched(entry: Entry) -> list[tuple[str, int]] | None:
    """Name and id of the two tasks of a switch; None of other events."""
    found = _SWITCH.match(entry.info) if entry.event == "sched/sched_switch" else None
    return None if found is None else [(found[1], int(found[2])), (found[3], int(found[4]))]


def report_of(program: str, path: Path) -> list[str]:
    """The lines that trace-cmd prints of events, without paddings and names of buffers."""
    # Without the plugins, which print events in another way.
    lines = printed(program, "report", "-t", "-N", str(path))
    return _comparable("\n".join(_BUFFER.sub("", line) for line in lines[1:]))


def report_like(entries: list[Entry]) -> list[str]:
    """What KernelShark lists, as trace-cmd would print it."""
    return _comparable("\n".join(map(_reported, entries)))


def _reported(entry: Entry) -> str:
    if entry.missed:
        count = lost(entry)
        return f"CPU:{entry.cpu} [{'' if count == UNKNOWN else f'{count} '}EVENTS DROPPED]"
    seconds, rest = divmod(entry.ts, 10**9)
    return (
        f"{entry.task}-{entry.pid} [{entry.cpu:03}] {seconds}.{rest:09}: "
        f"{entry.event.partition('/')[2]}: {entry.info}"
    )


def _comparable(text: str) -> list[str]:
    """Lines without paddings, and without texts that KernelShark draws: calls of functions as a graph."""
    lines = (_GRAPH.sub(r"\1", " ".join(line.split())) for line in text.splitlines())
    return [line for line in lines if line]
