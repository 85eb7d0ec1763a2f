"""Parts of a batch are emitted by several threads at once, to the same text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import converter
from converter.formats.chrome import writer
from converter.ir.trace import Trace
from converter.storage.workers import use_workers

#: With switches, whose durations are filled in later, and arguments of many types.
FIXTURE = Path(__file__).parents[3] / "roundtrip_fixtures/generated/trace_cmd-v6.dat"


@pytest.fixture(autouse=True)
def as_many_threads_as_processors() -> Iterator[None]:
    yield
    use_workers(None)


def with_long_texts() -> Trace:
    """Events of which two fill a block."""
    events = [
        {"ph": "i", "name": f"{i}", "ts": i, "pid": 1, "tid": 1, "args": {"text": f"{i}" * 600_000}}
        for i in range(9)
    ]
    return converter.read(json.dumps({"traceEvents": events}).encode())


@pytest.mark.parametrize("made", [lambda: converter.read(FIXTURE), with_long_texts])
def test_the_text_is_the_same_for_any_number_of_threads(made, tmp_path, monkeypatch):
    trace = made()
    output = tmp_path / "out.json"
    monkeypatch.setattr(writer, "_EVENTS_AT_ONCE", 1 << 30)
    monkeypatch.setattr(writer, "_MOST_HELD", 1 << 30)
    use_workers(1)
    converter.write(trace, output)
    whole = output.read_bytes()
    # Few events at a time, and of those one block, behind which the rest is emitted.
    monkeypatch.setattr(writer, "_EVENTS_AT_ONCE", 5)
    monkeypatch.setattr(writer, "_MOST_HELD", 1)
    for threads in (1, 3):
        use_workers(threads)
        converter.write(trace, output, force=True)
        assert output.read_bytes() == whole
