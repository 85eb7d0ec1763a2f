"""What trace_processor shows of a Perfetto file, from the projected trace."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from viewers import kernel_model
from viewers.chrome_model import add_json
from viewers.conversions import Conversion
from viewers.projected import Event, Line, Pairs
from viewers.sched_rows import Sched
from viewers.slice_stacks import Slices

from converter.formats.perfetto.mapping import PARTS
from converter.ir.field_classes import ArrayClass, BytesClass, FieldClass, NullClass, StructureClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import TrackScope

_ASYNC = {Kind.ASYNC_BEGIN, Kind.ASYNC_INSTANT, Kind.ASYNC_END}
#: What the importer makes of characters that have a meaning in keys.
_IN_KEYS = str.maketrans(".[]", "___")
#: Names with dots are nested annotations, up to this many parts.
_MOST_PARTS = 8
#: What slices without a name are called where they are from JSON.
_NO_NAMES = dict.fromkeys(
    (Kind.SLICE_BEGIN, Kind.SLICE_COMPLETE, Kind.ASYNC_BEGIN, Kind.INSTANT), "[No name]"
)
_LEADING = {Role.NAME, Role.CATEGORY, Role.DURATION, Role.ID, Role.SCOPE, Role.VALUE}


def in_order(conversion: Conversion) -> list[Event]:
    """The importer sorts by time; equal times stay as they stand."""
    return sorted(conversion.events, key=lambda event: event.ts)


def timeline(conversion: Conversion) -> Slices:
    """Slices on threads and tracks, asynchronous ones by id and scope, and those of kernel events."""
    found = Slices()
    for event in in_order(conversion):
        place = place_of(event)
        if kernel_model.is_kernel_event(event):
            kernel_model.slices_of(conversion.trace, event, found, place)
            continue
        name, category = event.of(Role.NAME) or None, event.of(Role.CATEGORY) or None
        if conversion.trace.format == "chrome" and event.named("scope", "t") == "t":
            name = name or _NO_NAMES.get(event.kind)
        args = arguments(event, "args" if conversion.trace.format == "chrome" else "debug")
        if event.kind in _ASYNC:
            scope = None if conversion.trace.format == "chrome" else event.of(Role.SCOPE)
            is_local = event.named("id.local") is not None
            process = event.thread.pid if is_local and event.thread is not None else None
            place = ("async", process, event.of(Role.ID), scope or category)
        match event.kind:
            case Kind.SLICE_BEGIN | Kind.ASYNC_BEGIN:
                found.begin(event.ts, place, name, category, args)
            case Kind.SLICE_COMPLETE:
                found.begin(event.ts, place, name, category, args, event.of(Role.DURATION))
            case Kind.SLICE_END | Kind.ASYNC_END:
                found.end(event.ts, place, name, category, args)
            case Kind.INSTANT if event.named("phase", "I") not in ("i", "I", "R"):
                pass  # Events of other phases are rows of no table here, as those of JSON.
            case Kind.INSTANT | Kind.ASYNC_INSTANT:
                found.begin(event.ts, place, name, category, args, 0)
            case Kind.FLOW_BEGIN:
                found.flows.begin((event.of(Role.ID), category, name), found.innermost(place))
            case Kind.FLOW_STEP:
                key = (event.of(Role.ID), category, name)
                found.flows.arrive(key, found.innermost(place), moves=True)
            case Kind.FLOW_END:
                key = (event.of(Role.ID), category, name)
                if event.named("binds_enclosing"):
                    found.flows.arrive(key, found.innermost(place))
                else:
                    found.flows.wait(key, place)
    return found


def place_of(event: Event) -> tuple[Any, ...]:
    """The track that an event is on."""
    if event.line is not None:
        return ("track", owner_of(event.line), event.line.name)
    if event.thread is not None:
        scopes = {"g": ("track", None, None), "p": ("track", event.thread.pid, None)}
        return scopes.get(event.named("scope"), ("thread", event.thread.pid, event.thread.tid))
    return ("track", None, "Default Track")


def owner_of(line: Line) -> Any:
    """What a track belongs to, as far as the importer knows: not to a CPU."""
    if line.scope is TrackScope.THREAD:
        return (line.owner.pid, line.owner.tid)
    return line.owner if line.scope is TrackScope.PROCESS else None


def arguments(event: Event, prefix: str) -> dict[str, Any]:
    """Annotations by their paths, of JSON as in JSON."""
    shown: dict[str, Any] = {}
    for field, value in event.fields():
        if field.role not in _LEADING and field not in PARTS:
            add(shown, f"{prefix}.{key_of(field.name)}", field.type, value)
    return shown


def key_of(name: str) -> str:
    """The key that a name is shown as: as it is where the parts between its dots are annotations in each other."""
    has_brackets = "[" in name or "]" in name
    is_nested = not has_brackets and name.count(".") < _MOST_PARTS
    return name if is_nested else name.translate(_IN_KEYS)


def add(shown: dict[str, Any], key: str, field_class: FieldClass, value: Any) -> None:
    """Show a value, or what it consists of."""
    match field_class, value:
        case (BytesClass("application/json"), bytes()):
            add_json(shown, key, json.loads(value))
        case (StructureClass(members), Pairs()):
            for member, (name, inner) in zip(members, value, strict=True):
                add(shown, f"{key}.{key_of(name)}", member.type, inner)
        case (ArrayClass(element), list()):
            for i, inner in enumerate(value):
                add(shown, f"{key}[{i}]", element, inner)
        case (NullClass(), _):
            pass
        case (_, bool()):
            shown[key] = int(value)
        case (_, int()):
            shown[key] = kernel_model.as_signed(value)
        case (_, float()) if math.isnan(value):
            shown[key] = None
        case _:
            shown[key] = value


def counters(conversion: Conversion) -> Iterator[tuple[Any, ...]]:
    """Values of counter tracks, and of counters of the machine."""
    for event in conversion.events:
        if event.kind is Kind.COUNTER:
            line = event.line
            name = event.of(Role.NAME) if line is None else line.name or event.of(Role.NAME)
            owner = None if line is None else owner_of(line)
            pid = owner[0] if isinstance(owner, tuple) else owner
            yield event.ts, float(event.of(Role.VALUE)), name, pid, None
        elif event.kind is Kind.SAMPLE:
            # A profile whose packets name no other timebase is taken for one of the CPU's clock.
            yield (
                event.ts,
                float(event.of(Role.VALUE, 0)),
                event.event_class.name or "cpu-clock",
                None,
                event.cpu,
            )
        else:
            yield from kernel_model.counters(event)
        thread_time = event.of(Role.THREAD_TIME)
        if thread_time is not None and event.thread is not None:
            yield event.ts, float(thread_time), "thread_time", event.thread.pid, None


def sched(conversion: Conversion) -> Sched:
    """A CPU runs a thread from one switch to the next; a state of a thread lasts until its next one."""
    found = switches(conversion).rows
    add_states(found, conversion)
    return found


def add_states(found: Sched, conversion: Conversion) -> None:
    """Add states that say how long they last: of those of tasks, a thread that runs sleeps after it."""
    by_tid: dict[int, list[tuple[int, int, str, int | None]]] = {}
    for event in in_order(conversion):
        if event.kind is Kind.STATE and event.of(Role.DURATION) is not None and event.thread:
            name, cpu = event.of(Role.NAME), event.named("cpu")
            if name in "RSDT" or (name == "Running" and cpu is not None):
                end = event.ts + event.of(Role.DURATION)
                by_tid.setdefault(event.thread.tid, []).append((event.ts, end, name, cpu))
    for tid, states in by_tid.items():
        starts = [state[0] for state in states[1:]]
        for (ts, end, name, cpu), following in zip(states, [*starts, None], strict=True):
            last = -1 if following is None else following - ts
            if name != "Running":
                found.states.append([ts, last, name, tid, None])
                continue
            found.states.append([ts, end - ts, name, tid, None])
            if following == end:
                after = states[starts.index(following) + 1][2]
            else:
                after = "S"
                rest = -1 if following is None else following - end
                found.states.append([end, rest, after, tid, None])
            found.slices.append([ts, end - ts, cpu, after, tid])


def switches(conversion: Conversion) -> kernel_model.Switches:
    """The tables of scheduling, and what is wrong in them."""
    found = kernel_model.Switches(conversion.trace)
    for event in in_order(conversion):
        found.add(event)
    return found


def problems(conversion: Conversion) -> Counter[str]:
    """What the importer counts as wrong: the source's own lost events, and what does not fit together."""
    lost = {event.cpu or 0 for event in conversion.events if event.kind is Kind.DISCARDED}
    mismatched = switches(conversion).mismatched
    # Samples on no thread are left out.
    empty = [event for event in conversion.events if event.of(Role.FRAMES) == []]
    kinds = {event.kind for event in empty if event.thread is not None}
    return timeline(conversion).problems() + Counter(
        ftrace_cpu_has_data_loss=len(lost),
        mismatched_sched_switch_tids=mismatched,
        # All empty stacks are one.
        stackprofile_empty_callstack=int(Kind.SAMPLE in kinds),
    )


def ftrace(conversion: Conversion) -> Iterator[tuple[Any, ...]]:
    """Kernel events."""
    return kernel_model.rows(conversion.trace, conversion.events)


def threads(conversion: Conversion) -> dict[tuple[int, int], str]:
    """Names of threads by the ids of process and thread."""
    trace = conversion.trace
    return {(trace.processes[one.process].pid, one.tid): one.name for one in trace.threads}


def processes(conversion: Conversion) -> dict[int, str]:
    """Names of processes by their ids."""
    return {one.pid: one.name for one in conversion.trace.processes}


def logs(conversion: Conversion) -> Iterator[tuple[Any, ...]]:
    """Entries of the log."""
    for event in conversion.events:
        if event.kind is Kind.LOG:
            tag = event.of(Role.CATEGORY) or event.event_class.name
            priority = event.of(Role.PRIORITY, 4)
            yield event.ts, priority, tag, event.of(Role.MESSAGE), tid_of(event)


def tid_of(event: Event) -> int | None:
    """The thread of a log entry."""
    return None if event.thread is None else event.thread.tid
