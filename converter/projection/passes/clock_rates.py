"""Converts times to ticks of another rate: to nanoseconds, for formats whose clock has no other."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column
from converter.ir.events import Batch, Table
from converter.ir.kinds import TICK_ROLES
from converter.ir.trace import Trace
from converter.projection.losses import LossKind, LossReport

_NANOSECONDS = Fraction(1_000_000_000)
_HIGHEST = int(np.iinfo(np.int64).max)

BEYOND: Final = "times beyond 63 bits of nanoseconds: the latest one (--lossless keeps them)"


def in_nanoseconds(trace: Trace, report: LossReport | None = None) -> Trace:
    """Return the trace with its times, and fields that count ticks, rounded down to nanoseconds, which is reported.

    A clock of unknown rate is left alone, as the length of its ticks is unknown.
    """
    rate = trace.clock.ticks_per_second
    if rate is None or rate == _NANOSECONDS:
        return trace
    if report is not None:
        is_exact = (_NANOSECONDS / rate).denominator == 1
        what = f"times of {float(rate):g} ticks a second as nanoseconds"
        report.add(LossKind.RETYPED if is_exact else LossKind.CHANGED, what)
    return at_rate(trace, _NANOSECONDS, rate, report)


def at_rate(trace: Trace, rate: Fraction, own: Fraction, report: LossReport | None = None) -> Trace:
    """Return the trace with its times, and fields that count ticks, rounded down to ticks of another rate
    than its own. Times that this pushes beyond 64 bits are the last or the first of these, which is reported.
    """
    result = dataclasses.replace(
        trace, clock=dataclasses.replace(trace.clock, ticks_per_second=rate)
    )
    result.make_batches = lambda: _batches(trace, rate / own, report)
    return result


def _count_beyond(ts: NDArray[np.int64], factor: Fraction, report: LossReport) -> None:
    """Count the times that 64 bits do not hold at the new rate."""
    latest = math.floor(_HIGHEST / factor)
    if len(ts) and (int(ts.max()) > latest or int(ts.min()) < -latest):
        beyond = (ts > latest) | (ts < -latest)
        count = int(np.count_nonzero(beyond))
        report.add(LossKind.CHANGED, BEYOND, count, int(ts[beyond].min()))


def _batches(trace: Trace, factor: Fraction, report: LossReport | None) -> Iterator[Batch]:
    for batch in trace.batches():
        if report is not None and factor > 1:
            _count_beyond(batch.ts, factor, report)
        tables = {}
        for id, table in batch.tables.items():
            fields = trace.event_classes[id].fields
            ticking = {i for i, field in enumerate(fields) if field.role in TICK_ROLES}
            tables[id] = _rescaled(table, ticking, factor) if ticking else table
        yield Batch(
            ts=scaled(batch.ts, factor),
            class_id=batch.class_id,
            row=batch.row,
            tables=tables,
            thread=batch.thread,
            cpu=batch.cpu,
            track=batch.track,
        )


def _rescaled(table: Table, ticking: set[int], factor: Fraction) -> Table:
    def column(index: int) -> Any:
        def load() -> Column:
            ticks = table.column(index)
            if isinstance(ticks, np.ndarray) and ticks.dtype.kind in "iu":
                return scaled(ticks, factor)
            return ticks

        return load if index in ticking else table.lazy(index)

    return Table(len(table), [column(i) for i in range(table.width)])


def scaled(ticks: NDArray[Any], factor: Fraction) -> NDArray[Any]:
    """Return ``floor(ticks * factor)`` exactly, in the same type; results outside its range are clamped."""
    if not len(ticks):
        return ticks
    number, divisor = factor.numerator, factor.denominator
    limits = np.iinfo(ticks.dtype)
    ends = [int(ticks.min()) * number // divisor, int(ticks.max()) * number // divisor]
    # (quotient * number) + (remainder * number // divisor), neither of which may overflow 64 bits.
    if limits.min <= ends[0] and ends[1] <= limits.max and divisor * number <= _HIGHEST:
        wide = ticks.astype(np.uint64 if ticks.dtype == np.uint64 else np.int64, copy=False)
        kind = wide.dtype.type
        quotient, remainder = np.divmod(wide, kind(divisor))
        result = quotient * kind(number) + remainder * kind(number) // kind(divisor)
        return result.astype(ticks.dtype, copy=False)
    exact = [item * number // divisor for item in ticks.tolist()]
    return np.array([min(max(item, limits.min), limits.max) for item in exact], ticks.dtype)
