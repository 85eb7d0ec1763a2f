"""Compressed inputs, decompressed while they are read.

Small contents are kept in memory. Larger ones are decompressed again from the beginning for readers that go through
them in order, and into a temporary file for all others.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

from converter.errors import ClosedError, TraceWarning
from converter.storage.pool.ahead import Ahead
from converter.storage.pool.workers import TaskGroup
from converter.storage.source import MemorySource, Source, spooled

#: Yields the decompressed contents in chunks; damage is added to the list.
Unpack = Callable[[list[TraceWarning]], Iterator[bytes]]

#: Contents up to this size stay in memory.
_MOST_IN_MEMORY = 16 << 20
#: How much is kept of the beginning, by which formats are recognised, and of the end, where footers are.
_HEAD_SIZE = 1 << 20
_TAIL_SIZE = 1 << 16
#: How much recently read data is kept: readers return to records that their windows cut.
_BEHIND = 8 << 20
#: Smaller chunks are not worth handing from one thread to another.
_PIECE = 1 << 18
#: More rewinds than this mean random access.
_MOST_PASSES = 16


class PackedSource(Source):
    """The contents of a compressed input, which it owns; nothing is decompressed before it is requested.

    Args:
        name: of the contents, for messages.
        packed: the input.
        unpack: yields its contents; may be called repeatedly.
        compression: its compression method.

    """

    def __init__(self, name: str, packed: Source, unpack: Unpack, compression: str) -> None:
        self._packed = packed
        super().__init__(name, 0)
        self.compression = compression
        self.unpacked = packed.unpacked
        self._unpack = partial(self._within_limits, unpack)
        self._chunks = self._unpack(packed.warnings)
        self._first_chunks: deque[bytes] = deque()
        self._first_size = 0
        self._settled: Source | None = None
        self._lock = threading.RLock()

    def read(self, offset: int, size: int) -> bytes:
        """Implement `Source.read`; the beginning can be read before the size is known."""
        with self._lock:
            if min(offset, size) >= 0:
                self._begin(offset + size)
                if self._first_chunks and offset + size <= self._first_size:
                    return b"".join(self._first_chunks)[offset : offset + size]
        return self._known().read(offset, size)

    def read_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        """Implement `Source.read_into`."""
        return self._known().read_into(offset, buffer)

    @property
    def size(self) -> int:
        """The size of the contents; all of them are decompressed to find it."""
        return self._known().size

    @size.setter
    def size(self, size: int) -> None:
        pass  # as the base class does, which knows it from the beginning

    @property
    def warnings(self) -> list[TraceWarning]:
        """The warnings about the input; all of it is decompressed to find them."""
        self._known()
        return self._packed.warnings

    @warnings.setter
    def warnings(self, warnings: list[TraceWarning]) -> None:
        pass  # as with the size

    def expect_order(self) -> None:
        """Implement `Source.expect_order`: no copy is made."""
        with self._lock:
            self._begin(_MOST_IN_MEMORY + 1)
            if self._settled is None:
                self._settled = _OrderedSource(self.name, self._all(), lambda: self._unpack([]))

    def close(self) -> None:
        """Release the input and the decompressed copy."""
        with self._lock:
            if self._settled is None:
                self._settled = MemorySource(self.name, b"")
            self._settled.close()
            self._first_chunks.clear()
            self._packed.close()

    def _within_limits(self, unpack: Unpack, warnings: list[TraceWarning]) -> Iterator[bytes]:
        what = (self.name, self.compression)
        return self.unpacked.cut(what, unpack(warnings), warnings, self.name)

    def _known(self) -> Source:
        """Return the source that the contents are read from."""
        with self._lock:
            self._begin(_MOST_IN_MEMORY + 1)
            if self._settled is None:
                self._settled = spooled(self._all(), self.name)
            return self._settled

    def _begin(self, size: int) -> None:
        """Decompress `size` bytes of the beginning, at most as much as stays in memory, and everything if that is no
        more.
        """
        while self._settled is None and self._first_size < min(size, _MOST_IN_MEMORY + 1):
            chunk = next(self._chunks, None)
            if chunk is None:
                self._settled = MemorySource(self.name, b"".join(self._all()))
                return
            self._first_chunks.append(chunk)
            self._first_size += len(chunk)

    def _all(self) -> Iterator[bytes]:
        """Yield what has been decompressed by the first pass, which is released, and the rest."""
        while self._first_chunks:
            yield self._first_chunks.popleft()
        yield from self._chunks


class _OrderedSource(Source):
    """Contents that are decompressed again from the beginning whenever data before the current position is read."""

    def __init__(
        self, name: str, first_pass: Iterator[bytes], unpack: Callable[[], Iterator[bytes]]
    ) -> None:
        head, tail = bytearray(), b""
        size = 0
        for chunk in first_pass:
            if len(head) < _HEAD_SIZE:
                head += chunk[: _HEAD_SIZE - len(head)]
            tail = (tail + chunk[-_TAIL_SIZE:])[-_TAIL_SIZE:]
            size += len(chunk)
        super().__init__(name, size)
        self._head, self._tail = bytes(head), tail
        self._unpack = unpack
        self._lock = threading.Lock()
        self._passes = 0
        self._pass: _Pass | None = None
        self._copy: Source | None = None

    def close(self) -> None:
        with self._lock:
            self._end_pass()
            if self._copy is not None:
                self._copy.close()
            self._unpack = _closed

    def _fill(self, offset: int, view: memoryview) -> int:
        for kept, start in ((self._head, 0), (self._tail, self.size - len(self._tail))):
            if start <= offset and offset + len(view) <= start + len(kept):
                view[:] = kept[offset - start : offset - start + len(view)]
                return len(view)
        with self._lock:
            if self._copy is not None:
                return self._copy.read_into(offset, view)
            if self._pass is None or offset < self._pass.start:
                self._end_pass()
                self._passes += 1
                if self._passes > _MOST_PASSES:
                    self._copy = spooled(self._unpack(), self.name)
                    return self._copy.read_into(offset, view)
                self._pass = _Pass(self._unpack())
            return self._pass.fill(offset, view)

    def _end_pass(self) -> None:
        if self._pass is not None:
            self._pass.close()
            self._pass = None


class _Pass:
    """One pass over the contents; keeps the last chunks, and decompresses the next in the meantime."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.start = 0
        self._end = 0
        self._last_chunks: deque[bytes] = deque()
        self._chunks = chunks
        self._workers = TaskGroup()
        self._unpacked = Ahead(self._piece, self._workers)

    def fill(self, offset: int, view: memoryview) -> int:
        """Copy data from an offset, which is not before `start`."""
        while self._end < offset + len(view) and self._advance(offset):
            pass
        done, at = 0, self.start
        for chunk in self._last_chunks:
            first = offset + done - at
            if first < len(chunk):
                piece = memoryview(chunk)[first : first + len(view) - done]
                view[done : done + len(piece)] = piece
                done += len(piece)
                if done == len(view):
                    break
            at += len(chunk)
        return done

    def close(self) -> None:
        self._workers.close()

    def _advance(self, needed: int) -> bool:
        chunk = self._unpacked.next()
        if chunk is None:
            return False
        self._last_chunks.append(chunk)
        self._end += len(chunk)
        while self.start + len(self._last_chunks[0]) <= min(needed, self._end - _BEHIND):
            self.start += len(self._last_chunks.popleft())
        return True

    def _piece(self) -> bytes | None:
        """Return the next chunk; None at the end."""
        gathered = bytearray()
        for chunk in self._chunks:
            if len(chunk) >= _PIECE and not gathered:
                return chunk
            gathered += chunk
            if len(gathered) >= _PIECE:
                break
        return bytes(gathered) or None


def _closed() -> Iterator[bytes]:
    raise ClosedError("read of a closed source")
