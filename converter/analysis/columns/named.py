"""The events of some names, for programs that do not know clocks: in nanoseconds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain

from converter.analysis.columns.field_columns import COMMON
from converter.errors import SelectionWarning
from converter.errors.advice import warn_caller
from converter.ir.trace import Trace
from converter.projection.passes.clock_rates import in_nanoseconds
from converter.selection.select import selected
from converter.selection.selection import Selection
from converter.selection.unmatched import unmatched_fields


def named(trace: Trace, events: Iterable[str | Iterable[str]]) -> Trace:
    """Return the events of a trace that patterns name (in the syntax of `Selection.events`; all without patterns).

    Events match by the name of their class; slices with names of their own come with their ends. Times, and fields that
    count ticks, are rounded down to nanoseconds, if the length of a tick is known.
    """
    wanted = [*chain.from_iterable((one,) if isinstance(one, str) else one for one in events)]
    if wanted:
        trace = selected(trace, Selection(events=wanted), pairs_named=False).trace
    return in_nanoseconds(trace)


class Fields:
    """The names of the fields that are wanted: a text is one name; None means all."""

    def __init__(self, trace: Trace, names: Collection[str] | None) -> None:
        self._trace = trace
        self._names = (names,) if isinstance(names, str) else names
        self._found: set[str] = set()

    def __contains__(self, name: object) -> bool:
        if self._names is None:
            return True
        if name not in self._names:
            return False
        self._found.add(str(name))
        return True

    def warn(self) -> None:
        """Warn of names that no field has had."""
        missing = sorted({*(self._names or ())} - self._found - {*COMMON})
        for remark in unmatched_fields(missing, self._trace):
            warn_caller(remark, SelectionWarning)
