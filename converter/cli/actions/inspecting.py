"""``traceconv info IN``."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from converter.cli.options.merging import print_inputs
from converter.cli.output.progress import Progress
from converter.cli.output.selected_part import part_of
from converter.errors.terminal import printable
from converter.ir.distinct_values import counts_of
from converter.ir.events import Batch, EventClass, class_label
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.jobs.reading import open_trace
from converter.selection.selection import Selection
from converter.storage.locations import shown_input

#: The most processes, threads and classes that are listed for people to read.
_LISTED = 20

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class _Summary:
    """Counts taken while the trace was read. Times are ticks of its clock."""

    events: int = 0
    first: int | None = None
    last: int | None = None
    cpus: set[int] = field(default_factory=set)
    by_class: Counter[str] = field(default_factory=Counter)
    by_thread: Counter[int] = field(default_factory=Counter)
    discarded: int = 0
    discarded_unknown: int = 0

    def add(self, trace: Trace, batch: Batch) -> None:
        self.events += len(batch)
        for number, table in batch.tables.items():
            event_class = trace.event_classes[number]
            self.by_class[class_label(event_class)] += len(table)
            if event_class.kind is Kind.DISCARDED:
                known, unknown = _counts(event_class, batch, number)
                self.discarded += known
                self.discarded_unknown += unknown
        timed = np.array([event_class.timed for event_class in trace.event_classes], np.bool_)
        ts = batch.ts if timed.all() else batch.ts[timed[batch.class_id]]
        if len(ts):
            first, last = int(ts.min()), int(ts.max())
            self.first = first if self.first is None else min(self.first, first)
            self.last = last if self.last is None else max(self.last, last)
        self.cpus |= counts_of(batch.cpu).keys() - {-1}
        self.by_thread.update(counts_of(batch.thread))


def run(
    source: str,
    source_format: str | None,
    reader_options: dict[str, str],
    *,
    as_json: bool,
    events: int | None = None,
    stats: bool = False,
    timeline: bool = False,
    selection: Selection | None = None,
) -> None:
    """Read the trace and print a summary, with the first `events` events if requested.

    Raises:
        TraceError: it cannot be read.

    """
    summary = _Summary()
    with open_trace(source, source_format, reader_options) as whole:
        trace, say = part_of(whole, selection)
        with Progress(shown=True) as progress:
            progress.watch(trace)
            for batch in trace.batches():
                summary.add(trace, batch)
        print_inputs(trace)
        report = _report(trace, summary)
        figures = ""
        if stats:
            figures = _add_figures(trace, report)
        if timeline:
            figures += _add_timeline(trace, report)
        text = json.dumps(report, indent=2) if as_json else _text(source, report) + figures
        if events is None:
            print(text)
        elif as_json:
            _print_json_events(text, trace, events)
        else:
            _print_events(text, trace, events)
    say(shown_input(source))


def _add_figures(trace: Trace, report: dict[str, Any]) -> str:
    """Compute statistics; add them to the report for programs, and return them as text for people."""
    from converter.analysis.statistics.measure import measure
    from converter.cli.output.figures import figures_form, figures_text

    figures = measure(trace)
    report["statistics"] = figures_form(trace, figures)
    return f"\n\n{figures_text(trace, figures)}"


def _add_timeline(trace: Trace, report: dict[str, Any]) -> str:
    """Compute how busy CPUs and threads are; add it to the report, and return it as text."""
    from converter.cli.output.timeline_text import timeline_form, timeline_of, timeline_text

    shares = timeline_of(trace)
    report["timeline"] = timeline_form(shares)
    return f"\n\n{timeline_text(shares)}"


def _print_events(text: str, trace: Trace, count: int) -> None:
    """Print the summary and the first events. They are read again: only now are all names known, and none is stored."""
    from converter.cli.output.first_events import first_events

    print(text)
    for number, event in enumerate(first_events(trace, count)):
        if number == 0:
            print("\nfirst events: seconds, CPU, thread, class, text")
        print(f"  {event.line()}")


def _print_json_events(text: str, trace: Trace, count: int) -> None:
    """Print the object `text` with one more member, the events; again only one event is in memory at a time."""
    from converter.cli.output.first_events import first_events

    print(text.removesuffix("\n}"), end=',\n  "first_events": [')
    for number, event in enumerate(first_events(trace, count)):
        print(f"{',' if number else ''}\n    {json.dumps(event.as_json())}", end="")
    print("\n  ]\n}")


def _report(trace: Trace, summary: _Summary) -> dict[str, Any]:
    clock = trace.clock
    rate = clock.ticks_per_second
    span = None
    if summary.first is not None and summary.last is not None and rate is not None:
        span = float((summary.last - summary.first) / rate)
    return {
        "format": f"{trace.format}+{trace.variant}" if trace.variant else trace.format,
        "clock": {
            "name": clock.name,
            "ticks_per_second": None if rate is None else str(rate),
            "epoch_ns": clock.epoch_ns,
            "description": clock.description,
        },
        "first_ts": summary.first,
        "last_ts": summary.last,
        "start": _start(trace, summary.first),
        "duration_seconds": span,
        "events": summary.events,
        "discarded_events": summary.discarded,
        "discarded_unknown": summary.discarded_unknown,
        "cpus": sorted(summary.cpus),
        "processes": [
            {"pid": process.pid, "name": process.name, "parent_pid": process.parent_pid}
            for process in trace.processes
        ],
        "threads": [
            {
                "pid": trace.processes[thread.process].pid,
                "tid": thread.tid,
                "name": thread.name,
                "events": summary.by_thread[number],
            }
            for number, thread in enumerate(trace.threads)
        ],
        "tracks": len(trace.tracks),
        "event_classes": dict(summary.by_class.most_common()),
        "environment": dict(trace.environment),
        "warnings": [warning.detail for warning in trace.warnings],
    }


def _start(trace: Trace, first: int | None) -> str | None:
    """Return the time of the first event as text, if the clock has an epoch."""
    clock = trace.clock
    if clock.epoch_ns is None or clock.ticks_per_second is None or first is None:
        return None
    nanoseconds = clock.epoch_ns + int(first * 10**9 / clock.ticks_per_second)
    try:
        return (_EPOCH + timedelta(microseconds=nanoseconds // 1000)).isoformat()
    except OverflowError:
        return None


def _text(source: str, report: dict[str, Any]) -> str:
    clock = report["clock"]
    rate = clock["ticks_per_second"]
    lines = [
        ("file", shown_input(source)),
        ("format", report["format"]),
        ("clock", f"{clock['name']}, {rate or 'unknown'} ticks per second"),
    ]
    if report["start"] is not None:
        lines.append(("start", report["start"]))
    if report["duration_seconds"] is not None:
        lines.append(("duration", f"{report['duration_seconds']:.9f} s"))
    lines.append(("events", f"{report['events']:,}"))
    if report["discarded_events"] or report["discarded_unknown"]:
        lost = f"{report['discarded_events']:,} events"
        if report["discarded_unknown"]:
            lost += f", and an unknown number {report['discarded_unknown']:,} times"
        lines.append(("discarded", lost))
    lines.append(("cpus", _ranges(report["cpus"]) or "none named"))
    text = [f"{key:<10} {printable(item)}" for key, item in lines]
    text += _listing(
        "facts about the system and the recorder",
        [f"{key}: {item}" for key, item in report["environment"].items()],
    )
    text += _listing(
        "event classes: events, name",
        [f"{count:>12,}  {name}" for name, count in report["event_classes"].items()],
    )
    text += _listing(
        "processes: pid, name",
        [f"{process['pid']:>12}  {process['name']}" for process in report["processes"]],
    )
    busiest = sorted(report["threads"], key=lambda thread: -int(thread["events"]))
    text += _listing(
        "threads: tid, events, name",
        [f"{thread['tid']:>12}  {thread['events']:>12,}  {thread['name']}" for thread in busiest],
    )
    text += _listing("warnings", report["warnings"])
    return "\n".join(text)


def _listing(title: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    more = len(lines) - _LISTED
    rest = [f"  and {more:,} more (--json lists them)"] if more > 0 else []
    return [
        "",
        f"{len(lines):,} {title}",
        *(f"  {printable(line)}" for line in lines[:_LISTED]),
        *rest,
    ]


def _counts(event_class: EventClass, batch: Batch, number: int) -> tuple[int, int]:
    """Return the events that the records of a class of discarded events count, and the number of records without a
    count (-1).
    """
    table = batch.tables[number]
    index = event_class.index_of(Role.COUNT)
    column = None if index is None else table.column(index)
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
        known = [count for count in column.tolist() if count >= 0]
        return sum(known), len(column) - len(known)
    return 0, len(table)


def _ranges(numbers: list[int]) -> str:
    """Format sorted numbers as ranges, such as 0-3, 5."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)
