"""select(): returns the wanted part of a trace, as a trace."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from converter.errors import SelectionError, SelectionWarning
from converter.errors.advice import advice, warn_caller
from converter.ir.events import Batch
from converter.ir.trace import Narrowed, Seeking, Trace
from converter.selection.clipping import bounds
from converter.selection.closing import Closing
from converter.selection.conditions import classes_wanted
from converter.selection.cut import Cut, SelectionCounts
from converter.selection.moments import Moment, Origin, Span, Window, first_tick, last_tick, ticks
from converter.selection.open_events import Provenance
from converter.selection.selection import Selection


@dataclasses.dataclass(slots=True)
class Selected:
    """A part of a trace, and the counts of what it has; `counts` is of the batches that were read last."""

    trace: Trace
    counts: SelectionCounts


def select(trace: Trace, selection: Selection) -> Trace:
    """Return the part of a trace that a selection wants, as a trace.

    It contains the state at its start: names, slices that are open, values of counters, the tasks that run. `trace`
    is read when the part is, and must not be closed before.

    Args:
        trace: any trace.
        selection: the events that are wanted.

    Raises:
        SelectionError: when batches are read: the selection uses times that the trace's clock does not know.

    Warns:
        SelectionWarning: when batches have been read: no event that was read has a name, id or CPU that is wanted.
    """
    return selected(trace, selection).trace


def selected(
    trace: Trace, selection: Selection, *, narrow: bool = False, pairs_named: bool = True
) -> Selected:
    """Like `select`, with counts. With `narrow`, the reader may omit, for good, what the part does not need.

    Unless `pairs_named`, ends of classes that have names are kept by their own names, as all other events are,
    rather than by their begins.
    """
    result = Selected(
        dataclasses.replace(
            trace,
            event_classes=list(trace.event_classes),
            # A part has ends of its own for what is open at its edges.
            semantics=dataclasses.replace(trace.semantics, kinds=None),
            filtered=trace.filtered or bool(selection.events or selection.where),
        ),
        SelectionCounts(),
    )
    if not selection:
        return Selected(trace, result.counts)
    part = _Part(trace, selection, result, narrow=narrow, pairs_named=pairs_named)
    result.trace.make_batches = part.batches
    result.trace.source_batches = result.trace.seeking = result.trace.leave_out = None
    if trace.describe is not None:
        result.trace.describe = part.describe
    return result


class _Part:
    def __init__(
        self,
        source: Trace,
        selection: Selection,
        result: Selected,
        *,
        narrow: bool,
        pairs_named: bool,
    ) -> None:
        self._source = source
        self._selection = selection
        self._result = result
        self._closing = Closing(result.trace)
        self._narrow = narrow
        self._pairs_named = pairs_named
        self._window: Window | None = None
        self._narrowed = Narrowed(leaves_out=False, goes_on=False)
        self._latest: tuple[Batch, Provenance] | None = None

    def batches(self) -> Iterator[Batch]:
        source = self._source
        if self._window is None:
            # Resolved once: what the reader is asked to omit then applies to all passes.
            window = self._window = resolved(source, self._selection)
            seeking = _seeking(source)
            narrow = self._narrow and self._selection.is_timed and not self._selection.read_all
            if narrow and seeking is not None:
                self._narrowed = seeking.narrow(*bounds(window))
            if self._narrow and source.is_as_read and source.leave_out is not None:
                wanted = classes_wanted(self._selection, source.event_classes)
                if wanted is not None and source.leave_out(wanted):
                    self._narrowed = self._narrowed._replace(leaves_out=True)
        cut = Cut(
            source,
            self._result.trace,
            self._selection,
            self._window,
            self._closing,
            pairs_named=self._pairs_named,
        )
        self._result.counts = cut.counts
        cut.counts.all_read = not self._narrowed.leaves_out
        batches = source.batches()
        yield from cut.batches(batches, self._came_from, goes_on=self._narrowed.goes_on)
        for remark in cut.counts.unmatched:
            warn_caller(remark, SelectionWarning)

    def describe(self, batch: Batch) -> Callable[[int], str | None]:
        """Return the texts that the source has for the events of the latest batch."""
        if self._latest is None or self._latest[0] is not batch:
            return lambda _: None
        origin = self._latest[1]
        assert self._source.describe is not None, "the trace has been closed"
        describe = self._source.describe(origin.batch)
        return lambda position: describe(int(origin.places[position]))

    def _came_from(self, batch: Batch, origin: Provenance) -> None:
        self._latest = (batch, origin)


def resolved(trace: Trace, selection: Selection) -> Window:
    """Return the times that a selection wants, in ticks of a trace's clock. Reads the trace if they are relative to
    its ends.

    Raises:
        SelectionError: the clock does not know such times.
    """
    start, end = selection.start, selection.end
    origin = 0
    moments = (start, end)
    if any(isinstance(one, Moment) and one.origin is Origin.START for one in moments):
        origin = _first_time(trace)
    last = None if end is None else last_tick(end, trace.clock, origin)
    if isinstance(start, Moment) and end is not None and start.origin is not end.origin:
        _check_order(first_tick(start, trace.clock, origin), last, selection)
    if isinstance(start, Span):
        latest = _last_time(trace) if last is None else last
        return Window(latest - ticks(start.seconds, trace.clock), last)
    return Window(None if start is None else first_tick(start, trace.clock, origin), last)


def _check_order(start: int, end: int | None, selection: Selection) -> None:
    """Refuse times of different origins that are reversed."""
    if end is not None and start > end + 1:
        since, until = advice("since", "--from"), advice("until", "--to")
        raise SelectionError(
            f"{since} ({selection.since}) is after {until} ({selection.until}) in this trace"
        )


def _first_time(trace: Trace) -> int:
    """Return the time of the first event: the earliest of the first batch that has a time."""
    seeking = _seeking(trace)
    known = None if seeking is None else seeking.first()
    if known is not None:
        return known
    for batch in trace.batches():
        ts = _times(trace, batch)
        if len(ts):
            return int(ts.min())
    return 0


def _last_time(trace: Trace) -> int:
    seeking = _seeking(trace)
    known = None if seeking is None else seeking.last()
    if known is not None:
        return known
    last = 0
    for number, batch in enumerate(trace.batches()):
        ts = _times(trace, batch)
        if len(ts):
            last = int(ts.max()) if number == 0 else max(last, int(ts.max()))
    return last


def _seeking(trace: Trace) -> Seeking | None:
    """Return the reader's seeking, if the trace is still the one that it reads."""
    return trace.seeking if trace.is_as_read else None


def _times(trace: Trace, batch: Batch) -> np.ndarray:
    timed = np.array([event_class.timed for event_class in trace.event_classes], np.bool_)
    return batch.ts if timed.all() else batch.ts[timed[batch.class_id]]
