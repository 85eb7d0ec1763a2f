"""What a trace can be split into, as somebody says it, and what a part is."""

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
#: Smaller parts would be headers above all.
_LEAST_BYTES: Final = 1 << 10


class TimeLength(NamedTuple):
    """Parts of so many seconds each."""

    seconds: Fraction


@unique
class Division(Enum):
    """Parts by what events are of."""

    CPU = "cpu"
    PROCESS = "process"


@dataclass(slots=True)
class Part:
    """A part of a trace, whose batches can be read once; what is known of it is complete behind the last of them."""

    trace: Trace
    #: What it is of: a CPU or a process; empty for a part of the time.
    label: str = ""
    first: int | None = None
    last: int | None = None
    events: int = 0
    #: Events that say what was so when the part began or ended.
    added: int = 0
    #: How many bytes have been written of it.
    written: Callable[[], int] = lambda: 0


def parse_division(text: str) -> TimeLength | int | Division:
    """What a text says that a trace is split by: a length of time, a number of bytes, CPU or process.

    Raises:
        SelectionError: it says nothing of these.

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
            raise SelectionError(f"parts of {text} are too small: 1kB is the least")
        return found
    try:
        seconds = parse_span(written).seconds
    except SelectionError:
        seconds = Fraction(0)
    if not seconds:
        raise SelectionError(
            f'nothing to split by is {text!r}: write "10s", "200ms", "1GB", "64MiB", cpu or process'
        )
    return TimeLength(seconds)
