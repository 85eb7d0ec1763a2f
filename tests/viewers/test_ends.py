"""Slices whose ends match by name: viewers show in every output what they show of the source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.trace_processor import answer, needs_trace_processor
from support.uftrace_oracle import needs_uftrace, uftrace

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
