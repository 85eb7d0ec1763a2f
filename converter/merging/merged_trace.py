"""The result of merging: a trace that reports how each of its inputs was placed."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from converter.ir.trace import Trace
from converter.projection.losses import LossReport

#: The format of a merged trace. It is not a file format, so no writer treats the trace as its own.
MERGED = "merged"


@dataclass(frozen=True, slots=True)
class MergedInput:
    """The position of an input on the clock of the merged trace, and the reason for it."""

    name: str
    #: A description of what relates its clock to the others'.
    how: str
    #: Seconds that are added to its times.
    shift: Fraction
    #: The machine that it was recorded on, if there are several.
    machine: str = ""
    #: What may be wrong about its position; empty if nothing is.
    doubt: str = ""

    def __str__(self) -> str:
        where = f", machine {self.machine}" if self.machine else ""
        return f"{self.name}: {self.how}, {in_seconds(self.shift)}{where}"


@dataclass(slots=True, repr=False)
class MergedTrace(Trace):
    """The trace that several inputs are merged into; it streams as they do."""

    inputs: tuple[MergedInput, ...] = ()
    #: The losses of merging itself; complete once all batches have passed.
    losses: LossReport = field(default_factory=LossReport)


def in_seconds(seconds: Fraction) -> str:
    """Return a shift in readable form, to the nanosecond: "+12.345678901 s"."""
    nanoseconds = round(seconds * 1_000_000_000)
    whole, rest = divmod(abs(nanoseconds), 1_000_000_000)
    digits = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{'-' if nanoseconds < 0 else '+'}{whole}{digits} s"
