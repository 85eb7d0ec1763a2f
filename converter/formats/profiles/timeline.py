"""Traces as call trees: slices that nest on threads and tracks, and samples; all else is reported as missing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.call_tree import CallTree
from converter.formats.profiles.capabilities import sample_support
from converter.ir.columns import constant_column
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import EndMatching, Semantics
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up, values_by_class
from converter.projection.capabilities import Adapter, Capabilities, KindSupport, Projection
from converter.projection.engine.partitions import Partition
from converter.projection.losses import LossReport
from converter.projection.passes.slices.slice_columns import steps_of, texts_of
from converter.projection.preparation import prepared
from converter.projection.project import projected
from converter.projection.timeline_fields import FRAMES

NAME: Final = Field("name", StringClass(), Role.NAME)
BEGIN: Final = EventClass(Kind.SLICE_BEGIN, fields=(NAME,))
END: Final = EventClass(Kind.SLICE_END)
#: Begins with a name; ends are of the innermost slice.
_BEGIN: Final = KindSupport((NAME,), arguments=False, track=True, one_place=True)
_END: Final = KindSupport(arguments=False, track=True, one_place=True)
#: What an end repeats of its begin.
_REPEATED: Final = frozenset({Role.NAME, Role.CATEGORY})


def timeline(adapter: Adapter, *, frames: Field = FRAMES, cpu: bool = False) -> Capabilities:
    """Return the capabilities of call trees: slices by their names, and samples.

    Args:
        adapter: of samples (`profiles.capabilities`).
        frames: the field of their call stack.
        cpu: samples are on CPUs.

    """
    return Capabilities(
        {
            Kind.SLICE_BEGIN: _BEGIN,
            Kind.SLICE_END: _END,
            Kind.SAMPLE: sample_support(frames, named=True, cpu=cpu, track=True),
        },
        adapters={
            Kind.SAMPLE: adapter,
            Kind.SLICE_END: _bare_end,
        },
        splitters=dict.fromkeys((Kind.SLICE_BEGIN, Kind.SLICE_END), _on_tracks_of_cpus),
        clock_rates=False,
        negative_times=True,
        utf8_only=False,
        time_order=True,
        ends=EndMatching.INNERMOST,
        call_stacks=True,
        tracks=True,
        clock_names=True,
        other_clocks=True,
        epoch=True,
        environment=True,
        command_lines=True,
    )


def call_trees(trace: Trace, report: LossReport, capabilities: Capabilities) -> Trace:
    """Return a trace of slices and samples (`timeline`) from any, with the rest counted as missing.

    What other events say of calls (entries of functions, system calls, interrupts, marks of atrace) are slices then.
    """
    return projected(prepared(trace, capabilities, "", report), capabilities, "", report)


def balanced(trace: Trace, report: LossReport) -> Trace:
    """Return a trace of `call_trees` in which each slice has an end, and each end ends one.

    Ends that end nothing are left out, slices without an end end with the last event of the trace, and no event of a
    thread or track is earlier than the one before.
    """
    result = dataclasses.replace(
        trace, event_classes=[], semantics=Semantics(ends=EndMatching.INNERMOST)
    )

    def batches() -> Iterator[Batch]:
        tree = CallTree()
        numbers: list[int] = []
        last = np.iinfo(np.int64).min
        for batch in trace.batches():
            numbers.extend(map(result.add_class, trace.event_classes[len(numbers) :]))
            if not len(batch):
                continue
            last = max(last, int(batch.ts.max()))
            yield _sound(trace, batch, tree, report)
        thread, track, ts = tree.close(last)
        if len(ts):
            report.add("slice-end-made-up", len(ts), int(ts.min()))
            order = np.argsort(ts, kind="stable")
            yield of_one_class(result.add_class(END), ts[order], (), thread[order], track[order])

    result.make_batches = batches
    return result


def _sound(trace: Trace, batch: Batch, tree: CallTree, report: LossReport) -> Batch:
    found = add_slices(trace, batch, tree)
    if found is None:
        return batch
    at, strays, ts = found
    moved = at[ts != batch.ts[at]]
    report.add_at("slice-time-moved", trace, batch, moved)
    if len(moved):
        times = batch.ts.copy()
        times[at] = ts
        batch = batch.at_times(times)
    lost = at[strays]
    report.add_at("slice-end-unmatched", trace, batch, lost)
    if not len(lost):
        return batch
    kept = np.ones(len(batch), np.bool_)
    kept[lost] = False
    return batch.select(np.flatnonzero(kept))


def add_slices(
    trace: Trace, batch: Batch, tree: CallTree
) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.int64]] | None:
    """Add the slices of a batch of `call_trees` to a tree; None if there are none.

    Returns:
        Their positions in the batch, which of them are ends that end nothing, and their times (`CallTree.add`).

    """
    steps = steps_of(trace, batch)
    if not steps.any():
        return None
    step = looked_up(steps, batch.class_id)
    names = values_by_class(batch.class_id, batch.row, texts_of(trace, batch, Role.NAME))
    at = np.flatnonzero(step)
    strays, ts = tree.add(
        step[at], batch.thread[at], batch.track[at], names[at], np.ascontiguousarray(batch.ts[at])
    )
    return at, strays.astype(np.bool_), ts


def of_one_class(
    number: int,
    ts: NDArray[np.int64],
    columns: tuple[Any, ...],
    thread: NDArray[np.int32] | None = None,
    track: NDArray[np.int32] | None = None,
) -> Batch:
    """Return a batch of events of one class."""
    return Batch(
        ts=ts,
        class_id=constant_column(np.int32(number), len(ts)),
        row=np.arange(len(ts), dtype=np.int32),
        tables={number: Table(len(ts), columns)},
        thread=thread,
        track=track,
    )


def _on_tracks_of_cpus(partition: Partition, projection: Projection) -> list[Partition]:
    """Put slices of no thread on the track of their CPU: those of different CPUs do not nest."""
    if projection.is_on_threads(partition):
        return [partition]
    own = partition.batch.track
    tracks = partition.taken(own) if partition.track is None else partition.track
    cpus = projection.cpus_of(partition)
    off, on = partition.split((projection.threads_of(partition) < 0) & (tracks < 0) & (cpus >= 0))
    if off is None:
        return [partition]
    places = projection.place_on_cpu_track("Events", off, projection.cpus_of(off))
    return [off.moved(**places), *([] if on is None else [on])]


def _bare_end(partition: Partition, projection: Projection) -> Partition:
    """Leave out what an end repeats of its begin."""
    for number, field in enumerate(partition.event_class.fields):
        if field.role in _REPEATED:
            return _bare_end(partition.without_field(number), projection)
    return partition
