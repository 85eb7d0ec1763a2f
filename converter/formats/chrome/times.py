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

    def to_file(self, ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert ticks to the nearest units of the file.

        Raises:
            UnsupportedError: a time does not fit 64 bits.

        """
        return _scaled(ticks, self.factor)

    def from_file(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert units of the file to ticks, the inverse of `to_file`."""
        return _scaled(units, 1 / self.factor)


def _scaled(values: NDArray[np.int64], factor: Fraction) -> NDArray[np.int64]:
    if factor == 1 or len(values) == 0:
        return values
    numerator, denominator = factor.numerator, factor.denominator
    largest = max(abs(int(values.min())), abs(int(values.max())))
    if max(largest, 1) * numerator + denominator <= _MAX:
        if denominator == 1:
            return values * numerator
        return (values * numerator + denominator // 2) // denominator
    exact = (values.astype(object) * (2 * numerator) + denominator) // (2 * denominator)
    if max(abs(int(exact.min())), abs(int(exact.max()))) > _MAX:
        raise UnsupportedError(format="chrome", message="a time does not fit 64 bits")
    return exact.astype(np.int64)
