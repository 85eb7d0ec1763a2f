"""Finds the packets of a time range: each has its start time, and those of a stream are in order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from converter.formats.ctf.reading.batches import DataStream
from converter.formats.ctf.reading.clocks import time_of
from converter.formats.ctf.reading.heads import heads
from converter.formats.ctf.streams.scan import REGISTERS
from converter.formats.ctf.streams.stream_files import (
    PacketRange,
    StreamFile,
    StreamState,
    updated_clock,
)
from converter.ir.trace import Narrowed

_NOTHING: Final = Narrowed(leaves_out=False, goes_on=False)

_DISCARDED: Final = REGISTERS["discarded"]


@dataclass(frozen=True, slots=True)
class _Packet:
    """A packet: its range in the file (bytes), its start time, and the stream state after it."""

    file: StreamFile
    offset: int
    end: int
    time: int
    state: StreamState


class PacketSeeking:
    """Finds the packets of streams by their times."""

    def __init__(self, streams: Sequence[DataStream]) -> None:
        self._streams = streams

    def first(self) -> int | None:
        """Return the time of the earliest of the streams' first events, as packets may start before theirs."""
        if not all(file.type.is_timed for stream in self._streams for file in stream.files):
            return None
        windows = [next(stream.scan(), None) for stream in self._streams]
        return min((int(one.ts[0]) for one in windows if one is not None), default=None)

    def last(self) -> int | None:
        """Return None: packets may end after their last event."""
        return None

    def narrow(self, start: int, end: int) -> Narrowed:
        """Leave out packets of other times."""
        left = [_narrow(stream, start, end) for stream in self._streams]
        return Narrowed(*(any(one) for one in zip(*left, strict=True))) if left else _NOTHING


def _narrow(stream: DataStream, start: int, end: int) -> Narrowed:
    """Leave out packets of a stream, and events of the remaining packets that are not needed.

    The files of the stream follow each other in time.
    """
    for file in stream.files:
        file.window = (start, end)
    state = StreamState()
    packets: list[_Packet] = []
    for file, time in zip(stream.files, stream.times, strict=True):
        found = list(_packets(file, time, state))
        if not found or found[-1].end != file.source.size:
            # Some packets cannot be found this way.
            return _NOTHING
        packets += found
    times = [packet.time for packet in packets]
    if any(later < earlier for earlier, later in pairwise(times)):
        return _NOTHING
    first = max(bisect_left(times, start) - 1, 0)
    last = max(bisect_right(times, end) - 1, first)
    if first == 0 and last == len(times) - 1:
        return _NOTHING
    before = packets[first - 1].state if first else StreamState()
    for file in stream.files:
        kept = [packet for packet in packets[first : last + 1] if packet.file is file]
        file.range = PacketRange(
            kept[0].offset if kept else 0,
            kept[-1].end if kept else 0,
            before if packets[first].file is file else None,
        )
    return Narrowed(leaves_out=True, goes_on=last < len(times) - 1)


def _packets(file: StreamFile, time: tuple[int, int, int], state: StreamState) -> Iterator[_Packet]:
    """Yield the packets of a file up to the first one without a known end or start time."""
    for head in heads(file):
        begin = head.begin
        if begin is None:
            return
        state.begin = updated_clock(state.begin, begin, file.type.begin_bits)
        ts = time_of(state.begin, time)
        if ts is None:
            return
        sequence, discarded = head.sequence, head.said[_DISCARDED]
        state.sequence = state.sequence if sequence is None else sequence
        state.discarded = state.discarded if discarded is None else discarded
        yield _Packet(file, head.offset, head.end, ts, replace(state, clock=state.begin))
