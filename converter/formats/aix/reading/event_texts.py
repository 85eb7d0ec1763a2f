"""Formats the events of a batch with templates: passes the entries that it was read from to the engine."""

from __future__ import annotations

from collections.abc import Callable

from converter.formats.aix.entries.scan import presented
from converter.formats.aix.reading.batches import MERGED
from converter.formats.aix.trcfmt import Entry, Environment, TemplateFile, evaluate
from converter.ir.events import Batch
from converter.ir.trace import Trace


def entry_of(batch: Batch, position: int, bits: int) -> Entry | None:
    """Return the entry of an event as templates see it, None if the batch lacks the bytes it was read from."""
    native = batch.native
    if native is None or native.format not in ("aix", MERGED):
        return None
    start = int(native.starts[position])
    stored = native.data[start : start + int(native.sizes[position])]
    data, entry_bits, _ = presented(bits, stored)
    return Entry(data, entry_bits)


def texts_of(
    batch: Batch, trace: Trace, bits: int, templates: TemplateFile
) -> Callable[[int], str | None]:
    """Return the function that returns an event's report text, by its position in the batch."""
    paths = {process.pid: process.name for process in trace.processes if process.name}

    def text(position: int) -> str | None:
        entry = entry_of(batch, position, bits)
        if entry is None:
            return None
        around = Environment(
            trace_env=bits,
            cpu=int(batch.cpu[position]),
            time_ns=int(batch.ts[position]),
            paths=paths,
        )
        thread = int(batch.thread[position])
        if thread >= 0:
            around.tid = trace.threads[thread].tid
            around.pid = trace.processes[trace.threads[thread].process].pid
            around.exec_path = trace.processes[trace.threads[thread].process].name
        return " ".join(evaluate(templates, entry.id, entry, around).text.split("\n"))

    return text
