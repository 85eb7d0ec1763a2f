"""Ftrace text as rows: the events that a text says."""

from __future__ import annotations

from typing import Any

import converter
from converter.ir.trace import Trace


def read(text: str | bytes) -> Trace:
    """The trace of a text."""
    return converter.read(text.encode() if isinstance(text, str) else text, "ftrace_text")


def rows(trace: Trace) -> list[tuple[int, int, int | None, str, dict[str, Any]]]:
    """Time, CPU, tid and name of each event, and its fields by name."""
    found = []
    for batch in trace.batches():
        for position in range(len(batch)):
            number = int(batch.class_id[position])
            event_class, table = trace.event_classes[number], batch.tables[number]
            row = int(batch.row[position])
            fields = {
                field.name: shown(trace, field, table.column(index), row)
                for index, field in enumerate(event_class.fields)
            }
            thread = int(batch.thread[position])
            tid = trace.threads[thread].tid if thread >= 0 else None
            found.append(
                (int(batch.ts[position]), int(batch.cpu[position]), tid, event_class.name, fields)
            )
    return found


def shown(trace: Trace, field: Any, column: Any, row: int) -> Any:
    """A value as Python has it."""
    if hasattr(column, "offsets"):
        values = column.values[column.offsets[row] : column.offsets[row + 1]]
        return (
            bytes(values).decode(errors="surrogateescape")
            if values.dtype.itemsize == 1
            else values.tolist()
        )
    value = int(column[row])
    return trace.strings.text(value) if "String" in type(field.type).__name__ else value
