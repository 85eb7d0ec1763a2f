"""The CPUs' pages, window by window: reading and decompressing.

A window is one contiguous run of pages. Windows are planned in the order of the file and loaded by any thread.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, TruncatedError, too_many_holes
from converter.formats.ftrace.recording import Buffer, CpuData, Recording
from converter.formats.ftrace.ring_buffer.chunks import chunk_magic, next_chunk
from converter.formats.ftrace.ring_buffer.compression import chunk_decompressor
from converter.formats.ftrace.ring_buffer.scan import find_chunks
from converter.limits import limit as limit_of
from converter.storage.window_memory import WindowMemory

#: The size of the windows of all streams together, and of one.
_WINDOWS_IN_ALL = 24 << 20
_LARGEST_WINDOW = 1 << 20
_SMALLEST_WINDOW = 1 << 16
#: Chunks are whole pages; others are joined up to this size to find the end of a page.
_MOST_ODD = 1 << 24
#: Compressed data is read in blocks of this size, a window at least.
_BLOCK = 1 << 19
#: Data that is scanned piecewise is decompressed in blocks of this size, which fit into a core's own cache.
_PIECE = 1 << 18
#: The initial capacity for a window's chunks.
_CHUNKS = 1 << 10
#: The results of `find_chunks` for an incomplete search.
_NONE_FOLLOWS, _BUFFER_FULL = -1, -2


#: Memory that holds records.
Pages = bytes | NDArray[np.uint8]


@dataclass(slots=True)
class Window:
    """A run of pages: either a range of the file, or chunks to decompress and join.

    `data` is the range of chunks, each preceded by its sizes. A row of `chunks` is the offset of one in it, its size
    there and decompressed. `counted` is the key of the window in the decompression budget, and the total size with it:
    an entry for each chunk would need memory that grows with the file.
    """

    offset: int
    size: int
    data: memoryview = field(default_factory=lambda: memoryview(b""))
    chunks: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 3), np.int64))
    counted: tuple[Hashable, int] = ((), 0)

    @property
    def is_compressed(self) -> bool:
        """True if the window consists of chunks."""
        return len(self.chunks) > 0


class PageStream:
    """The pages of one CPU in one buffer of a file that has `streams` streams."""

    def __init__(
        self, file: Recording, buffer: Buffer, data: CpuData, streams: int, memory: WindowMemory
    ) -> None:
        self.buffer = buffer
        self.cpu = data.cpu
        self._file = file
        self._data = data
        self._memory = memory
        self._fill = chunk_decompressor(file.compression) if buffer.compressed else None
        #: The number of chunks from the offset on, where the data does not contain it.
        self._chunks: int | None = None
        self._streams = max(streams, 1)
        self.share(1)

    @property
    def offset(self) -> int:
        """The offset of the stream's data in the file."""
        return self._data.offset

    @property
    def end(self) -> int:
        """The end of the stream's data; for compressed data, an upper bound."""
        return self._data.limit if self.buffer.compressed else self._data.offset + self._data.size

    def share(self, readers: int) -> None:
        """Set the size of windows to what is allowed when `readers` files are read at once."""
        in_all = _WINDOWS_IN_ALL // (self._streams * readers)
        target = max(_SMALLEST_WINDOW, min(_LARGEST_WINDOW // readers, in_all))
        self._target = max(target // self.buffer.page_size, 1) * self.buffer.page_size

    def restrict(self, offset: int, end: int, chunks: int | None) -> None:
        """Limit the stream to the pages between two file offsets; for compressed data, to a number of chunks."""
        self._data = self._data._replace(offset=offset, size=end - offset)
        self._chunks = chunks

    def windows(self) -> Iterator[Window | TraceError]:
        """Yield window after window; an error where the rest cannot be found."""
        return self._compressed() if self.buffer.compressed else self._plain()

    def _plain(self) -> Iterator[Window]:
        end = self._data.offset + self._data.size
        starts = range(self._data.offset, end, self._target)
        for offset in starts:
            yield Window(offset, min(self._target, end - offset))

    def _compressed(self) -> Iterator[Window | TraceError]:
        """Yield windows of chunks: a count, then each chunk's sizes and data. The count decides, not the total size."""
        counted = self.chunk_count()
        if counted is None:
            yield self._cut(self._data.offset)
            return
        at, left = counted
        extent = at, left
        limit = self._data.limit
        block, start = memoryview(b""), at
        chunks = np.empty((_CHUNKS, 3), np.int64)
        magic = chunk_magic(self._file)
        resume_from, gaps, unpacked = at, 0, 0
        while left:
            found, used, needed = find_chunks(
                block[at - start :],
                limit - at,
                self._file.big_endian,
                self.buffer.page_size,
                (left, self._target, _MOST_ODD),
                magic,
                chunks,
            )
            if needed == _BUFFER_FULL:
                chunks = np.empty((2 * len(chunks), 3), np.int64)
                continue
            if needed > 0:
                # A window is within one block.
                size = min(max(needed, 2 * (len(block) + start - at), _BLOCK), limit - at)
                block, start = self._memory.take(size).data, at
                count = self._file.source.read_into(at, block)
                if count < size:
                    block, limit = block[:count], at + count
                continue
            if found:
                window = chunks[:found].copy()
                data = block[at - start : at - start + used]
                size = int(window[:, 2].sum())
                unpacked += size
                yield Window(at, size, data, window, (("pages", self._data.offset), unpacked))
                resume_from = at + int(window[-1, 0])
            at += used
            left -= found
            if needed != _NONE_FOLLOWS:
                continue
            # Data is lost here or in the previous chunk, in which case the next one begins within that.
            page_size = self.buffer.page_size
            resumed = next_chunk(self._file, resume_from, limit, page_size)
            if resumed is not None and gaps == limit_of("holes"):
                yield too_many_holes(at).within(field=f"buffer.cpu {self.cpu}")
                return
            if resumed is not None:
                gaps += 1
                yield self._lost(at, resumed)
                at, resume_from = resumed, resumed + 8
                block, start = memoryview(b""), at
            elif magic:
                magic = b""
            else:
                break
        if left:
            yield self._cut(at)
        elif not gaps and self._chunks is None:
            first, count = extent
            self._file.extents[self._data.offset] = first, at, count

    def extent(self) -> tuple[int, int, int]:
        """Return start, end and number of the chunks, none of which is damaged."""
        known = self._file.extents
        if self._data.offset not in known:
            for window in self.windows():
                if isinstance(window, TraceError):
                    raise window
        return known[self._data.offset]

    def chunk_count(self) -> tuple[int, int] | None:
        """Return the offset of the first chunk and the number of chunks; None where the data does not contain it."""
        if self._chunks is not None:
            return self._data.offset, self._chunks
        head = self._file.source.read(self._data.offset, 4)
        if len(head) < 4:
            return None
        order: Literal["big", "little"] = "big" if self._file.big_endian else "little"
        left = int.from_bytes(head, order)
        if left > (self._data.limit - self._data.offset) // 8:
            # This many do not fit: trace-cmd has converted the file on a machine of the other byte order.
            left = int.from_bytes(head, "little" if self._file.big_endian else "big")
        if not left:
            # A CPU without data is not in the file, so this is an unknown number: allow as many as fit.
            left = (self._data.limit - self._data.offset) // 8
        return self._data.offset + 4, left

    def _lost(self, offset: int, found: int) -> TraceError:
        return TraceError(
            "a piece of the CPU's data is lost or damaged",
            offset=offset,
            field=f"buffer.cpu {self.cpu}",
            expected="compressed pages",
            found=f"the next at 0x{found:x}",
        )

    def _cut(self, offset: int) -> TraceError:
        return TruncatedError(
            "the rest of the CPU's data is missing or damaged",
            offset=offset,
            field=f"buffer.cpu {self.cpu}",
        )

    def load(self, window: Window) -> tuple[NDArray[np.uint8], list[TraceError]]:
        """Return the pages of a window, without those of damaged chunks, and an error for each of these."""
        if not window.is_compressed:
            return self._load_plain(window)
        sizes = window.chunks[:, 2]
        # A chunk that claims more is refused below.
        pages = self._memory.take(int(sizes[sizes <= limit_of("trace_cmd.section")].sum()))
        errors: list[TraceError] = []
        next_chunk, filled = 0, 0
        may_unpack = self._may_unpack(window)
        if self._fill is not None and may_unpack:
            next_chunk, filled = self._fill(window.data, window.chunks, 0, pages)
        if next_chunk < len(sizes):
            output = pages.data
            for data in self._unpacked(window, next_chunk, may_unpack):
                if isinstance(data, TraceError):
                    errors.append(data)
                else:
                    end = filled + len(data)
                    output[filled:end] = data
                    filled = end
        return pages[:filled], errors

    def pieces(self, window: Window) -> Iterator[Pages | TraceError]:
        """Yield the pages of a window in blocks of whole pages, which needs no memory for all of them.

        A block may reuse the memory of the previous one.
        """
        if not window.is_compressed or (window.chunks[:, 2] % self.buffer.page_size).any():
            pages, errors = self.load(window)
            yield from errors
            yield pages
            return
        done = 0
        may_unpack = self._may_unpack(window)
        if self._fill is not None and may_unpack:
            piece = self._memory.take(max(_PIECE, int(window.chunks[:, 2].max())))
            while True:
                done, filled = self._fill(window.data, window.chunks, done, piece)
                if not filled:
                    break
                yield piece[:filled]
        if done < len(window.chunks):
            yield from self._unpacked(window, done, may_unpack)

    def _may_unpack(self, window: Window) -> bool:
        """Return True if no chunk of a window is refused because of its decompressed size."""
        return self._file.may_unpack(*window.counted, int(window.chunks[:, 2].max()))

    def _unpacked(
        self, window: Window, first: int, may_unpack: bool
    ) -> Iterator[bytes | TraceError]:
        """Yield the decompressed chunks of a window, starting at the chunk `first`."""
        data, offset = window.data, window.offset
        chunks: list[list[int]] = window.chunks[first:].tolist()
        # Checked once, as there are many chunks and hardly ever one that is too large.
        decompress = self._file.decompress if may_unpack else None
        for start, packed, size in chunks:
            chunk = data[start : start + packed]
            try:
                if decompress is not None:
                    yield decompress(chunk, size)
                else:
                    yield self._decompressed(offset + start, chunk, size)
            except TraceError as error:
                yield error.within(field=f"buffer.cpu {self.cpu}", base=offset + start)

    def damage(self, window: Window, pages: int, first: int) -> list[TraceError]:
        """Return an error for a window with this number of damaged pages, the first at an offset."""
        if not pages:
            return []
        return [
            TraceError(
                f"{pages} damaged pages, each read up to the damage",
                # A position within compressed data has no file offset.
                offset=window.offset + (0 if window.is_compressed else first),
                field=f"buffer.cpu {self.cpu}",
            )
        ]

    def _decompressed(self, offset: int, chunk: memoryview, size: int) -> bytes:
        decompress = self._file.decompress
        if decompress is None:
            raise TraceError("a compressed buffer in a file without compression", offset=0)
        return self._file.unpack(offset, chunk, size, decompress)

    def _load_plain(self, window: Window) -> tuple[NDArray[np.uint8], list[TraceError]]:
        data = self._memory.take(window.size)
        count = self._file.source.read_into(window.offset, data.data)
        if count == window.size:
            return data, []
        return data[:count], [self._cut(window.offset + count)]
