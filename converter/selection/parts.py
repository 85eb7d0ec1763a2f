"""Ways to split a trace, as users write them, and the resulting parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, unique
from fractions import Fraction
from typing import Final, NamedTuple

from converter.errors import SelectionError
from converter.ir.trace import Trace
from converter.selection.moments import parse_span

_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([kKMGT]?)(i?)B", re.ASCII)
_POWERS: Final = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}
#: Smaller parts would consist mostly of headers.
_LEAST_BYTES: Final = 1 << 10


class TimeLength(NamedTuple):
    """Parts of a fixed duration in seconds."""

    seconds: Fraction


@unique
class Division(Enum):
    """Parts by a property of the events."""

    CPU = "cpu"
    PROCESS = "process"


@dataclass(slots=True)
class Part:
    """A part of a trace, whose batches can be read once; its attributes are complete after the last batch."""

    trace: Trace
    #: The CPU or process of its events; empty for a part of the time.
    label: str = ""
    first: int | None = None
    last: int | None = None
    events: int = 0
    #: The number of events that were added to restore the state at its start or end.
    added: int = 0
    #: Returns the number of bytes that have been written of it.
    written: Callable[[], int] = lambda: 0


def parse_division(text: str) -> TimeLength | int | Division:
    """Parse what a trace is split by: a duration, a number of bytes, CPU or process.

    Raises:
        SelectionError: it is none of these.
    """
    written = text.strip()
    for division in Division:
        if written == division.value:
            return division
    size = _SIZE.fullmatch(written)
    if size is not None:
        number, prefix, binary = size.groups()
        found = int(Fraction(number) * (1024 if binary else 1000) ** _POWERS[prefix])
        if found < _LEAST_BYTES:
            raise SelectionError(f"parts of {text} are too small: the least is 1kB")
        return found
    try:
        seconds = parse_span(written).seconds
    except SelectionError:
        seconds = Fraction(0)
    if not seconds:
        raise SelectionError(
            f'{text!r} is nothing to split by: write "10s", "200ms", "1GB", "64MiB", cpu or process'
        )
    return TimeLength(seconds)
