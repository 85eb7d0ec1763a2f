"""What merging gives: a trace that says what became of each of its inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from converter.ir.trace import Trace
from converter.projection.losses import LossReport

#: The format of a merged trace: that of no file, so that no writer takes it for its own.
MERGED = "merged"


@dataclass(frozen=True, slots=True)
class MergedInput:
    """Where an input is on the clock of the merged trace, and why."""

    name: str
    #: What relates its clock to the others', in words.
    how: str
    #: Seconds that are added to its times.
    shift: Fraction
    #: Of several machines, the one that it was recorded on.
    machine: str = ""
    #: What may be wrong about that; empty where nothing is.
    doubt: str = ""

    def __str__(self) -> str:
        where = f", machine {self.machine}" if self.machine else ""
        return f"{self.name}: {self.how}, {in_seconds(self.shift)}{where}"


@dataclass(slots=True, repr=False)
class MergedTrace(Trace):
    """The trace that several are together; it streams as they do."""

    inputs: tuple[MergedInput, ...] = ()
    #: What merging itself could not keep; complete once all batches have passed.
    losses: LossReport = field(default_factory=LossReport)


def in_seconds(seconds: Fraction) -> str:
    """A shift as people read it, to the nanosecond: "+12.345678901 s"."""
    nanoseconds = round(seconds * 1_000_000_000)
    whole, rest = divmod(abs(nanoseconds), 1_000_000_000)
    digits = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{'-' if nanoseconds < 0 else '+'}{whole}{digits} s"
