"""Positions of processes and threads that a JSON document says at its end."""

from __future__ import annotations

import json
from typing import Any

from converter.formats.perfetto.json_sidecar import SortIndexes
from converter.ir.trace import Trace


def _position(name: str, index: int, **ids: int) -> str:
    return json.dumps({"name": name, "ph": "M", "args": {"sort_index": index}, **ids})


def test_positions_after_the_description_are_counted() -> None:
    metadata: list[Any] = [_position("process_sort_index", 5, pid=1)]
    trace = Trace(format="chrome", sidecar={"chrome": {"metadata": metadata}})
    indexes = SortIndexes()
    indexes.read(trace)
    assert indexes.fields_of(1, None) == {"sibling_order_rank": 5}
    assert indexes.fields_of(2, 3) == {}
    metadata += [
        _position("process_sort_index", 6, pid=1),
        _position("thread_sort_index", 7, pid=2, tid=3),
        _position("thread_sort_index", 8, pid=2, tid=4),
    ]
    indexes.read(trace)
    assert indexes.late == {("chrome", "thread_sort_index"): 1}
    assert indexes.fields_of(2, 4) == {"sibling_order_rank": 8}
