"""What a report sums up, whichever way and in whichever order losses come."""

import pickle

import pytest

from converter.ir.kinds import Kind
from converter.projection.losses import Aspect, Loss, LossClass, LossKind, LossReport

INSTANTS = frozenset({Kind.INSTANT})
PLANNED = (
    (LossKind.LOWERED, "a", LossClass.DETAIL, Aspect.TEXTS),
    (LossKind.DROPPED, "b", None, None),
)


def test_the_first_is_the_earliest_in_whichever_order_they_come():
    report = LossReport()
    report.add(LossKind.DROPPED, "a", 2, 7)
    report.add(LossKind.DROPPED, "a", 1, 5)
    report.add(LossKind.DROPPED, "a", 1, 6)
    (loss,) = report
    assert (loss.count, loss.first_ts) == (4, 5)


def test_planned_losses_are_those_that_come_one_by_one():
    planned, single = LossReport(), LossReport()
    for count, ts, kinds in ((3, 9, INSTANTS), (4, 8, INSTANTS), (1, 20, frozenset({Kind.LOG}))):
        planned.add_planned(PLANNED, count, ts, kinds)
        for kind, what, loss_class, aspect in PLANNED:
            single.add(kind, what, count, ts, loss_class, aspect, kinds)
        assert list(planned) == list(single)
    shown = Loss(
        LossKind.DROPPED, "b", 8, 8, LossClass.SHOWN, None, frozenset({Kind.INSTANT, Kind.LOG})
    )
    assert shown in list(planned)


@pytest.mark.parametrize("planned", [(), PLANNED])
def test_a_report_travels_to_another_process(planned):
    report = LossReport()
    report.add_planned(planned, 3, 9, INSTANTS)
    report.add_planned(planned, 2, 4, INSTANTS)
    copy = pickle.loads(pickle.dumps(report))
    assert copy == report
    copy.add(LossKind.DROPPED, "of the clock")
    assert len(copy) == len(report) + 1


def test_what_does_not_count_is_not_added():
    report = LossReport(counts=False)
    report.add(LossKind.DROPPED, "of the clock")
    report.add_planned(PLANNED, 3, 9, INSTANTS)
    assert not list(report)


def test_losses_of_events_are_counted_anew():
    report = LossReport()
    report.add(LossKind.DROPPED, "of the clock")
    report.add_planned(PLANNED, 3, 9, INSTANTS)
    report.forget_events()
    report.add_planned(PLANNED, 2, 4, INSTANTS)
    assert [(loss.what, loss.count) for loss in report] == [
        ("b", 2),
        ("of the clock", 1),
        ("a", 2),
    ]
