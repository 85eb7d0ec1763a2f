"""``traceconv info IN --stats``: statistics of a trace as tables, or as JSON."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from converter.analysis.statistics.measure import Statistics
from converter.cli.output.first_events import seconds
from converter.errors.terminal import printable
from converter.ir.trace import Trace

#: The most rows of a table.
_MOST = 10
#: The largest width of a table; names are cut.
_WIDTH = 100


def figures_text(trace: Trace, figures: Statistics) -> str:
    """Return tables of the largest values, for people."""
    span = _span(trace, figures)
    time = _unit(trace)
    parts = []
    rate = None if not span else figures.events / span
    if rate is not None:
        parts.append(f"{rate:,.0f} events a second")
    parts.append(
        _table(
            "events",
            ("event", "count", "a second", "share"),
            (
                (name, f"{count:,}", _rate(count, span), f"{count / figures.events:.1%}")
                for name, count in figures.by_class.most_common(_MOST)
            ),
            len(figures.by_class),
        )
    )
    parts.append(
        _table(
            "threads by CPU time",
            ("tid", "name", time, "share of a CPU"),
            (
                (str(tid), name, _time(ticks, trace), _share(ticks, figures))
                for tid, name, ticks in _cpu_times(trace, figures)[:_MOST]
            ),
            len(figures.cpu_time),
        )
    )
    parts.append(
        _table(
            "slices by time",
            ("slice", "count", f"total {time}", f"self {time}", f"mean {time}"),
            (
                (
                    one.name,
                    f"{one.count:,}",
                    _time(one.total, trace),
                    _time(one.own, trace),
                    _time(one.total // one.count, trace),
                )
                for one in figures.slices[:_MOST]
            ),
            len(figures.slices),
        )
    )
    parts.append(
        _table(
            "longest gaps without an event",
            ("from", f"{time} long"),
            ((seconds(start, trace.clock), _time(size, trace)) for start, size in figures.gaps),
            len(figures.gaps),
        )
    )
    parts.append(
        _table(
            "lost events",
            ("cpu", "events", "times that no number is known"),
            (
                (str(cpu) if cpu >= 0 else "-", f"{known:,}", f"{unknown:,}")
                for cpu, (known, unknown) in sorted(figures.lost.items())
            ),
            len(figures.lost),
        )
    )
    return "\n".join(part for part in parts if part)


def figures_form(trace: Trace, figures: Statistics) -> dict[str, Any]:
    """Return all statistics as JSON; times in ticks of the trace's clock."""
    return {
        "events": figures.events,
        "duration_seconds": _span(trace, figures),
        "event_classes": dict(figures.by_class.most_common()),
        "cpu_time": [
            {"tid": tid, "name": name, "ticks": ticks}
            for tid, name, ticks in _cpu_times(trace, figures)
        ],
        "slices": [
            {"name": one.name, "count": one.count, "total": one.total, "self": one.own}
            for one in figures.slices
        ],
        "gaps": [{"ts": start, "ticks": size} for start, size in figures.gaps],
        "lost_events": [
            {"cpu": cpu if cpu >= 0 else None, "events": known, "unknown": unknown}
            for cpu, (known, unknown) in sorted(figures.lost.items())
        ],
    }


def _cpu_times(trace: Trace, figures: Statistics) -> list[tuple[int, str, int]]:
    """Return thread ids, names and ticks, without idle threads and without those that have no name."""
    names: dict[int, str] = {}
    for thread in trace.threads:
        name = thread.name or trace.processes[thread.process].name
        names[thread.tid] = names.get(thread.tid) or name
    return [
        (tid, names.get(tid, ""), ticks)
        for tid, ticks in figures.cpu_time.most_common()
        if tid > 0 and ticks
    ]


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], in_all: int) -> str:
    table = Table(title=None, box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for number, name in enumerate(columns):
        is_name = name in ("event", "name", "slice")
        table.add_column(
            name,
            justify="left" if is_name else "right",
            no_wrap=True,
            overflow="ellipsis" if is_name or number == 0 else "fold",
        )
    count = 0
    for row in rows:
        table.add_row(*(printable(text) for text in row))
        count += 1
    if not count:
        return ""
    text = io.StringIO()
    console = Console(
        file=text, width=_WIDTH, markup=False, highlight=False, emoji=False, color_system=None
    )
    console.print(table)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    more = f", {in_all - count:,} more (--json has all)" if in_all > count else ""
    return "\n".join(["", f"{title}{more}", *(f"  {line}" for line in lines if line)])


def _span(trace: Trace, figures: Statistics) -> float | None:
    rate = trace.clock.ticks_per_second
    if rate is None or figures.first is None or figures.last is None:
        return None
    return float((figures.last - figures.first) / rate)


def _rate(count: int, span: float | None) -> str:
    return f"{count / span:,.0f}" if span else "-"


def _share(ticks: int, figures: Statistics) -> str:
    if figures.first is None or figures.last is None or figures.last == figures.first:
        return "-"
    return f"{ticks / (figures.last - figures.first):.1%}"


def _unit(trace: Trace) -> str:
    return "ticks" if trace.clock.ticks_per_second is None else "ms"


def _time(ticks: int, trace: Trace) -> str:
    """Format a time in milliseconds, or in ticks if their length is unknown."""
    rate = trace.clock.ticks_per_second
    return f"{ticks:,}" if rate is None else f"{float(ticks * 1000 / rate):,.3f}"
