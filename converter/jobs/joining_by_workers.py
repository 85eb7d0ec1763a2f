"""Conversion of one trace to one output by several workers: each follows the trace, and encodes runs of its batches.

The encoding of an event depends on what is before it: which slices are open, which thread runs where, what has a name.
So each worker reads and projects the whole trace, as one process would, and its writer tracks the state through
batches that others write. Then the runs of all workers are concatenated in order. The output has the events and tables
that one process would write; what precedes their first use (texts, slots) is repeated for each worker, or each run.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from converter import registry
from converter.errors import TraceError, TraceWarning, UnsupportedError, note
from converter.formats.descriptor import Format
from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.jobs.conversion import Strictness, refuse, refuse_losses
from converter.jobs.transcription import without_files
from converter.merging.merged_trace import MergedTrace
from converter.projection.losses import LossReport
from converter.scheduling import Share, scheduler, seen_by_workers
from converter.storage.locations import is_remote, local
from converter.storage.outputs import open_sink
from converter.storage.sink import Sink
from converter.storage.writing.placing import output_error, remove, temporary_beside
from converter.storage.writing.shared_sink import (
    FILE_EVENTS,
    RUN_EVENTS,
    SharedSink,
    Stretch,
    Turns,
    join_files,
)

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs(Share):
    """Some runs of the batches of a trace; `run_events` is the number of events of a run, None for the default."""

    run_events: int | None = None


@dataclass(slots=True)
class Written:
    """The output of a worker, and its findings about the trace: `events` in all, and the damage."""

    path: str
    stretches: Sequence[Stretch]
    events: int
    report: LossReport = field(repr=False)
    warnings: Sequence[TraceWarning] = ()


@dataclass(slots=True)
class Joined:
    """A finished output: its number of events and bytes."""

    events: int
    size: int
    report: LossReport = field(repr=False)
    warnings: Sequence[TraceWarning] = ()


def convert_by_workers(share: Runs, scheduler_name: str, *, force: bool = False) -> Joined:
    """Convert a trace on the workers of a scheduler. The output appears whole or not at all.

    Args:
        share: the whole conversion: `path` is the output.
        scheduler_name: as `scheduler` accepts it.
        force: replace what exists.

    Raises:
        UnsupportedError: Dask is not installed, or the output is one that only one process can write.
        StrictLossError: something that `strict` protects would be lost.
        OutputError: the output cannot be written, or exists and not `force`.
        Exception: whatever `convert` raises.

    """
    format, variant = shared_format(share)
    with open_sink(
        share.path, force=force, directory=format.is_directory(variant), avoid=share.source
    ) as sink:
        folder = temporary_beside(os.path.abspath(local(share.path)))
        try:
            os.mkdir(folder)
            with scheduler(scheduler_name) as workers:
                parts = workers.results(written, shares_of(share, workers.workers, folder))
            result = joined(parts, sink, share.strict)
            result.warnings = seen_by_workers(share.source, [result.warnings])
            return result
        except OSError as error:
            raise output_error(error, share.path) from error
        finally:
            remove(folder)


def shared_format(share: Runs) -> tuple[Format, str]:
    """Return the format and variant of an output.

    Raises:
        UnsupportedError: only one process can write it, or not all workers can reach its location.

    """
    format, variant = registry.target_format(share.path, share.target_format)
    if variant not in format.shared:
        others = [f"-t {format.name}+{one}" for one in format.shared]
        instead = " or ".join([*others, "--split LENGTH, which has them write parts"])
        raise UnsupportedError(
            f"workers cannot write one output of this format together: {instead}",
            format=format.name,
        )
    if share.path == "-" or is_remote(share.path):
        raise UnsupportedError(
            "workers write what they join to file systems that they share, not to URLs or pipes"
        )
    return format, variant


def shares_of(share: Runs, count: int, folder: str) -> list[Runs]:
    """Return the shares of `count` workers, with paths in a folder."""
    source = share.source if is_remote(share.source) else os.path.abspath(share.source)
    format, variant = registry.target_format(share.path, share.target_format)
    count = max(count, 1)
    return [
        replace(
            share,
            source=source,
            path=os.path.join(folder, str(number)),
            target_format=f"{format.name}+{variant}" if variant else format.name,
            number=number,
            count=count,
        )
        for number in range(count)
    ]


def written(share: Runs) -> Written:
    """Write a share: on a worker, perhaps for the second time."""
    format, variant = registry.target_format(share.path, share.target_format)
    usual = FILE_EVENTS if format.is_directory(variant) else RUN_EVENTS
    turns = Turns(share.number, share.count, share.run_events or usual)
    with (
        share.opened() as trace,
        open_sink(share.path, force=True, directory=format.is_directory(variant)) as output,
    ):
        counts = deque([0], 1)
        trace.watch(counts.append)
        with SharedSink(output, turns) as sink:
            report = _write_own_runs(trace, sink, format, variant)
            # Losses are added up over all shares.
            refuse(trace, LossReport(), share.strict)
        return Written(share.path, sink.stretches, counts[-1], report, trace.warnings)


def _write_own_runs(trace: Trace, sink: SharedSink, target: Format, variant: str) -> LossReport:
    """Write the part of a trace that belongs to one process; return its losses.

    Raises:
        UnsupportedError: the format copies the records that it reads, from one end to the other.
        Exception: whatever `transcribe` raises.

    """
    writer = target.writer()
    if target.holds_all:
        report = LossReport()
        if target.files_when_lossless:
            trace = without_files(trace, report)
        writer(trace, sink, variant)
        return report if sink.turns.writer == 0 else LossReport()
    if trace.format == target.name:
        raise UnsupportedError(
            "records of the same format are copied, which one process does as fast: "
            "leave out --scheduler",
            format=target.name,
        )
    from converter.projection.preparation import prepared
    from converter.projection.project import projected

    capabilities = target.capabilities(variant)
    report = LossReport(counts=sink.turns.is_own)
    ready = prepared(trace, capabilities, target.name, report)
    result = projected(ready, capabilities, target.name, report)

    def batches() -> Iterator[Batch]:
        projected_batches = result.batches()
        while True:
            report.counts = sink.turns.is_own
            batch = next(projected_batches, None)
            if batch is None:
                return
            yield batch

    written = writer(replace(result, make_batches=batches), sink, variant)
    report.counts = True
    if sink.turns.writer == 0:
        report.include(written or LossReport())
        if isinstance(trace, MergedTrace):
            report.include(trace.losses)
    return report


def joined(parts: Sequence[Written], sink: Sink, strict: bool | Strictness = False) -> Joined:
    """Join the parts of all workers into one output.

    Raises:
        StrictLossError: something that `strict` protects was lost.
        TraceError: they have not read the same.

    """
    if len({part.events for part in parts}) != 1:
        raise TraceError(
            "the trace is read by several workers, and was not the same",
            expected=f"{parts[0].events} events",
        )
    report = LossReport()
    warnings: list[TraceWarning] = []
    for part in parts:
        report.include(part.report)
        for warning in part.warnings:
            note(warnings, warning)
    refuse_losses(report, strict)
    if sink.is_directory:
        size = _join_folders([part.path for part in parts], sink)
    else:
        join_files([(part.path, part.stretches) for part in parts], sink)
        size = sink.tell()
    return Joined(parts[0].events, size, report, warnings)


def _join_folders(folders: Sequence[str], sink: Sink) -> int:
    """Copy the files of several directories, no two of which have the same name, into one."""
    size = 0
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(parent, name)
                with open(path, "rb") as file, sink.create(os.path.relpath(path, folder)) as copy:
                    while data := file.read(_BLOCK):
                        copy.write(data)
                        size += len(data)
    return size
