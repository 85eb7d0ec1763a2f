"""Events as rows for programs: one JSON object per line, or comma-separated values."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

from converter.cli.output.first_events import Event, seconds
from converter.ir.trace import Trace

#: The columns of comma-separated values; `fields` is a JSON object.
COLUMNS = ("ts", "seconds", "cpu", "pid", "tid", "comm", "track", "class", "kind", "fields", "text")


def json_lines(trace: Trace) -> Iterator[str]:
    """Yield each event as a JSON object on its own line, with the newline."""
    for event in _events(trace):
        yield f"{json.dumps(event.as_json())}\n"


def csv_lines(trace: Trace) -> Iterator[str]:
    """Yield a line of names, then a line for each event (RFC 4180, except for the line ends)."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for event in _events(trace):
        row = event.as_json()
        ts = row["ts"]
        row["seconds"] = None if ts is None else seconds(ts, trace.clock)
        row["fields"] = json.dumps(row["fields"])
        writer.writerow([row[name] for name in COLUMNS])
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    # Without any event, the names alone.
    yield text.getvalue()


def _events(trace: Trace) -> Iterator[Event]:
    for batch in trace.batches():
        describe = trace.describe(batch) if trace.describe is not None else None
        for position in range(len(batch)):
            yield Event(trace, batch, position, describe)
