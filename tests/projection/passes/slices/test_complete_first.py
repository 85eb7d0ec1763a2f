"""Arrows where a complete slice begins, to viewers that take such slices first."""

import json

from support.viewers.trace_processor import answer, needs_trace_processor

import converter

ARROWS = """select a.name, a.ts, b.name, b.ts from flow f
    join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in"""


def slice_of(name, ts, dur, tid, **more):
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": tid, **more}


def document():
    """Arrows of both sorts whose parts stand in front of slices of their time."""
    flow = {"name": "f", "cat": "c", "id": 7, "pid": 1, "tid": 3}
    return [
        slice_of("out", 18, 1, 1, bind_id="0x2", flow_out=True),
        slice_of("in and out", 18, 2.5, 2, bind_id="0x2", flow_in=True, flow_out=True),
        slice_of("around", 10, 30, 3),
        {"ph": "s", "ts": 12, **flow},
        {"ph": "f", "bp": "e", "ts": 20, **flow},
        slice_of("inside", 20, 5, 3),
    ]


@needs_trace_processor
def test_arrows_of_json_lead_to_the_slices_that_its_viewers_have(tmp_path):
    source = tmp_path / "a.json"
    source.write_text(json.dumps(document()))
    before = answer(source, ARROWS)
    assert len(before) == 1
    for target in ("b.pftrace", "c.fxt"):
        converter.convert(source, tmp_path / target)
        assert answer(tmp_path / target, ARROWS) == before


def test_the_longest_slice_of_a_time_comes_first(tmp_path):
    source, target = tmp_path / "a.json", tmp_path / "b.pftrace"
    source.write_text(json.dumps(document()))
    converter.convert(source, target)
    with converter.open_trace(target) as trace:
        kinds = [trace.event_classes[one].kind.name for one in next(trace.batches()).class_id]
    assert kinds[-3:] == ["SLICE_COMPLETE", "FLOW_END", "SLICE_END"]


SLICES = "select name, ts, dur, depth from slice order by name"


@needs_trace_processor
def test_ends_of_json_come_before_slices_that_begin_with_them(tmp_path):
    events = [
        {"ph": "B", "ts": 10, "name": "a"},
        # In the file before the end, as recorders write complete slices when they end.
        slice_of("longer", 20, 30, 1),
        slice_of("nothing", 20, 0, 1),
        {"ph": "i", "ts": 20, "name": "instant", "s": "t"},
        {"ph": "E", "ts": 20},
        {"ph": "B", "ts": 50, "name": "b"},
        {"ph": "i", "ts": 60, "name": "last", "s": "t"},
        {"ph": "E", "ts": 60},
    ]
    source = tmp_path / "a.json"
    source.write_text(json.dumps([{"pid": 1, "tid": 1, **one} for one in events]))
    wanted = [
        ["a", 10_000, 10_000, 0],
        ["b", 50_000, 10_000, 0],
        ["instant", 20_000, 0, 2],
        ["last", 60_000, 0, 0],
        ["longer", 20_000, 30_000, 0],
        ["nothing", 20_000, 0, 1],
    ]
    for path in (source, tmp_path / "b.pftrace", tmp_path / "c.fxt"):
        if path != source:
            losses = converter.convert(source, path)
            assert not any("-at-shared-time" in loss.code for loss in losses)
        assert [[row[0], *map(int, row[1:])] for row in answer(path, SLICES)] == wanted, path
