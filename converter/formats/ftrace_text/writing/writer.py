"""Writes ftrace text: a header, the lines of events with the remarks that declare them, and the side table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

import numpy as np

from converter.formats.ftrace.lines.table_remarks import end_remark
from converter.formats.ftrace.lines.text_mapping import OWN, TABLES_REMARK
from converter.formats.ftrace_text.capabilities import capabilities
from converter.formats.ftrace_text.recognition import GRAPH_LINE
from converter.formats.ftrace_text.writing.lines import EventLines
from converter.ir.events import Batch, NativeRecords
from converter.ir.trace import Trace
from converter.kernels.batches.gather import Segments
from converter.projection.losses import LossReport
from converter.projection.project import project
from converter.storage.sink import Sink

_HEADER: Final = b"""\
# tracer: nop
#
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
"""


def write(trace: Trace, sink: Sink, variant: str) -> LossReport | None:
    """Write a trace that was projected to the format, or read from it: then the lines of its events.

    The events of a trace that was read from the format have no lines any more where they were changed: it is projected.
    """
    batches = iter(trace.batches())
    first = next(batches, None)
    if trace.format == "ftrace_text" and "ftrace_text" in trace.sidecar:
        if first is not None and first.native is not None:
            if not _is_graph(first.native):
                _copy(trace, first, batches, sink)
                return None
            if trace.is_as_read:
                _copy_blocks(chain([first], batches), sink)
                return None
        source = replace(
            trace, make_batches=lambda: chain([] if first is None else [first], batches)
        )
        trace, report = project(source, capabilities(variant), "ftrace_text")
        _write(trace, iter(trace.batches()), sink, variant)
        return report
    _write(trace, batches if first is None else chain([first], batches), sink, variant)
    return None


def _write(trace: Trace, batches: Iterable[Batch], sink: Sink, variant: str) -> None:
    sink.write(b"cpus=%d\n" % _cpus(trace) if variant == "report" else _HEADER)
    sink.write(OWN)
    lines = EventLines(trace, aligned=variant == "report")
    for batch in batches:
        lines.print(batch, sink.write)
    lines.finish(sink.write)
    from converter.formats.side_table import print_side_table

    _end(sink, print_side_table(trace, lines.numbers.all()))


def _is_graph(native: NativeRecords) -> bool:
    """Return True for lines of the function graph, which need all before them: switches of tasks, and durations."""
    start, size = int(native.starts[0]), int(native.sizes[0])
    return GRAPH_LINE.match(bytes(native.data[start : start + size])) is not None


def _copy_blocks(batches: Iterable[Batch], sink: Sink) -> None:
    """Write the text that a trace was read from."""
    for batch in batches:
        assert batch.native is not None
        sink.write(batch.native.data)


def _lines_of(native: NativeRecords) -> bytes:
    """Return lines with their ends; the last line of a file may have none."""
    # The end of a call that returns on its line is an event of the same line.
    is_line = np.diff(native.starts, prepend=-1) != 0
    data, starts = native.data, native.starts[is_line]
    sizes = native.sizes[is_line] + 1
    is_cut = bool(len(starts)) and int(starts[-1] + sizes[-1]) > len(data)
    if is_cut:
        sizes[-1] -= 1
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    text = np.empty(int(offsets[-1]), np.uint8)
    Segments([data]).copy(starts, offsets, text)
    return text.tobytes() + b"\n" * is_cut


def _cpus(trace: Trace) -> int:
    known = trace.environment.get("cpus", trace.environment.get("cpu_count", 1))
    return known if isinstance(known, int) and 0 < known < 1 << 16 else 1


def _end(sink: Sink, tables: bytes) -> None:
    offset = sink.tell()
    sink.write(TABLES_REMARK + tables + b"\n")
    sink.write(end_remark(offset))


def _copy(trace: Trace, first: Batch, batches: Iterator[Batch], sink: Sink) -> None:
    """Write the header of the source, and the lines of the events."""
    kept = trace.sidecar["ftrace_text"]
    sink.write(kept["head"])
    declared = 0
    batch: Batch | None = first
    while batch is not None:
        remarks = kept["remarks"]
        for remark in remarks[declared:]:
            sink.write(remark)
        declared = len(remarks)
        native = batch.native
        assert native is not None
        sink.write(_lines_of(native))
        batch = next(batches, None)
    if kept["tables"]:
        _end(sink, kept["tables"])
