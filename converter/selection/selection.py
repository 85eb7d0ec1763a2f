"""A selection as users write it, independent of any trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from converter.errors import SelectionError
from converter.errors.advice import advice
from converter.selection.expressions import Clause, parse_clause
from converter.selection.moments import Moment, Span, is_reversed, parse_moment, parse_span, written
from converter.selection.patterns import NamePatterns, check_ids

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    import numpy as np

    #: A time as callers may give it; `Selection` has it as text.
    When = str | float | datetime | timedelta | np.datetime64 | np.timedelta64
    #: Patterns of ids, or the ids themselves.
    Ids = str | int | Iterable[str | int]

#: The options of the command for members of a selection.
_OPTIONS: Final = {"since": "--from", "until": "--to", "last": "--last"}


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The events that are wanted: those that match every member here; a member that is not given matches all.

    A single name, id or condition may be given without a tuple around it, ids also as numbers.

    Args:
        since: the start: a time in seconds as reports print it (``"827.28"``), one relative to the start of the trace
            (``"+1.5s"``), or a date and time (``"2024-05-01 12:00:00.5"``, UTC unless it has another offset). A number
            is in seconds; `datetime` and `timedelta`, also those of NumPy and pandas, are dates, and times after the
            start.
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

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            since: When | None = None,
            until: When | None = None,
            last: When | None = None,
            cpus: int | Iterable[int] = (),
            pids: Ids = (),
            tids: Ids = (),
            comms: str | Iterable[str] = (),
            children: bool = False,
            events: str | Iterable[str] = (),
            where: str | Iterable[str] = (),
            read_all: bool = False,
        ) -> None: ...

    def __post_init__(self) -> None:
        for name in ("pids", "tids", "comms", "events", "where"):
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        object.__setattr__(self, "cpus", _numbers("cpus", self.cpus))
        for name in ("since", "until", "last"):
            object.__setattr__(self, name, written(name, getattr(self, name)))
        # Report errors before anything is read.
        check_ids("process", self.pids)
        check_ids("thread", self.tids)
        if is_reversed(self.start, self.end):
            since, until = (advice(name, _OPTIONS[name]) for name in ("since", "until"))
            raise SelectionError(f"{since} ({self.since}) is after {until} ({self.until})")
        _ = self.clauses, NamePatterns(self.events)

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
                last, since = (advice(name, _OPTIONS[name]) for name in ("last", "since"))
                raise SelectionError(f"{since} and {last} both say where the part starts: give one")
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


def _texts(name: str, given: Any) -> tuple[str, ...]:
    """Return a member that is a list of texts as one, of whatever the caller has given."""
    if isinstance(given, str) or _is_number(given):
        given = (given,)
    items = tuple(given) if isinstance(given, Iterable) else (given,)
    for item in items:
        if not isinstance(item, str) and not (name in ("pids", "tids") and _is_number(item)):
            raise TypeError(f"{name}: expected a text or a list of texts, found {item!r}")
    return tuple(map(str, items))


def _numbers(name: str, given: Any) -> frozenset[int]:
    items = (given,) if _is_number(given) or not isinstance(given, Iterable) else tuple(given)
    for item in items:
        if not _is_number(item):
            raise TypeError(f"{name}: expected a number or a set of numbers, found {given!r}")
    return frozenset(map(int, items))


def _is_number(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)
