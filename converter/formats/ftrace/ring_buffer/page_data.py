"""The pages of one CPU as they will be in the file: copied from another file, or from a temporary one.

The size of all is requested first, and the bytes once everything before them is written.
"""

from __future__ import annotations

import os
import struct
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ftrace.ring_buffer.compressor import Compress
from converter.formats.ftrace.ring_buffer.pages import PageStream
from converter.storage.pool.workers import Future, TaskGroup, workers
from converter.storage.source import Source
from converter.storage.source_files import parts_of

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in collections.abc from Python 3.12 on

#: Temporary data up to this size stays in memory.
_IN_MEMORY = 64 << 20
#: Pieces of this size are written at once.
_PIECE = 1 << 20
#: The number of chunks that may be queued for each compressing thread.
_PENDING = 4


class PageData(Protocol):
    """Pages in the encoding of the file; `size` is that of all parts together."""

    @property
    def size(self) -> int:
        """The size of the pages in the file."""

    def parts(self) -> Iterator[Buffer]:
        """Return the bytes, from the first to the last."""


class CopiedChunks:
    """The compressed chunks of another file, unchanged."""

    def __init__(self, source: Source, stream: PageStream, byte_order: str) -> None:
        self._source = source
        self._begin, self._end, count = stream.extent()
        self._count = struct.pack(f"{byte_order}I", count)
        self.size = len(self._count) + self._end - self._begin

    def parts(self) -> Iterator[Buffer]:
        """Yield the chunks' count, then each with its sizes."""
        yield self._count
        yield from parts_of(self._source, self._end, start=self._begin)


class PlainPages:
    """The pages of another file, uncompressed."""

    def __init__(self, stream: PageStream) -> None:
        self._stream = stream
        self.size = sum(
            window.size for window in stream.windows() if not isinstance(window, TraceError)
        )

    def parts(self) -> Iterator[Buffer]:
        """Yield window after window."""
        for window in self._stream.windows():
            if isinstance(window, TraceError):
                return
            pages, errors = self._stream.load(window)
            if errors:
                raise errors[0]
            yield pages.data


class SpooledPages:
    """Pages in a spool: extents (offset, size, uncompressed size) in the order of the stream."""

    def __init__(self, spool: PageSpool) -> None:
        self._spool = spool
        self.extents: list[tuple[int, int, int]] = []

    @property
    def size(self) -> int:
        """The size of the pages in the file."""
        data = sum(size for _, size, _ in self.extents)
        return 4 + 8 * len(self.extents) + data if self._spool.compress else data

    def parts(self) -> Iterator[Buffer]:
        """Yield the pages; when compressed, the chunks' count, then each with its sizes."""
        if not self._spool.compress:
            for offset, size, _ in self.extents:
                yield from self._spool.read(offset, size)
            return
        yield struct.pack(f"{self._spool.byte_order}I", len(self.extents))
        for offset, size, pages in self.extents:
            yield struct.pack(f"{self._spool.byte_order}II", size, pages)
            yield from self._spool.read(offset, size)


class PageSpool:
    """A temporary file for the pages of many streams in order of arrival, compressed by threads in chunks."""

    def __init__(self, compress: Compress | None, byte_order: str, chunk_size: int) -> None:
        import tempfile  # not needed for copied pages

        self.compress = compress
        self.byte_order = byte_order
        self._chunk_size = chunk_size
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed by `close`
        self._end = 0
        self._pool = TaskGroup() if compress else None
        self._pending: deque[tuple[SpooledPages, int, Future[bytes]]] = deque()

    def add(self, stream: SpooledPages, pages: NDArray[np.uint8]) -> None:
        """Append whole pages to a stream."""
        if self.compress is None or self._pool is None:
            self._append(stream, pages.data, len(pages))
            return
        for start in range(0, len(pages), self._chunk_size):
            chunk = pages[start : start + self._chunk_size]
            self._pending.append((stream, len(chunk), self._pool.submit(self.compress, chunk.data)))
            while len(self._pending) > _PENDING * workers():
                self._settle()

    def settle(self) -> None:
        """Wait until everything that was added is in the file."""
        while self._pending:
            self._settle()

    def _settle(self) -> None:
        stream, size, future = self._pending.popleft()
        self._append(stream, future.result(), size)

    def _append(self, stream: SpooledPages, data: Buffer, pages: int) -> None:
        size = memoryview(data).nbytes
        self._file.seek(self._end)
        self._file.write(data)
        stream.extents.append((self._end, size, pages))
        self._end += size

    def read(self, offset: int, size: int) -> Iterator[bytes]:
        """Yield the bytes of an extent."""
        self._file.seek(offset)
        while size:
            data = self._file.read(min(size, _PIECE))
            if not data:
                raise OSError(f"the temporary file ends before {offset + size} bytes", os.EX_IOERR)
            size -= len(data)
            yield data

    def close(self) -> None:
        """Delete the temporary file."""
        if self._pool is not None:
            self._pool.close()
        self._file.close()
