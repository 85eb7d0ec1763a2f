"""Profiles in the shapes that Firefox, samply and perf write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.traces.small_traces import events_of

from converter import convert, read
from converter.formats.profiles.gecko.reading import reader
from converter.ir.canonical import difference
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.storage.source import MemorySource


def trace_of(profile: Any) -> Trace:
    return reader.read(MemorySource("a.json", json.dumps(profile).encode()))


def samples(trace: Trace) -> list[dict[str, Any]]:
    return [fields for _, kind, _, fields in events_of(trace) if kind is Kind.SAMPLE]


def frames(sample: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [tuple(value for _, value in frame) for frame in sample["frames"]]


def thread(**tables: Any) -> dict[str, Any]:
    """A processed thread as samply has it, with two stacks."""
    return {
        "name": "worker",
        "pid": "12.1",
        "tid": "34",
        "processName": "prog",
        "registerTime": 1.5,
        "unregisterTime": None,
        "stringArray": ["work", "0x1f0", "/lib/libc.so.6", "src/work.c", "Mark", "prog"],
        "frameTable": {
            "length": 2,
            "address": [0x10, 0x1F0],
            "func": [0, 1],
            "line": [12, None],
            "category": [1, None],
        },
        "funcTable": {
            "length": 2,
            "name": [0, 1],
            "resource": [1, 0],
            "fileName": [3, None],
        },
        "resourceTable": {"length": 2, "lib": [0, 1], "name": [2, 5], "type": [1, 1]},
        "stackTable": {"length": 2, "frame": [0, 1], "prefix": [None, 0]},
        "samples": {"length": 1, "stack": [1], "time": [2.000001]},
        "markers": {},
        **tables,
    }


def profile(*threads: Any, **members: Any) -> dict[str, Any]:
    meta = {
        "version": 24,
        "preprocessedProfileVersion": 49,
        "startTime": 1.7e12,
        "categories": [{"name": "Other", "color": "grey"}, {"name": "User", "color": "yellow"}],
        "sampleUnits": {"threadCPUDelta": "µs"},
    }
    return {"meta": meta, "libs": [{"name": "libc"}], "threads": list(threads), **members}


def test_a_start_that_is_no_time_is_said() -> None:
    for start, fields in (
        (0, []),
        (None, []),
        (1 << 43, ["meta.startTime"]),
        ("x", ["meta.startTime"]),
    ):
        given = profile(thread())
        given["meta"]["startTime"] = start
        trace = trace_of(given)
        assert [one.field for one in trace.warnings] == fields
        assert trace.clock.epoch_ns is None


def test_samply() -> None:
    trace = trace_of(profile(thread()))
    (sample,) = samples(trace)
    assert frames(sample) == [
        (b"", b"/lib/libc.so.6", 0x1F0, b"", 0),
        (b"work", b"prog", 0x10, b"src/work.c", 12),
    ]
    assert (sample["weight"], sample["category"]) == (1, "User")
    (process,) = trace.processes
    assert process.pid >= 1 << 62
    assert process.name == "prog"
    assert trace.threads[0].tid == 34


def test_firefox() -> None:
    table = {
        "stack": [0, 1, None],
        "time": [1, 2, 3],
        "threadCPUDelta": [None, 7, 1.5],
        "eventDelay": [0, 0.5, 1],
    }
    found = samples(trace_of(profile(thread(samples=table))))
    assert [one["thread_cpu_delta"] for one in found] == [0, 7000, 1500]
    assert [one["event_delay"] for one in found] == [0, 0.5, 1]
    assert [one["category"] for one in found] == ["User", "User", ""]


def test_weights() -> None:
    table = {"stack": [0, 1], "time": [1, 2], "weight": [-5, 7], "weightType": "bytes"}
    times = {"stack": [0], "time": [1], "weight": [1.25], "weightType": "tracing-ms"}
    allocations = {"stack": [0], "time": [1], "weight": [64]}
    trace = trace_of(
        profile(thread(samples=table, nativeAllocations=allocations), thread(samples=times))
    )
    assert [one["weight"] for one in samples(trace)] == [-5, 7, 64, 1_250_000]
    units = [(one.name, one.fields[1].unit) for one in trace.event_classes]
    assert units == [("", "bytes"), ("nativeAllocations", "bytes"), ("", "ns")]


def test_sources() -> None:
    functions = {"length": 2, "name": [0, 1], "resource": [-1, -1], "source": [0, None]}
    shared = {"stringArray": thread()["stringArray"], "sources": {"filename": [3]}}
    one = thread(funcTable=functions)
    del one["stringArray"]
    (sample,) = samples(trace_of(profile(one, shared=shared)))
    # The strings of shared sources are those of all.
    assert [frame[3] for frame in frames(sample)] == [b"", b"src/work.c"]


def test_perf_script() -> None:
    """What `perf script report gecko` writes: raw tables."""
    strings = [
        "main (in prog)",
        "run (http://x/y.js:10:5)",
        "0x7f0010",
        "f (in lib) + 8",
        "a.js:3",
    ]
    raw = {
        "name": "prog",
        "tid": 1,
        "pid": 1,
        "registerTime": 0,
        "samples": {"schema": {"stack": 0, "time": 1, "eventDelay": 2}, "data": [[4, 5.0, 0]]},
        "frameTable": {"schema": {"location": 0}, "data": [[0], [1], [2], [3], [4]]},
        "stackTable": {
            "schema": {"prefix": 0, "frame": 1},
            "data": [[None, 0], [0, 1], [1, 2], [2, 3], [3, 4]],
        },
        "stringTable": strings,
        "markers": {"schema": {"name": 0}, "data": []},
    }
    libs = [{"start": 0x7F0000, "end": 0x7F1000, "name": "libx.so"}]
    (sample,) = samples(trace_of({"meta": {"version": 27}, "libs": libs, "threads": [raw]}))
    assert frames(sample) == [
        (b"(root scope)", b"", 0, b"a.js", 3),
        (b"f", b"lib", 0, b"", 0),
        (b"", b"libx.so", 0x10, b"", 0),
        (b"run", b"", 0, b"http://x/y.js", 10),
        (b"main (in prog)", b"", 0, b"", 0),
    ]


def markers(*data: Any) -> dict[str, Any]:
    count = len(data)
    return {
        "name": [4] * count,
        "startTime": [1] * count,
        "endTime": [None] * count,
        "phase": [0] * count,
        "category": [0] * count,
        "data": list(data),
    }


def test_stacks_of_markers_are_names(tmp_path: Path) -> None:
    first = profile(thread(markers=markers({"type": "T", "cause": {"stack": 1}})))
    (event,) = [fields for _, kind, _, fields in events_of(trace_of(first)) if kind is Kind.INSTANT]
    assert dict(event["cause"])["stack"] == [b"", b"work"]
    (tmp_path / "a.json").write_text(json.dumps(first))
    convert(tmp_path / "a.json", tmp_path / "b.profile.json")
    second = json.loads((tmp_path / "b.profile.json").read_bytes())
    # Profilers would look for a stack by its number.
    (data,) = second["threads"][0]["markers"]["data"]
    assert data == {"type": "T", "cause_": {"stack": ["", "work"]}}
    assert difference(read(tmp_path / "a.json"), read(tmp_path / "b.profile.json")) is None


def test_data_of_any_kind_are_arguments() -> None:
    data = [{"a": [1, "x"], "b": {"c": 1.5}}, "text", {"n": 1 << 63, "none": None, "yes": True}]
    trace = trace_of(profile(thread(markers=markers(*data))))
    found = [fields for _, kind, _, fields in events_of(trace) if kind is Kind.INSTANT]
    assert found[0]["a"] == '[1,"x"]'
    assert dict(found[0]["b"]) == {"c": 1.5}
    assert found[1]["data"] == "text"
    assert (found[2]["n"], found[2]["none"], found[2]["yes"]) == (1 << 63, None, True)


def test_counters(tmp_path: Path) -> None:
    memory = {
        "name": "malloc",
        "category": "Memory",
        "pid": "12.1",
        "mainThreadIndex": 0,
        "samples": {"length": 3, "time": [1, 2, 3], "count": [100, -50, 25]},
    }
    power = {
        "name": "Package",
        "category": "power",
        "pid": "12.1",
        "sampleGroups": [{"id": 0, "samples": {"time": [1], "count": [7.5]}}],
    }
    (tmp_path / "a.json").write_text(json.dumps(profile(thread(), counters=[memory, power])))
    convert(tmp_path / "a.json", tmp_path / "b.profile.json")
    trace = read(tmp_path / "b.profile.json")
    assert difference(read(tmp_path / "a.json"), trace) is None
    values = [fields["value"] for _, kind, _, fields in events_of(trace) if kind is Kind.COUNTER]
    assert values == [100, 50, 75, 7.5]
    written = json.loads((tmp_path / "b.profile.json").read_bytes())["counters"]
    assert [one["samples"]["count"] for one in written] == [[100, -50, 25], [7.5]]


def test_other_members_are_kept(tmp_path: Path) -> None:
    first = profile(
        thread(jsTracer={"events": []}), pages=[{"tabID": 1, "url": "x"}], profilerOverhead=[]
    )
    first["meta"]["markerSchema"] = [{"name": "T", "display": [], "fields": []}]
    (tmp_path / "a.json").write_text(json.dumps(first))
    convert(tmp_path / "a.json", tmp_path / "b.profile.json")
    second = json.loads((tmp_path / "b.profile.json").read_bytes())
    assert second["pages"] == first["pages"]
    assert second["threads"][0]["jsTracer"] == {"events": []}
    assert second["threads"][0]["registerTime"] == 1.5
    assert second["threads"][0]["pid"] == "12.1"
    assert second["libs"][0]["name"] == "libc"
    assert second["meta"]["markerSchema"][0] == {"name": "T", "display": [], "data": []}
    assert difference(read(tmp_path / "a.json"), read(tmp_path / "b.profile.json")) is None
