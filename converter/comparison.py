"""Comparing two traces, of whichever formats, in the representation.

Both are streamed side by side; what is kept of each is a window of events that the other has not reached in time. Two
events are the same when their fingerprints are (see `converter.ir.fingerprints`). Of the events that only one side
has, those at the same time in the same place of classes of the same name are pairs, whose fields are compared.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack

from converter.comparing.differences import Aspect, TraceDifference
from converter.comparing.events import EventComparison
from converter.comparing.sides import OutOfOrderError
from converter.comparing.tables import compare_sets, compare_tables
from converter.ir.trace import Trace
from converter.reading import open_trace
from converter.storage.opening import SourceArgument

#: Batches that may arrive late: events are in the order of time within so many, or all are kept.
_LATE = 2


def diff(
    first: Trace | SourceArgument, second: Trace | SourceArgument, ignore: Collection[str] = ()
) -> TraceDifference:
    """Compare two traces.

    Args:
        first: one trace, whose batches are read, or an input as `open_trace` takes it.
        second: the other.
        ignore: values of `Aspect`.

    Raises:
        ValueError: there is no such aspect.
        TraceError: as `open_trace` and `Trace.batches` do.

    """
    aspects = frozenset(Aspect(name) for name in ignore)
    with ExitStack() as opened:
        one, other = (
            trace if isinstance(trace, Trace) else opened.enter_context(open_trace(trace))
            for trace in (first, second)
        )
        return _difference(one, other, aspects)


def _difference(first: Trace, second: Trace, aspects: frozenset[Aspect]) -> TraceDifference:
    result = TraceDifference()
    comparison = EventComparison(first, second, aspects, result, late=_LATE)
    try:
        comparison.run()
    except OutOfOrderError:
        # Rare enough for reading again, and for keeping all.
        result = TraceDifference()
        comparison = EventComparison(first, second, aspects, result, late=None)
        comparison.run()
    compare_tables(first, second, aspects, result)
    if Aspect.TYPES not in aspects:
        compare_sets("event class", *comparison.declarations(), result)
    return result
