"""The capabilities of a format, and the interface of the projection for the format's own rules.

A format declares its `Capabilities`; `project` (in `project`) fits traces to them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from converter.ir.distinct_values import ByValue
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import Style
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import EndMatching, FlowMatching
from converter.projection.engine.partitions import Partition, Place, Thunk
from converter.projection.loss_codes.entry import Value
from converter.projection.losses import LossClass, LossReport, PlannedLosses

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from converter.ir.tables import ComputedColumn
    from converter.ir.trace import ClockDomain, Trace, Track, TrackScope

#: Rewrites a partition of a kind that the format holds, before its fields are fitted, or makes another kind of it.
Adapter = Callable[[Partition, "Projection"], Partition]
#: Splits a partition of a kind that the format holds, before its fields are fitted.
Splitter = Callable[[Partition, "Projection"], list[Partition]]
#: Makes simpler partitions of one of a kind that the format does not have; None where there is nothing simpler.
Lowering = Callable[[Partition, "Projection"], list[Partition] | None]


@dataclass(frozen=True, slots=True)
class KindSupport:
    """The way in which a format holds events of one kind.

    `fields` are the parts with a field of their own in the format's record, with the name and the type that its reader
    returns; each has a role, and a part that the source lacks is written as zero or empty. `required` roles among them
    have no such default: a class without one is lowered further. Fields of other roles are arguments, if `arguments`.
    """

    fields: tuple[Field, ...] = ()
    #: Parts that a class may have or lack, in this order after `fields`. They are kept when name, type and role are the
    #: same. One with the role of a field of `fields` replaces it; of those whose names agree up to the first dot, a
    #: class has at most one.
    optional: tuple[Field, ...] = ()
    required: frozenset[int] = frozenset()
    arguments: bool = True
    #: Like `fields`, but after the arguments: context that a recorder adds to each event.
    trailing: tuple[Field, ...] = ()
    #: The format's record says which thread / CPU / track the event is on.
    thread: bool = True
    cpu: bool = False
    track: bool = False
    #: The class's own name and category survive (tracepoints).
    named: bool = False
    #: Category and name of all classes of the kind, where the format has an event of its own for it.
    event: tuple[str, str] | None = None
    #: Arguments keep their roles: the format's reader knows them by their names.
    roles: bool = False
    #: The role that the format's reader gives an argument by its name and type.
    argument_role: Callable[[Field], Role] | None = None
    #: Arguments of a numeric type are delivered with the role VALUE (counters).
    numeric_values: bool = False
    #: Viewers draw its values: texts of JSON that are numbers are some, too (counters).
    drawn_values: bool = False
    #: Its arguments are values, numbers alone (counters): others go to an instant right after it.
    values_only: bool = False
    timed: bool = True
    #: An event is on a track or on a thread: where it has a track, its thread is dropped.
    one_place: bool = False
    #: What arguments and names of the kind can be, where that is not what those of other kinds can.
    holds: Capabilities | None = None
    #: How the format holds one class of the kind, None where that is lowered: for kinds some of whose classes the
    #: format declares itself. The rest of this is then true of a class of which the format knows nothing.
    of_class: Callable[[EventClass], KindSupport | None] | None = None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities of a format. `project` fits a trace to them; the format's tests prove that they are true."""

    kinds: Mapping[Kind, KindSupport]
    #: (bits, signed) of the integers that an argument can have; others are widened to the next that holds them.
    integers: frozenset[tuple[int, bool]] = frozenset(
        (bits, signed) for bits in (8, 16, 32, 64) for signed in (False, True)
    )
    floats: frozenset[int] = frozenset({32, 64})
    booleans: bool = True
    nulls: bool = True
    blobs: bool = True
    #: Media types of blobs that survive, where other blobs may become text.
    media_types: frozenset[str] = frozenset()
    #: Integer styles that survive; any other becomes DECIMAL.
    styles: frozenset[Style] = frozenset()
    #: Those of them whose values are always unsigned 64-bit numbers.
    wide_styles: frozenset[Style] = frozenset()
    labels: bool = False
    units: bool = False
    arrays: bool = False
    structures: bool = False
    variants: bool = False
    optionals: bool = False
    max_arguments: int | None = None
    max_string_bytes: int | None = None
    max_blob_bytes: int | None = None
    #: Strings end at the first NUL; the rest is cut.
    nul_ends_strings: bool = False
    #: Makes of any name one that the format allows for fields and named classes.
    identifier: Callable[[str], str] | None = None
    #: No two fields of an event have one name: viewers look for its fields by their names.
    distinct_names: bool = False
    #: Strings must be UTF-8; other bytes are replaced.
    utf8_only: bool = True
    #: Times before zero can be written; otherwise they become zero, and slices lose what is before.
    negative_times: bool = False
    #: Slices of other formats may end before they begin; otherwise their length is zero.
    negative_durations: bool = False
    #: Slices of other formats may end after the last time of 63 bits; otherwise they end there.
    late_ends: bool = False
    #: The latest time, in nanoseconds with the epoch added, that viewers do not refuse; later ones become that.
    latest_ns: int | None = None
    #: Ticks of any rate; otherwise times are nanoseconds.
    clock_rates: bool = True
    #: The rates at which viewers compute exact times; ticks of other formats at other rates become nanoseconds. None:
    #: all are.
    exact_rate: Callable[[Fraction], bool] | None = None
    #: Times are multiples of this many nanoseconds, to which others are rounded down.
    time_unit: int | None = None
    #: How viewers match ends of slices with their begins; None where none does.
    ends: EndMatching | None = None
    #: Some viewers pair the ends of slices with their begins by name: ends have those of their begins.
    named_ends: bool = False
    #: Whether viewers take ends of slices first of what is at one time, then complete slices, the longest first; None
    #: where no viewer draws flows.
    complete_first: bool | None = None
    #: Which events of flows belong together for viewers; None where no viewer draws flows.
    flow_matching: FlowMatching | None = None
    #: The kinds whose flow ids viewers follow (`timeline_fields.BIND_NAME`); None where no viewer draws flows.
    flow_fields: frozenset[Kind] | None = None
    #: A flow may end at the slice that begins next.
    flows_to_next: bool = True
    #: Of how many nanoseconds durations of complete slices are multiples; others, those on tracks that the format has,
    #: and those that cross another, become begin and end.
    duration_unit: int | None = None
    max_cpu: int | None = None
    #: The number of nested slices that viewers show; they hide what is inside more of them.
    max_depth: int | None = None
    #: Bits of a process or thread id.
    id_bits: int = 64
    #: Bits of ids that viewers tell apart: others get another number, unless they were read from the same format.
    shown_id_bits: int = 64
    #: Viewers take a thread 0 of another process than 0 for the main thread of its process.
    zero_is_main: bool = False
    #: An event may be on no thread at all; otherwise it gets a synthetic one.
    threadless: bool = True
    #: An event may be on no CPU where the record has one; otherwise it is put on CPU 0.
    cpuless: bool = True
    #: Events are in time order.
    time_order: bool = False
    #: A switch may leave one of its tasks unnamed (`switched_tasks.UNKNOWN_LABEL`).
    unknown_tasks: bool = True
    #: Events are on the tasks that they are of by their fields: those that only events know become threads.
    adds_tasks: bool = False
    #: Viewers take the names of tasks from the list of threads alone: it has those that only events name, too.
    lists_tasks: bool = False
    #: A switch may say -1 of a task that nobody knows.
    unknown_tids: bool = True
    #: How many ticks lost events may be before the next event of their CPU for readers to see them; None: any number.
    gap_reach: int | None = None
    #: Viewers show a task as running until a switch says otherwise, even if it exits.
    exits_by_switch: bool = False
    #: Scheduling records have weights, of which the lowest marks the idle thread of a CPU (`weighted_tasks`).
    weights: bool = False
    #: A wakeup may be of a thread that runs; otherwise it is an event that nothing interprets.
    wakes_running: bool = True
    #: Viewers treat tracepoints as a kernel's, and show those of programs on the tracks of their threads if they are
    #: instants. The same applies to those on no CPU, which no kernel records.
    program_instants: bool = False
    #: Viewers show samples, and not the profiles of script engines that travel in arguments of events.
    call_stacks: bool = False
    #: Viewers show call stacks of other events at these, not as samples (`timeline_fields.CALLSTACK`).
    event_stacks: bool = False
    #: Samples have totals in place of weights (`timeline_fields.total`).
    totals: bool = False
    #: Viewers show calls of functions by the depth and the times that their events say.
    call_depths: bool = False
    #: A flow may end in several places.
    flows_fork: bool = True
    #: Rules for kinds that the format does not have, in place of the usual ones.
    lowerings: Mapping[Kind, Lowering] = field(default_factory=dict)
    #: Last say of the format's mapping on partitions of a kind, for its conventions (weights of idle threads).
    adapters: Mapping[Kind, Adapter] = field(default_factory=dict)
    #: Rules that split partitions of a kind, before the adapters run: for formats whose event classes contain what the
    #: source stores elsewhere.
    splitters: Mapping[Kind, Splitter] = field(default_factory=dict)
    #: Rewrites traces of other formats before all else, and counts what that loses: for formats of sums or of call
    #: trees, whose events are not those of the source (`formats.profiles`).
    rewrite: Callable[[Trace, LossReport], Trace] | None = None
    #: What the format keeps of the trace's tables.
    tracks: bool = False
    #: How many buffers that tracepoints are recorded in; formats with tracks have these instead.
    buffers: int = 0
    #: Viewers show the states of tasks from switches alone, and tracks of threads: what else says of tasks is there.
    task_tracks: bool = False
    clock_names: bool = False
    #: The clock of all traces in the format, where samples have an order and no times: `rewrite` has counted that loss.
    only_clock: ClockDomain | None = None
    other_clocks: bool = False
    epoch: bool = False
    #: Of how many nanoseconds the epoch is that viewers see, which is not before 1970; None: they see it as it is.
    shown_epoch_unit: int | None = None
    #: Viewers show the date of the recording.
    shows_epoch: bool = True
    environment: bool = False
    #: Viewers list the environment.
    shows_environment: bool = True
    command_lines: bool = False
    #: The format has a place for the native data of JSON documents (`metadata.is_json_document`).
    json_documents: bool = False
    #: Names of functions by their addresses.
    symbols: bool = False
    #: Units of tracks; those of fields are `units`.
    track_units: bool = False

    def support(self, event_class: EventClass) -> KindSupport | None:
        """Return how the format holds the events of a class; None if they are lowered."""
        support = self.kinds.get(event_class.kind)
        if support is not None and support.of_class is not None:
            return support.of_class(event_class)
        return support


class Projection(Protocol):
    """The interface of the projection for the rules that it runs."""

    source: Trace
    target: Trace
    capabilities: Capabilities
    #: True where the source was read from the target's own format.
    is_own: bool
    #: Names of slices that are open on tracks by name (see `atrace`), by process id, track and cookie.
    open_slices: dict[tuple[int, ...], int]

    def lose(
        self,
        code: str,
        partition: Partition,
        count: int | None = None,
        *,
        rows: NDArray[np.bool_] | None = None,
        first_row: int | None = None,
        loss_class: LossClass | None = None,
        **parameters: Value,
    ) -> None:
        """Count a loss at the rows of `partition` (at `count` of them if given, at those where `rows` is True).

        Args:
            code: of the table (`loss_codes`).
            partition: the events.
            count: the number of those with the loss.
            rows: the events with the loss, which gives the report a better example than their number.
            first_row: the first event with the loss, if only their number is known.
            loss_class: the users that it affects; by default, as the table says.
            parameters: of the code's sentence. The name of the event in the source need not be given.
        """

    def lose_planned(self, losses: PlannedLosses, partition: Partition) -> None:
        """Count losses that are the same of all events of a class, at the rows of `partition`."""

    def own_class(self, partition: Partition) -> EventClass:
        """Return the class that the rows of a partition, of which there are some, have in the source."""

    def occurs(self, test: Callable[[EventClass], bool]) -> bool:
        """Return True if events of a class that passes `test` have occurred so far, including this batch."""

    def strings_with_nul(self) -> NDArray[np.int32]:
        """The ids of all strings so far with a NUL in them."""

    def constant(self, text: str | bytes, length: int) -> NDArray[np.int32]:
        """A string column of one value."""

    def threads_of(self, partition: Partition) -> NDArray[np.int32]:
        """The thread of each row, an index into the target's threads."""

    def cpus_of(self, partition: Partition) -> NDArray[np.int32]:
        """The CPU of each row."""

    def track(self, number: int) -> Track:
        """A track that rows are on, which the target may not keep."""

    def tids_of(self, threads: NDArray[np.int32]) -> NDArray[np.int64]:
        """The tids (as signed numbers) of threads, -1 where there is none."""

    def pids_of(self, threads: NDArray[np.int32]) -> NDArray[np.int64]:
        """The ids (as signed numbers) of the processes of threads, -1 where there is none."""

    def thread_of_tid(self, tids: NDArray[Any]) -> NDArray[np.int32]:
        """The thread that has each tid, -1 where none has."""

    def task_of_tid(self, tids: NDArray[Any]) -> NDArray[np.int32]:
        """As `thread_of_tid`, where a format `adds_tasks` with threads for ids that none has."""

    def by_value(self, of: Hashable, number: Callable[[int], int]) -> ByValue:
        """Numbers by value, remembered for all that ask for them by the same name."""

    def is_nowhere(self, condition: ComputedColumn) -> bool:
        """Return True if no row matches; does not invalidate the cached plan.

        For conditions that mostly match no row; if one does match, the class is projected by the rules in that batch.
        """

    def is_on_threads(self, partition: Partition) -> bool:
        """Return True if all rows are known to be on threads without reading the column."""

    def lazy_cpus_of(self, partition: Partition) -> Place:
        """The CPU of each row, found on demand where the batch says it."""

    def place_on_cpu_track(
        self, name: str, partition: Partition, cpus: Thunk | Place
    ) -> dict[str, Any]:
        """Return keyword arguments for `rewritten` that put rows on the track "`name` Cpu N" of a CPU."""

    def place_on_track(self, name: str, scope: TrackScope, owners: NDArray[Any]) -> dict[str, Any]:
        """Return keyword arguments for `rewritten` that put rows on the track called `name` of each owner."""
