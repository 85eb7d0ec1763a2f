"""Losses are summed up in whichever way and order they come."""

import json
import pickle
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from support.traces.losses import line_of
from support.traces.small_traces import event_class, trace_of

from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Thread
from converter.projection.loss_groups import grouped
from converter.projection.losses import Example, Loss, LossClass, LossReport, example_at

INSTANTS = frozenset({Kind.INSTANT})
PLANNED = (
    ("field-as-text", LossClass.DETAIL, (("field", "a"),)),
    ("arguments-dropped", None, (("limit", 3),)),
)


def example(ts=5):
    return Example(ts, 1, None, "e")


def test_the_first_is_the_earliest_in_whichever_order_they_come():
    report = LossReport()
    report.add("track-dropped", 2, 7, event="e", example=lambda: example(7))
    report.add("track-dropped", 1, 5, event="e", example=example)
    report.add("track-dropped", 1, 6, event="e", example=lambda: pytest.fail("not the first"))
    (loss,) = report
    assert (loss.count, loss.first_ts, loss.example) == (4, 5, example())


def test_planned_losses_are_those_that_come_one_by_one():
    planned, single = LossReport(), LossReport()
    for count, ts, kinds in ((3, 9, INSTANTS), (4, 8, INSTANTS), (1, 20, frozenset({Kind.LOG}))):
        planned.add_planned(PLANNED, count, ts, kinds, "e")
        for code, loss_class, parameters in PLANNED:
            named = {**dict(parameters), "event": "e"}
            single.add(code, count, ts, loss_class=loss_class, event_kinds=kinds, **named)
        assert list(planned) == list(single)
    shown = Loss(
        "arguments-dropped",
        8,
        8,
        LossClass.SHOWN,
        (("event", "e"), ("limit", 3)),
        frozenset({Kind.INSTANT, Kind.LOG}),
    )
    assert shown in list(planned)


@pytest.mark.parametrize("planned", [(), PLANNED])
def test_a_report_travels_to_another_process(planned):
    report = LossReport()
    report.add_planned(planned, 3, 9, INSTANTS, "e", example)
    report.add_planned(planned, 2, 4, INSTANTS, "e")
    copy = pickle.loads(pickle.dumps(report))
    assert copy == report
    assert [loss.example for loss in copy] == [loss.example for loss in report]
    copy.add("wall-clock-dropped")
    assert len(copy) == len(report) + 1


def test_what_does_not_count_is_not_added():
    report = LossReport(counts=False)
    report.add("wall-clock-dropped")
    report.add_planned(PLANNED, 3, 9, INSTANTS)
    assert not list(report)


def test_losses_of_events_are_counted_anew():
    report = LossReport()
    report.add("wall-clock-dropped")
    report.add_planned(PLANNED, 3, 9, INSTANTS, "e")
    report.forget_events()
    report.add_planned(PLANNED, 2, 4, INSTANTS, "e")
    assert list(map(line_of, report)) == [
        "arguments-dropped event=e limit=3 (2)",
        "wall-clock-dropped (1)",
        "field-as-text event=e field=a (2)",
    ]


def test_a_report_includes_another():
    one, other = LossReport(), LossReport()
    for report in (one, other):
        report.add_planned(PLANNED, 3, 9, INSTANTS, "e", example)
        report.add("clock-name", clock="tsc")
    one.include(other)
    assert [loss.count for loss in one] == [2 * loss.count for loss in other]
    assert [loss.loss_class for loss in one] == [loss.loss_class for loss in other]
    assert next(iter(one)).example == example()
    copy, nothing = LossReport(), LossReport(counts=False)
    for report in (copy, nothing):
        report.include(other)
    assert [loss.example for loss in copy] == [loss.example for loss in other]
    assert copy == other
    assert list(nothing) == []


def test_an_example_says_where_to_look():
    assert str(Example(1_500_000_000, 2, None, "tick")) == "tick at 1.500000000 s, CPU 2"
    assert str(Example(-1_500_000_000, None, None, "tick")) == "tick at -1.500000000 s"


def test_an_example_names_its_thread():
    for name, said in (("bash", "bash (7)"), ("", "thread 7")):
        shown = Example(0, 0, Thread(7, 0, name), "tick")
        assert str(shown) == f"tick at 0.000000000 s, CPU 0, {said}"
    assert str(Example(1_000_000_007, None, None, "e")) == "e at 1.000000007 s"


def test_what_is_at_position_0_is_an_example():
    """The event is the earliest of those with the loss, on CPU 0 and thread 0."""
    named = event_class(Kind.SLICE_BEGIN, name=(StringClass(), Role.NAME))
    events = [(0, 9, 0, 0, (b"late",)), (0, 6, 0, 0, (b"first",)), (0, 2, -1, -1, (b"",))]
    trace = trace_of([named], events, clock=ClockDomain("c", Fraction(2)))
    (batch,) = trace.batches()
    report = LossReport()
    report.add_at("track-dropped", trace, batch, np.array([0, 1]), event="e")
    report.add_at("track-dropped", trace, batch, np.array([], np.int64), event="none")
    (loss,) = report
    assert (loss.count, loss.first_ts) == (2, 6)
    assert loss.example == Example(3_000_000_000, 0, trace.threads[0], "slice 'first'")
    none = example_at(trace, batch, 2, trace.threads)
    assert (none.cpu, none.thread, none.event) == (None, None, "slice begin")
    unknown = example_at(replace(trace, clock=ClockDomain("c", None)), batch, 0, trace.threads[:0])
    assert (unknown.ts, unknown.thread) == (9, None)


def test_the_example_is_that_of_the_first_time_whenever_it_is_known():
    report = LossReport()
    report.add("track-dropped", 1, 5, event="e")
    report.add("track-dropped", 1, 6, event="e", example=lambda: example(6))
    report.add("track-dropped", 1, 5, event="e", example=lambda: pytest.fail("is known"))
    (loss,) = report
    assert (loss.count, loss.first_ts, loss.example) == (3, 5, example(6))
    report.add("track-dropped", 1, 0, event="e", example=lambda: example(0))
    (loss,) = report
    assert (loss.first_ts, loss.example) == (0, example(0))


@pytest.mark.parametrize(("count", "listed"), [(-1, 0), (0, 0), (1, 1)])
def test_only_what_happened_is_counted(count, listed):
    report = LossReport()
    report.add("wall-clock-dropped", count)
    assert len(report) == len(list(report)) == listed


def test_losses_at_time_0_are_of_events():
    report = LossReport()
    report.add("track-dropped", 1, 0, event="e")
    report.add("wall-clock-dropped")
    report.forget_events()
    assert [loss.code for loss in report] == ["wall-clock-dropped"]


def test_a_report_is_equal_to_one_of_the_same_losses_and_to_nothing_else():
    one, other = LossReport(), LossReport()
    assert one == other
    one.add("wall-clock-dropped")
    assert one != other
    other.add("wall-clock-dropped")
    assert one == other
    assert one != list(one)


def test_a_report_as_json():
    report = LossReport()
    assert report.to_json() == '{"losses": []}\n'
    report.add("track-dropped", 2, 0, event="e", example=lambda: Example(0, 0, Thread(7, 0), "e"))
    report.add("wall-clock-dropped")
    first, second = sorted(json.loads(report.to_json())["losses"], key=lambda one: one["count"])
    assert (first["example"], first["first_ts"], first["parameters"]) == (None, None, {})
    assert second["example"] == {"ts": 0, "cpu": 0, "thread": {"tid": 7, "name": ""}, "event": "e"}
    assert (second["first_ts"], second["count"]) == (0, 2)
    loss = next(loss for loss in report if loss.code == "track-dropped")
    assert second["sentence"] == loss.sentence
    assert second["class"] == str(loss.loss_class)


def test_events_that_are_not_shown_are_whole_ones_that_are_dropped_or_not_drawn():
    report = LossReport()
    report.add("event-dropped", 1, 1, event="a")
    report.add("counter-without-number", 2, 1, event="b")
    assert report.events_not_shown == 3
    # Shown otherwise, missed by nobody who looks, a part of an event, and one that is kept.
    report.add("summed-slices", 4, 1, event="c")
    report.add("slice-end-unmatched", 8, 1, event="d")
    report.add("field-dropped", 16, 1, event="e", field="f")
    report.add("event-dropped", 32, 1, event="f", loss_class=LossClass.DETAIL)
    assert report.events_not_shown == 3
    assert [loss.count for loss in report.of_class(LossClass.DETAIL)] == [32, 8]


def test_the_example_of_several_losses_is_the_earliest_that_is_known():
    report = LossReport()
    for field, ts in (("a", 5), ("b", 0), ("c", 7)):
        report.add("field-dropped", 1, ts, event="e", field=field, example=partial(example, ts))
    report.add("field-dropped", 1, -1, event="e", field="d")
    (group,) = grouped(report)
    assert group.example == example(0)
    (unknown,) = grouped([loss for loss in report if loss.example is None])
    assert unknown.example is None


def test_a_notebook_lists_twenty_losses():
    report = LossReport()
    for number in range(21):
        report.add("clock-name", clock=f"clock{number}")
    shown = report._repr_html_()
    assert "21 losses" in shown
    assert sum(f"clock{number}" in shown for number in range(21)) == 20
