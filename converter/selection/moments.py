"""Times as users write them, and their conversion to ticks of a trace's clock."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum, unique
from fractions import Fraction
from math import ceil
from typing import Any, Final, NamedTuple

import numpy as np

from converter.errors import SelectionError
from converter.ir.trace import ClockDomain

#: The length of each unit in seconds.
UNITS: Final = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LENGTH: Final = re.compile(r"([+-]?)(\d{1,20}(?:\.\d{1,20})?)\s*(ns|us|ms|s)?", re.ASCII)
_DATE: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?\s*(Z|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)
_FORMS: Final = 'write seconds as reports print them (827.28), "+1.5s" after the start, or "2024-05-01 12:00:00"'


@unique
class Origin(Enum):
    """The origin that a time is relative to."""

    CLOCK = "the zero of the trace's clock"
    START = "the first event"
    EPOCH = "1970"


class Moment(NamedTuple):
    """A time in seconds since an origin. Digits after the given ones may be any."""

    seconds: Fraction
    origin: Origin


class Span(NamedTuple):
    """A duration in seconds."""

    seconds: Fraction


@dataclass(frozen=True, slots=True)
class Window:
    """The times from `start` to `end`, both included, in ticks; None is unbounded."""

    start: int | None
    end: int | None


def parse_moment(text: str) -> Moment:
    """Parse a time.

    Raises:
        SelectionError: it is not a time.
    """
    written = text.strip()
    found = _LENGTH.fullmatch(written)
    if found is not None:
        sign, number, unit = found.groups()
        seconds = Fraction(number) * UNITS[unit or "s"]
        origin = Origin.START if sign == "+" else Origin.CLOCK
        return Moment(-seconds if sign == "-" else seconds, origin)
    date = _DATE.fullmatch(written)
    if date is not None:
        day, time, digits, offset = date.groups()
        zone = "+00:00" if offset in (None, "Z") else offset
        try:
            moment = datetime.fromisoformat(f"{day}T{time or '00:00'}{zone}")
        except ValueError as error:
            raise SelectionError(f"{text!r} is not a time: {error}") from None
        since = moment - _EPOCH
        whole = since.days * 86_400 + since.seconds
        return Moment(whole + Fraction(f"0.{digits or 0}"), Origin.EPOCH)
    raise SelectionError(f"{text!r} is not a time: {_FORMS}")


def parse_span(text: str) -> Span:
    """Parse a duration.

    Raises:
        SelectionError: it is not a duration.
    """
    found = _LENGTH.fullmatch(text.strip())
    if found is None or found.group(1):
        raise SelectionError(f'{text!r} is not a duration: write "5s", "200ms" or the like')
    return Span(Fraction(found.group(2)) * UNITS[found.group(3) or "s"])


def written(name: str, value: Any) -> str | None:
    """Return a time as it is written in text; programs may give seconds as a number, or a date or duration of Python,
    NumPy or pandas. A duration is a time after the start of the trace.

    Raises:
        TypeError: it is none of these.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, np.datetime64) and not np.isnat(value):
        return str(value.astype("datetime64[ns]"))
    if isinstance(value, timedelta):
        # pandas' own has nanoseconds, which its total_seconds() rounds.
        value = np.timedelta64(getattr(value, "value", value // _MICROSECOND * 1000), "ns")
    if isinstance(value, np.timedelta64) and not np.isnat(value):
        nanoseconds = int(value.astype("timedelta64[ns]").astype(np.int64))
        sign = "+" if name != "last" and nanoseconds >= 0 else ""
        return f"{sign}{Decimal(nanoseconds).scaleb(-9):f}"
    if isinstance(value, np.integer | np.floating):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TypeError(f'{name}: expected a text such as "+1.5s", or seconds, found {value!r}')
    return f"{Decimal(str(value)):f}"


def is_reversed(start: Moment | Span | None, end: Moment | None) -> bool:
    """Return True if a start is after an end that has the same origin."""
    if not isinstance(start, Moment) or end is None:
        return False
    return start.origin is end.origin and start.seconds > end.seconds


def first_tick(moment: Moment, clock: ClockDomain, start: int) -> int:
    """Return the first tick of a clock that is not before a time; the trace starts at tick `start`."""
    if clock.ticks_per_second is None and moment.origin is Origin.CLOCK:
        return ceil(moment.seconds)
    return _base(moment, start) + ceil(_shifted(moment, clock) * _rate(clock))


def last_tick(moment: Moment, clock: ClockDomain, start: int) -> int:
    """Return the last tick of a clock that is not after a time. Reports truncate times to nanoseconds, and so does
    this.
    """
    if clock.ticks_per_second is None and moment.origin is Origin.CLOCK:
        return int(moment.seconds // 1)
    after = _shifted(moment, clock) + UNITS["ns"]
    return _base(moment, start) + ceil(after * _rate(clock)) - 1


def ticks(span: Fraction, clock: ClockDomain) -> int:
    """Convert a duration in seconds to ticks of a clock."""
    return int(span * _rate(clock))


def _base(moment: Moment, start: int) -> int:
    return start if moment.origin is Origin.START else 0


def _shifted(moment: Moment, clock: ClockDomain) -> Fraction:
    """Return the time in seconds relative to tick 0."""
    if moment.origin is not Origin.EPOCH:
        return moment.seconds
    if clock.epoch_ns is None:
        raise SelectionError(
            f"the clock {clock.name!r} does not say what time of day it is: "
            'write seconds as reports print them, or "+1.5s" after the start'
        )
    return moment.seconds - clock.epoch_ns * UNITS["ns"]


def _rate(clock: ClockDomain) -> Fraction:
    if clock.ticks_per_second is None:
        raise SelectionError(
            f"the ticks of the clock {clock.name!r} are of unknown length: "
            "write times in ticks, as reports print them"
        )
    return clock.ticks_per_second
