"""Converts times to ticks of another rate: to nanoseconds, for formats whose clock has no other."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, OptionalColumn
from converter.ir.events import Batch, Table
from converter.ir.kinds import TICK_ROLES, Role
from converter.ir.trace import Trace
from converter.projection.losses import LossReport

_NANOSECONDS = Fraction(1_000_000_000)
_HIGHEST = int(np.iinfo(np.int64).max)


def in_nanoseconds(trace: Trace, report: LossReport | None = None) -> Trace:
    """Return the trace with its times, and fields that count ticks, rounded down to nanoseconds, which is reported.

    A clock of unknown rate is left alone, as the length of its ticks is unknown.
    """
    rate = trace.clock.ticks_per_second
    if rate is None or rate == _NANOSECONDS:
        return trace
    if report is not None:
        is_exact = (_NANOSECONDS / rate).denominator == 1
        if is_exact:
            report.add("times-in-nanoseconds", rate=rate_text(rate))
        else:
            report.add("times-rounded", rate=rate_text(rate))
    return at_rate(trace, _NANOSECONDS, rate, report)


def in_units(trace: Trace, unit: int, report: LossReport) -> Trace:
    """Return a trace of nanoseconds with its times rounded down to multiples of a unit, which is reported."""
    counted = dataclasses.replace(trace)
    counted.make_batches = lambda: _counted(trace, unit, report)
    coarse = _NANOSECONDS / unit
    return at_rate(at_rate(counted, coarse, _NANOSECONDS), _NANOSECONDS, coarse)


def _counted(trace: Trace, unit: int, report: LossReport) -> Iterator[Batch]:
    """Yield the batches, and count times between two multiples of a unit."""
    for batch in trace.batches():
        between = batch.ts % unit != 0
        if between.any():
            first = int(batch.ts[between.argmax()])
            report.add("times-between-units", int(np.count_nonzero(between)), first, unit=unit)
        yield batch


def rate_text(rate: Fraction) -> str:
    """Return a clock's rate in its largest unit."""
    for unit, name in ((10**9, "GHz"), (10**6, "MHz"), (10**3, "kHz")):
        if rate >= unit:
            return f"{float(rate / unit):.10g} {name}"
    return f"{float(rate):.10g} Hz"


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
        report.add("time-beyond-63-bits", count, int(ts[beyond].min()))


def _batches(trace: Trace, factor: Fraction, report: LossReport | None) -> Iterator[Batch]:
    for batch in trace.batches():
        if report is not None and factor > 1:
            _count_beyond(batch.ts, factor, report)
        tables = {}
        for id, table in batch.tables.items():
            fields = trace.event_classes[id].fields
            ticking = {i: field.role for i, field in enumerate(fields) if field.role in TICK_ROLES}
            tables[id] = _rescaled(batch, id, ticking, factor) if ticking else table
        yield Batch(
            ts=scaled(batch.ts, factor),
            class_id=batch.class_id,
            row=batch.row,
            tables=tables,
            thread=batch.thread,
            cpu=batch.cpu,
            track=batch.track,
        )


def _rescaled(batch: Batch, id: int, ticking: dict[int, Role], factor: Fraction) -> Table:
    table = batch.tables[id]

    def column(index: int) -> Any:
        def load() -> Column:
            held = table.column(index)
            starts = starts_of(batch, id) if ticking[index] is Role.DURATION else None
            if isinstance(held, OptionalColumn) and isinstance(held.values, np.ndarray):
                if starts is not None:
                    starts = starts[held.valid]
                present = _scaled_from(held.values[held.valid], starts, factor)
                values = held.values.copy()
                values[held.valid] = present
                return OptionalColumn(held.valid, values)
            return _scaled_from(held, starts, factor) if isinstance(held, np.ndarray) else held

        return load if index in ticking else table.lazy(index)

    return Table(len(table), [column(i) for i in range(table.width)])


def starts_of(batch: Batch, id: int) -> NDArray[np.int64]:
    """Return the times of the events of a class, by row."""
    starts = np.zeros(len(batch.tables[id]), np.int64)
    at = batch.positions(id)
    starts[batch.row[at]] = batch.ts[at]
    return starts


def _scaled_from(
    ticks: NDArray[Any], starts: NDArray[np.int64] | None, factor: Fraction
) -> NDArray[Any]:
    """Return numbers of ticks at a rate; those of ranges with `starts` end where the scaled end is."""
    if ticks.dtype.kind not in "iu":
        return ticks
    plain = scaled(ticks, factor)
    if starts is None or not len(ticks):
        return plain
    lasting = ticks.astype(np.int64, copy=False)
    ends = starts + lasting
    # What is unknown, or beyond the last time, has no such end.
    has_end = (lasting >= 0) & (ends >= starts)
    if not has_end.all():
        starts, ends = (np.where(has_end, times, 0) for times in (starts, ends))
    result = scaled(ends, factor) - scaled(starts, factor)
    limits = np.iinfo(ticks.dtype)
    result = np.minimum(result, min(limits.max, _HIGHEST))
    return np.where(has_end, result, plain).astype(ticks.dtype)


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
