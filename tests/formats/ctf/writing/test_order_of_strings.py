"""Columns are decoded ahead by any thread, unless an output numbers strings in the order in which they are met."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import converter
from converter.formats.ctf.reading.tables import RecordColumns
from converter.storage.pool.workers import TaskGroup
from converter.streaming import stream_merge

RECORDING = Path(__file__).parents[4] / "roundtrip_fixtures" / "ctf" / "ctf_cyg"


@pytest.mark.parametrize(
    ("output", "lossless", "ahead"),
    [("out.fxt", False, True), ("out.fxt", True, False), ("out.tcir", False, False)],
)
def test_strings_are_met_in_order_where_an_output_numbers_them_so(
    output: str, lossless: bool, ahead: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_merge, "BATCH_SIZE", 16)
    begun: list[RecordColumns] = []
    decode_ahead: Callable[[RecordColumns, TaskGroup], None] = RecordColumns.decode_ahead

    def noted(columns: RecordColumns, workers: TaskGroup) -> None:
        begun.append(columns)
        decode_ahead(columns, workers)

    monkeypatch.setattr(RecordColumns, "decode_ahead", noted)
    with converter.open_trace(RECORDING) as trace:
        events = sum(len(batch) for batch in trace.batches())
        begun.clear()
    assert events > 32
    converter.convert(RECORDING, tmp_path / output, lossless=lossless)
    assert bool(begun) is ahead
