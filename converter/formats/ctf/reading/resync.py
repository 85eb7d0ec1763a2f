"""Finds packets by their magic number: after a gap, the stream continues at the next one of its trace."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from converter.formats.ctf.layout import PACKET_MAGIC
from converter.formats.ctf.streams.stream_types import StreamType
from converter.storage.source import Source

_BLOCK: Final = 1 << 18
_ORDERS: Final[tuple[Literal["little", "big"], ...]] = ("little", "big")


class PacketStarts:
    """The start of a file's packets: the magic number, and the trace's UUID if it follows directly."""

    def __init__(self, source: Source, declared: StreamType) -> None:
        self._source = source
        head = source.read(0, 20)
        uuid = declared.trace.uuid
        magics = [PACKET_MAGIC.to_bytes(4, order) for order in _ORDERS]
        own = [magic for magic in magics if head.startswith(magic)]
        self._starts: tuple[bytes, ...] = ()
        if own and uuid is not None and head[4:] == uuid.bytes:
            self._starts = (own[0] + uuid.bytes,)
        elif own:
            self._starts = tuple(own)
        self.known = bool(self._starts)
        self._size = max(map(len, self._starts), default=0)

    def starts_at(self, place: int, window: NDArray[np.uint8], offset: int) -> bool:
        """Return True if a packet starts at a byte of the file; `window` is the part of the file from `offset` on."""
        inside = place - offset
        head = window[inside : inside + self._size].tobytes()
        if len(head) < self._size:
            head = self._source.read(place, self._size)
        return head.startswith(self._starts)

    def find(self, place: int, end: int) -> int | None:
        """Return the first byte from `place` on and before `end` where a packet starts."""
        for start in range(place, end, _BLOCK):
            block = self._source.read(start, min(_BLOCK, end - start) + self._size - 1)
            found = [at for one in self._starts if (at := block.find(one)) >= 0]
            if found:
                return start + min(found)
        return None
