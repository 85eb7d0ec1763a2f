"""Chrome JSON in tests: reading and writing in memory, and the fixtures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.traces.small_traces import fields_at

from converter.formats.chrome.capabilities import CAPABILITIES
from converter.formats.chrome.reading.reader import read
from converter.formats.chrome.writing.writer import write
from converter.ir.collect import collect
from converter.ir.trace import Trace
from converter.projection.project import project
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures" / "chrome"
FEATURES = (FIXTURES / "features.json").read_bytes()


def load(data: str | bytes | list[Any] | dict[str, Any]) -> Trace:
    """The trace in some JSON, all of it read."""
    if isinstance(data, list | dict):
        data = json.dumps(data)
    return collect(read(open_source(data.encode() if isinstance(data, str) else data)))


def dump(trace: Trace) -> bytes:
    """The trace as text, projected first."""
    projected, _ = project(trace, CAPABILITIES, "chrome")
    sink = BufferSink()
    write(projected, sink, "")
    return sink.getvalue()


def written(trace: Trace) -> list[dict[str, Any]]:
    """The events of the trace as they are written, without metadata."""
    return [event for event in json.loads(dump(trace))["traceEvents"] if event["ph"] != "M"]


def events(trace: Trace) -> list[tuple[str, int, dict[str, Any]]]:
    """Kind, time and fields of each event, in order."""
    result = []
    for batch in trace.batches():
        for i, class_id in enumerate(batch.class_id.tolist()):
            kind = trace.event_classes[class_id].kind
            result.append((kind.name, int(batch.ts[i]), fields_at(trace, batch, i)))
    return result


def event(**members: Any) -> dict[str, Any]:
    """An event object with what each needs."""
    return {"ph": "i", "ts": 1, "pid": 1, "tid": 1, **members}
