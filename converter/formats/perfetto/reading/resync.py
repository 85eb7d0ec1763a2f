"""Resync after damage: finds bytes of a file that begin several consecutive packets."""

from __future__ import annotations

import numpy as np

from converter.formats.perfetto.protobuf.scan import (
    COLUMNS,
    DATA,
    FLAGS,
    SEQUENCE,
    TIMED,
    scan_packets,
)
from converter.limits import limit
from converter.storage.source import Source

#: The number of packets that must be consecutive, unless the file ends after fewer.
_IN_A_ROW = 4
#: The file is searched in blocks of this size.
_PIECE = 1 << 20
#: The tag of a packet, and its size.
_TAG = b"\x0a"
_HEAD = 11
#: The bytes of candidates that are examined per searched byte: a file of candidates only must not take long.
_LOOKED_INTO = 4


class Search:
    """Looks for packets in one file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._looked_into = 0
        self._gaps = 0
        self._most_gaps = limit("holes")
        #: True once there was one gap more than the limit allows: the search then stops.
        self.given_up = False

    def next(self, offset: int) -> int | None:
        """Return the offset of the first of several packets at or after `offset`; None if there are none."""
        if self.given_up:
            return None
        found = self._found(offset)
        if found is None:
            return None
        self.given_up = self._gaps == self._most_gaps
        self._gaps += 1
        return None if self.given_up else found

    def _found(self, offset: int) -> int | None:
        source = self._source
        for start in range(offset, source.size, _PIECE):
            piece = source.read(start, _PIECE)
            at = piece.find(_TAG)
            while at >= 0:
                if self._are_packets(start + at):
                    return start + at
                if self._looked_into > _LOOKED_INTO * source.size:
                    return None
                at = piece.find(_TAG, at + 1)
        return None

    def _are_packets(self, offset: int) -> bool:
        at = offset
        for _ in range(_IN_A_ROW):
            if at == self._source.size:
                break
            following = self._packet_end(at)
            if following is None:
                return False
            at = following
        self._looked_into += at - offset
        data = np.frombuffer(self._source.read(offset, at - offset), np.uint8)
        rows = np.empty((_IN_A_ROW, COLUMNS), np.int64)
        count, _, stopped = scan_packets(data, 0, rows)
        found = rows[:count]
        # Other messages have fields of the same numbers; packets have a sequence or a time.
        placed = (found[:, SEQUENCE] != 0) | (found[:, FLAGS] & TIMED != 0)
        return count > 0 and not stopped and bool((placed & (found[:, DATA] > 0)).all())

    def _packet_end(self, offset: int) -> int | None:
        """Return the end of the packet at `offset`; None if there is none."""
        head = self._source.read(offset, _HEAD)
        size = shift = 0
        for end_of_size, byte in enumerate(head[1:], 1):
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                end = offset + end_of_size + 1 + size
                fits = (
                    head[:1] == _TAG
                    and 0 < size <= limit("perfetto.packet")
                    and end <= self._source.size
                )
                return end if fits else None
        return None
