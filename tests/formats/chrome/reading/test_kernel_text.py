"""Text of ftrace inside a document: its events are beside those of the document, as trace_processor v52 shows both."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.viewers.trace_processor import needs_trace_processor, printed

import converter

_IDLE, _APP = "comm=swapper/0 {0}_pid=0 {0}_prio=120", "comm=app {0}_pid=42 {0}_prio=120"
TEXT = f"""# tracer: nop
 <idle>-0 [000] d..2 10.000100: sched_switch: prev_{_IDLE.format("prev")} prev_state=R ==> next_{_APP.format("next")}
 app-42 [000] .... 10.000200: tracing_mark_write: B|41|work
 app-42 [000] .... 10.000300: tracing_mark_write: E|41
 app-42 [000] d..2 10.000400: sched_switch: prev_{_APP.format("prev")} prev_state=S ==> next_{_IDLE.format("next")}
"""
EVENTS = [
    {"ph": "X", "name": "user", "ts": 10000150, "dur": 200, "pid": 41, "tid": 42},
    {"ph": "M", "name": "thread_name", "pid": 41, "tid": 42, "args": {"name": "application"}},
]
SLICES = """select ts, dur, depth, slice.name, tid, pid, thread.name from slice
    join thread_track t on t.id = track_id join thread using (utid) join process using (upid) order by ts"""
SCHED = "select ts, dur, cpu, end_state, priority, tid from sched_slice join thread using (utid) order by ts"


def written(folder: Path, text: str = TEXT, name: str = "a.json") -> Path:
    """A document with events, and a text after them."""
    path = folder / name
    path.write_text(json.dumps({"traceEvents": EVENTS, "systemTraceEvents": text, "z": [1]}))
    return path


def test_events_are_merged_by_time_and_tasks_are_the_same(tmp_path: Path) -> None:
    with converter.open_trace(written(tmp_path)) as trace:
        found = [(one.ts, one.name, one.tid) for one in trace.iter_events()]
        assert [(ts // 1000, name) for ts, name, _ in found] == [
            (10_000_100, "sched_switch"),
            (10_000_150, "user"),
            (10_000_200, "print"),
            (10_000_300, "print"),
            (10_000_400, "sched_switch"),
        ]
        assert [tid for _, _, tid in found] == [0, 42, 42, 42, 42]
        named = {(trace.processes[one.process].pid, one.tid): one.name for one in trace.threads}
        assert named == {(41, 42): "app", (0, 0): "swapper"}
        assert "systemTraceEvents" not in trace.sidecar["chrome"]["members"]
        assert trace.warnings == []


@needs_trace_processor
def test_viewers_show_what_they_show_of_the_document(tmp_path: Path) -> None:
    source, made = written(tmp_path), tmp_path / "a.pftrace"
    losses = converter.convert(source, made)
    assert [one.code for one in losses if one.loss_class == "shown"] == []
    shown = printed(source, f"{SLICES}; {SCHED}")
    assert len(shown) == 2 + 2 + 2
    assert printed(made, f"{SLICES}; {SCHED}") == shown


def test_a_copy_keeps_the_text_and_a_part_has_its_events(tmp_path: Path) -> None:
    source = written(tmp_path)
    converter.convert(source, tmp_path / "copy.json")
    copy = json.loads((tmp_path / "copy.json").read_text())
    assert copy["systemTraceEvents"] == TEXT
    assert [one["ph"] for one in copy["traceEvents"]] == ["X", "M"]
    with converter.open_trace(tmp_path / "copy.json") as trace:
        assert sum(map(len, trace.batches())) == 5
    assert converter.roundtrip(source, []).formats == ["chrome", "chrome"]
    converter.convert(
        source, tmp_path / "part.json", selection=converter.Selection(since="10.00025")
    )
    part = json.loads((tmp_path / "part.json").read_text())
    assert "10.0004" in part["systemTraceEvents"]
    assert "10.0001" not in part["systemTraceEvents"]


@pytest.mark.parametrize("text", ["", "x", "# tracer: nop\n"])
def test_a_text_without_events_adds_none(tmp_path: Path, text: str) -> None:
    with converter.open_trace(written(tmp_path, text)) as trace:
        assert sum(map(len, trace.batches())) == 1


@pytest.mark.parametrize(
    ("members", "count"),
    [
        ('{"systemTraceEvents":%s,"traceEvents":[%s]}', 5),
        ('{"traceEvents":[%s],"systemTraceEvents":%s}', 5),
        ('{"traceEvents":[%s],"systemTraceEvents":%s,"z":"%s"}', 5),
        ('{"z":"%s","systemTraceEvents":%s,"traceEvents":[%s]}', 1),
    ],
)
def test_a_long_document_is_not_searched_for_text(tmp_path: Path, members: str, count: int) -> None:
    """Text is looked for before and after the events; what is elsewhere is a warning."""
    path = tmp_path / "long.json"
    events = ",".join(map(json.dumps, EVENTS)) + "," + " " * (5 << 19) + json.dumps(EVENTS[1])
    parts = {"s": json.dumps(TEXT), "t": events, "z": "z" * (5 << 19)}
    order = re.findall(r'"([zst])\w*":', members)
    path.write_text(members % tuple(parts[one] for one in order))
    with converter.open_trace(path) as trace:
        assert sum(map(len, trace.batches())) == count
        assert [one.field for one in trace.warnings] == ["systemTraceEvents"] * (count == 1)
