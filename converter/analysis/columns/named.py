"""The events of some names, for programs that do not know clocks: in nanoseconds."""

from __future__ import annotations

from collections.abc import Iterable

from converter.ir.trace import Trace
from converter.projection.passes.clock_rates import in_nanoseconds
from converter.selection.select import selected
from converter.selection.selection import Selection


def named(trace: Trace, events: Iterable[str]) -> Trace:
    """Return the events of a trace that patterns name (in the syntax of `Selection.events`; all without patterns).

    Events match by the name of their class; slices with names of their own come with their ends. Times, and fields that
    count ticks, are rounded down to nanoseconds, if the length of a tick is known.
    """
    wanted = tuple(events)
    if wanted:
        trace = selected(trace, Selection(events=wanted), pairs_named=False).trace
    return in_nanoseconds(trace)
