"""Traces that are opened: with a ``with`` statement or without, and forgotten."""

import gc

import pytest

import converter
from converter.errors import ClosedError, TraceError
from converter.ir.trace import _Opened

KERNEL = "roundtrip_fixtures/trace_cmd/small.dat"


def test_a_trace_is_open_until_it_is_closed():
    trace = converter.open_trace(KERNEL)
    assert len(trace.events()) == 338
    trace.close()
    trace.close()
    with pytest.raises(ClosedError):
        trace.events()


def test_a_with_statement_closes_it():
    with converter.open_trace(KERNEL) as trace:
        assert len(trace.events()) == 338
    with pytest.raises(ClosedError):
        trace.events()


def test_one_that_is_forgotten_is_closed_with_a_warning():
    converter.open_trace(KERNEL)
    with pytest.warns(ResourceWarning, match="<Trace trace_cmd.*was not closed"):
        gc.collect()


def test_one_whose_making_was_interrupted_is_forgotten_in_silence():
    unmade = object.__new__(_Opened)
    del unmade
    gc.collect()


def test_a_trace_in_memory_needs_no_closing():
    trace = converter.read(KERNEL)
    del trace
    gc.collect()
    with converter.read(KERNEL) as again:
        assert len(again.events()) == 338


@pytest.mark.parametrize("used", ["with", "without"])
def test_errors_name_the_file(used, tmp_path):
    path = tmp_path / "damaged.fxt"
    converter.convert(KERNEL, path)
    path.write_bytes(path.read_bytes()[:40])
    trace = converter.open_trace(path)
    with pytest.raises(TraceError) as raised:
        if used == "with":
            with trace:
                trace.events()
        else:
            trace.events()
    trace.close()
    assert raised.value.path == str(path)


def test_limits_hold_without_changing_those_of_others(tmp_path):
    path = tmp_path / "out.ctf"
    converter.convert(KERNEL, path)
    with pytest.raises(TraceError, match="metadata"):
        converter.open_trace(path, limits={"ctf.metadata": "1K"})
    trace = converter.open_trace(path, limits={"ctf.metadata": "64M"})
    other = converter.open_trace(KERNEL)
    assert len(trace.events()) == len(other.events()) == 338
    trace.close()
    other.close()
