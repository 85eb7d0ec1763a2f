"""Converts raw timestamps of records to times of the trace's clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class HostTime(NamedTuple):
    """Option TIME_SHIFT: the samples that turn a guest's times into its host's, one list for each CPU.

    Arrays int64 by sample: guest time, offset, scaling and fraction bits.
    """

    peer: int
    interpolate: bool
    cpus: tuple[
        tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], ...
    ]

    def apply(self, ts: NDArray[np.int64], cpu: int) -> NDArray[np.int64]:
        """Convert guest times `ts` of a CPU to the host's, as trace-cmd does (trace-input.c, timestamp_host_sync):
        between two samples with the earlier one's scaling, all in 64 bits.
        """
        if cpu >= len(self.cpus):
            return ts
        times, offsets, scalings, fractions = self.cpus[cpu]
        if len(times) == 0:
            return ts
        if len(times) == 1:
            shifted: NDArray[np.int64] = ts + offsets[0]
            return shifted
        low = np.clip(np.searchsorted(times, ts, side="right") - 1, 0, len(times) - 2)
        offset = offsets[low]
        if self.interpolate:
            delta = times[low + 1] - times[low]
            product = (ts - times[low]) * (offsets[low + 1] - offsets[low]) + delta // 2
            # C's division truncates.
            offset = offset + np.sign(product) * (np.abs(product) // np.maximum(delta, 1))
        factor = scalings[low].view(np.uint64)
        bits = fractions[low].view(np.uint64) & np.uint64(63)
        host: NDArray[np.int64] = ((ts.view(np.uint64) * factor) >> bits).view(np.int64) + offset
        return host


@dataclass(slots=True)
class Timestamps:
    """The scaling of raw timestamps: ``(raw * multiplier >> shift) + time_offset`` (multiplier 0: raw)."""

    multiplier: int = 0
    shift: int = 0
    time_offset: int = 0
    host_time: HostTime | None = None

    @property
    def scaling(self) -> tuple[int, int, int]:
        """The multiplier, shift and time offset, as `scan_pages` accepts them."""
        return self.multiplier, self.shift, self.time_offset

    def scale(self, ts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Scale raw times as `scan_pages` does, for times that need another conversion first."""
        raw = ts.view(np.uint64)
        if self.multiplier:
            factor, shift = np.uint64(self.multiplier), np.uint64(self.shift)
            low = ((raw & np.uint64(0xFFFFFFFF)) * factor) >> shift
            raw = low + (((raw >> np.uint64(32)) * factor) << (np.uint64(32) - shift))
        return (raw + np.uint64(self.time_offset)).view(np.int64)
