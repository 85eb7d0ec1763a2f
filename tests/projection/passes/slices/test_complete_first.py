"""Arrows where a complete slice begins, to viewers that take such slices first."""

import json

from support.perfetto_files import BEGIN, END, File
from support.trace_processor import answer, needs_trace_processor

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


def test_an_arrow_in_front_of_such_a_slice_is_a_loss_in_json(tmp_path):
    file = File()
    file.thread_track(2, 10, 11, "worker")
    file.event(10_000, BEGIN, "around", 2)
    for ts, phase in ((12_000, "s"), (20_000, "f"), (20_000, "X")):
        event = file.event(ts, 0, phase, 2)
        event.legacy_event.phase = ord(phase)
        if phase == "X":
            event.legacy_event.duration_us = 5
        else:
            event.legacy_event.unscoped_id = 7
        event.legacy_event.bind_to_enclosing = phase == "f"
    file.event(40_000, END, uuid=2)
    source = tmp_path / "a.pftrace"
    source.write_bytes(file.bytes())
    losses = {loss.what: loss.count for loss in converter.convert(source, tmp_path / "b.json")}
    assert losses["arrows in front of a slice that begins with them, which viewers take first"] == 1
