"""Figures are those of trace_processor where it has them, and of what was written out elsewhere."""

from pathlib import Path

import pytest
from support.traces.small_traces import event_class, trace_of
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.analysis.statistics.measure import measure
from converter.ir.field_classes import IntegerClass, OptionalClass, StringClass
from converter.ir.kinds import Kind, Role

RECORDINGS = Path(__file__).parents[2] / "roundtrip_fixtures"
TEXT, I64 = StringClass(), IntegerClass(64, True)
BEGIN = event_class(Kind.SLICE_BEGIN, name=(TEXT, Role.NAME))
END = event_class(Kind.SLICE_END)
COMPLETE = event_class(
    Kind.SLICE_COMPLETE, name=(TEXT, Role.NAME), duration=(OptionalClass(I64), Role.DURATION)
)
SWITCH = event_class(Kind.SCHED_SWITCH, prev=(I64, Role.PREV_TID), next=(I64, Role.NEXT_TID))
LOST = event_class(Kind.DISCARDED, count=(I64, Role.COUNT))
CLASSES = [BEGIN, END, COMPLETE, SWITCH, LOST]


def measured(*events, batched=True):
    rows = [(CLASSES.index(one), ts, cpu, 1, values) for ts, one, cpu, *values in events]
    return measure(trace_of(CLASSES, *([rows] if batched else [[row] for row in rows])))


@pytest.mark.parametrize("batched", [True, False])
def test_slices_and_what_they_take_themselves(batched):
    found = measured(
        *((0, BEGIN, 0, b"outer"), (10, BEGIN, 0, b"inner"), (30, END, 0)),
        *((40, COMPLETE, 0, b"inner", 5), (100, END, 0)),
        (110, BEGIN, 0, b"unfinished"),
        batched=batched,
    )
    assert [(one.name, one.count, one.total, one.own) for one in found.slices] == [
        ("outer", 1, 100, 75),
        ("inner", 2, 25, 25),
    ]


@pytest.mark.parametrize("batched", [True, False])
def test_threads_run_from_switch_to_switch(batched):
    found = measured(
        *((0, SWITCH, 0, 0, 5), (3, SWITCH, 1, 0, 6), (10, SWITCH, 0, 5, 7)),
        *((20, SWITCH, 0, 7, 5), (25, SWITCH, 1, 6, 5), (30, SWITCH, 0, 5, 0)),
        batched=batched,
    )
    assert found.cpu_time == {5: 10 + 10 + 5, 6: 22, 7: 10, 0: 0}


@pytest.mark.parametrize("batched", [True, False])
def test_gaps_and_lost_events(batched):
    found = measured(
        *((0, END, 0), (5, LOST, 1, 4), (100, LOST, 1, -1), (103, LOST, 0, 2), (110, END, 0)),
        batched=batched,
    )
    assert found.gaps == [(5, 95), (103, 7), (0, 5), (100, 3)]
    assert found.lost == {1: (4, 1), 0: (2, 0)}
    assert (found.events, found.first, found.last) == (5, 0, 110)


def test_a_trace_without_events_has_no_figures():
    found = measured()
    assert (found.events, found.first, found.gaps, found.slices) == (0, None, [], [])


@needs_trace_processor
@pytest.mark.parametrize(
    "name", ["trace_cmd/small.dat", "trace_cmd/lost.dat", "fxt/magic-trace.fxt", "uftrace/rich"]
)
@pytest.mark.filterwarnings("ignore")
def test_trace_processor_finds_the_same(name, tmp_path):
    # JSON, since kernel events are slices there, as in the figures.
    path = tmp_path / "trace.json"
    converter.convert(RECORDINGS / name, path)
    with converter.open_trace(RECORDINGS / name) as trace:
        found = measure(trace)
    rows = answer(path, "select name, count(*), sum(dur) from slice where dur > 0 group by name")
    shown = {name: (int(count), int(total)) for name, count, total in rows}
    took = {one.name: (one.count, one.total) for one in found.slices if one.total}
    counted = {name: total for name, (_, total) in took.items()}
    assert {name: total for name, (_, total) in shown.items() if name in counted} == counted
    rows = answer(
        path,
        "select tid, sum(dur) from sched join thread using (utid) where dur > 0 and tid > 0 group by 1",
    )
    for tid, total in rows:
        # The last slice of a CPU goes on to the end of the trace.
        assert found.cpu_time[int(tid)] >= int(total)
