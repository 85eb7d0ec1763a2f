"""A selection as users write it, independent of any trace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from converter.errors import SelectionError
from converter.selection.expressions import Clause, parse_clause
from converter.selection.moments import Moment, Span, parse_moment, parse_span


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The events that are wanted: those that match every member here; a member that is not given matches all.

    Args:
        since: the start: a time in seconds as reports print it (``"827.28"``), one relative to the start of the trace
            (``"+1.5s"``), or a date and time (``"2024-05-01 12:00:00.5"``, UTC unless it has another offset).
        until: the end, in the same syntax; events at this time are included.
        last: the duration at the end of the trace (``"5s"``), instead of `since`.
        cpus: numbers of CPUs.
        pids: patterns of process ids; `*`, `?` and `[...]` match characters.
        tids: patterns of thread ids.
        comms: patterns of names of threads, or of their processes.
        children: include the processes that these have forked, and theirs.
        events: patterns of names, ``name`` or ``system:name``; a leading ``!`` excludes events.
        where: conditions, of which one must hold (see docs/command/selections.md).
        read_all: read everything before `since` even if a reader could skip it, so that nothing is missing that is
            open or known from then.

    Raises:
        SelectionError: the syntax is wrong.
    """

    since: str | None = None
    until: str | None = None
    last: str | None = None
    cpus: frozenset[int] = frozenset()
    pids: tuple[str, ...] = ()
    tids: tuple[str, ...] = ()
    comms: tuple[str, ...] = ()
    children: bool = False
    events: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    read_all: bool = False

    def __post_init__(self) -> None:
        # Report errors before anything is read.
        _ = self.start, self.end, self.clauses

    def __bool__(self) -> bool:
        """Return True if it excludes anything."""
        return self.is_timed or self.is_filter

    @property
    def is_timed(self) -> bool:
        """True if it depends on the time of events."""
        return not (self.since is None and self.until is None and self.last is None)

    @property
    def is_filter(self) -> bool:
        """True if it depends on anything other than time."""
        return bool(
            self.cpus or self.pids or self.tids or self.comms or self.events or self.clauses
        )

    @cached_property
    def start(self) -> Moment | Span | None:
        """The start of the selection, or its distance from the end of the trace."""
        if self.last is not None:
            if self.since is not None:
                raise SelectionError("since and last exclude each other")
            return parse_span(self.last)
        return None if self.since is None else parse_moment(self.since)

    @cached_property
    def end(self) -> Moment | None:
        """The end of the selection."""
        return None if self.until is None else parse_moment(self.until)

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """The conditions."""
        return tuple(parse_clause(text) for text in self.where)
