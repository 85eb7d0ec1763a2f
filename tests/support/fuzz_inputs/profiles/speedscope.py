"""Files of speedscope that no fixture is like."""

from __future__ import annotations

import json
from typing import Any

from support.fuzzing.corpus import Files

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_FRAMES = [{"name": "a", "file": "a.c", "line": 1, "col": 2}, {"name": "b\u00e9\n"}]


def _file(*profiles: dict[str, Any], **members: Any) -> Files:
    shared = {"frames": _FRAMES}
    content = {"$schema": _SCHEMA, "profiles": profiles, "shared": shared, **members}
    return {"": json.dumps(content).encode()}


def _events(unit: str, *events: tuple[str, int, float]) -> dict[str, Any]:
    found = [{"type": kind, "frame": frame, "at": at} for kind, frame, at in events]
    return {
        "type": "evented",
        "name": unit,
        "unit": unit,
        "startValue": 0,
        "endValue": 9,
        "events": found,
    }


def _samples(
    unit: str, samples: list[list[int]], weights: list[float], **own: Any
) -> dict[str, Any]:
    found = {"type": "sampled", "name": unit, "unit": unit, "startValue": 1, "endValue": 9}
    return {**found, "samples": samples, "weights": weights, **({"traceconv": own} if own else {})}


def inputs() -> list[Files]:
    """Profiles of all units, some with traceconv's own members."""
    calls = _events("microseconds", ("O", 0, 1), ("O", 1, 1.5), ("C", 1, 2), ("C", 0, 3e1))
    tables = {
        "version": 1,
        "origin": -5,
        "processes": [[1, "p", None, []]],
        "threads": [[2, 0, "t"]],
        "clock": ["mono", "", 7, "1000000000"],
        "clock_domains": [],
        "environment": {},
        "tracks": [["x", 2, 0, -1, "", 0]],
    }
    own = _samples(
        "none", [[0], [1, 0]], [1, 2], thread=0, track=-1, event="e", times=[1, 5], cpus=[0, 1]
    )
    return [
        _file(calls, _events("none", ("C", 0, 0), ("O", 0, 5), ("O", 1, 4))),
        _file(_samples("bytes", [[0, 1], [], [1]], [1, 0, 2.5]), name="n", exporter="e"),
        _file(_samples("seconds", [[0], [1]], [0.25]), activeProfileIndex=1),
        _file(own, {**calls, "traceconv": {"thread": -1, "track": 0}}, traceconv=tables),
        _file(),
    ]
