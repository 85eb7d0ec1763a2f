"""Slices whose ends match by name: viewers show in every output what they show of the source."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from support.uftrace.oracle import needs_uftrace, uftrace
from support.viewers.trace_processor import answer, needs_trace_processor

import converter

#: (phase, name, time in us): an outer end closes what is inside it; one of no open slice closes nothing.
EVENTS = [
    ("B", "outer", 1),
    ("B", "inner", 2),
    ("E", "outer", 5),
    ("B", "late", 6),
    ("E", "late", 7),
    ("B", "first", 10),
    ("E", "nowhere", 11),
    ("B", "second", 12),
    ("B", "third", 13),
    ("E", "first", 14),
    ("B", "last", 15),
    ("E", "last", 16),
]
SLICES = "select ts, dur, depth, name from slice order by ts, depth"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    events = [{"ph": ph, "name": name, "ts": ts, "pid": 1, "tid": 1} for ph, name, ts in EVENTS]
    path = tmp_path / "source.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return path


@needs_trace_processor
def test_ends_by_name_end_the_same_slices_in_trace_processor(source: Path, tmp_path: Path) -> None:
    shown = answer(source, SLICES)
    assert [(row[0], row[1], row[2]) for row in shown][:3] == [
        ("1000", "4000", "0"),
        ("2000", "3000", "1"),
        ("6000", "1000", "0"),
    ]
    perfetto = tmp_path / "out.pftrace"
    converter.convert(source, perfetto)
    assert answer(perfetto, SLICES) == shown
    for number, origin in enumerate((source, perfetto)):
        converter.convert(origin, tmp_path / f"{number}.fxt")
        assert answer(tmp_path / f"{number}.fxt", SLICES) == shown


@needs_trace_processor
def test_ends_close_slices_of_their_name_and_category(tmp_path: Path) -> None:
    """Each pair of a begin and an end on a thread of its own: whether the end closes it."""
    sides = itertools.product((None, "a"), (None, "x"), (None, "a", "b"), (None, "x", "y"))
    events = []
    for tid, (name, category, end_name, end_category) in enumerate(sides, 2):
        for ph, ts, one, other in (("B", 1, name, category), ("E", 3, end_name, end_category)):
            members = {"ph": ph, "pid": 1, "tid": tid, "ts": ts, "name": one, "cat": other}
            events.append({key: value for key, value in members.items() if value is not None})
    source = tmp_path / "source.json"
    source.write_text(json.dumps(events))
    query = """select tid, dur, coalesce(nullif(s.name, ''), '[No name]') from slice s
        join thread_track k on k.id = track_id join thread using (utid) order by tid"""
    shown = answer(source, query)
    assert len(shown) == 36
    assert sum(row[1] == "2000" for row in shown) == 9
    for target in ("made.pftrace", "again.json", "made.fxt"):
        converter.convert(source, tmp_path / target)
        assert answer(tmp_path / target, query) == shown, target
    for target in ("back.json", "back.fxt"):
        converter.convert(tmp_path / "made.pftrace", tmp_path / target)
        assert answer(tmp_path / target, query) == shown, target
    back = json.loads((tmp_path / "back.json").read_text())["traceEvents"]
    begins, those = (
        [one.get("name", "") for one in listed if one["ph"] == "B"] for listed in (back, events)
    )
    assert begins == those


@needs_uftrace
def test_ends_by_name_end_the_same_calls_in_uftrace(source: Path, tmp_path: Path) -> None:
    converter.convert(source, tmp_path / "out.pftrace")
    for number, origin in enumerate((source, tmp_path / "out.pftrace")):
        output = tmp_path / f"{number}.uftrace"
        converter.convert(origin, output)
        calls = [
            line.split("|")[1] for line in uftrace(output, "replay", "-f", "tid") if "|" in line
        ]
        assert [call.rstrip() for call in calls] == [
            " outer() {",
            "   inner();",
            " } /* outer */",
            " late();",
            " first() {",
            "   second() {",
            "     third();",
            "   } /* second */",
            " } /* first */",
            " last();",
        ]


#: A slice that begins with a complete one and ends after it: viewers have it inside of that, and end it there.
CUT = [
    {"ph": "B", "name": "outer", "ts": 0},
    {"ph": "B", "name": "parse", "ts": 10},
    {"ph": "X", "name": "overhead", "ts": 10, "dur": 5},
    {"ph": "E", "name": "parse", "ts": 20},
    {"ph": "B", "name": "next", "ts": 30},
    {"ph": "E", "name": "next", "ts": 40},
    {"ph": "E", "name": "outer", "ts": 100},
]


@needs_trace_processor
def test_an_end_of_what_a_complete_slice_has_closed_closes_nothing(tmp_path: Path) -> None:
    source, target = tmp_path / "source.json", tmp_path / "out.fxt"
    source.write_text(json.dumps({"traceEvents": [{**one, "pid": 1, "tid": 1} for one in CUT]}))
    losses = converter.convert(source, target)
    expected = [
        ["0", "100000", "0", "outer"],
        ["10000", "5000", "1", "overhead"],
        ["10000", "5000", "2", "parse"],
        ["30000", "10000", "1", "next"],
    ]
    assert answer(source, SLICES) == answer(target, SLICES) == expected
    assert [loss.count for loss in losses if loss.code == "slice-end-unmatched"] == [1]


@needs_trace_processor
@pytest.mark.parametrize(
    ("around", "later", "code", "depth"),
    [
        (
            [
                {"ph": "B", "name": "outer", "ts": 0},
                {"ph": "B", "name": "open", "ts": 10},
                {"ph": "E", "name": "outer", "ts": 20},
            ],
            30,
            "slice-tied",
            "0",
        ),
        # The importer of JSON ends it with the complete slice.
        (
            [
                {"ph": "X", "name": "outer", "ts": 0, "dur": 20},
                {"ph": "B", "name": "open", "ts": 10},
            ],
            24,
            "slice-outlasting",
            "2",
        ),
    ],
)
def test_what_begins_at_the_end_of_an_outer_slice_is_reported(
    around: list[dict[str, object]], later: int, code: str, depth: str, tmp_path: Path
) -> None:
    """Viewers of JSON have it inside of what that end leaves open."""
    events = [
        *around,
        {"ph": "X", "name": "tied", "ts": 20, "dur": 5},
        {"ph": "X", "name": "later", "ts": later, "dur": 1},
    ]
    source, target = tmp_path / "source.json", tmp_path / "out.fxt"
    source.write_text(json.dumps({"traceEvents": [{**one, "pid": 1, "tid": 1} for one in events]}))
    losses = converter.convert(source, target)
    assert answer(target, SLICES)[2] == ["20000", "5000", depth, "tied"]
    (shown,) = [loss for loss in losses if loss.code == code]
    assert (shown.count, shown.loss_class.name) == (1, "SHOWN")
    assert answer(source, SLICES)[2:] != answer(target, SLICES)[2:]
