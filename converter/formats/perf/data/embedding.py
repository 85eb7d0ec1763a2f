"""Embedded payloads in perf.data: chunks at the end of this converter's feature, which is the last one of the file.

Its size in the table of features covers them, so that they are part of the file for other readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from converter.errors import TraceError
from converter.formats.embedding import Embedding
from converter.formats.ftrace.layout import parse
from converter.formats.perf.data.layout import FEATURE_BITS, FILE_HEADER_SIZE, layouts
from converter.formats.perf.data.side_table import CHUNK, OWN_FEATURE, Chunk, chunk
from converter.storage.sink import Sink
from converter.storage.source import Source

_MAGIC_SIZE: Final = 8
_SECTION_SIZE: Final = 16


class _Frames(Embedding):
    frame_size = 1 << 20
    restores = True

    def frame(self, sink: Sink, data: bytes, number: int) -> bytes:
        """Return a chunk."""
        return chunk(Chunk.PAYLOAD, data)

    def close_frames(self, sink: Sink, start: int) -> bytes:
        """Extend the feature to the end of the file."""
        at = _size_at(sink.read_back(0, FILE_HEADER_SIZE))
        size = int.from_bytes(sink.read_back(at, 8), "little")
        sink.write_at(at, (size + sink.tell() - start).to_bytes(8, "little"))
        return b""

    def frames(self, source: Source, start: int) -> Iterator[bytes]:
        """Yield the data of the chunks from `start` on."""
        offset = start
        while offset < source.size:
            kind, _, size = CHUNK.unpack(source.read_exactly(offset, CHUNK.size, field="chunk"))
            if kind != Chunk.PAYLOAD:
                raise TraceError(
                    format="perf", offset=offset, expected="a chunk with a payload", found=kind
                )
            yield source.read_exactly(offset + CHUNK.size, size, field="chunk")
            offset += CHUNK.size + size

    def content(self, source: Source, start: int) -> Source:
        """Return the file with the feature as it was."""
        at = _size_at(source.read_exactly(0, FILE_HEADER_SIZE))
        size = int.from_bytes(source.read_exactly(at, 8), "little") - (source.size - start)
        return _Patched(source, start, at, max(size, 0).to_bytes(8, "little"))


class _Patched(Source):
    """The start of another source, with some bytes replaced."""

    def __init__(self, base: Source, size: int, at: int, patch: bytes) -> None:
        super().__init__(base.name, size)
        self.warnings = base.warnings
        self.unpacked = base.unpacked
        self._base = base
        self._at = at
        self._patch = patch

    def _fill(self, offset: int, view: memoryview) -> int:
        done = self._base.read_into(offset, view)
        first = max(self._at, offset)
        last = min(self._at + len(self._patch), offset + done)
        if first < last:
            view[first - offset : last - offset] = self._patch[first - self._at : last - self._at]
        return done


EMBEDDING: Final = _Frames()


def _size_at(head: bytes) -> int:
    """Return where a file says the size of this converter's feature."""
    layout = layouts(False)
    header = parse(layout.file_header, head[_MAGIC_SIZE:], _MAGIC_SIZE, "header")
    bits = sum(word << 64 * number for number, word in enumerate(header.features))
    if not bits >> OWN_FEATURE & 1 or len(header.features) != FEATURE_BITS // 64:
        raise TraceError(format="perf", offset=0, field="features", expected="one of traceconv")
    before: int = (bits & ((1 << OWN_FEATURE) - 1)).bit_count()
    return int(header.data.offset) + int(header.data.size) + _SECTION_SIZE * before + 8
