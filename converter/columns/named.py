"""The events of some names, as programs want them that know no clocks: in nanoseconds."""

from __future__ import annotations

from collections.abc import Iterable

from converter.ir.trace import Trace
from converter.projection.clock_rates import in_nanoseconds
from converter.selection.select import select
from converter.selection.selection import Selection


def named(trace: Trace, events: Iterable[str]) -> Trace:
    """The events of a trace that patterns name (as `Selection.events` has them; all where there are none).

    Times, and fields that count ticks, are rounded down to nanoseconds, where somebody knows how long a tick is.
    """
    wanted = tuple(events)
    return in_nanoseconds(select(trace, Selection(events=wanted)) if wanted else trace)
