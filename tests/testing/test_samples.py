"""The choice of combinations that are tested for every change."""

from __future__ import annotations

import pytest
from support import samples
from support.samples import sampled

PAIRS = [(source, target) for source in range(12) for target in "abcdefgh"]


@pytest.fixture
def by_day(monkeypatch):
    monkeypatch.setattr(samples, "ALL", False)


def test_each_source_and_each_target_is_tested(by_day):
    chosen = sampled(PAIRS, 5)
    assert len(PAIRS) / 10 < len(chosen) < len(PAIRS) / 2
    assert {source for source, _ in chosen} == set(range(12))
    assert {target for _, target in chosen} == set("abcdefgh")
    assert chosen == sorted(chosen, key=PAIRS.index)
    assert sampled(PAIRS, 1) == PAIRS


def test_few_combinations_are_still_tested(by_day):
    assert sampled([("a", "b")], 1000) == [("a", "b")]
    assert len(sampled(range(1000), 10)) > 50


def test_all_are_tested_at_night(monkeypatch):
    monkeypatch.setattr(samples, "ALL", True)
    assert sampled(PAIRS, 1000) == PAIRS
