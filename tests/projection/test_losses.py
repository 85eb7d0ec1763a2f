"""Losses are summed up in whichever way and order they come."""

import pickle

import pytest
from support.losses import line_of

from converter.ir.kinds import Kind
from converter.projection.losses import Example, Loss, LossClass, LossReport

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


def test_an_example_says_where_to_look():
    assert str(Example(1_500_000_000, 2, None, "tick")) == "tick at 1.500000000 s, CPU 2"
    assert str(Example(-1_500_000_000, None, None, "tick")) == "tick at -1.500000000 s"
