"""Parts of a batch are emitted by several threads at once, to the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import converter
from converter.formats.chrome.writing import writer as chrome
from converter.formats.fxt.writing import writer as fxt
from converter.formats.perfetto.writing import writer as perfetto
from converter.ir.trace import Trace
from converter.storage.pool.workers import use_workers
from converter.streaming import block_emission

FIXTURES = Path(__file__).parents[2] / "roundtrip_fixtures/generated"


@pytest.fixture(autouse=True)
def as_many_threads_as_processors() -> Iterator[None]:
    yield
    use_workers(None)


def with_kernel_events() -> Trace:
    """With switches and wakeups, whose lines are behind the events of JSON, and arguments of many types."""
    return converter.read(FIXTURES / "trace_cmd-v6.dat")


def with_long_texts() -> Trace:
    """Events of which a few fill a block, each the first to use some texts."""
    events = [
        {"ph": "i", "name": f"{i}", "ts": i, "pid": 1, "tid": 1, "args": {"text": f"{i}" * 800_000}}
        for i in range(9)
    ]
    return converter.read(json.dumps({"traceEvents": events}).encode())


def with_texts_old_and_new() -> Trace:
    """Events that use texts again, some of the part in front, some as values that were names."""
    events = [
        {"ph": "i", "name": f"n{i // 7 % 40}", "cat": f"n{i // 3 % 9}", "ts": i, "pid": 1, "tid": 1}
        | {"args": {f"n{i // 11}": f"n{i % 50}"}}
        for i in range(400)
    ]
    return converter.read(json.dumps({"traceEvents": events}).encode())


@pytest.mark.parametrize("target", ["fxt", "json", "pftrace"])
@pytest.mark.parametrize("made", [with_kernel_events, with_long_texts, with_texts_old_and_new])
def test_the_bytes_are_the_same_for_any_number_of_threads(made, target, tmp_path, monkeypatch):
    trace = made()
    output = tmp_path / f"out.{target}"

    def limit(events: int, held: int) -> None:
        monkeypatch.setattr(block_emission, "_EVENTS_AT_ONCE", events)
        monkeypatch.setattr(chrome, "MOST_HELD", held)
        monkeypatch.setattr(fxt, "MOST_HELD", held)
        monkeypatch.setattr(perfetto, "MOST_HELD", held)

    limit(1 << 30, 1 << 30)
    use_workers(1)
    converter.write(trace, output)
    whole = output.read_bytes()
    # Few events at a time, and of those one block, behind which the rest is emitted.
    limit(5, 1)
    for threads in (1, 3):
        use_workers(threads)
        converter.write(trace, output, force=True)
        assert output.read_bytes() == whole
