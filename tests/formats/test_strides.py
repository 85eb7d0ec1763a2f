"""Columns of batches may have any stride: those of a constant have none (`converter.ir.events.Batch`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from fuzz import targets
from numpy.typing import NDArray
from support.fuzzing.outputs import REPORT, written
from support.samples import sampled

from converter.fixtures.kinds import GROUPS
from converter.fixtures.synthetic import synthetic_trace
from converter.ir.events import Batch
from converter.ir.trace import Trace

WAYS = sampled(((target, group) for target in [*targets(), REPORT] for group in GROUPS), 16)
COLUMNS = ("ts", "class_id", "row", "thread", "cpu", "track")


def spread(column: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
    """The same numbers, another one between any two."""
    return np.repeat(column, 2)[::2]


def alone(column: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
    """The same numbers, of which there is just one."""
    return np.broadcast_to(column[:1], column.shape)


def with_columns(trace: Trace, change: Callable[[Batch], Iterator[Batch]]) -> Trace:
    """A trace with its batches changed."""
    batches = [changed for batch in trace.batches() for changed in change(batch)]
    return replace(trace, make_batches=lambda: iter(batches))


def columns(batch: Batch, of: Callable[..., NDArray[np.signedinteger]], but: str = "") -> Batch:
    """A batch with columns made of its own, `but` one that stays."""
    made = {name: getattr(batch, name) for name in COLUMNS}
    made |= {name: of(column) for name, column in made.items() if name != but}
    return Batch(tables=batch.tables, **made)


@pytest.mark.parametrize(("target", "group"), WAYS)
def test_are_written_alike_with_any_stride(target, group):
    plain = synthetic_trace(group, 48)
    strided = with_columns(plain, lambda batch: iter([columns(batch, spread)]))
    assert written(strided, target) == written(plain, target)


@pytest.mark.parametrize(("target", "group"), WAYS)
def test_are_written_alike_with_none(target, group):
    def each_alone(batch: Batch) -> Iterator[Batch]:
        return (columns(batch.select(np.array([i, i])), np.copy) for i in range(len(batch)))

    plain = with_columns(synthetic_trace(group, 24), each_alone)
    constant = with_columns(plain, lambda batch: iter([columns(batch, alone, but="row")]))
    assert written(constant, target) == written(plain, target)
