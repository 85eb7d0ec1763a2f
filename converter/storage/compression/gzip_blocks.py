"""gzip (RFC 1952) by blocks that threads compress: one member, whose bytes do not depend on the number of threads.

Each block is deflated separately, with the end of the previous block as its dictionary, and ends at a byte boundary.
"""

from __future__ import annotations

import struct
import zlib
from collections import deque
from collections.abc import Iterator
from typing import Final

from converter.storage.pool.workers import Future, TaskGroup, workers

_BLOCK: Final = 1 << 20
#: The farthest distance that a block can refer back.
_WINDOW: Final = 1 << 15
#: No name, no time; made on Unix, as zlib writes.
_HEAD: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\x03"


class GzipBlocks:
    """A compressor of data in order."""

    def __init__(self) -> None:
        self._workers = TaskGroup()
        # Enough that no thread waits for the one that writes.
        self._most = 2 * workers()
        self._pending: deque[Future[bytes]] = deque()
        self._block = bytearray()
        self._before = b""
        self._checksum = 0
        self._size = 0
        self._head = _HEAD

    def compress(self, data: bytes | memoryview, /) -> bytes:
        """Return the output that is ready so far, while the rest is being compressed."""
        self._checksum = zlib.crc32(data, self._checksum)
        self._size += len(data)
        self._block += data
        while len(self._block) > _BLOCK:
            block = bytes(memoryview(self._block)[:_BLOCK])
            del self._block[:_BLOCK]
            self._pending.append(self._workers.submit(_deflated, block, self._before))
            self._before = block[-_WINDOW:]
        return b"".join(self._ready(self._most))

    def flush(self) -> bytes:
        """Return the rest of the output."""
        parts = [*self._ready(0), _deflated(bytes(self._block), self._before, last=True)]
        self._workers.close()
        return b"".join((*parts, struct.pack("<II", self._checksum, self._size & 0xFFFF_FFFF)))

    def _ready(self, left: int) -> Iterator[bytes]:
        head, self._head = self._head, b""
        yield head
        while self._pending and (len(self._pending) > left or self._pending[0].done()):
            yield self._pending.popleft().result()


def _deflated(block: bytes, before: bytes, *, last: bool = False) -> bytes:
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS, zdict=before)
    return deflate.compress(block) + deflate.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)
