"""What trace_processor shows of an FXT file, from the projected trace."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from support.viewers.trace_processor_versions import Feature, shows
from viewers.conversions import Conversion
from viewers.projected import Event
from viewers.sched_rows import Sched
from viewers.slice_stacks import Slices

from converter.formats.fxt.mapping import EXTENSION
from converter.ir.field_classes import (
    BooleanClass,
    BytesClass,
    FloatClass,
    IntegerClass,
    NullClass,
)
from converter.ir.kinds import Kind, Role

_NANOSECONDS = 1_000_000_000
_LEADING = {Role.NAME, Role.CATEGORY, Role.DURATION}
_ASYNC = {Kind.ASYNC_BEGIN, Kind.ASYNC_INSTANT, Kind.ASYNC_END}
#: Bits that the importer keeps of ids of processes and threads.
_ID = 0xFFFF_FFFF
IDLE = -(1 << 31)


def clock_of(conversion: Conversion) -> Callable[[int], int]:
    """Nanoseconds of ticks as the importer computes them: in two halves of 32 bits, each rounded down."""
    rate = int(conversion.trace.clock.ticks_per_second or _NANOSECONDS)

    def nanoseconds(ticks: int) -> int:
        high, low = divmod(ticks, 1 << 32)
        return high * ((_NANOSECONDS << 32) // rate) + low * _NANOSECONDS // rate

    return nanoseconds


def timeline(conversion: Conversion) -> Slices:
    """Slices on threads, asynchronous ones on tracks by id, and flows between the slices of threads."""
    found = Slices()
    clock = clock_of(conversion)
    # The importer sorts them by time; those of equal times stay as they stand.
    for event in sorted(conversion.events, key=lambda event: clock(event.ts)):
        ts = clock(event.ts)
        place = thread_place(event)
        name, category = event.of(Role.NAME), event.of(Role.CATEGORY)
        args = arguments(event)
        if event.kind in _ASYNC:
            # Not of a process: equal ids of several processes share a track.
            place = ("async", None, event.of(Role.ID))
        match event.kind:
            case Kind.SLICE_BEGIN | Kind.ASYNC_BEGIN:
                found.begin(ts, place, name, category, args)
            case Kind.SLICE_END | Kind.ASYNC_END:
                found.end(ts, place, args=args)
            case Kind.SLICE_COMPLETE:
                duration = clock(event.ts + event.of(Role.DURATION)) - ts
                found.begin(ts, place, name, category, args, duration)
            case Kind.INSTANT | Kind.ASYNC_INSTANT:
                found.begin(ts, place, name, category, args, 0)
            case Kind.FLOW_BEGIN:
                found.flows.begin((place[1], event.of(Role.ID)), found.innermost(place))
            case Kind.FLOW_STEP | Kind.FLOW_END:
                key = found.flows.key_of(place[1], event.of(Role.ID))
                closes = event.kind is Kind.FLOW_END
                found.flows.arrive(key, found.innermost(place), closes=closes, moves=True)
    return found


def thread_place(event: Event) -> tuple[Any, ...]:
    """The thread that an event is on."""
    if event.thread is None:
        return ("none",)
    return ("thread", event.thread.pid & _ID, event.thread.tid & _ID)


def arguments(event: Event) -> dict[str, Any]:
    """Arguments as they are shown: those of a type that the importer does not know as "unknown"."""
    shown: dict[str, Any] = {}
    for field, value in event.fields():
        if (
            field == EXTENSION
            or field.role in _LEADING
            or (field.role is Role.ID and event.kind is not Kind.INSTANT)
        ):
            continue
        match field.type:
            case BytesClass():
                shown[field.name] = "unknown"
            case NullClass():
                shown[field.name] = "null"
            case IntegerClass() if value >= 1 << 63:
                shown[field.name] = value - (1 << 64)
            case BooleanClass():
                shown[field.name] = int(value)
            case _ if isinstance(value, float) and math.isnan(value):
                shown[field.name] = None
            case _:
                shown[field.name] = value
    return shown


def problems(conversion: Conversion) -> Counter[str]:
    """What the importer counts as wrong."""
    return timeline(conversion).problems()


def counters(conversion: Conversion) -> Iterator[tuple[Any, ...]]:
    """A track of the process for each argument of each counter."""
    clock = clock_of(conversion)
    for event in conversion.events:
        if event.kind is not Kind.COUNTER:
            continue
        for field, value in event.fields():
            if field.role is not Role.VALUE:
                continue
            assert isinstance(field.type, IntegerClass | FloatClass)
            name = f"{event.of(Role.NAME)}:{field.name}:{event.of(Role.ID)}"
            pid = event.thread and event.thread.pid & _ID
            yield clock(event.ts), float(value), name, pid, None


_STATES = {0: "R", 1: "R", 2: "T", 3: "S", 4: "Z", 5: "X"}


def sched(conversion: Conversion) -> Sched:
    """A thread runs from the switch to it until the switch from it; a wakeup of one that runs says nothing new."""
    found = Sched()
    clock = clock_of(conversion)
    running: dict[int, list[Any]] = {}
    last: dict[int, list[Any]] = {}

    def enters(ts: int, tid: int, state: str, waker: int | None = None) -> None:
        if tid in last:
            last[tid][1] = ts - last[tid][0]
        last[tid] = [ts, -1, state, tid, waker]
        found.states.append(last[tid])

    for event in conversion.events:
        ts = clock(event.ts)
        if event.kind is Kind.SCHED_SWITCH:
            out, into = event.of(Role.PREV_TID) & _ID, event.of(Role.NEXT_TID) & _ID
            if not is_idle(event, "outgoing", Role.PREV_PID, Role.PREV_PRIORITY):
                state = _STATES.get(event.of(Role.PREV_STATE))
                if out in running:
                    row = running.pop(out)
                    row[1], row[3] = ts - row[0], state
                enters(ts, out, state)
            if not is_idle(event, "incoming", Role.NEXT_PID, Role.NEXT_PRIORITY):
                running[into] = [ts, -1, event.cpu, None, into]
                found.slices.append(running[into])
                enters(ts, into, "Running")
        elif event.kind is Kind.SCHED_WAKEUP:
            woken = event.of(Role.TID) & _ID
            waker = event.of(Role.WAKER_TID)
            if event.named("weight", 0) != IDLE and woken not in running:
                # One that nobody is said to wake is shown as waking itself.
                waker = (woken if waker is None else waker) & _ID
                enters(ts, woken, "W", waker if shows(Feature.FXT_WAKERS) else None)
    return found


def is_idle(event: Event, way: str, pid: Role, priority: Role) -> bool:
    """Whether a switch is to or from the thread that runs when nothing else does."""
    if event.of(pid) is not None and event.named("incoming_weight") is None:
        return event.of(pid) == 0 and event.of(priority) == 0
    return event.named(f"{way}_weight", 0) == IDLE


def threads(conversion: Conversion) -> dict[tuple[int, int], str]:
    """Names of threads by the ids of process and thread."""
    found = {}
    for thread in conversion.trace.threads:
        pid = conversion.trace.processes[thread.process].pid & _ID
        found[pid, thread.tid & _ID] = thread.name
    return found


def processes(conversion: Conversion) -> dict[int, str]:
    """Names of processes by their ids."""
    return {one.pid & _ID: one.name for one in conversion.trace.processes}


def logs(conversion: Conversion) -> list[tuple[Any, ...]]:
    """Log records are not shown."""
    return []


def ftrace(conversion: Conversion) -> list[tuple[Any, ...]]:
    """There are no kernel events as such."""
    return []
