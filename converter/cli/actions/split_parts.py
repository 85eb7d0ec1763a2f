"""``--split``: the parts of a trace, and the table of them."""

from __future__ import annotations

from collections.abc import Sequence

from converter.cli.output.first_events import seconds
from converter.cli.output.tables import table
from converter.ir.text import printable
from converter.ir.trace import ClockDomain, Trace
from converter.projection.losses import LossReport
from converter.selection.parts import Division, TimeLength
from converter.splitting import Outputs, SplitPart, split_trace


def written(
    trace: Trace, division: TimeLength | int | Division, outputs: Outputs, report: LossReport
) -> list[SplitPart]:
    """Write all parts; `report` gets the losses of those that are complete.

    Raises:
        TraceError: of what went wrong; what was written before stays.

    """
    parts = []
    for part in split_trace(trace, division, outputs):
        report.include(part.report)
        parts.append(part)
    return parts


def print_parts(parts: Sequence[SplitPart], clock: ClockDomain) -> None:
    """What was written, a line each: the times that a part is of, and its events without those that say its state."""
    rows = [("OUTPUT", "FROM", "TO", "EVENTS", "BYTES")]
    for part in parts:
        first, last = ("-" if ts is None else seconds(ts, clock) for ts in (part.first, part.last))
        rows.append((printable(part.path), first, last, f"{part.events:,}", f"{part.size:,}"))
    for line in table(rows):
        print(line)
    print("1 part" if len(parts) == 1 else f"{len(parts):,} parts")
