"""Writes a trace to an open sink: unchanged if the format can represent all of it, else projected; optionally embeds
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain

from converter import registry
from converter.formats.descriptor import Format
from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.merging.merged_trace import MergedTrace
from converter.projection.losses import LossReport
from converter.storage.pool.ahead import in_order
from converter.storage.sink import Sink


def transcribe(
    trace: Trace,
    sink: Sink,
    target: Format,
    variant: str,
    *,
    lossless: bool = False,
    ahead: bool = True,
) -> LossReport:
    """Write a trace to an open sink, projected to what the format can represent; return the losses, with those of
    merging.

    With `lossless` the trace is also embedded in the output, and the losses are those for other readers. Unless
    `ahead`, no batch is requested before the previous one is written.
    """
    report = _transcribed(trace, sink, target, variant, lossless=lossless, ahead=ahead)
    if isinstance(trace, MergedTrace):
        report.include(trace.losses)
    return report


def _transcribed(
    trace: Trace, sink: Sink, target: Format, variant: str, *, lossless: bool, ahead: bool
) -> LossReport:
    writer = target.writer()
    if trace.document is not None and trace.is_as_read and trace.document.format == target.name:
        trace = trace.document
    if trace.format == target.name and target.replays_records:
        trace, is_native = _with_first_batch(trace, target.name)
        if is_native:
            # Only reading the columns of changed records tells what they lack.
            known = Counter(trace.records_shown)
            writer(trace, sink, variant)
            report = LossReport()
            if trace.records_shown != known:
                from converter.projection.metadata import lose_of_records

                lose_of_records(trace, trace.records_shown - known, report)
            return report
    same = target.replays_as_any_variant or variant in ("", trace.variant)
    if target.holds_all or (trace.format == target.name and target.replays and same):
        # The trace was made by this format's reader: the format has all of it, and the writer replays its native data.
        report = LossReport()
        if target.files_when_lossless and not lossless:
            trace = without_files(trace, report)
        with in_order():
            report.include(writer(trace, sink, variant) or LossReport())
        return report
    if not lossless:
        return _project_into(trace, sink, target, variant, ahead=ahead)
    from converter.formats.lossless.residual import embed, recording_of

    embedding = None if target.is_directory(variant) else target.embedding()
    sink.keep_checksum()
    with in_order(), recording_of(trace) as recording:
        # Batches are recorded while they are projected, with the tables as they are then.
        ahead = ahead and recording.trace is trace
        report = _project_into(recording.trace, sink, target, variant, ahead=ahead)
        embed(recording, sink, embedding)
    return report


def without_files(trace: Trace, report: LossReport) -> Trace:
    """Return the trace without the files that it was read from, which its reader might embed with it."""
    if trace.is_as_read and any(
        one.has_portable for one in registry.FORMATS if one.name == trace.format
    ):
        report.add("file-bytes")
    return replace(trace, source_batches=None)


def _project_into(
    trace: Trace, sink: Sink, target: Format, variant: str, *, ahead: bool
) -> LossReport:
    """Write what a format can represent of a trace; return the losses."""
    from converter.projection.preparation import prepared
    from converter.projection.project import project, projected
    from converter.streaming.pipeline import Pipeline

    writer, capabilities = target.writer(), target.capabilities(variant)
    if trace.format == target.name or not ahead:
        # Native data may grow while the trace is read, so the writer must not fall too far back.
        result, report = project(trace, capabilities, target.name)
        report.include(writer(result, sink, variant) or LossReport())
        return report
    report = LossReport()
    with ExitStack() as stages:
        early = trace.decodes_in_parallel
        if early:
            # The reader's stage has the least to do, and can decode the columns that preparation looks at.
            trace = prepared(trace, capabilities, target.name, report)
        read = stages.enter_context(Pipeline(trace, decodes=False))
        if not early:
            read = prepared(read, capabilities, target.name, report)
        result = projected(read, capabilities, target.name, report)
        written = writer(stages.enter_context(Pipeline(result)), sink, variant)
    report.include(written or LossReport())
    return report


def _with_first_batch(trace: Trace, name: str) -> tuple[Trace, bool]:
    """Return the trace with its first batch read, and True if that batch has records of the format that it was read
    from.
    """
    if trace.keep_records is not None:
        trace.keep_records()
    batches = trace.batches()
    first = next(batches, None)
    if first is None or first.native is None or first.native.format != name:
        return trace, False

    def again() -> Iterator[Batch]:
        return chain([first], batches)

    source = again if trace.is_as_read else trace.source_batches
    return replace(trace, make_batches=again, source_batches=source), True
