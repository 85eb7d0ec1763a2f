"""``--split``: writes the parts of a trace, and prints a table of them."""

from __future__ import annotations

from collections.abc import Sequence

from converter.cli.output.first_events import seconds
from converter.cli.output.tables import table
from converter.errors.terminal import printable
from converter.ir.trace import ClockDomain, Trace
from converter.jobs.splitting import Outputs, SplitPart, split_trace
from converter.projection.losses import LossReport
from converter.selection.parts import Division, TimeLength


def written(
    trace: Trace, division: TimeLength | int | Division, outputs: Outputs, report: LossReport
) -> list[SplitPart]:
    """Write all parts; add the losses of those that are complete to `report`.

    Raises:
        TraceError: for any failure; parts written before it stay.

    """
    parts = []
    for part in split_trace(trace, division, outputs):
        report.include(part.report)
        parts.append(part)
    return parts


def print_parts(parts: Sequence[SplitPart], clock: ClockDomain) -> None:
    """Print a line for each part: its range of times, and its number of events, without those added to restore its
    state.
    """
    rows = [("OUTPUT", "FROM", "TO", "EVENTS", "BYTES")]
    for part in parts:
        first, last = ("-" if ts is None else seconds(ts, clock) for ts in (part.first, part.last))
        rows.append((printable(part.path), first, last, f"{part.events:,}", f"{part.size:,}"))
    for line in table(rows):
        print(line)
    print("1 part" if len(parts) == 1 else f"{len(parts):,} parts")
