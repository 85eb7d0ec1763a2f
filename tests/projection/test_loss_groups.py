"""Losses of one kind are told together, the worst first."""

from converter.projection.loss_codes import LOSS_CODES
from converter.projection.loss_groups import best_format, grouped
from converter.projection.losses import Example, Loss, LossClass


def loss(code, count=1, first_ts=None, loss_class=LossClass.SHOWN, example=None):
    return Loss(code, count, first_ts, loss_class, (("event", "e"),), example=example)


def test_an_example_makes_no_other_loss():
    assert loss("track-dropped", example=Example(5, 1, None, "e")) == loss("track-dropped")


def test_a_loss_without_a_time_comes_before_all_times():
    late, untimed = Example(1, 0, None, "late"), Example(0, 0, None, "untimed")
    (group,) = grouped(
        [loss("track-dropped", 1, 1, example=late), loss("track-dropped", example=untimed)]
    )
    assert group.example == untimed


def test_more_of_the_same_kind_comes_first():
    same = [
        one for one, code in LOSS_CODES.items() if code.kind is LOSS_CODES["track-dropped"].kind
    ]
    same = [one for one in same if LOSS_CODES[one].extent is LOSS_CODES["track-dropped"].extent]
    losses = [loss(code, count, 5) for count, code in enumerate(same[:4], 1)]
    assert [group.code for group in grouped(losses)] == same[3::-1]


def test_the_best_format_keeps_most_and_is_neither_of_both(monkeypatch):
    keeps = LOSS_CODES["track-dropped"].keeps
    monkeypatch.setattr("converter.projection.loss_groups.kept_by", lambda: {keeps: ("a", "b")})
    groups = grouped([loss("track-dropped"), loss("track-dropped", loss_class=LossClass.KEPT)])
    assert best_format(groups[:1], "c", "d") == ("a", 1)
    assert best_format(groups, "c", "d") == ("a", 2)
    assert best_format(groups, "a", "d") == ("b", 2)
    assert best_format(groups, "c", "a") == ("b", 2)
    assert best_format(groups, "a", "b") is None
    assert best_format([], "c", "d") is None
