"""Parquet and Arrow IPC: every trace comes back, others' programs read what is in it, and no input ends otherwise than
in a trace or an error."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from support.strategies import traces

import converter
from converter.ir.canonical import difference
from converter.ir.invariants import check
from converter.registry import format_named
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink

pa = pytest.importorskip("pyarrow", minversion="16.0")
pq = pytest.importorskip("pyarrow.parquet")

ROOT = Path(__file__).parents[3]
SMALL = ROOT / "roundtrip_fixtures/trace_cmd/small.dat"
FILES = ["parquet", "arrow", "arrow+stream"]


def written(trace, name):
    format, variant = format_named(name)
    sink = BufferSink()
    format.writer()(trace, sink, variant)
    return sink.getvalue()


def opened(data, name):
    return format_named(name)[0].reader()(open_source(data))


def assert_same(trace, again):
    assert difference(trace, again, sidecar=True) is None
    assert difference(trace, again, sidecar=True) is None, "a second pass"
    assert not set(again.warnings) - set(trace.warnings)
    assert again.format == trace.format
    check(again)


@pytest.mark.parametrize("name", FILES)
@given(trace=traces())
def test_every_trace_survives(name, trace):
    assert_same(trace, opened(written(trace, name), name))


@settings(max_examples=15)
@given(trace=traces())
def test_every_trace_survives_in_a_directory(trace):
    with tempfile.TemporaryDirectory() as folder:
        converter.write(trace, f"{folder}/out", "parquet+dataset")
        with converter.open_trace(f"{folder}/out") as again:
            assert_same(trace, again)
