"""Times and durations at another rate."""

from fractions import Fraction

import numpy as np
import pytest
from support.traces.small_traces import event_class, events_of, trace_of

from converter.ir.collect import collect
from converter.ir.columns import OptionalColumn
from converter.ir.field_classes import IntegerClass, OptionalClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.passes.clock_rates import at_rate

NAME = {"name": (StringClass(), Role.NAME)}
I64 = IntegerClass(64, True)


@pytest.mark.parametrize("bits", [64, 32])
def test_slices_that_end_together_do_so_at_any_rate(bits):
    declared = event_class(Kind.SLICE_COMPLETE, **NAME, dur=(IntegerClass(bits), Role.DURATION))
    rows = [(0, ts, -1, 1, (b"s", 29 - ts)) for ts in range(10, 30)]
    trace = at_rate(trace_of([declared], rows), Fraction(10**9), Fraction(19_200_000))
    ends = {ts + fields["dur"] for ts, _, _, fields in events_of(collect(trace))}
    assert ends == {29 * 10**9 // 19_200_000}


def test_durations_that_may_be_absent():
    optional = OptionalClass(I64)
    declared = event_class(Kind.SLICE_COMPLETE, **NAME, dur=(optional, Role.DURATION))
    trace = trace_of([declared], [(0, 10, -1, 1, (b"s", 5)), (0, 20, -1, 1, (b"t", None))])
    trace = collect(at_rate(trace, Fraction(10**9), Fraction(10**6)))
    (batch,) = trace.batches()
    column = batch.tables[0].column(1)
    assert isinstance(column, OptionalColumn)
    assert column.valid.tolist() == [True, False]
    assert column.values[0] == 5000


def test_what_is_no_duration_is_as_many_ticks():
    declared = event_class(Kind.SLICE_COMPLETE, **NAME, dur=(I64, Role.DURATION))
    last = np.iinfo(np.int64).max
    rows = [(0, 10, -1, 1, (b"s", -7)), (0, last, -1, 1, (b"t", 14))]
    trace = collect(at_rate(trace_of([declared], rows), Fraction(1), Fraction(7)))
    assert [fields["dur"] for *_, fields in events_of(trace)] == [-1, 2]
