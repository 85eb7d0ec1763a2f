"""Inputs of profiles of Firefox that no fixture is like."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from support.fuzzing.corpus import Files
from support.profiles.gecko_profiles import FORMS, META, PROCESSED

#: What this project's writer says of a trace, right and wrong.
_TABLES: dict[str, Any] = {
    "processes": [[10, "p", None, []]],
    "threads": [[11, 0, "t"]],
    "clock": ["ns", "", None, "1000000000"],
    "clock_domains": [],
    "environment": {},
}
_OWN: dict[str, Any] = {
    "version": 1,
    "tables": _TABLES,
    "tracks": [["a", "PROCESS", 0, -1, "", 0]],
    "classes": [
        {
            "class": {
                "kind": "INSTANT",
                "fields": [
                    {"name": "name", "type": "string", "role": "NAME"},
                    {"name": "category", "type": "string", "role": "CATEGORY"},
                    {"name": "v", "type": "i64"},
                ],
            },
            "keys": [None, None, "v"],
        },
        None,
    ],
    "offset": "5",
    "uncategorized": 0,
}


def inputs() -> list[Files]:
    """All forms of profiles, mistakes in tables, and files of this project."""
    found = [{"": json.dumps(profile).encode()} for profile in (*_profiles(), *_own())]
    text = json.dumps(PROCESSED)
    found += [{"": text[:end].encode()} for end in range(100, len(text), 211)]
    found.append({"": b'{"meta":{"interval":1},"threads":' + b"[" * 2000})
    return found


def _profiles() -> Iterator[Any]:
    yield from (profile() for profile in FORMS.values())
    inside = copy.deepcopy(PROCESSED)
    inside["processes"] = [
        {**copy.deepcopy(PROCESSED), "processes": [{"meta": META, "threads": 5}, 7]}
    ]
    yield inside
    for place, value in (
        (("markers", "name", 0), 77),
        (("markers", "phase", 1), "x"),
        (("samples", "stack", 0), 9),
        (("samples", "stack"), [[1]]),
        (("samples", "time"), ["x", None, 1e300]),
        (("stackTable", "prefix"), [1, 2, 0]),
        (("frameTable",), 5),
        (("stringArray",), [1, None]),
        (("tid",), "text"),
    ):
        changed = copy.deepcopy(PROCESSED)
        part: Any = changed["threads"][0]
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = value
        yield changed
    yield {"meta": META, "threads": {}}
    yield {"meta": META, "threads": [5, {}, {"samples": {}}]}


def _own() -> Iterator[Any]:
    thread = {
        "traceconv": {"thread": 0, "unit": "ns", "event": "e"},
        "stringArray": ["n"],
        "samples": {"stack": [None], "time": [1.5], "weight": [0.25]},
        "markers": {
            "name": [0],
            "startTime": [1],
            "endTime": [None],
            "phase": [0],
            "category": [0],
            "data": [{"type": "v", "v": 7}],
            "traceconv": [0],
            "traceconvTrack": [0],
        },
    }
    counter = {"name": "c", "samples": {"time": [1], "count": [1], "traceconv": ["NaN"]}}
    counter["traceconv"] = {"thread": -1, "track": 0, "category": "", "name": "c", "real": True}
    whole: dict[str, Any] = {
        "meta": {**META, "interval": 1},
        "threads": [thread],
        "counters": [counter],
        "traceconv": _OWN,
    }
    yield whole
    for place, value in (
        (("traceconv", "exact"), True),
        (("traceconv", "offset"), str(1 << 63)),
        (("traceconv", "offset"), str((1 << 63) - 1)),
        (("traceconv", "tables"), 5),
        (("traceconv", "tracks"), [["a", "THREAD", 1, -1, "", 0]]),
        (("traceconv", "tracks"), [["a", "GLOBAL", -1, 0, "", 0]]),
        (("traceconv", "classes"), [None, None]),
        (("traceconv", "classes", 0, "keys"), [None]),
        (("traceconv", "classes", 0, "keys"), [None, None, ["v"]]),
        (("threads", 0, "traceconv", "thread"), 1),
        (("threads", 0, "markers", "data"), [{"v": "text"}]),
        (("threads", 0, "markers", "traceconv"), [7]),
        (("threads", 0, "markers", "traceconvTrack"), [9]),
        (("counters", 0, "traceconv", "track"), 9),
    ):
        changed = copy.deepcopy(whole)
        part: Any = changed
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = value
        yield changed
