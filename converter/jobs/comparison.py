"""Compares two traces, of whichever formats, in the representation.

Both are streamed side by side; of each, only a window is kept: events that the other has not reached in time. Two
events are the same when their fingerprints are (see `converter.ir.fingerprints`). Of the events that only one trace
has, those at the same time, on the same track, thread or CPU, and of classes of the same name are paired, and their
fields are compared.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack

from converter.errors import ArgumentError
from converter.ir.trace import Trace
from converter.jobs.comparing.declarations import compare_declarations
from converter.jobs.comparing.differences import Aspect, TraceDifference
from converter.jobs.comparing.events import EventComparison
from converter.jobs.comparing.sides import OutOfOrderError
from converter.jobs.comparing.tables import compare_tables
from converter.jobs.reading import open_trace
from converter.storage.opening import SourceArgument

#: The number of batches that may arrive late: if events are not in the order of time within them, all are kept.
_LATE = 2


def diff(
    first: Trace | SourceArgument, second: Trace | SourceArgument, ignore: Collection[str] = ()
) -> TraceDifference:
    """Compare two traces.

    Args:
        first: one trace, whose batches are read, or an input as `open_trace` accepts it.
        second: the other.
        ignore: values of `Aspect`.

    Raises:
        ArgumentError: there is no such aspect.
        TraceError: as `open_trace` and `Trace.batches` do.

    """
    for name in ignore:
        if name not in [*Aspect]:
            raise ArgumentError(f"no aspect {name!r} can be ignored; there are {', '.join(Aspect)}")
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
        # Rare enough to read both again, and to keep everything.
        result = TraceDifference()
        comparison = EventComparison(first, second, aspects, result, late=None)
        comparison.run()
    compare_tables(first, second, aspects, result)
    if Aspect.TYPES not in aspects:
        compare_declarations(*comparison.classes(), result)
    return result
