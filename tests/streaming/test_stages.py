"""Stages of a conversion on threads of their own: the output is that of one thread, whatever stage does what."""

from __future__ import annotations

from pathlib import Path

import pytest

from converter import registry
from converter.jobs.reading import open_trace
from converter.jobs.transcription import transcribe
from converter.projection.losses import LossReport
from converter.storage.outputs import open_sink
from converter.storage.pool.workers import use_workers
from converter.streaming import pipeline, stream_merge

FIXTURES = Path(__file__).parents[2] / "roundtrip_fixtures"


def converted(source: Path, target: str, path: Path, *, ahead: bool) -> tuple[bytes, LossReport]:
    """The output of a conversion, in stages or not, and its losses."""
    found, variant = registry.target_format(path, target)
    with open_trace(source) as trace, open_sink(path, force=True) as sink:
        report = transcribe(trace, sink, found, variant, ahead=ahead)
    return path.read_bytes(), report


@pytest.mark.parametrize("target", ["fxt", "chrome"])
@pytest.mark.parametrize("source", ["trace_cmd/small.dat", "generated/perfetto.pftrace"])
def test_stages_make_no_difference(
    source: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_merge, "BATCH_SIZE", 64)
    at_once = converted(FIXTURES / source, target, tmp_path / "at_once", ahead=False)
    monkeypatch.setattr(pipeline, "_WORTHWHILE", 1)
    monkeypatch.setattr(pipeline, "_LARGE_TABLE", 1)
    use_workers(3)
    try:
        in_stages = converted(FIXTURES / source, target, tmp_path / "in_stages", ahead=True)
    finally:
        use_workers(None)
    assert in_stages == at_once
