"""Counters of JSON whose values are text are counters in every format that has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.chrome.files import dump
from support.traces.losses import line_of
from support.traces.strategies import batch_of
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.formats.chrome.capabilities import CAPABILITIES
from converter.ir.collect import with_batches
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Trace, Track, TrackScope
from converter.projection.instants import NAME
from converter.projection.project import project

#: Texts, and the numbers that trace_processor v52 shows of them in JSON; None where it shows none.
TEXTS = {
    "0.5": 0.5,
    "1e3": 1000.0,
    "0x10": 16.0,
    "0X10": 16.0,
    " 5": 5.0,
    "-0.25": -0.25,
    "7": 7.0,
    **dict.fromkeys(("5 ", "1_0", "", "x", "0x", "0x1_0"), None),
}


@needs_trace_processor
@pytest.mark.parametrize("suffix", ["pftrace", "fxt", "json"])
def test_texts_that_are_numbers_are_values(suffix: str, tmp_path: Path) -> None:
    source, target = tmp_path / "a.json", tmp_path / f"b.{suffix}"
    one = {"ph": "C", "name": "a", "pid": 1, "tid": 1}
    events = [
        {**one, "ts": ts, "args": {"k": text, "z": ts, "w": "no number" if ts % 2 else "3"}}
        for ts, text in enumerate(TEXTS)
    ]
    source.write_text(json.dumps(events))
    losses = converter.convert(source, target, force=True)
    query = """select c.ts / 1000, c.value from counter c join track t on t.id = c.track_id
        where t.name like '%k' or t.name like '%k:0' order by c.ts"""
    shown = {int(ts): float(value) for ts, value in answer(target, query)}
    assert shown == {ts: value for ts, value in enumerate(TEXTS.values()) if value is not None}
    (count,) = answer(target, "select count(*) from counter")
    assert int(count[0]) == len(shown) + len(TEXTS) + (len(TEXTS) + 1) // 2
    said = {line_of(loss).partition(" (")[0] for loss in losses if loss.loss_class == "shown"}
    texts = {f"counter-text-dropped event=counter field={name}" for name in "kw"}
    assert said == (texts if suffix == "pftrace" else set())


def test_a_counter_of_the_first_track_is_named_after_it() -> None:
    fields = (NAME, Field("v", IntegerClass(64, True), Role.VALUE))
    trace = Trace(
        format="none",
        processes=[Process(10, "p")],
        tracks=[Track("used memory", TrackScope.PROCESS, 0)],
        event_classes=[EventClass(Kind.COUNTER, fields=fields)],
    )
    batch = batch_of(trace, [(0, 1, -1, -1, 0, (b"used", 5))])
    target, _ = project(with_batches(trace, [batch]), CAPABILITIES, "chrome")
    (one,) = [one for one in json.loads(dump(target))["traceEvents"] if one["ph"] == "C"]
    assert (one["name"], one["pid"], one["args"]) == ("used", 10, {"memory": 5})
