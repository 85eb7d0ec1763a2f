"""Samples that JSON lists beside its events are samples in Perfetto's traces, and listed again in JSON."""

import json

import pytest
from support.traces.losses import line_of
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.projection.domain.listed_samples import with_listed_samples
from converter.projection.losses import LossReport
from converter.selection.selection import Selection

SLICES = [
    {"ph": "X", "name": name, "ts": ts, "dur": 5, "pid": 1, "tid": 7}
    for name, ts in (("a", 10), ("b", 20), ("c", 30))
]
FRAMES = {
    "1": {"name": "main", "category": "m"},
    "3": {"name": "leaf", "category": "l", "parent": "1"},
    "9": {"name": "loop", "parent": 9},
}
SAMPLES = [
    {"cpu": 0, "tid": 7, "ts": 21.5, "name": "cycles", "sf": 3, "weight": 2},
    {"cpu": 3, "tid": 8, "ts": 12, "name": "cycles", "sf": "1", "weight": 1},
    # Before all events; no time, no frame, no sample.
    {"tid": 7, "ts": 9, "sf": 3},
    *({"tid": 7, "sf": 3}, {"tid": 7, "ts": 5, "sf": 4}, 5, {"ts": 10**30, "sf": 3}),
]
STACKS = """with recursive up(id, at, height) as (
        select callsite_id, ts, 0 from perf_sample union all select c.parent_id, at, height + 1
        from up join stack_profile_callsite c on c.id = up.id where c.parent_id is not null)
    select at, group_concat(name, '<') from (select at, f.name from up
        join stack_profile_callsite c on c.id = up.id join stack_profile_frame f on f.id = c.frame_id
        order by at, height) group by at"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "a.json"
    content = {"traceEvents": SLICES, "stackFrames": FRAMES, "samples": SAMPLES}
    path.write_text(json.dumps(content))
    return path


@needs_trace_processor
def test_listed_samples_are_shown_in_perfetto(source, tmp_path):
    target = tmp_path / "b.pftrace"
    losses = [line_of(loss) for loss in converter.convert(source, target)]
    assert answer(target, STACKS) == [["12000", "main"], ["21500", "leaf<main"]]
    assert any(one.startswith("call-stacks-added") for one in losses)
    assert any(one.startswith("listed-sample-outside") for one in losses)


@needs_trace_processor
def test_a_part_of_a_trace_has_the_samples_of_its_time(source, tmp_path):
    target = tmp_path / "b.pftrace"
    converter.convert(source, target, selection=Selection(since="0.000015"))
    assert answer(target, STACKS) == [["21500", "leaf<main"]]


def test_json_keeps_them_as_they_are(source, tmp_path):
    target = tmp_path / "b.json"
    assert not list(converter.convert(source, target))
    written = json.loads(target.read_text())
    assert written["stackFrames"] == FRAMES
    assert written["samples"] == SAMPLES


def test_frames_around_themselves_end(source, tmp_path):
    content = json.loads(source.read_text())
    content["samples"] = [{"tid": 7, "ts": 21, "sf": 9}]
    source.write_text(json.dumps(content))
    converter.convert(source, tmp_path / "b.pftrace")


@pytest.mark.parametrize(("cpu", "held"), [(0, 0), ((1 << 31) - 1, (1 << 31) - 1), (1 << 31, -1)])
def test_numbers_that_no_cpu_has_are_none(tmp_path, cpu, held):
    content = {
        "traceEvents": SLICES,
        "stackFrames": FRAMES,
        "samples": [{**SAMPLES[0], "cpu": cpu}],
    }
    with converter.open_trace(json.dumps(content).encode()) as trace:
        *_, samples = with_listed_samples(trace, LossReport()).batches()
    assert samples.cpu.tolist() == [held]
