"""A validator of processed profiles of version 49, from the profiler's published types (src/types/profile.ts)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

#: By table: columns, and the table that a column's numbers are rows of; None for values. "?" allows null.
TABLES: dict[str, dict[str, str | None]] = {
    "frameTable": {
        "address": None,
        "inlineDepth": None,
        "category": "categories?",
        "subcategory": None,
        "func": "funcTable",
        "nativeSymbol": "nativeSymbols?",
        "innerWindowID": None,
        "implementation": None,
        "line": None,
        "column": None,
    },
    "funcTable": {
        "name": "stringArray",
        "isJS": None,
        "relevantForJS": None,
        "resource": "resourceTable-1",
        "fileName": "stringArray?",
        "lineNumber": None,
        "columnNumber": None,
    },
    "resourceTable": {
        "lib": "libs?",
        "name": "stringArray",
        "host": "stringArray?",
        "type": None,
    },
    "nativeSymbols": {
        "libIndex": "libs",
        "address": None,
        "name": "stringArray",
        "functionSize": None,
    },
    "stackTable": {
        "frame": "frameTable",
        "prefix": "stackTable?",
        "category": "categories",
        "subcategory": None,
    },
    "markers": {
        "data": None,
        "name": "stringArray",
        "startTime": None,
        "endTime": None,
        "phase": None,
        "category": "categories",
    },
    "samples": {"stack": "stackTable?", "time": None},
}


def faults(profile: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a profile."""
    meta = profile["meta"]
    if (meta["version"], meta["preprocessedProfileVersion"]) != (24, 49):
        yield "the version"
    if not any(one["color"] == "grey" for one in meta["categories"]):
        yield "no grey category"
    schemas = {one["name"]: one for one in meta["markerSchema"]}
    if len(schemas) < len(meta["markerSchema"]):
        yield "two schemas of one name"
    for schema in schemas.values():
        if not all(
            {"key", "label", "format"} <= one.keys() or "value" in one for one in schema["data"]
        ):
            yield f"schema {schema['name']}"
    if not profile["threads"]:
        yield "no thread"
    sizes = {"libs": len(profile["libs"]), "categories": len(meta["categories"])}
    for thread in profile["threads"]:
        yield from _of_thread(thread, sizes, schemas)
    for counter in profile["counters"]:
        if not 0 <= counter["mainThreadIndex"] < len(profile["threads"]):
            yield "a counter of no thread"
        yield from _of_columns("counter", counter["samples"], ("time", "count"))
        if not all(isinstance(one, int | float) for one in counter["samples"]["count"]):
            yield "a count that is no number"


def _of_thread(
    thread: dict[str, Any], sizes: dict[str, int], schemas: dict[str, Any]
) -> Iterator[str]:
    if not isinstance(thread["pid"], str) or not isinstance(thread["tid"], str | int):
        yield "the ids of a thread"
    needed = (
        "name",
        "isMainThread",
        "processType",
        "registerTime",
        "unregisterTime",
        "pausedRanges",
    )
    yield from (f"no {name}" for name in needed if name not in thread)
    texts = thread["stringArray"]
    if len(set(texts)) < len(texts):
        yield "a string twice"
    sizes = {**sizes, "stringArray": len(texts)}
    sizes |= {name: thread[name]["length"] for name in TABLES}
    for name, columns in TABLES.items():
        yield from _of_columns(name, thread[name], tuple(columns))
        for column, table in columns.items():
            if table is not None:
                yield from _out_of_range(f"{name}.{column}", thread[name][column], table, sizes)
    for number, prefix in enumerate(thread["stackTable"]["prefix"]):
        if prefix is not None and prefix >= number:
            yield f"stack {number} is around stack {prefix}"
    times = thread["samples"]["time"]
    if any(one > other for one, other in pairwise(times)):
        yield "samples that are not in the order of time"
    yield from _of_markers(thread["markers"], schemas)


def _of_columns(name: str, table: dict[str, Any], columns: tuple[str, ...]) -> Iterator[str]:
    for column, values in table.items():
        if isinstance(values, list) and len(values) != table["length"]:
            yield f"{name}.{column} has {len(values)} values of {table['length']}"
    yield from (f"no {name}.{column}" for column in columns if column not in table)


def _out_of_range(name: str, values: list[Any], table: str, sizes: dict[str, int]) -> Iterator[str]:
    least = -1 if table.endswith("-1") else 0
    most = sizes[table.rstrip("?").removesuffix("-1")]
    for value in values:
        if value is None and table.endswith("?"):
            continue
        if type(value) is not int or not least <= value < most:
            yield f"{name} is {value} of {most}"


def _of_markers(markers: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    for start, end, phase, data in zip(
        *(markers[name] for name in ("startTime", "endTime", "phase", "data")), strict=True
    ):
        needs = {0: (True, False), 1: (True, True), 2: (True, False), 3: (False, True)}[phase]
        if (start is not None, end is not None) != needs:
            yield f"a marker of phase {phase} from {start} to {end}"
        if phase == 1 and end < start:
            yield "a marker that ends before it starts"
        if data is not None and data.get("type") not in schemas:
            yield f"data without a schema: {data}"
        if data is not None and data.get("type") in schemas:
            known = {one.get("key") for one in schemas[data["type"]]["data"]} | {"type"}
            yield from (f"{key} is not shown" for key in data.keys() - known)
