"""What a script that parses a whole trace costs: the tools of formats that have none of their own here.

python -m benchmarks.parsers {perfetto|json} FILE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def perfetto(data: bytes) -> None:
    """Parse with the classes of the `perfetto` package, and print every event as JSON."""
    from google.protobuf.json_format import MessageToDict
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    for packet in Trace.FromString(data).packet:
        for event in packet.ftrace_events.event:
            json.dumps(MessageToDict(event))
        if packet.HasField("track_event"):
            json.dumps(MessageToDict(packet))


def chrome(data: bytes) -> None:
    """Parse with orjson, where it is installed, or with Python's own parser."""
    try:
        from orjson import loads
    except ImportError:
        loads = json.loads
    loads(data)


if __name__ == "__main__":
    {"perfetto": perfetto, "json": chrome}[sys.argv[1]](Path(sys.argv[2]).read_bytes())
