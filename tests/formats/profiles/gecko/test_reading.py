"""Profiles of Firefox: threads, samples and markers, of raw and processed ones."""

from __future__ import annotations

import copy
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from support.profiles.gecko_profiles import FORMS, PROCESSED, raw, shared
from support.traces.small_traces import events_of
from support.viewers.trace_processor import needs_trace_processor, printed
from support.viewers.trace_processor_versions import Feature, shows

from converter import convert, open_trace, read
from converter.errors import TraceError
from converter.formats.profiles.gecko.reading import reader
from converter.ir.kinds import Kind
from converter.limits import limited
from converter.projection.domain import call_stacks
from converter.storage.source import MemorySource


def trace_of(profile: Any) -> Any:
    return reader.read(MemorySource("a.json", json.dumps(profile).encode()))


def stacks(trace: Any) -> list[tuple[int, list[str]]]:
    return [
        (ts, [dict(frame)["function"].decode() for frame in fields["frames"]])
        for ts, kind, _, fields in events_of(trace)
        if kind is Kind.SAMPLE
    ]


@pytest.mark.parametrize("form", FORMS)
def test_samples_and_markers(form: str) -> None:
    trace = trace_of(FORMS[form]())
    assert stacks(trace) == [
        (1_500_000, ["run (in libxul)", "paint", "main"]),
        (2_000_000, []),
        (3_250_000, ["paint", "main"]),
    ]
    events = [one for one in events_of(trace) if one[1] is not Kind.SAMPLE]
    assert [
        (ts, kind.name, fields["name"], fields["category"]) for ts, kind, _, fields in events
    ] == [
        (10_000_000, "INSTANT", "Click", "Other"),
        (20_000_000, "SLICE_COMPLETE", "Boot", "Other"),
        (30_000_000, "SLICE_BEGIN", "DOMEvent", "DOM"),
        (35_000_100, "SLICE_END", "DOMEvent", "DOM"),
    ]
    assert events[0][3]["flow"] == 7
    assert events[1][3]["duration"] == 5_000_000
    (thread,) = trace.threads
    (process,) = trace.processes
    assert (process.pid, process.name, thread.tid, thread.name) == (10, "Web", 11, "GeckoMain")
    assert trace.clock.epoch_ns == 1_700_000_000_000_500_000


def test_processes_inside_a_profile_have_times_of_their_own() -> None:
    inside = copy.deepcopy(PROCESSED)
    inside["meta"]["startTime"] += 1000
    inside["threads"][0]["pid"] = 20
    trace = trace_of({**PROCESSED, "processes": [inside]})
    assert [ts for ts, names in stacks(trace) if names] == [
        1_500_000,
        3_250_000,
        1_001_500_000,
        1_003_250_000,
    ]
    assert [process.pid for process in trace.processes] == [10, 20]


def test_stacks_are_walked_to_a_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_stacks, "MAX_DEPTH", 2)
    assert stacks(trace_of(PROCESSED))[0] == (1_500_000, ["run (in libxul)", "paint"])


def test_a_compressed_profile_is_recognised_and_converted(tmp_path: Path) -> None:
    source, target = tmp_path / "a.json.gz", tmp_path / "b.pftrace"
    source.write_bytes(gzip.compress(b"\xef\xbb\xbf" + json.dumps(PROCESSED).encode()))
    with open_trace(source) as trace:
        assert trace.format == "gecko"
    convert(source, target)
    assert sum(map(len, read(target).batches())) == 8  # the complete slice has an end
    convert(source, tmp_path / "c.json")
    names = {
        event.get("name") for event in json.loads((tmp_path / "c.json").read_bytes())["traceEvents"]
    }
    assert {"Click", "Boot", "DOMEvent"} <= names


@needs_trace_processor
def test_the_importer_shows_the_markers_and_samples_of_the_profile(tmp_path: Path) -> None:
    source, target = tmp_path / "a.json", tmp_path / "b.pftrace"
    source.write_text(json.dumps(PROCESSED))
    convert(source, target)
    markers = """select s.ts, s.dur, s.depth, s.name, s.category, k.name, t.tid, t.name, p.pid,
    extract_arg(s.arg_set_id, 'data.flow'), extract_arg(s.arg_set_id, 'data.target')
    from slice s join thread_track k on k.id = s.track_id join thread t using (utid)
    join process p using (upid) order by s.ts"""
    samples = """select s.ts, c.depth from {} s
    join stack_profile_callsite c on c.id = s.callsite_id order by 1"""
    after = printed(target, f"{samples.format('perf_sample')}; {markers}")
    assert after[1:3] == [["1500000", "2"], ["3250000", "1"]]
    assert len(after) == 1 + 2 + 1 + 3
    if shows(Feature.GECKO_PROFILES):
        assert printed(source, f"{samples.format('cpu_profile_stack_sample')}; {markers}") == after


DAMAGE = [
    b'{"meta":{"interval":1},"threads":',
    b'{"meta":{"interval":1},"threads":{}}',
    b'{"meta":{"interval":1},"threads":[{"samples":{"stack":["x"],"time":[1]}}]}',
    b'{"meta":{"interval":1},"threads":[{"samples":{"stack":[[1]],"time":[1]}}]}',
]


@pytest.mark.parametrize("text", DAMAGE)
def test_what_is_no_profile_is_an_error(text: bytes) -> None:
    with pytest.raises(TraceError):
        reader.read(MemorySource("a.json", text))


def test_whatever_a_profile_holds_is_a_trace_or_an_error() -> None:
    """Numbers out of range, tables of other types and of other lengths."""
    rng = random.Random(1)
    values = [None, -1, 1 << 40, 1e300, float("nan"), "x", [], {}, [1], {"schema": {"stack": -2}}]
    errors = 0
    for _ in range(100):
        profile = copy.deepcopy(rng.choice([PROCESSED, raw(), shared()]))
        part: Any = profile
        for _ in range(rng.randint(1, 5)):
            keys = list(part) if isinstance(part, dict) else list(range(len(part)))
            if not keys:
                break
            key = rng.choice(keys)
            if not isinstance(part[key], dict | list) or rng.random() < 0.3:
                part[key] = rng.choice(values)
                break
            part = part[key]
        try:
            trace = trace_of(profile)
            assert sum(map(len, trace.batches())) <= 7
        except TraceError:
            errors += 1
    assert 0 < errors < 100


def test_what_is_not_in_the_form_of_its_table_is_counted() -> None:
    profile = copy.deepcopy(PROCESSED)
    profile["threads"][0]["markers"]["name"][0] = 77
    profile["threads"][0]["samples"]["stack"][0] = 9
    trace = trace_of(profile)
    assert sum(map(len, trace.batches())) == 5
    assert "2 markers and samples" in str(trace.warnings[0])


def test_a_profile_that_is_too_large_is_refused() -> None:
    with pytest.raises(TraceError, match="at most 64 bytes"), limited({"gecko.profile": 64}):
        trace_of(PROCESSED)


def test_profiles_and_traces_of_events_are_told_apart(tmp_path: Path) -> None:
    late = {"pages": [{"url": "x" * 5000}], "libs": [], **PROCESSED}
    (tmp_path / "late.json").write_text(json.dumps(late))
    assert read(tmp_path / "late.json").format == "gecko"
    (tmp_path / "events.json").write_text('{"meta":{"interval":1},"traceEvents":[]}')
    assert read(tmp_path / "events.json").format == "chrome"
    (tmp_path / "a.json").write_text(json.dumps({"meta": {"stackwalk": 1}, "threads": []}))
    with pytest.raises(TraceError, match="a profile of Firefox, which is the format gecko"):
        read(tmp_path / "a.json", "chrome")
    with pytest.raises(TraceError, match="found events of Chrome JSON"):
        read(tmp_path / "events.json", "gecko")


def test_the_former_name_of_the_limit_works() -> None:
    with pytest.raises(TraceError, match="at most 64 bytes"), limited({"chrome.profile": 64}):
        trace_of(PROCESSED)
