"""The state to which unchanged packets refer: interned data and defaults of their sequences, in separate packets.

A writer that encodes events again writes them first; it interns the texts of events itself.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.layout import PacketField, SequenceFlag
from converter.formats.perfetto.protobuf.messages import varint
from converter.formats.perfetto.protobuf.scan import (
    DEFAULTS,
    DEFAULTS_SIZE,
    DEFAULTS_START,
    FLAGS,
    INTERNED,
    INTERNED_SIZE,
    INTERNED_START,
    SEQUENCE,
)
from converter.formats.perfetto.reading.packets import Window
from converter.ir.distinct_values import values_of

_PARTS: Final = (
    (PacketField.INTERNED_DATA, INTERNED, INTERNED_START, INTERNED_SIZE),
    (PacketField.TRACE_PACKET_DEFAULTS, DEFAULTS, DEFAULTS_START, DEFAULTS_SIZE),
)


class SequenceStates:
    """The state of all sequences, in the order of its packets, up to a number of bytes."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._packets: list[tuple[int, bytes]] = []
        self._started: set[int] = set()
        self._referring: set[int] = set()

    def note(self, window: Window, stays: NDArray[np.bool_]) -> None:
        """Read the packets of a window; those that stay unchanged contain their own state."""
        rows = window.rows
        self._referring.update(values_of(rows[stays, SEQUENCE]).tolist())
        has_state = ((rows[:, FLAGS] & (INTERNED | DEFAULTS)) != 0) & ~stays
        for position in np.flatnonzero(has_state).tolist():
            if self._left <= 0:
                return
            row = rows[position]
            sequence = int(row[SEQUENCE])
            packet = _number(PacketField.TRUSTED_PACKET_SEQUENCE_ID, sequence)
            if sequence not in self._started:
                self._started.add(sequence)
                cleared = SequenceFlag.INCREMENTAL_STATE_CLEARED
                packet += _number(PacketField.SEQUENCE_FLAGS, cleared)
            for number, flag, start, size in _PARTS:
                if row[FLAGS] & flag:
                    data = window.data[int(row[start]) : int(row[start]) + int(row[size])]
                    packet += varint(number << 3 | 2) + varint(len(data)) + bytes(data)
            self._left -= len(packet)
            self._packets.append((sequence, packet))

    def referred_to(self) -> list[bytes]:
        """Return the state packets of sequences that have unchanged packets."""
        return [packet for sequence, packet in self._packets if sequence in self._referring]


def _number(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)
