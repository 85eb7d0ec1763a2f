"""The events of some names, as programs want them that know no clocks: in nanoseconds."""

from __future__ import annotations

from collections.abc import Iterable

from converter.ir.trace import Trace
from converter.projection.passes.clock_rates import in_nanoseconds
from converter.selection.select import selected
from converter.selection.selection import Selection


def named(trace: Trace, events: Iterable[str]) -> Trace:
    """The events of a trace that patterns name (as `Selection.events` has them; all where there are none).

    Those of a class are all that are called so, and no others; slices with names of their own come with their ends.
    Times, and fields that count ticks, are rounded down to nanoseconds, where somebody knows how long a tick is.
    """
    wanted = tuple(events)
    if wanted:
        trace = selected(trace, Selection(events=wanted), pairs_named=False).trace
    return in_nanoseconds(trace)
