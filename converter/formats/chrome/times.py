"""Times: microseconds in decimal in the file, integer ticks in the trace. No float in between."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError

#: Decimals of a microsecond that are read: up to a femtosecond clock in own files, a picosecond one elsewhere.
MAX_DECIMALS = 9
MAX_GUESSED_DECIMALS = 6
#: Nanoseconds.
USUAL_DECIMALS = 3

#: Units in a tick from which on a time that was rounded down is nearest to its own tick.
_FEWEST_UNITS = 2

_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Scale:
    """The encoding of ticks of `rate` per second: microseconds with `decimals` decimals, less `offset` units."""

    rate: Fraction
    decimals: int
    offset: int = 0

    @classmethod
    def of_rate(cls, rate: Fraction) -> Scale:
        """Return the scale in which every tick of a clock has a distinct value, which is its time to the nanosecond.

        Raises:
            UnsupportedError: the clock is faster than a femtosecond.

        """
        for decimals in range(MAX_DECIMALS + 1):
            scale = cls(rate, decimals)
            is_exact = decimals >= USUAL_DECIMALS or scale.factor.denominator == 1
            if scale.factor >= 1 and is_exact:
                return scale
        raise UnsupportedError(format="chrome", message=f"a clock of {rate} ticks per second")

    @property
    def factor(self) -> Fraction:
        """The number of the file's units in a tick."""
        return Fraction(10 ** (6 + self.decimals)) / self.rate

    @property
    def rounds_down(self) -> bool:
        """True if ticks become the nanosecond that they are in, as viewers of ticks show them. The nearest tick to it
        is still theirs.
        """
        is_exact = self.factor.denominator == 1
        return not is_exact and self.decimals == USUAL_DECIMALS and self.factor >= _FEWEST_UNITS

    @property
    def is_shown(self) -> bool:
        """True if viewers, which round more decimals, show the nanosecond that a tick is in."""
        is_exact = self.factor.denominator == 1 and self.decimals <= USUAL_DECIMALS
        return is_exact or self.rounds_down

    def to_file(self, ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert ticks to units of the file, rounded down or to the nearest.

        Raises:
            UnsupportedError: a time does not fit 64 bits.

        """
        return _scaled(ticks, self.factor, round_down=self.rounds_down)

    def durations_to_file(
        self, ticks: NDArray[np.int64], starts: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Convert lengths of events so that their ends are where `to_file` puts them."""
        ends = starts + ticks
        # Others are no lengths, or end after the last time.
        has_end = (ticks >= 0) & (ends >= starts)
        between = self.to_file(np.where(has_end, ends, 0)) - self.to_file(starts)
        return np.where(has_end, between, self.to_file(np.where(has_end, 0, ticks)))

    def from_file(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert units of the file to ticks, the inverse of `to_file`."""
        return _scaled(units, 1 / self.factor)


def _scaled(
    values: NDArray[np.int64], factor: Fraction, *, round_down: bool = False
) -> NDArray[np.int64]:
    if factor == 1 or len(values) == 0:
        return values
    numerator, denominator = factor.numerator, factor.denominator
    largest = max(abs(int(values.min())), abs(int(values.max())))
    if max(largest, 1) * numerator + denominator <= _MAX:
        if denominator == 1:
            return values * numerator
        return (values * numerator + (0 if round_down else denominator // 2)) // denominator
    half = 0 if round_down else denominator
    exact = (values.astype(object) * (2 * numerator) + half) // (2 * denominator)
    if max(abs(int(exact.min())), abs(int(exact.max()))) > _MAX:
        raise UnsupportedError(format="chrome", message="a time does not fit 64 bits")
    return exact.astype(np.int64)
