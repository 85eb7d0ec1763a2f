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
        for line in _lines(part.counts):
            messages.note(f"{source}: {line}")

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
    if counts.unknown_names:
        names = ", ".join(repr(name) for name in counts.unknown_names)
        lines.append(f"no event has a field {names}, which --where asks for")
    return lines
