"""Comparing traces: equal ones are equal however they are cut and stored, and each difference is named."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.traces.strategies import traces

import converter
from converter.ir.canonical import difference, dump, load
from converter.ir.collect import collect, with_batches
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Trace
from converter.jobs.comparison import diff
from converter.jobs.round_trips import roundtrip

FIXTURES = Path(__file__).parent.parent / "roundtrip_fixtures"


def trace_of(values, ts=None, *, cut=(), bits=32, name="first"):
    """Instants with a number each, on one thread."""
    trace = Trace(format="none", processes=[Process(1, "p")], threads=[Thread(2, 0, name)])
    fields = (Field("name", StringClass(), Role.NAME), Field("x", IntegerClass(bits, signed=True)))
    trace.add_class(EventClass(Kind.INSTANT, fields=fields))
    ts = list(range(len(values))) if ts is None else ts
    text = trace.strings.intern("tick")
    bounds = [0, *cut, len(values)]
    batches = []
    for start, end in pairwise(bounds):
        count = end - start
        columns = [np.full(count, text, np.int32), np.array(values[start:end], f"i{bits // 8}")]
        batches.append(
            Batch(
                ts=np.array(ts[start:end], np.int64),
                class_id=np.zeros(count, np.int32),
                row=np.arange(count, dtype=np.int32),
                tables={0: Table(count, columns)},
                thread=np.zeros(count, np.int32),
            )
        )
    return with_batches(trace, batches)


@given(traces())
def test_a_trace_equals_itself_in_another_form(trace):
    assert not diff(trace, load(dump(trace)))


@given(traces(), traces())
def test_it_agrees_with_the_canonical_form(first, second):
    same = difference(first, second) is None
    assert bool(diff(first, second, ["native"])) == (not same)


@given(st.lists(st.integers(-9, 9), max_size=30), st.lists(st.integers(0, 30)), st.randoms())
def test_bounds_of_batches_do_not_matter(values, cuts, random):
    ts = sorted(random.choices(range(6), k=len(values)))
    cut = sorted(min(c, len(values)) for c in cuts)
    assert not diff(trace_of(values, ts), trace_of(values, ts, cut=cut))


def test_a_changed_field_is_named():
    found = diff(trace_of([1, 2, 3]), trace_of([1, 5, 3]))
    assert found.events == (3, 3)
    (entry,) = found.classes.values()
    assert (entry.changed, entry.only_first, entry.only_second) == (1, 0, 0)
    assert entry.fields == {"x": 1}
    assert "x=2" in found.first[0]
    assert "x=5" in found.first[0]


def test_a_missing_event_is_counted():
    found = diff(trace_of([1, 2, 3], [0, 10, 20]), trace_of([1, 3], [0, 20]))
    (entry,) = found.classes.values()
    assert (entry.changed, entry.only_first, entry.only_second) == (0, 1, 0)
    found = diff(trace_of([1, 3], [0, 20]), trace_of([1, 2, 3], [0, 10, 20]))
    (entry,) = found.classes.values()
    assert (entry.changed, entry.only_first, entry.only_second) == (0, 0, 1)


def test_how_often_an_event_is_there_counts():
    found = diff(trace_of([1, 1, 1], [5, 5, 5]), trace_of([1, 1], [5, 5]))
    assert next(iter(found.classes.values())).only_first == 1


def test_order_at_one_time_in_one_place_counts():
    found = diff(trace_of([1, 2], [5, 5]), trace_of([2, 1], [5, 5]))
    assert next(iter(found.classes.values())).fields == {"(order)": 2}


def test_events_out_of_order_are_put_in_order():
    late = [*range(1000, 2000, 10), 3]
    values = list(range(len(late)))
    cut = range(1, len(values))
    assert not diff(trace_of(values, late, cut=cut), trace_of(values, late))


@pytest.mark.parametrize(
    ("change", "aspect", "text"),
    [
        ({"name": "second"}, "names", "thread only in the second"),
        ({"bits": 64}, "types", "fields of instant differ: x (i32, i64)"),
        ({"ts": [10, 11]}, "clock-offset", ""),
    ],
)
def test_aspects_can_be_left_out(change, aspect, text):
    first, second = trace_of([1, 2]), trace_of([1, 2], **change)
    found = diff(first, second)
    assert found
    assert any(text in line for line in found.tables) == bool(text)
    assert not diff(first, second, [aspect])


def test_an_unknown_aspect_is_an_error():
    with pytest.raises(ValueError, match="nonsense"):
        diff(trace_of([]), trace_of([]), ["nonsense"])


def test_the_environment_and_clock_count():
    first = trace_of([1])
    assert diff(first, replace(first, environment={"host": "a"})).tables
    assert not diff(first, replace(first, environment={"host": "a"}), ["environment"])
    assert diff(first, replace(first, clock=replace(first.clock, name="other"))).tables


def test_a_round_trip_without_loss():
    found = roundtrip(FIXTURES / "trace_cmd/small.dat", ["fxt", "perfetto"], lossless=True)
    assert found.formats == ["trace_cmd", "fxt", "perfetto", "trace_cmd"]
    assert not found.difference


def test_a_round_trip_with_loss():
    found = roundtrip(FIXTURES / "trace_cmd/small.dat", ["chrome"], ignore=["native"])
    assert found.difference
    assert any(list(report) for report in found.reports)


def test_files_of_different_formats_are_compared(tmp_path):
    converter.convert(FIXTURES / "trace_cmd/small.dat", tmp_path / "x.tcir")
    with (
        converter.open_trace(FIXTURES / "trace_cmd/small.dat") as first,
        converter.open_trace(tmp_path / "x.tcir") as second,
    ):
        assert not diff(first, second)
        assert collect(first)
