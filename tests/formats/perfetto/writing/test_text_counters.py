"""Counters with texts among their arguments, which only viewers of JSON take for values."""

import json

from support.fxt.files import argument, event, start
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.formats.fxt.record_types import ArgumentType, EventType

COUNTERS = "select c.ts, c.value from counter c join track t on t.id = c.track_id order by 1, 2"


def counter(ts, **values):
    kinds = {int: ArgumentType.INT32, str: ArgumentType.STRING, bool: ArgumentType.BOOLEAN}
    arguments = [
        argument(kinds[type(one)], name.encode(), one.encode() if isinstance(one, str) else one)
        for name, one in values.items()
    ]
    return event("little", EventType.COUNTER, ts, name=b"c%d" % ts, arguments=arguments, tail=0)


@needs_trace_processor
def test_numbers_beside_texts_stay_counters(tmp_path):
    source, target = tmp_path / "a.fxt", tmp_path / "b.pftrace"
    events = [
        counter(10, a=5, s="text"),
        counter(20, s="text", a=5, b=7),
        counter(30, a=5, n="12", flag=True),
        # No viewer of FXT shows these two.
        counter(40, s="text"),
        counter(50, n="12"),
    ]
    source.write_bytes(start("little") + b"".join(events))
    losses = {one.code: one for one in converter.convert(source, target)}
    wanted = [["10", "5"], ["20", "5"], ["20", "7"], ["30", "5"]]
    for path in (source, target):
        assert [[ts, value.split(".")[0]] for ts, value in answer(path, COUNTERS)] == wanted
    lost = losses["counter-without-number-dropped"]
    assert (lost.count, lost.loss_class) == (2, "kept")
    assert "event-dropped" not in losses


@needs_trace_processor
def test_texts_of_json_are_numbers(tmp_path):
    source, target = tmp_path / "a.json", tmp_path / "b.pftrace"
    event = {"ph": "C", "name": "c", "ts": 1, "pid": 1, "args": {"a": 5, "n": "12", "s": "text"}}
    source.write_text(json.dumps([event]))
    converter.convert(source, target)
    values = [
        sorted(float(value) for _, value in answer(path, COUNTERS)) for path in (source, target)
    ]
    assert values == [[5, 12]] * 2
