"""Asynchronous slices of JSON: viewers match the same of them in every output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.viewers.trace_processor import answer, needs_trace_processor

import converter

pytestmark = needs_trace_processor

#: What two slices have, the second of which begins and ends after the first; whether they match each other's ends.
PAIRS: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    ({"cat": "c", "id": 1}, {"cat": "c", "id": 1}, True),
    ({"cat": "c", "id": 1}, {"cat": "c", "id": 2}, False),
    ({"cat": "c", "id": 1}, {"cat": "d", "id": 1}, False),
    ({"cat": "c", "id": 1}, {"cat": "c", "id": "0x1"}, False),
    ({"cat": "c", "id": "0x1"}, {"cat": "d", "id": "0x1"}, False),
    ({"cat": "c", "id": "0x1", "scope": "s"}, {"cat": "c", "id": "0x1", "scope": "t"}, True),
    ({"cat": "c", "id": "0x1", "scope": "s"}, {"cat": "c", "id": "0x1"}, True),
    ({"cat": "c", "id": "0x1", "scope": "s"}, {"cat": "d", "id": "0x1", "scope": "s"}, False),
    ({"cat": "c", "id2": {"global": "0x1"}}, {"cat": "d", "id2": {"global": "0x1"}}, False),
    ({"cat": "c", "id2": {"local": "0x1"}}, {"cat": "c", "id2": {"local": "0x1"}}, True),
]


@pytest.mark.parametrize(("one", "other", "match"), PAIRS, ids=map(str, range(len(PAIRS))))
def test_ids_of_asynchronous_slices_match_as_those_of_json(
    one: dict[str, Any], other: dict[str, Any], match: bool, tmp_path: Path
) -> None:
    sides = [("b", 1, one), ("b", 2, other), ("e", 5, one), ("e", 9, other)]
    events = [
        {"ph": ph, "name": "x", "pid": 7, "tid": 1, "ts": ts, **members}
        for ph, ts, members in sides
    ]
    source = tmp_path / "source.json"
    source.write_text(json.dumps(events))
    query = "select ts, dur, depth from slice order by ts"
    shown = answer(source, query)
    nested = [["1000", "8000", "0"], ["2000", "3000", "1"]]
    assert shown == (nested if match else [["1000", "4000", "0"], ["2000", "7000", "0"]])
    for target in ("made.pftrace", "made.fxt"):
        converter.convert(source, tmp_path / target)
        assert answer(tmp_path / target, query) == shown, target
    converter.convert(tmp_path / "made.pftrace", tmp_path / "back.json")
    back = json.loads((tmp_path / "back.json").read_text())["traceEvents"]
    assert [event.get("scope") for event in back[:4]] == [
        members.get("scope") for _, _, members in sides
    ]
