"""A profile of Firefox in its three forms: processed, raw, and with tables that threads share."""

from __future__ import annotations

import copy
from typing import Any

STRINGS = ["Click", "Boot", "DOMEvent", "run (in libxul)", "paint", "main"]
#: Stacks by number: the frame, and the stack around.
FRAMES, PREFIXES = [2, 1, 0], [None, 0, 1]
MARKERS: dict[str, list[Any]] = {
    "name": [0, 1, 2, 2],
    "startTime": [10.0, 20.0, 30.0, 0.0],
    "endTime": [10.0, 25.0, 0.0, 35.0001],
    "phase": [0, 1, 2, 3],
    "category": [0, 0, 1, 1],
    "data": [{"flow": 7}, None, {"target": "btn"}, None],
}
SAMPLES: dict[str, list[Any]] = {"stack": [2, None, 1], "time": [1.5, 2, 3.25]}
META = {"startTime": 1_700_000_000_000.5, "categories": [{"name": "Other"}, {"name": "DOM"}]}
PROCESSED = {
    "meta": META,
    "threads": [
        {
            "name": "GeckoMain",
            "processName": "Web",
            "pid": "10",
            "tid": 11,
            "stringArray": STRINGS,
            "frameTable": {"func": [0, 1, 2]},
            "funcTable": {"name": [3, 4, 5]},
            "stackTable": {"frame": FRAMES, "prefix": PREFIXES},
            "samples": SAMPLES,
            "markers": MARKERS,
        }
    ],
}


def rows(columns: dict[str, list[Any]]) -> dict[str, Any]:
    """A table as raw profiles have it, whose rows leave out what is null at their end."""
    data = [list(row) for row in zip(*columns.values(), strict=True)]
    for row in data:
        while row and row[-1] is None:
            row.pop()
    return {"schema": {name: i for i, name in enumerate(columns)}, "data": data}


def raw() -> dict[str, Any]:
    """The same profile as the recorder has it."""
    thread = copy.deepcopy(PROCESSED["threads"][0])
    del thread["funcTable"]
    thread["stringTable"] = thread.pop("stringArray")
    thread["frameTable"] = rows({"location": [3, 4, 5]})
    for table in ("stackTable", "samples", "markers"):
        thread[table] = rows(thread[table])
    return {"meta": META, "threads": [thread]}


def shared() -> dict[str, Any]:
    """The same with tables that all threads share, and times as differences."""
    thread = copy.deepcopy(PROCESSED["threads"][0])
    thread["samples"] = {"stack": SAMPLES["stack"], "timeDeltas": [1.5, 0.5, 1.25]}
    names = ("stringArray", "frameTable", "funcTable", "stackTable")
    return {"meta": META, "shared": {name: thread.pop(name) for name in names}, "threads": [thread]}


FORMS = {"processed": lambda: PROCESSED, "raw": raw, "shared": shared}
