"""A message about how much of a trace a selection has kept."""

from __future__ import annotations

from collections.abc import Callable

from converter.cli.output import messages
from converter.ir.trace import Trace
from converter.selection.cut import SelectionCounts
from converter.selection.select import selected
from converter.selection.selection import Selection


def part_of(trace: Trace, selection: Selection | None) -> tuple[Trace, Callable[[str], None]]:
    """Return the selected part of a trace, and a function that prints its size on standard error once it is read."""
    if selection is None:
        return trace, lambda _: None
    part = selected(trace, selection, narrow=True)

    def say(source: str) -> None:
        counts = part.counts
        for line in _lines(counts):
            messages.note(f"{source}: {line}")
        for line in counts.unmatched or _nothing_kept(part.trace, counts, selection):
            messages.warning(f"warning: {source}: {line}")

    return part.trace, say


def _lines(counts: SelectionCounts) -> list[str]:
    of = f"of {counts.read:,}" if counts.all_read else f"of {counts.read:,} that were read"
    line = f"kept {counts.kept:,} {of} events"
    if not counts.all_read:
        line = f"kept {counts.kept:,} events {of}"
    if counts.added:
        line += f", and added {counts.added:,} for what is open where the part begins or ends"
    lines = [line]
    if counts.cut_flows:
        lines.append(f"{counts.cut_flows:,} flows begin or end outside: their arrows are missing")
    return lines


def _nothing_kept(trace: Trace, counts: SelectionCounts, selection: Selection) -> list[str]:
    """Return why a part is empty, although all that the selection names is there."""
    if counts.kept or counts.added or not counts.read:
        return []
    rate = trace.clock.ticks_per_second
    if selection.is_timed and counts.all_read and rate is not None and counts.first is not None:
        assert counts.last is not None, "there is a first"
        first, last = (f"{float(tick / rate):.6f}" for tick in (counts.first, counts.last))
        return [f"no event is in this time: the trace is from {first} to {last} s"]
    return ["no event matches the selection"]
