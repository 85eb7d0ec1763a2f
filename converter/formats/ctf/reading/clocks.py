"""Clocks: one timeline for all streams of an input, exact wherever their rates agree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from converter.errors import RemarkError, TraceError
from converter.formats.ctf.metadata.trace_class import ClockClass
from converter.ir.trace import MOST_FROM_1970, NANOSECONDS, ClockDomain, known_epoch

_SECOND = 1_000_000_000
#: Offsets of more ticks are no part of times, which would not fit 63 bits.
_MOST_TICKS = 1 << 62


def trace_clock(clocks: Iterable[ClockClass]) -> ClockDomain:
    """Return the clock for all times: that of the first, or nanoseconds where their rates differ."""
    known = list(clocks)
    if not known:
        return ClockDomain("", ticks_per_second=None)
    first = known[0]
    origin = _origin(first)
    if any(clock.frequency != first.frequency for clock in known):
        return ClockDomain(
            NANOSECONDS.name, NANOSECONDS.ticks_per_second, origin, first.description
        )
    return ClockDomain(first.name, Fraction(first.frequency), origin, first.description)


def clock_domain(clock: ClockClass) -> ClockDomain:
    """Return the clock domain of a single clock."""
    return ClockDomain(clock.name, Fraction(clock.frequency), _origin(clock), clock.description)


def origin_of(clock: ClockClass, trace: str) -> tuple[object, ...]:
    """Return the origin of a clock, before its offset: clocks with equal origins can be compared.

    The origin is 1970, one with a name (CTF2-SPEC-2.0, clock class fragment), or one that only clocks of the same UUID
    share (CTF 1.8.3, 8), or of the same namespace, name and UID. Any other origin is unknown, so that no other clock is
    known to share it, not even one of the same trace.
    """
    if clock.unix_epoch:
        return ("1970",)
    if clock.origin is not None:
        return clock.origin
    if clock.uid:
        # CTF 2 has the name in the identity; in CTF 1.8, the UUID is the identity.
        return ("clock", clock.namespace, clock.name if clock.id else "", clock.uid)
    return (trace, clock.name, clock.id)


def conversion(
    clock: ClockClass | None, target: ClockDomain, first: ClockClass | None
) -> tuple[int, int, int]:
    """Return the scanner's clock conversion: times are ``floor((value + shift) * numerator / denominator)``.

    Raises:
        TraceError: the offset of the clock is too far from that of the first.

    """
    if clock is None or first is None:
        return 0, 1, 1
    base = _base_ns(first)
    if target.ticks_per_second == clock.frequency:
        # Both count from the same second, so the difference is whole ticks.
        shift, numerator, denominator = clock.offset_ticks - base * clock.frequency // _SECOND, 1, 1
    else:
        shift = clock.offset_ticks - base * clock.frequency // _SECOND
        numerator, denominator = _SECOND, clock.frequency
    if not -(1 << 63) <= shift < 1 << 63:
        raise TraceError(
            f"the offset of its clock {clock.name!r} is too far from the others' for 64 bits",
            found=f"{clock.offset_ticks // clock.frequency:,} s",
        )
    return shift, numerator, denominator


def ignored_offset(clock: ClockClass) -> RemarkError | None:
    """Return what is wrong with a clock whose offset from 1970 does not fit 64 bits, and is ignored."""
    if not clock.unix_epoch or known_epoch(_base_ns(clock)) is not None:
        return None
    return RemarkError(
        f"the offset of clock {clock.name!r} is ignored: times start at its zero",
        expected=MOST_FROM_1970,
        found=f"{clock.offset_ticks // clock.frequency:,} s",
    )


def stated_clock(clock: ClockClass, kept: ClockDomain, shift: int) -> ClockDomain:
    """Return a clock of a side table with the epoch that the metadata state: they may have been edited since.

    Args:
        clock: as the metadata declare it.
        kept: the clock of the side table.
        shift: the values of the clock minus its ticks.

    """
    written = (kept.epoch_ns or 0) * clock.frequency // _SECOND - shift
    if clock.offset_ticks == written:
        return kept
    epoch = (clock.offset_ticks + shift) * _SECOND // clock.frequency
    return replace(kept, epoch_ns=known_epoch(epoch) if clock.unix_epoch else None)


def time_of(value: int, conversion: tuple[int, int, int]) -> int | None:
    """Return the time of a clock's value, None if it does not fit 63 bits."""
    shift, numerator, denominator = conversion
    time = (value + shift) * numerator // denominator
    return time if -(1 << 63) <= time < 1 << 63 else None


def _base_ns(clock: ClockClass) -> int:
    """Return the nanoseconds from the origin to time 0: the part of the offset in whole ticks and whole nanoseconds.

    Nothing but times holds the offset of a clock that is not known to count from 1970, so that time 0 is its origin.
    """
    nanoseconds = Fraction(clock.offset_ticks * _SECOND, clock.frequency)
    if not clock.unix_epoch and max(abs(clock.offset_ticks), int(abs(nanoseconds))) <= _MOST_TICKS:
        return 0
    if nanoseconds.denominator == 1:
        return int(nanoseconds)
    return clock.offset_ticks // clock.frequency * _SECOND


def _origin(clock: ClockClass) -> int | None:
    """Return the time of tick 0 in nanoseconds since 1970, None if it is unknown or does not fit."""
    return known_epoch(_base_ns(clock)) if clock.unix_epoch else None
