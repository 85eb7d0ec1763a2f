"""Writes the text of perf script: the lines of events, and the side table in the last line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from converter.formats.perf.script.capabilities import capabilities
from converter.formats.perf.script.side_table import last_line
from converter.formats.perf.script.writing.lines import EventLines
from converter.ir.events import Batch, NativeRecords
from converter.ir.trace import Trace
from converter.kernels.batches.gather import Segments
from converter.projection.losses import LossReport
from converter.projection.project import project
from converter.storage.sink import Sink

_FORMAT = "perf_script"


def write(trace: Trace, sink: Sink, variant: str) -> LossReport | None:
    """Write a trace that was projected to the format, or read from it: then the lines of its events.

    The events of a trace that was read from the format have no lines any more where they were changed: it is projected.
    """
    batches = iter(trace.batches())
    first = next(batches, None)
    everything = batches if first is None else chain([first], batches)
    if trace.format == _FORMAT and _FORMAT in trace.sidecar:
        if first is not None and first.native is not None:
            _copy(trace, first, batches, sink)
            return None
        source = replace(trace, make_batches=lambda: everything)
        trace, report = project(source, capabilities(variant), _FORMAT)
        _write(trace, iter(trace.batches()), sink, variant)
        return report
    _write(trace, everything, sink, variant)
    return None


def _write(trace: Trace, batches: Iterable[Batch], sink: Sink, variant: str) -> None:
    lines = EventLines(trace, exact=variant == "ns")
    for batch in batches:
        lines.print(batch, sink.write)
    lines.finish(sink.write)
    from converter.formats.side_table import side_table_form

    table = side_table_form(trace) | {"events": lines.events, "tasks": lines.task_forms}
    sink.write(last_line(json.dumps(table, separators=(",", ":")).encode("ascii"), sink.tell()))


def _copy(trace: Trace, first: Batch, batches: Iterator[Batch], sink: Sink) -> None:
    """Write the header of the source, and the lines of the events."""
    kept = trace.sidecar[_FORMAT]
    sink.write(kept.get("head", b""))
    batch: Batch | None = first
    while batch is not None:
        assert batch.native is not None
        sink.write(_lines_of(batch.native))
        batch = next(batches, None)
    if kept.get("tables"):
        sink.write(last_line(kept["tables"], sink.tell()))


def _lines_of(native: NativeRecords) -> bytes:
    offsets = np.zeros(len(native.starts) + 1, np.int64)
    np.cumsum(native.sizes, out=offsets[1:])
    text = np.empty(int(offsets[-1]), np.uint8)
    Segments([native.data]).copy(native.starts, offsets, text)
    return text.tobytes()
