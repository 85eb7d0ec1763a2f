"""Writes perf.data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from converter.errors import TraceError
from converter.formats.lossless.travelling import parts_of
from converter.formats.perf.data.capabilities import capabilities
from converter.formats.perf.data.portable import WHOLE
from converter.formats.perf.data.writing.native_recording import (
    PartialRecording,
    can_copy,
    copy_source,
)
from converter.formats.perf.data.writing.new_recording import NewRecording
from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.projection.losses import LossReport
from converter.projection.project import project
from converter.storage.sink import Sink


def write(trace: Trace, sink: Sink, variant: str) -> LossReport | None:
    """Write a perf.data file from a trace that was projected to the format, or that was read from it.

    Raises:
        UnsupportedError: an event is larger than any record.
        OutputError: the sink cannot be written to.
        TraceError: as `Trace.batches` does.

    """
    try:
        return _write(trace, sink, variant)
    except TraceError as error:
        raise error.within(format="perf") from error


def _write(trace: Trace, sink: Sink, variant: str) -> LossReport | None:
    kept = trace.sidecar.get("perf", {}) if trace.format == "perf" else {}
    if WHOLE in kept and trace.is_as_read:
        for part in parts_of(WHOLE, kept[WHOLE]):
            sink.write(part)
        return None
    if kept and can_copy(trace):
        copy_source(trace, sink)
        return None
    batches: Iterator[Batch] = iter(trace.batches())
    first = next(batches, None)
    whole = chain([] if first is None else [first], batches)
    if kept and first is not None and first.native is not None:
        PartialRecording(trace, sink).write(whole)
        return None
    rest = replace(trace, make_batches=lambda: whole)
    if not kept:
        NewRecording(rest, sink).write()
        return None
    # Its events were changed, so that they have no records any more.
    projected, report = project(rest, capabilities(variant), "perf")
    NewRecording(projected, sink).write()
    return report
