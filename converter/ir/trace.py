"""The trace: everything that events refer to, and the stream of batches."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from enum import IntEnum, unique
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

from converter.errors import ClosedError, TraceWarning
from converter.ir.events import Batch, EventClass
from converter.ir.hooks import HOOKS
from converter.ir.semantics import DEFAULT, Semantics
from converter.ir.symbols import SymbolTable
from converter.kernels.tables.strings import StringTable

if TYPE_CHECKING:
    from converter.ir.display.trace_event import TraceEvent
    from converter.ir.event_columns import EventColumns

#: Less is not worth what there is to do for each.
_LEAST_BATCH = 1 << 12
_LEAST_WINDOW = 1 << 16


@dataclass(frozen=True, slots=True)
class ClockDomain:
    """A clock, in whose ticks times are given.

    `ticks_per_second` is exact, or None where the unit is unknown (a bare counter, an uncalibrated TSC). `epoch_ns` is
    the time of tick 0 in nanoseconds since 1970-01-01 UTC, where known.
    """

    name: str
    ticks_per_second: Fraction | None = Fraction(1_000_000_000)
    epoch_ns: int | None = None
    description: str = ""


NANOSECONDS = ClockDomain("ns")

# Fraction takes exponents too, and as many digits as there are: to compute with such would never end.
_RATE = re.compile(r"[1-9]\d{0,40}(/[1-9]\d{0,40})?", re.ASCII)


def parse_rate(text: object) -> Fraction:
    """The ticks per second of a clock that a file gives as the text of a fraction, "1000000000" or "1000/3".

    Raises:
        ValueError: it is none, or has more digits than any clock needs.

    """
    if not isinstance(text, str) or not _RATE.fullmatch(text):
        raise ValueError("a clock's rate is no fraction")
    return Fraction(text)


#: What errors expect of the epoch of a clock.
MOST_FROM_1970 = "at most 292 years from 1970"


def known_epoch(nanoseconds: int) -> int | None:
    """The epoch of a clock that a file leads to, None where it is out of all bounds: 64 bits are 292 years each way."""
    return nanoseconds if -(1 << 63) <= nanoseconds < 1 << 63 else None


def parse_epoch(value: object) -> int:
    """The epoch of a clock, in nanoseconds, that a file gives.

    Raises:
        ValueError: it is no integer of 64 bits.

    """
    if not isinstance(value, int) or known_epoch(value) is None:
        raise ValueError("a clock's epoch is no integer of 64 bits")
    return value


@dataclass(slots=True)
class Process:
    """A process. `pid` is its 64-bit identity in the source; `name` may be filled in while reading."""

    pid: int
    name: str = ""
    parent_pid: int | None = None
    command_line: tuple[str, ...] = ()


@dataclass(slots=True)
class Thread:
    """A thread. `process` is an index into `Trace.processes` and never changes once a batch refers to the thread."""

    tid: int
    process: int
    name: str = ""


@unique
class TrackScope(IntEnum):
    """The owner's kind of a track; `Track.owner` is the index of that thread or process, or the CPU's number."""

    GLOBAL = 0
    PROCESS = 1
    THREAD = 2
    CPU = 3


@dataclass(frozen=True, slots=True)
class Track:
    """A line of the timeline. An event with track -1 is on its thread's own track, or its CPU's if it has no thread."""

    name: str
    scope: TrackScope = TrackScope.GLOBAL
    owner: int = -1
    parent: int = -1
    unit: str = ""
    identity: int = 0


class Narrowed(NamedTuple):
    """The omissions of a filtered read: whether there are any, and whether they include events after the last requested
    one.
    """

    leaves_out: bool
    goes_on: bool


class Seeking(Protocol):
    """Access to a part of a reader's source without reading all of it."""

    def first(self) -> int | None:
        """The time of the first event, None where that takes reading the events."""

    def last(self) -> int | None:
        """Return the time of the last event; None if that requires reading the events."""

    def narrow(self, start: int, end: int) -> Narrowed:
        """Leave out, from now on, events that are not needed for those from `start` to `end`.

        Asked for before batches are. There are more events than that, some of them before `start`: much of what is so
        then is known. Tables have what is in the source's own tables and what these events say.
        """


class Origin(NamedTuple):
    """The source that was opened: its name, the reader's options, and the trace's tables at that time.

    `travelled` says that it was embedded in another format's file, and must be restored from there unchanged.
    """

    name: str
    options: Mapping[str, str]
    travelled: bool
    tables: tuple[Any, ...]


def _closed() -> Iterator[Batch]:
    raise ClosedError("the trace is closed")


class _Opened:
    """The input that is closed with a trace, and the contexts that hold in its ``with`` statement.

    Only this has a finalizer, so that other traces cost nothing when they are collected.
    """

    def __init__(
        self, trace: Trace, stack: ExitStack, contexts: tuple[AbstractContextManager[None], ...]
    ) -> None:
        self._trace = trace
        self._contexts = contexts
        self.stack = stack

    def enter_contexts(self) -> None:
        """Have the contexts hold until the stack is closed; once."""
        contexts, self._contexts = self._contexts, ()
        for context in contexts:
            self.stack.enter_context(context)

    def __del__(self) -> None:
        # An interrupt can come before it is made.
        trace = getattr(self, "_trace", None)
        if trace is not None and trace._opened is self:  # noqa: SLF001 - nobody has closed it
            warnings.warn(f"{trace!r} was not closed", ResourceWarning, source=trace, stacklevel=2)
            trace.close()


@dataclass(slots=True, repr=False)
class Trace:
    """A trace as it streams.

    The tables only grow: an index that a batch uses is in its table before the batch is yielded, and what it
    identifies never changes (a name may be filled in later). `batches` may be iterated again: it then reads again.
    """

    format: str
    #: Of the format, as its descriptor spells it; empty where it has none or the usual one.
    variant: str = ""
    #: What events mean where formats differ.
    semantics: Semantics = DEFAULT
    clock: ClockDomain = NANOSECONDS
    clock_domains: list[ClockDomain] = field(default_factory=list)
    strings: StringTable = field(default_factory=StringTable)
    processes: list[Process] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    tracks: list[Track] = field(default_factory=list)
    event_classes: list[EventClass] = field(default_factory=list)
    environment: dict[str, str | int] = field(default_factory=dict)
    symbols: SymbolTable | None = None
    #: By format: what only that format has, as JSON-like values and bytes. Its writer replays it, no other reads it.
    sidecar: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: By format: what of its sidecar its viewers show and nothing else of the trace says, with how often.
    sidecar_shown: dict[str, Counter[str]] = field(default_factory=dict)
    #: By format: entries of its sidecar that only its own tools show, with their counts.
    sidecar_details: dict[str, Counter[str]] = field(default_factory=dict)
    #: What viewers show of the records that events were read from, and the events do not say, with how often.
    records_shown: Counter[str] = field(default_factory=Counter)
    #: Names of classes of NATIVE records that only say how the recording was made, which no other format needs. Where
    #: there are such, the format's viewers show the others.
    bookkeeping: frozenset[str] = frozenset()
    warnings: list[TraceWarning] = field(default_factory=list)
    #: Makes the iterator; set by the reader or filter that made the trace.
    make_batches: Callable[[], Iterator[Batch]] = lambda: iter(())
    #: The `make_batches` of the reader, where a writer may want to know whether the trace still has it.
    source_batches: Callable[[], Iterator[Batch]] | None = None
    #: What was opened, where a reader has made the trace of it.
    origin: Origin | None = None
    #: Makes of a batch that `batches` has just given the function that gives, by position in it, the text that the
    #: source itself has for an event (None: it has none). For a batch whose columns were decoded it may have none.
    describe: Callable[[Batch], Callable[[int], str | None]] | None = None
    #: Looks for damage that no pass over the batches has come to, as where a writer copies the source's files: of all
    #: events (True), or only of what is around them (False). What it finds is among the warnings then.
    check: Callable[[bool], None] | None = None
    #: Makes of this trace, or of one made from it, one with arguments in place of what only the format's own writer
    #: can use; its second argument is called with what these do not say, how often, and the first time of it.
    explain: Callable[[Trace, Callable[[str, int, int], None]], Trace] | None = None
    #: The number of traces that are read at the same time as this one: all readers together use as much memory as one
    #: would, as far as they control it.
    readers: int = 1
    #: For display: (done, in all), in bytes of the source or whatever the reader counts; in all 0 when unknown.
    progress: Callable[[], tuple[int, int]] | None = None

    #: Classes of tracepoints that programs have recorded themselves, where the source says so; any other may be a
    #: kernel's.
    of_programs: set[EventClass] = field(default_factory=set)
    #: Whether the reader has looked for names of threads in the events; otherwise these may name some that the tables
    #: do not.
    names_from_events: bool = False
    #: Whether columns of several tables of a batch may be decoded at once, by threads of their own.
    decodes_in_parallel: bool = False
    #: Whether the reader gives batches in the order of time: none has an event earlier than all of one before.
    in_time_order: bool = False
    #: The same without events that the format's document has in another format: its writer keeps them as they are.
    document: Trace | None = None
    #: Where the reader can leave out what is not asked for.
    seeking: Seeking | None = None
    #: Skips events of classes that are not wanted, from now on; returns True if there are any.
    leave_out: Callable[[Callable[[EventClass], bool]], bool] | None = None
    #: True for a part whose events were chosen by what they are, not by time or thread alone.
    filtered: bool = False
    #: Asks the reader to keep the records of events, which the same format's writer copies into parts of the trace.
    keep_records: Callable[[], None] | None = None

    #: The input that it was opened from, and is closed with it.
    _opened: _Opened | None = field(default=None, init=False, repr=False, compare=False)

    def batches(self) -> Iterator[Batch]:
        """Decode batch after batch, in stream order.

        Raises:
            TraceError: the source is damaged before its first usable event.

        """
        return self.make_batches()

    def events(
        self, *patterns: str | Iterable[str], fields: Collection[str] | None = None
    ) -> EventColumns:
        """The columns of the events that are wanted, in memory (see docs/library.md).

        Args:
            *patterns: patterns of names (``"sched_switch"``, ``"irq:*"``), or lists of them; all events where there are
                none.
            fields: names of the columns of fields that are wanted; all by default.

        Raises:
            TraceError: the source is damaged before its first usable event.

        """
        columns: EventColumns = HOOKS["columns"]()(self, patterns, fields)
        return columns

    def stream_events(
        self, *patterns: str | Iterable[str], fields: Collection[str] | None = None
    ) -> Iterator[EventColumns]:
        """Return the same batch by batch, for batches with such events: memory is bounded by a batch.

        Args:
            *patterns: as for `events`.
            fields: as for `events`.

        Raises:
            TraceError: when the next is requested: the source is damaged before its first usable event.
        """
        stream: Iterator[EventColumns] = HOOKS["column_stream"]()(self, patterns, fields)
        return stream

    def iter_events(
        self, *patterns: str | Iterable[str], fields: Collection[str] | None = None
    ) -> Iterator[TraceEvent]:
        """Yield the events that are wanted one by one, in the order of the trace: for scripts (see docs/library.md).

        Args:
            *patterns: as for `events`.
            fields: as for `events`.

        Raises:
            TraceError: as for `stream_events`.
        """
        events: Iterator[TraceEvent] = HOOKS["rows"]()(self, patterns, fields)
        return events

    def slices(self) -> EventColumns:
        """Return all slices as columns: ``ts``, ``dur``, ``name``, ``category``, ``depth`` and where they are.

        The columns and their units are in docs/library.md; names are those of Perfetto's tables.

        Raises:
            TraceError: the source is damaged before its first usable event.
        """
        table: EventColumns = HOOKS["slices"]()(self)
        return table

    def counters(self) -> EventColumns:
        """Return all values of counters as columns: ``ts``, ``name``, ``value``, ``unit`` and where they are.

        The columns and their units are in docs/library.md; names are those of Perfetto's tables.

        Raises:
            TraceError: the source is damaged before its first usable event.
        """
        table: EventColumns = HOOKS["counters"]()(self)
        return table

    def samples(self) -> EventColumns:
        """Return all samples of call stacks as columns: ``ts``, ``stack`` and where they are.

        The columns and their units are in docs/library.md; names are those of Perfetto's tables.

        Raises:
            TraceError: the source is damaged before its first usable event.
        """
        table: EventColumns = HOOKS["samples"]()(self)
        return table

    def sched(self) -> EventColumns:
        """Return what ran on each CPU as columns: ``ts``, ``dur``, ``cpu``, ``tid``, ``end_state``, ``priority``.

        The columns and their units are in docs/library.md; names are those of Perfetto's tables.

        Raises:
            TraceError: the source is damaged before its first usable event.
        """
        table: EventColumns = HOOKS["sched"]()(self)
        return table

    def thread_states(self) -> EventColumns:
        """Return the states of threads as columns: ``ts``, ``dur``, ``state``, ``cpu``, ``tid``, ``waker_tid``.

        The columns and their units are in docs/library.md; names are those of Perfetto's tables.

        Raises:
            TraceError: the source is damaged before its first usable event.
        """
        table: EventColumns = HOOKS["thread_states"]()(self)
        return table

    def thread(self, tid: int, pid: int | None = None) -> Thread:
        """The thread of this number, as known by now.

        Args:
            tid: its number.
            pid: that of its process, where the number is of threads of several.

        Raises:
            LookupError: there is none, or there are several.

        """
        found = [
            thread
            for thread in self.threads
            if thread.tid == tid and pid in (None, self.processes[thread.process].pid)
        ]
        if len(found) == 1:
            return found[0]
        of = "" if pid is None else f" of process {pid}"
        if not found:
            raise LookupError(f"no thread {tid}{of} (before events are read, few may be known)")
        pids = sorted({self.processes[thread.process].pid for thread in found})
        which = (
            f"of processes {', '.join(map(str, pids))}: name one" if not of else "of this number"
        )
        raise LookupError(f"{len(found)} threads {tid}{of}, {which}")

    def to_arrow(self, *patterns: str | Iterable[str]) -> Any:
        """A `pyarrow.Table` of the events that are wanted: a row an event, a column a field (see docs/arrow.md).

        Args:
            *patterns: as `events` takes them.

        Raises:
            ModuleNotFoundError: PyArrow is not installed.
            TraceError: the source is damaged before its first usable event.

        """
        return HOOKS["table"]()(self, patterns)

    def to_arrow_reader(self, *patterns: str | Iterable[str]) -> Any:
        """The same as a `pyarrow.RecordBatchReader`, whose memory is bounded by a batch: the trace is read twice.

        Args:
            *patterns: as `events` takes them.

        Raises:
            ModuleNotFoundError: PyArrow is not installed.
            TraceError: the source is damaged before its first usable event.

        """
        return HOOKS["table_reader"]()(self, patterns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All events as a stream of Arrow's (PyCapsule interface), for whatever takes one: Polars, DuckDB, pandas."""
        return self.to_arrow_reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """The trace in one line; its tables may have millions of entries."""
        variant = f"+{self.variant}" if self.variant else ""
        return (
            f"<Trace {self.format}{variant}: {len(self.event_classes)} event classes, "
            f"{len(self.threads)} threads of {len(self.processes)} processes, "
            f"{len(self.tracks)} tracks, clock {self.clock.name}>"
        )

    @property
    def is_as_read(self) -> bool:
        """True if the events are all those of the source, unchanged, as far as the reader has made that known."""
        return self.make_batches == self.source_batches

    def _repr_html_(self) -> str:
        """For notebooks: what is known without reading events, or has been read."""
        from converter.ir.display.html import html_table

        rate = self.clock.ticks_per_second
        rows: list[tuple[str, object]] = [
            ("format", f"{self.format}+{self.variant}" if self.variant else self.format),
            ("clock", f"{self.clock.name}, {rate or 'unknown'} ticks per second"),
            ("processes", len(self.processes)),
            ("threads", len(self.threads)),
            ("tracks", len(self.tracks)),
            ("event classes", len(self.event_classes)),
            *self.environment.items(),
            *(("warning", warning.detail) for warning in self.warnings),
        ]
        return html_table("Trace", ("", "so far"), rows)

    def close(self) -> None:
        """Close the input, and let go of what makes the batches: iterating is a ValueError from now on, tables stay.

        A reader and its trace refer to each other. Without this the reader's buffers, which may be large, would stay
        until Python looks for such cycles.
        """
        opened, self._opened = self._opened, None
        self.make_batches = _closed
        self.source_batches = self.describe = self.check = None
        self.progress = self.seeking = self.leave_out = self.keep_records = None
        if opened is not None:
            opened.stack.close()

    def keep_open(self, opened: ExitStack, *contexts: AbstractContextManager[None]) -> None:
        """Close what was `opened` for the trace when the trace is closed; `contexts` hold in its ``with`` statement."""
        self._opened = _Opened(self, opened, contexts)

    def __enter__(self) -> Self:
        """Close the trace, and the input that it was opened from, when the ``with`` statement ends."""
        if self._opened is not None:
            self._opened.enter_contexts()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        opened, self._opened = self._opened, None
        self.close()
        if opened is not None:
            opened.stack.__exit__(kind, error, traceback)

    def watch(self, passed: Callable[[int], object]) -> None:
        """Call `passed`, from now on, with the number of events of a pass that have been written, starting with 0."""
        make_batches, is_as_read = self.make_batches, self.is_as_read

        def watched() -> Iterator[Batch]:
            events = 0
            passed(events)
            for batch in make_batches():
                events += len(batch)
                yield batch
                del batch
                # Only now is the batch written.
                passed(events)

        # In place, since a reader may change its trace while it reads.
        self.make_batches = watched
        if is_as_read:
            self.source_batches = watched

    def events_of_a_batch(self, usual: int) -> int:
        """Return the number of events per batch of a reader whose number would be `usual` if it were alone."""
        return max(usual // self.readers, min(usual, _LEAST_BATCH))

    def bytes_of_a_window(self, usual: int) -> int:
        """Return the size of a reader's window of its source in bytes, which would be `usual` if it were alone."""
        return max(usual // self.readers, min(usual, _LEAST_WINDOW))

    def add_class(self, event_class: EventClass) -> int:
        """Append `event_class` to the classes; its number among them."""
        self.event_classes.append(event_class)
        return len(self.event_classes) - 1
