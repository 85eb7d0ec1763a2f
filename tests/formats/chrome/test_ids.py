"""Asynchronous slices of JSON match by the text of their ids, arrows by the number: also where ids become numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.viewers.trace_processor import answer, needs_trace_processor

import converter

pytestmark = needs_trace_processor

#: Ids that are none of each other's.
APART = [
    ("abc", "ABC"),
    ("abc", "0xabc"),
    ("01", 1),
    ("0X1", "0x1"),
    (1, "1"),
    ("10", "0xa"),
    ("1", "1 "),
]


def shown(tmp_path: Path, events: list[dict[str, Any]], suffix: str, query: str) -> list[list[str]]:
    """What is answered of events by way of another format."""
    source, target = tmp_path / "a.json", tmp_path / f"b.{suffix}"
    one = {"name": "a", "cat": "c", "pid": 1, "tid": 1}
    source.write_text(json.dumps([one | event for event in events]))
    losses = converter.convert(source, target, force=True)
    assert not [loss for loss in losses if loss.loss_class == "shown"]
    return answer(target, query)


@pytest.mark.parametrize("suffix", ["pftrace", "fxt", "json"])
def test_asynchronous_slices_match_by_the_text(suffix: str, tmp_path: Path) -> None:
    events = []
    for number, (first, second) in enumerate(APART):
        for ph, ts, id in (("b", 1, first), ("b", 2, second), ("e", 6, first), ("e", 7, second)):
            events.append({"ph": ph, "ts": 10 * number + ts, "id": id, "cat": f"c{number}"})
    rows = shown(tmp_path, events, suffix, "select dur, count(*) from slice group by 1")
    assert rows == [["5000", str(2 * len(APART))]]


@pytest.mark.parametrize("suffix", ["pftrace", "fxt", "json"])
def test_arrows_match_by_the_number(suffix: str, tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    for number, (first, second) in enumerate([("abc", "ABC"), ("abd", "0xabd"), ("20", "0x20")]):
        for ph, ts, id in (("s", 1, first), ("f", 3, second)):
            here = 10 * number + ts
            events += [{"ph": "X", "ts": here, "dur": 2}]
            events += [{"ph": ph, "ts": here + 1, "id": id, "bp": "e", "name": "f"}]
    assert shown(tmp_path, events, suffix, "select count(*) from flow") == [["3"]]
