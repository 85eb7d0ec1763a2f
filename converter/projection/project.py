"""project(): fits a trace to what a format can hold, and reports what that loses.

Pure: the source is not changed, and the losses follow from the capabilities alone. Rewrites that depend on other events
come first (`preparation`). Then a batch is split into partitions, one per class; each is projected by the rules
(`partition_projection`), or by the cached plan of its class (`class_plans`); then all are assembled again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import constant_column
from converter.ir.distinct_values import ByValue, map_distinct
from converter.ir.events import Batch, EventClass
from converter.ir.semantics import Unseen
from converter.ir.tables import ComputedColumn
from converter.ir.trace import Trace, Track, TrackScope
from converter.projection.capabilities import Capabilities
from converter.projection.domain.symbol_names import addresses_by_style, addresses_of, names_lost
from converter.projection.engine.assembly import assemble
from converter.projection.engine.class_plans import FEWEST_ROWS, Numbered, TracingRun
from converter.projection.engine.ids import ShownIds, with_shown_ids
from converter.projection.engine.partition_projection import PartitionProjection
from converter.projection.engine.partitions import (
    ByClass,
    Derived,
    Everywhere,
    Partition,
    Place,
    Thunk,
)
from converter.projection.engine.placing import Placing, is_absent
from converter.projection.engine.planned import ClassPlan, occurring, placed_parts
from converter.projection.engine.rows import Places, cpus_of, threads_of
from converter.projection.engine.tables import TargetTables
from converter.projection.loss_codes import LOSS_CODES
from converter.projection.loss_codes.entry import Value
from converter.projection.loss_codes.names import event_name
from converter.projection.losses import (
    Example,
    LossClass,
    LossReport,
    PlannedLosses,
    example_at,
    parameters_of,
)
from converter.projection.metadata import TargetMetadata, held_clock
from converter.projection.preparation import prepared

if TYPE_CHECKING:
    from converter.projection.domain.scheduling.task_states import TaskStates
    from converter.projection.passes.learned_names import LearnedNames
    from converter.projection.passes.slices.end_names import EndNames
    from converter.projection.passes.slices.slice_depths import NestedTooDeep

#: By class, and by whether all its events in a batch are on threads.
_Plans = dict[tuple[int, bool], ClassPlan | None]


def project(trace: Trace, capabilities: Capabilities, format_name: str) -> tuple[Trace, LossReport]:
    """Return the trace as a format of these capabilities holds it, and the losses (complete once all batches have
    passed).

    Args:
        trace: any trace.
        capabilities: of the target's variant.
        format_name: of the target: only its own sidecar survives.

    Returns:
        The projected trace, streaming like its source, and the report. Columns are converted on demand, so the report
        counts changed values only once their columns have been read, as any writer does. Reading the batches again
        restarts the losses of events.
    """
    report = LossReport()
    trace = prepared(trace, capabilities, format_name, report)
    return projected(trace, capabilities, format_name, report), report


def projected(
    prepared: Trace, capabilities: Capabilities, format_name: str, report: LossReport
) -> Trace:
    """Return the result of `project` for a trace that is prepared; this later stage may lag a batch."""
    target = Projector(prepared, capabilities, format_name, report).target
    if capabilities.gap_reach is not None:
        from converter.projection.passes.gaps import before_events

        target = before_events(target, capabilities.gap_reach, report)
    if capabilities.complete_first and not prepared.semantics.complete_first:
        # Begins and ends include those that interrupts and marks have become.
        from converter.projection.passes.slices.ends_first import with_ends_first

        target = with_ends_first(target, report)
    return target


class Projector:
    """A projection in progress; implements `capabilities.Projection`."""

    def __init__(
        self, source: Trace, capabilities: Capabilities, format_name: str, report: LossReport
    ) -> None:
        self.capabilities = capabilities
        self.is_own = source.format == format_name
        ids = ShownIds(capabilities, report, source.semantics, is_own=self.is_own)
        self.source = source = with_shown_ids(source, ids)
        self.report = report
        is_date_seen = not self.is_own and Unseen.DATES not in source.semantics.unseen
        self.target = Trace(
            format=source.format,
            semantics=source.semantics,
            clock=held_clock(source.clock, capabilities, report, is_date_seen=is_date_seen),
            strings=source.strings,
            symbols=source.symbols,
            warnings=source.warnings,
            make_batches=self._batches,
            progress=source.progress,
            decodes_in_parallel=source.decodes_in_parallel,
        )
        self._tables = TargetTables(source, self.target, capabilities, report, ids)
        self._class_ids = ByClass(self.target.add_class)
        self._support = ByClass(capabilities.support)
        self._placing = Placing(self, self._tables, capabilities, self._support)
        addresses = addresses_by_style if capabilities.symbols else addresses_of
        # What is read from a format names functions by events, where it has no table of them. Changed events of a text
        # that names functions are written with their addresses.
        named = source.symbols is not None and not (self.is_own and capabilities.symbols)
        self._addresses = ByClass(lambda one: addresses(one) if named else ())
        self._derived: Derived = {}
        self.open_slices: dict[tuple[int, ...], int] = {}
        self._task_states: TaskStates | None = None
        # If the trace was read from the same format, they were not shown there either.
        self._too_deep: NestedTooDeep | None = None
        if capabilities.max_depth is not None and not self.is_own:
            from converter.projection.passes.slices.slice_depths import NestedTooDeep

            self._too_deep = NestedTooDeep(self.target, capabilities.max_depth, report)
        self._end_names: EndNames | None = None
        if capabilities.named_ends and not self.is_own:
            from converter.projection.passes.slices.end_names import EndNames

            self._end_names = EndNames(self.target, report)
        # By the other inputs of the plans; None for classes that have no plan.
        self._plans: dict[tuple[Hashable, ...], _Plans] = {}
        self._tracing_run: TracingRun | None = None
        self._by_value: dict[Hashable, ByValue] = {}
        # Of the current batch.
        self._occurring: set[int] = set()
        self._tests: dict[Callable[[EventClass], bool], bool] = {}
        self._constants: dict[str | bytes, np.int32] = {}
        self._with_nul: list[int] = []
        self._nul_checked = 0
        # For a trace whose reader has not collected them, or has no thread for each.
        self._lists_tasks = capabilities.lists_tasks and not self.is_own
        self._task_names: LearnedNames | None = None
        if not source.names_from_events or self._lists_tasks:
            from converter.projection.passes.learned_names import LearnedNames

            self._task_names = LearnedNames(source)
        self._metadata = TargetMetadata(source, self.target, capabilities, format_name, report, ids)
        self._held = PartitionProjection(
            self, self._placing, self._support, self._metadata.bookkeeping
        )
        self._metadata.follow()
        self._tables.follow()

    # The interface for rules (capabilities.Projection)

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
        """Count a loss at the rows of `partition` (at `count` of them if given, at those where `rows` is True)."""
        if rows is not None:
            count = int(np.count_nonzero(rows))
        elif count is None:
            count = len(partition)
        if self._tracing_run is not None:
            lost = (code, loss_class, parameters_of(parameters))
            self._tracing_run.lose((lost,), count)
        if count:
            own = self.own_class(partition)
            if LOSS_CODES[code].has_event:
                parameters["event"] = event_name(own)
            if rows is not None:
                first_row = int(rows.argmax())
            elif count == len(partition):
                first_row = 0
            self.report.add(
                code,
                count,
                int(partition.batch.ts[partition.first]),
                loss_class=loss_class,
                event_kinds=frozenset((own.kind, partition.event_class.kind)),
                # Of some rows that the caller does not name, the first is not known.
                example=None if first_row is None else partial(self._example, partition, first_row),
                **parameters,
            )

    def lose_planned(self, losses: PlannedLosses, partition: Partition) -> None:
        """Count losses that are the same for all events of a class, at the rows of `partition`."""
        if self._tracing_run is not None:
            self._tracing_run.lose(losses, len(partition))
        if len(partition):
            own = self.own_class(partition)
            self.report.add_planned(
                losses,
                len(partition),
                int(partition.batch.ts[partition.first]),
                frozenset((own.kind, partition.event_class.kind)),
                event_name(own),
                partial(self._example, partition, 0),
            )

    def own_class(self, partition: Partition) -> EventClass:
        """Return the class that the rows of a partition, of which there are some, have in the source."""
        own: EventClass = self.source.event_classes[partition.batch.class_id[partition.first]]
        return own

    def _example(self, partition: Partition, row: int) -> Example:
        position = partition.first if row == 0 else int(partition.positions[row])
        return example_at(self.source, partition.batch, position, self.target.threads)

    def occurs(self, test: Callable[[EventClass], bool]) -> bool:
        """Return True if events of a class that passes `test` have occurred so far, including this batch."""
        if test not in self._tests:
            classes = self.source.event_classes
            self._tests[test] = any(test(classes[number]) for number in self._occurring)
        return self._tests[test]

    def strings_with_nul(self) -> NDArray[np.int32]:
        """Return the ids of all strings so far with a NUL in them."""
        strings = self.source.strings
        for id in range(self._nul_checked, len(strings)):
            if b"\0" in strings[id]:
                self._with_nul.append(id)
            self._nul_checked = id + 1
        return np.array(self._with_nul, np.int32)

    def constant(self, text: str | bytes, length: int) -> NDArray[np.int32]:
        """Return a string column of one value."""
        id = self._constants.get(text)
        if id is None:
            # Cached: interning waits for a reader that is interning the strings of the next batch.
            id = self._constants[text] = np.int32(self.source.strings.intern(text))
        return constant_column(id, length)

    def threads_of(self, partition: Partition) -> NDArray[np.int32]:
        """Return the thread of each row, an index into the target's threads."""
        return threads_of(partition)

    def cpus_of(self, partition: Partition) -> NDArray[np.int32]:
        """Return the CPU of each row."""
        return cpus_of(partition)

    def by_value(self, of: Hashable, number: Callable[[int], int]) -> ByValue:
        """Return a cache of numbers by value, shared by all callers with the same key `of`."""
        if of not in self._by_value:
            self._by_value[of] = ByValue(number)
        return self._by_value[of]

    def is_nowhere(self, condition: ComputedColumn) -> bool:
        """Return True if no row matches; does not invalidate the cached plan."""
        if self._tracing_run is not None:
            return self._tracing_run.is_nowhere(condition)
        return not np.asarray(condition()).any()

    def is_on_threads(self, partition: Partition) -> bool:
        """Return True if all rows are known to be on threads without reading the column."""
        return self._placing.is_on_threads(partition)

    def lazy_cpus_of(self, partition: Partition) -> Place:
        """Return the CPU of each row, found on demand if it is in the batch."""
        return (
            ComputedColumn(cpus_of, (), partition) if partition.on_cpu is None else partition.on_cpu
        )

    def track(self, number: int) -> Track:
        """Return a track that rows are on, which the target may not keep."""
        return self._tables.tracks[number]

    def tids_of(self, threads: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the tids (as signed numbers) of threads, -1 for none."""
        return self._tables.tids(threads)

    def pids_of(self, threads: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the ids (as signed numbers) of the processes of threads, -1 for none."""
        return self._tables.pids(threads)

    def thread_of_tid(self, tids: NDArray[Any]) -> NDArray[np.int32]:
        """Return the thread with each tid, -1 for none."""
        return self._tables.thread_of_tid(tids)

    def task_of_tid(self, tids: NDArray[Any]) -> NDArray[np.int32]:
        """Like `thread_of_tid`, but if the format `adds_tasks`, threads are added for ids without one."""
        if self.capabilities.adds_tasks:
            return self._tables.task_of_tid(tids)
        return self._tables.thread_of_tid(tids)

    def place_on_cpu_track(
        self, name: str, partition: Partition, cpus: Thunk | Place
    ) -> dict[str, Any]:
        """Return keyword arguments for `rewritten` that put rows on the track "`name` Cpu N" of a CPU."""

        def track(cpu: int) -> int:
            if cpu < 0:
                return self._tables.synthetic_track(Track(name))
            return self._tables.synthetic_track(Track(f"{name} Cpu {cpu}", TrackScope.CPU, cpu))

        return {"track": Everywhere(ByValue(track), (cpus,), partition)}

    def place_on_track(self, name: str, scope: TrackScope, owners: NDArray[Any]) -> dict[str, Any]:
        """Return keyword arguments for `rewritten` that put rows on the track called `name` of each owner."""
        return {
            "track": map_distinct(
                owners, lambda owner: self._tables.synthetic_track(Track(name, scope, owner))
            )
        }

    # Events

    def _batches(self) -> Iterator[Batch]:
        self.report.forget_events()
        self._occurring.clear()
        self._plans.clear()
        self.open_slices.clear()
        if self._too_deep:
            self._too_deep.restart()
        if self._end_names:
            self._end_names.restart()
        if self.capabilities.task_tracks:
            from converter.projection.domain.scheduling.task_states import TaskStates

            self._task_states = TaskStates(self)
        names = self._task_names
        if names is not None:
            names.forget()
        for batch in self.source.batches():
            self._tables.follow()
            self._metadata.follow_documents()
            if names is not None:
                names.note(batch, self._tables.is_named)
            yield self._project_batch(batch)
        self._tables.follow()
        if names is not None:
            self._tables.name_tasks(names.names(), adds=self._lists_tasks)
        self._metadata.follow()

    def _project_batch(self, batch: Batch) -> Batch:
        present = occurring(batch.tables)
        if not present <= self._occurring:
            self._occurring |= present
            self._tests.clear()
        batch = self._renumbered(batch)
        decided = self._placing.begin(batch) + self._table_sizes()
        plans = self._plans.setdefault(decided, {})
        placed = placed_parts(
            batch,
            batch.tables.keys() & present,
            plans,
            self._placing.off_threads,
            self.report.counts,
            self.source.event_classes,
            self._derived,
            lambda number: self._project_class(batch, number, plans),
        )
        self._placing.begin_class(None)
        if self._task_states is not None:
            placed += [
                (0, self._class_ids(part.event_class), part)
                for partition in self._task_states.partitions(batch)
                for part in self._held.project(partition)
            ]
        batch = assemble(batch, placed, self.source.strings)
        if self.capabilities.buffers and not is_absent(batch.track):
            batch.track = self._tables.buffers.tracks(batch.track)
        if self._too_deep:
            self._too_deep.count(batch)
        return self._end_names.named(batch) if self._end_names else batch

    def _table_sizes(self) -> tuple[int, ...]:
        """Return the sizes of the tables that rules depend on besides classes and their events."""
        target = self.target
        return (
            len(target.processes),
            len(target.threads),
            len(self._tables.tracks),
            len(self._occurring),
        )

    def _project_class(self, batch: Batch, number: int, plans: _Plans) -> list[Numbered]:
        """Project the events of a class in a batch by the rules: there is no plan, or a guard failed."""
        table = batch.tables[number]
        event_class = self.source.event_classes[number]
        places = Places(batch.union, number)
        partition = Partition(batch, event_class, table, places, derived=self._derived)
        key = number, self._placing.begin_class(number)
        if key not in plans and len(table) >= FEWEST_ROWS:
            self._tracing_run = TracingRun(partition, Places(batch.union, number))
            partition = self._tracing_run.partition
        parts = [
            (self._class_ids(part.event_class), part)
            for one in self._placing.in_buffers(partition)
            for part in self._held.project(one)
        ]
        if self._addresses(event_class):
            self._lose_names(partition, (part.event_class for _, part in parts))
        tracing_run, self._tracing_run = self._tracing_run, None
        if tracing_run is not None and not tracing_run.guard_failed:
            plans[key] = tracing_run.plan(parts, self.report)
        for _, part in parts:
            part.settle()
        return parts

    def _renumbered(self, batch: Batch) -> Batch:
        """Return the batch with threads and tracks as indices of the target, and CPUs that the format can hold."""
        kept = self.capabilities
        cpu = batch.cpu
        if kept.max_cpu is not None and len(cpu) and int(cpu.max()) > kept.max_cpu:
            beyond = cpu > kept.max_cpu
            at = np.flatnonzero(beyond)
            self.report.add_at("cpu-too-high", self.source, batch, at, limit=kept.max_cpu)
            cpu = np.where(beyond, np.int32(-1), cpu)
        return Batch(
            ts=batch.ts,
            class_id=batch.class_id,
            row=batch.row,
            tables=batch.tables,
            thread=self._tables.renumber_threads(batch.thread),
            cpu=cpu,
            track=self._tables.renumber_tracks(batch.track),
        )

    def _lose_names(self, partition: Partition, held: Iterable[EventClass]) -> None:
        """Count functions that the source's symbols name and that become plain numbers, as the format has
        no symbols.
        """
        addresses = self._addresses(partition.event_class)
        by_style = self.capabilities.symbols
        lost = names_lost(partition.event_class, addresses, held, by_style=by_style)
        for name in lost:
            self.lose("function-names", partition, field=name)
