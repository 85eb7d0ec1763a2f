"""What is wanted of a trace, as somebody says it. Nothing of it depends on the trace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from converter.errors import SelectionError
from converter.selection.expressions import Clause, parse_clause
from converter.selection.moments import Moment, Span, parse_moment, parse_span


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What is wanted of a trace: events that every member here wants, which is any where it says nothing.

    Args:
        since: from when on: a time in seconds as reports print it (``"827.28"``), one behind the start of the trace
            (``"+1.5s"``), or a date and time (``"2024-05-01 12:00:00.5"``, UTC unless it says another offset).
        until: until when, likewise; events at this time are wanted.
        last: how much of the end of the trace (``"5s"``), in place of `since`.
        cpus: numbers of CPUs.
        pids: patterns of process ids; `*`, `?` and `[...]` stand for characters.
        tids: patterns of thread ids.
        comms: patterns of names of threads, or of their processes.
        children: with the processes that these have forked, and theirs.
        events: patterns of names, ``name`` or ``system:name``; those that begin with ``!`` are not wanted.
        where: conditions, of which one is to hold (see docs/cli.md).
        read_all: to read all that is before `since` also where a reader could do without, so that nothing is
            missing that is open or known from then.

    Raises:
        SelectionError: it is not written like this.

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
        # What is wrong with it is said before anything is read.
        _ = self.start, self.end, self.clauses

    def __bool__(self) -> bool:
        """Whether it leaves out anything."""
        return self.is_timed or self.is_filter

    @property
    def is_timed(self) -> bool:
        """Whether it depends on the time of events."""
        return not (self.since is None and self.until is None and self.last is None)

    @property
    def is_filter(self) -> bool:
        """Whether it depends on anything else."""
        return bool(
            self.cpus or self.pids or self.tids or self.comms or self.events or self.clauses
        )

    @cached_property
    def start(self) -> Moment | Span | None:
        """The first moment that is wanted, or how long before the end it is."""
        if self.last is not None:
            if self.since is not None:
                raise SelectionError("since and last exclude each other")
            return parse_span(self.last)
        return None if self.since is None else parse_moment(self.since)

    @cached_property
    def end(self) -> Moment | None:
        """The last moment that is wanted."""
        return None if self.until is None else parse_moment(self.until)

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """The conditions."""
        return tuple(parse_clause(text) for text in self.where)
