"""The counters that samples come from: the name and the unit of each sequence's, which its defaults say."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from converter.formats.perfetto.layout import DEFAULTS_OF_SAMPLES, TIMEBASE_UNIT
from converter.formats.perfetto.mapping import COUNTER_NAMES
from converter.formats.perfetto.protobuf.descriptors import decode
from converter.formats.perfetto.protobuf.scan import split_fields
from converter.formats.perfetto.reading.kernels.scan_timeline import Timeline
from converter.kernels.tables.strings import StringTable

#: PerfSampleDefaults.timebase.
_TIMEBASE: Final = 1


def timebase(timeline: Timeline, messages: StringTable, scope: int) -> tuple[str, str]:
    """Return the name and the unit of the counter of a sequence's samples; empty texts if they are unknown."""
    id = timeline.interned_text(scope, DEFAULTS_OF_SAMPLES, 0)
    if id < 0:
        return "", ""
    data = np.frombuffer(messages[id], np.uint8)
    try:
        content = decode("PerfSampleDefaults", data, 0, len(data)).get("timebase", {})
        unit = _unit(data)
    except ValueError:
        return "", ""
    return _name(content).decode("utf-8", "surrogateescape"), unit


def _name(content: dict[str, Any]) -> bytes:
    if content.get("name"):
        return bytes(content["name"])
    if "tracepoint" in content:
        return bytes(content["tracepoint"].get("name", b""))
    return COUNTER_NAMES.get(content.get("counter", 0), "").encode()


def _unit(defaults: Any) -> str:
    for number, wire, start, size in split_fields(defaults, 0, len(defaults)):
        if number != _TIMEBASE or wire != 2:
            continue
        for inner, kind, at, length in split_fields(defaults, start, size):
            if inner == TIMEBASE_UNIT and kind == 2:
                return bytes(defaults[at : at + length]).decode("utf-8", "surrogateescape")
    return ""
