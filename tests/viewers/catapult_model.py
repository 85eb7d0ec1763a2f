"""What chrome://tracing shows of a Chrome JSON file, from the projected trace."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from viewers import chrome_model
from viewers.chrome_model import Clock, clock_of
from viewers.conversions import Conversion
from viewers.projected import Event

from converter.ir.field_classes import Style
from converter.ir.kinds import Kind, Role

_ID = 0xFFFF_FFFF
#: Kinds that are instants of a thread where they are in a file as they are.
_INSTANTS = (Kind.SCHED_WAKING, Kind.SCHED_WAKEUP, Kind.SCHED_WAKEUP_NEW, Kind.TASK_NEW)
#: Nanoseconds that times, which are floating-point milliseconds, may be off.
TOLERANCE = 2


@dataclass
class Slice:
    """A slice of a thread, in nanoseconds; without an end until it has ended."""

    start: int
    end: int | None
    title: str
    depth: int = 0
    inner: list[Slice] = field(default_factory=list)


@dataclass
class Thread:
    """The slices of a thread, in the order of the file and then of their starts."""

    slices: list[Slice] = field(default_factory=list)
    open: list[Slice] = field(default_factory=list)
    outermost: list[Slice] = field(default_factory=list)

    def nest(self) -> None:
        """Close what is open at the last time of the thread, and put slices into those that hold them."""
        last = max((one.end or one.start for one in self.slices), default=0)
        for one in self.slices:
            one.end = last if one.end is None else one.end
        self.slices.sort(key=lambda one: one.start)
        around: list[Slice] = []
        for one in self.slices:
            # Also one that starts and ends where another ends is inside that.
            while around and not (around[-1].start <= one.start and one.end <= around[-1].end):
                around.pop()
            one.depth = len(around)
            (around[-1].inner if around else self.outermost).append(one)
            around.append(one)

    def at(self, ts: int) -> Slice | None:
        """The innermost slice at a time; where one ends when the next starts, that which ends."""
        found, among = None, self.outermost
        while among:
            i = bisect_left(among, ts, key=lambda one: one.start)
            inside = [one for one in among[max(i - 1, 0) : i + 1] if one.start <= ts <= one.end]
            if not inside:
                return found
            found, among = inside[0], inside[0].inner
        return found

    def after(self, ts: int) -> Slice | None:
        """The next slice that starts at a time or later."""
        i = bisect_left(self.slices, ts, key=lambda one: one.start)
        return self.slices[i] if i < len(self.slices) else None


@dataclass
class Timeline:
    """Slices by process and thread, the two titles of each arrow, and warnings."""

    threads: dict[tuple[int, int], Thread]
    arrows: list[tuple[str, str]]
    warnings: Counter[str]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Process, thread, title, depth, start and duration of each slice."""
        for place, thread in self.threads.items():
            for one in thread.slices:
                yield (*place, one.title, one.depth, one.start, (one.end or 0) - one.start)


def timeline(conversion: Conversion) -> Timeline:
    """Begins and ends are matched in the order of the file."""
    clock = clock_of(conversion)
    threads: dict[tuple[int, int], Thread] = {}
    warnings: Counter[str] = Counter()
    for event in conversion.events:
        if not event.event_class.timed or event.thread is None:
            continue
        thread = threads.setdefault(_place(event), Thread())
        ts, title = clock(event.ts), event.of(Role.NAME) or ""
        match event.kind:
            case Kind.SLICE_BEGIN:
                thread.slices.append(Slice(ts, None, title))
                thread.open.append(thread.slices[-1])
            case Kind.SLICE_END if thread.open:
                thread.open.pop().end = ts
            case Kind.SLICE_END:
                warnings["duration_parse_error"] += 1
            case Kind.SLICE_COMPLETE:
                end = ts + clock.between(0, event.of(Role.DURATION))
                thread.slices.append(Slice(ts, end, title))
            case Kind.INSTANT if event.named("phase") != "P" and event.named("scope") in (
                None,
                "",
                "t",
            ):
                thread.slices.append(Slice(ts, ts, title))
            case Kind.OBJECT_SNAPSHOT if not chrome_model.arguments(event):
                warnings["object_parse_error"] += 1
            case _ if event.kind in _INSTANTS:
                own = event.event_class
                thread.slices.append(Slice(ts, ts, own.name or event.kind.name.lower()))
    for thread in threads.values():
        thread.nest()
    arrows = list(_arrows(conversion, clock, threads, warnings))
    return Timeline(threads, arrows, +warnings)


def _place(event: Event) -> tuple[int, int]:
    assert event.thread is not None
    return event.thread.pid & _ID, event.thread.tid & _ID


def _arrows(
    conversion: Conversion,
    clock: Clock,
    threads: dict[tuple[int, int], Thread],
    warnings: Counter[str],
) -> Iterator[tuple[str, str]]:
    """Flows from slice to slice, each of which must be there at the time of the event."""
    says_nowhere = conversion.trace.format not in ("chrome", "perfetto")
    open_at: dict[Any, Slice | None] = {}
    kinds = (Kind.FLOW_BEGIN, Kind.FLOW_STEP, Kind.FLOW_END)
    flows = (event for event in conversion.events if event.kind in kinds)
    for event in sorted(flows, key=lambda event: clock(event.ts)):
        key = (event.of(Role.ID), event.of(Role.CATEGORY), event.of(Role.NAME))
        thread, ts = threads[_place(event)], clock(event.ts)
        here = thread.at(ts)
        if event.kind is Kind.FLOW_BEGIN:
            if here is None or open_at.get(key) is not None:
                warnings["flow_slice_start_error"] += 1
            else:
                open_at[key] = here
            continue
        source = open_at.pop(key, None)
        if source is None:
            warnings["flow_slice_ordering_error"] += 1
            continue
        binds = event.kind is Kind.FLOW_STEP or event.named("binds_enclosing", says_nowhere)
        target = here if binds else thread.after(ts)
        if target is None:
            warnings["flow_slice_end_error"] += 1
            continue
        yield source.title, target.title
        if event.kind is Kind.FLOW_STEP:
            open_at[key] = here


def counters(conversion: Conversion) -> Iterator[tuple[Any, ...]]:
    """Process, counter, series and value of each number."""
    for event in conversion.events:
        if event.kind is not Kind.COUNTER:
            continue
        name = event.of(Role.NAME) or ""
        for item, value in event.fields():
            if item.role is Role.ID:
                style = getattr(item.type, "style", None)
                name += f"[{f'{value:#x}' if style is Style.HEXADECIMAL else value}]"
        for item, value in event.fields():
            if item.role is Role.VALUE:
                yield _place(event)[0], name, item.name, float(value)


def same_slices(expected: Iterable[tuple[Any, ...]], found: Iterable[tuple[Any, ...]]) -> list[str]:
    """The differences of two lists of slices, whose last two members are times."""
    one, other = _by_place(expected), _by_place(found)
    differences = []
    for place in one.keys() | other.keys():
        times, shown = one.get(place, []), other.get(place, [])
        if len(times) != len(shown):
            differences.append(f"{place}: {len(shown)} slices for {len(times)}")
        elif any(
            abs(a - b) > TOLERANCE
            for pair in zip(times, shown, strict=True)
            for a, b in zip(*pair, strict=True)
        ):
            differences.append(f"{place}: at other times: {shown[:3]} for {times[:3]}")
    return sorted(differences)


def _by_place(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[Any, ...], list[tuple[int, int]]]:
    found: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for *place, start, duration in rows:
        found.setdefault(tuple(place), []).append((start, duration))
    return {place: sorted(times) for place, times in found.items()}
