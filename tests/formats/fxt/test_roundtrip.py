"""FXT's laws: what is written reads back as it was, and a file survives its own round trip."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.fxt.files import ORDERS, VARIANTS, opened, split, without_records, written
from support.fxt.strategies import files
from support.traces.strategies import fitted_traces, traces

from converter.formats.fxt.capabilities import capabilities
from converter.formats.fxt.layout import layout
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.invariants import check
from converter.ir.kinds import Kind
from converter.projection.project import project


@given(variant=st.sampled_from(["", "large", "be"]), data=st.data())
def test_what_the_format_holds_survives(variant, data):
    held = capabilities(variant)
    kinds = held.kinds.keys() - {Kind.NATIVE}
    trace = data.draw(fitted_traces(held, kinds=kinds))
    out = written(trace, variant)
    again = opened(out)
    assert difference(trace, again) is None
    assert not again.warnings


@given(trace=traces())
def test_what_is_projected_survives(trace):
    rate = trace.clock.ticks_per_second
    assume(rate is None or rate.denominator == 1)
    projected = collect(project(trace, capabilities(""), "fxt")[0])
    assert difference(projected, opened(written(projected))) is None


@pytest.mark.parametrize("order", ORDERS)
@given(data=st.data())
def test_a_file_survives_encoding_anew(order, data):
    content = data.draw(files(order))
    check(opened(content))
    out = written(without_records(opened(content)), VARIANTS[order])
    assert difference(opened(content), opened(out), sidecar=True) is None


@pytest.mark.parametrize("order", ORDERS)
@given(data=st.data())
def test_an_unchanged_file_is_copied(order, data):
    content = data.draw(files(order))
    assert written(opened(content), VARIANTS[order]) == content


@pytest.mark.parametrize("order", ORDERS)
@given(data=st.data())
def test_what_is_written_is_what_the_layout_declares(order, data):
    held = capabilities(VARIANTS[order])
    trace = data.draw(fitted_traces(held, kinds=held.kinds.keys() - {Kind.NATIVE}))
    declared = layout(order)
    for one in split(written(trace, VARIANTS[order]), order):
        parsed = declared.parse(one)
        kind = one[0 if order == "little" else 7] & 15
        subtype = parsed.header.get("scheduling_type", parsed.header.get("profiler_type", 0))
        assert declared.records[kind, subtype].build(parsed) == one
