"""Events of JSON at one time: in outputs, viewers take them in the order in which they take those of the JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.viewers.trace_processor import answer, needs_trace_processor

import converter

#: A slice without a duration, and its end: (phase, name, time in us), of complete slices with a duration.
_SHORT = [("B", "c", 5), ("E", "c", 5)]
#: By name: the events of a thread, and the duration of `c` in trace_processor v52: -1 where it takes the end first,
#: as it does at times that it has to sort.
DOCUMENTS: dict[str, tuple[list[tuple[str, str, float]], int]] = {
    "no complete slice": ([("B", "a", 0), *_SHORT, ("E", "a", 5), ("B", "d", 5), ("E", "d", 9)], 0),
    "an outer end": ([("B", "a", 0), ("B", "c", 5), ("E", "a", 5), ("E", "c", 7)], 0),
    "an earlier event after it": ([*_SHORT, ("i", "q", 1)], 0),
    "a complete slice before": ([("X", "x", 1), *_SHORT], -1),
    "a later complete slice after": ([*_SHORT, ("X", "x", 7)], 0),
    "an earlier complete slice after": ([*_SHORT, ("X", "x", 1)], -1),
    "another time is sorted": ([*_SHORT, ("X", "x", 7), ("B", "d", 8), ("E", "d", 8)], 0),
}
SLICES = "select ts, dur, depth, name from slice order by ts, depth"


@needs_trace_processor
@pytest.mark.parametrize("name", DOCUMENTS)
def test_ends_are_first_where_the_importer_sorts(name: str, tmp_path: Path) -> None:
    events, duration = DOCUMENTS[name]
    source, made = tmp_path / "a.json", tmp_path / "a.pftrace"
    members = [
        {"ph": ph, "name": called, "ts": ts, "pid": 1, "tid": 1} | ({"dur": 1} if ph == "X" else {})
        for ph, called, ts in events
    ]
    source.write_text(json.dumps(members))
    converter.convert(source, made)
    shown = answer(made, SLICES)
    assert [row[1] for row in shown if row[3] == "c"] == [str(duration)]
    assert answer(source, SLICES) == shown
