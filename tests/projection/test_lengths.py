"""Lengths of events that have none, as JSON may say them: viewers ignore them, and no target shows them."""

import json

import pytest
from support.traces.losses import line_of
from support.traces.small_traces import events_of
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.ir.kinds import Role

MEMBERS = {"pid": 3, "tid": 3, "dur": 0}
#: Node.js says a duration of 0 of all events.
EVENTS = [
    MEMBERS | {"ph": "i", "ts": 12, "name": "n", "tts": 9, "tdur": 0, "s": "t", "args": {"x": 1}},
    MEMBERS | {"ph": "B", "ts": 20, "name": "b", "tdur": 7},
    MEMBERS | {"ph": "E", "ts": 25, "name": "b"},
    MEMBERS | {"ph": "b", "ts": 26, "name": "async", "cat": "c", "id": 1},
    MEMBERS | {"ph": "n", "ts": 27, "name": "async", "cat": "c", "id": 1},
    MEMBERS | {"ph": "e", "ts": 28, "name": "async", "cat": "c", "id": 1},
    MEMBERS | {"ph": "C", "ts": 30, "name": "counter", "tts": 4, "args": {"v": 2}},
    MEMBERS | {"ph": "X", "ts": 40, "name": "x", "dur": 3, "tdur": 2},
]
LENGTHS = {Role.DURATION, Role.THREAD_DURATION}


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(EVENTS))
    return path


def lengths(trace):
    """The classes of events with a length, and what it is called."""
    return {
        (one.kind.name, field.name)
        for one in trace.event_classes
        for field in one.fields
        if field.name in ("duration", "thread_duration")
    }


def test_fxt_has_lengths_of_complete_slices_alone(source, tmp_path):
    report = converter.convert(source, tmp_path / "b.fxt")
    own = {("SLICE_COMPLETE", "duration"), ("SLICE_COMPLETE", "thread_duration")}
    assert lengths(converter.read(tmp_path / "b.fxt")) == own
    lost = [loss for loss in report if loss.code == "duration-without-length"]
    assert sum(loss.count for loss in lost) == 10
    assert {str(loss.loss_class) for loss in lost} == {"detail"}
    # The CPU time of the counter is on no instant, which viewers would show.
    assert [one.name for one in converter.read(tmp_path / "b.fxt").event_classes if one.name] == []


def test_perfetto_keeps_them_where_viewers_do_not_look(source, tmp_path):
    report = converter.convert(source, tmp_path / "b.pftrace")
    lost = [line_of(loss) for loss in report if loss.code == "duration-without-length"]
    assert len(lost) == 1
    assert "event=counter field=duration" in lost[0]
    back = [
        fields["duration"]
        for *_, fields in events_of(converter.read(tmp_path / "b.pftrace"))
        if "duration" in fields
    ]
    assert back == [0, 0, 0, 0, 0, 0, 3000]


@needs_trace_processor
@pytest.mark.parametrize("target", ["fxt", "pftrace"])
def test_trace_processor_shows_no_length_as_an_argument(source, tmp_path, target):
    output = tmp_path / f"b.{target}"
    converter.convert(source, output)
    keys = "select distinct s.name, a.flat_key from slice s join args a using (arg_set_id)"
    shown = [name for name, key in answer(output, keys) if key.split(".")[-1] == "duration"]
    assert shown == []
